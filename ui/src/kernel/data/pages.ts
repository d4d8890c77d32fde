import { createSignal } from 'solid-js';
import { distinct } from './all-of.ts';
import { keepEqual } from './query.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';

export interface Pages<T> {
  /** The items loaded so far; undefined before the first answer. */
  readonly items: () => readonly T[] | undefined;
  readonly total: () => number | undefined;
  readonly problem: () => Problem | undefined;
  readonly pending: () => boolean;
  /** Whether the items belong to an earlier filter. */
  readonly stale?: () => boolean;
  readonly done: () => boolean;
  /** Loads the next page. */
  readonly more: () => Promise<void>;
  /** Reloads from the start as many items as are shown; the shown items stay until then. */
  readonly reload: () => Promise<void>;
  /** Loads the first page only, for a new filter. */
  readonly restart: () => Promise<void>;
}

type LoadPage<T> = (skip: number, limit: number, signal: AbortSignal) => Promise<{ items: readonly T[]; total: number }>;

/**
 * A list that is loaded page by page, at most `most` items per request. A newer request aborts the earlier one; unchanged items stay the
 * same objects.
 */
export function createPages<T>(load: LoadPage<T>, { size = 50, most = 500 }: { size?: number; most?: number } = {}): Pages<T> {
  const [items, setItems] = createSignal<readonly T[]>();
  const [total, setTotal] = createSignal<number>();
  const [problem, setProblem] = createSignal<Problem>();
  const [pending, setPending] = createSignal(false);
  let current: AbortController | undefined;

  /** @param wanted number of items after `skip`: needs several requests when the server's page is smaller. */
  const fetch = async (skip: number, length_needed: number) => {
    current?.abort();
    const mine = new AbortController();
    current = mine;
    setPending(true);
    try {
      const loaded: T[] = [];
      let all = 0;
      let ended = false;
      for (;;) {
        const answer = await load(skip + loaded.length, Math.min(most, length_needed - loaded.length), mine.signal);
        if (mine !== current) return;
        loaded.push(...answer.items);
        all = answer.total;
        ended = answer.items.length === 0 || skip + loaded.length >= all;
        if (ended || loaded.length >= length_needed) break;
      }
      const shown = setItems((before) => keepEqual(before, distinct([...(before ?? []).slice(0, skip), ...loaded])));
      // New items at the head since the first page are not counted, because no further page contains them.
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
