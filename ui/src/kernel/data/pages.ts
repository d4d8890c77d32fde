import { createSignal } from 'solid-js';
import { distinct } from './all-of.ts';
import { keepEqual } from './query.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';

export interface Pages<T> {
  /** What was loaded so far; undefined before the first answer. */
  readonly items: () => readonly T[] | undefined;
  readonly total: () => number | undefined;
  readonly problem: () => Problem | undefined;
  readonly pending: () => boolean;
  /** Whether the items are those of another filter. */
  readonly stale?: () => boolean;
  readonly done: () => boolean;
  /** The next page behind what is there. */
  readonly more: () => Promise<void>;
  /** From the beginning, as much as was shown before; what is shown stays until the answer is there. */
  readonly reload: () => Promise<void>;
  /** From the beginning, one page: another filter. */
  readonly restart: () => Promise<void>;
}

type LoadPage<T> = (skip: number, limit: number, signal: AbortSignal) => Promise<{ items: readonly T[]; total: number }>;

/** A long list that is loaded piece by piece, at most `most` at once. A newer request gives up the one before it; what did not change stays the same objects. */
export function createPages<T>(load: LoadPage<T>, { size = 50, most = 500 }: { size?: number; most?: number } = {}): Pages<T> {
  const [items, setItems] = createSignal<readonly T[]>();
  const [total, setTotal] = createSignal<number>();
  const [problem, setProblem] = createSignal<Problem>();
  const [pending, setPending] = createSignal(false);
  let current: AbortController | undefined;

  /** @param wanted how many from there on: more requests than one when the server gives fewer at once. */
  const fetch = async (skip: number, wanted: number) => {
    current?.abort();
    const mine = new AbortController();
    current = mine;
    setPending(true);
    try {
      const loaded: T[] = [];
      let all = 0;
      let ended = false;
      for (;;) {
        const answer = await load(skip + loaded.length, Math.min(most, wanted - loaded.length), mine.signal);
        if (mine !== current) return;
        loaded.push(...answer.items);
        all = answer.total;
        ended = answer.items.length === 0 || skip + loaded.length >= all;
        if (ended || loaded.length >= wanted) break;
      }
      const shown = setItems((before) => keepEqual(before, distinct([...(before ?? []).slice(0, skip), ...loaded])));
      // What is new at the head since is not counted: no page brings it.
      setTotal(ended ? shown?.length : all);
      setProblem(undefined);
    } catch (fault) {
      const found = toProblem(fault);
      if (mine === current && found.code !== 'aborted') setProblem(found);
    } finally {
      if (mine === current) setPending(false);
    }
  };
  const done = () => items() !== undefined && (items()?.length ?? 0) >= (total() ?? 0);

  return {
    items,
    total,
    problem,
    pending,
    done,
    more: async () => {
      if (!pending() && !done()) await fetch(items()?.length ?? 0, size);
    },
    reload: () => fetch(0, Math.max(size, items()?.length ?? 0)),
    restart: () => fetch(0, size),
  };
}
