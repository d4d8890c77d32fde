import { createSignal } from 'solid-js';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';

export interface Pages<T> {
  /** What was loaded so far; undefined before the first answer. */
  readonly items: () => readonly T[] | undefined;
  readonly total: () => number | undefined;
  readonly problem: () => Problem | undefined;
  readonly pending: () => boolean;
  readonly done: () => boolean;
  /** The next page behind what is there. */
  readonly more: () => Promise<void>;
  /** From the beginning, as much as was shown before; what is shown stays until the answer is there. */
  readonly reload: () => Promise<void>;
  /** From the beginning, one page: another filter. */
  readonly restart: () => Promise<void>;
}

type LoadPage<T> = (skip: number, limit: number, signal: AbortSignal) => Promise<{ items: readonly T[]; total: number }>;

/** A long list that is loaded piece by piece. A newer request gives up the one before it. */
export function createPages<T>(load: LoadPage<T>, { size = 50, most = 500 }: { size?: number; most?: number } = {}): Pages<T> {
  const [items, setItems] = createSignal<readonly T[]>();
  const [total, setTotal] = createSignal<number>();
  const [problem, setProblem] = createSignal<Problem>();
  const [pending, setPending] = createSignal(false);
  let current: AbortController | undefined;

  const fetch = async (skip: number, limit: number) => {
    current?.abort();
    const mine = new AbortController();
    current = mine;
    setPending(true);
    try {
      const answer = await load(skip, limit, mine.signal);
      if (mine !== current) return;
      setItems((before) => (skip === 0 ? answer.items : [...(before ?? []).slice(0, skip), ...answer.items]));
      setTotal(answer.total);
      setProblem(undefined);
    } catch (fault) {
      if (mine === current) setProblem(toProblem(fault));
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
    reload: () => fetch(0, Math.min(most, Math.max(size, items()?.length ?? 0))),
    restart: () => fetch(0, size),
  };
}
