import { createEffect, createMemo, createSignal, on, onCleanup, onMount } from 'solid-js';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createPoll, type Query } from '#ui/src/kernel/data/query.ts';
import { isPassing } from '#ui/src/kernel/problem.ts';

const RETRY_MS = 3_000;

/**
 * What `load` reads, for as long as the component is there. Every `read` goes through the cache: equal ones share one request, and a
 * change made in this browser reads again what it made untrue. Also again when `watch` gives another value, or a list with another
 * member; `every_ms` is for what changes by itself, such as metrics.
 */
export function useQuery<T>(
  load: (read: Read) => Promise<T>,
  options: {
    readonly every_ms?: number;
    /** What is done in place of a read when nothing has changed since the last one. */
    readonly quiet?: () => void;
    /** Whether what is shown moves with the clock, and so is read all the same. */
    readonly moves?: () => boolean;
    /** What is asked for. */
    readonly watch?: () => unknown;
    /** Another value of it asks the same again. */
    readonly again?: () => unknown;
  } = {},
): Query<T> & { readonly stale: () => boolean } {
  const { cache, pulse } = useKernel();
  const query = cache.query(load);
  const { every_ms, quiet, moves, watch, again } = options;
  if (watch === undefined) onMount(() => void query.show());
  const stale = watch === undefined ? () => false : useWatch(query, watch, query.show);
  if (again !== undefined) createEffect(on(again, () => void query.show(), { defer: true }));
  onCleanup(query.close);
  const poll = async () => {
    if (moves?.() || query.isOld(pulse.isOld)) await query.reload();
    else quiet?.();
  };
  if (every_ms !== undefined) usePoll(poll, every_ms);
  return useRetry({ ...query, stale });
}

/** Asks at once and whenever `watch` gives another value. @returns whether what is shown still answers what was asked before that. */
export function useWatch(
  query: Pick<Query<unknown>, 'pending' | 'problem'>,
  watch: () => unknown,
  ask: () => Promise<void>,
): () => boolean {
  const [stale, setStale] = createSignal(false);
  let asked = false;
  createEffect(
    on(createMemo(watch, undefined, { equals: isSame }), () => {
      setStale(asked);
      asked = true;
      void ask();
    }),
  );
  createEffect(() => {
    if (!query.pending() && query.problem() === undefined) setStale(false);
  });
  return stale;
}

/** Asks again for as long as the server is away or takes no more requests, and says so in the problem. What was read stays on the page meanwhile. */
export function useRetry<Q extends Pick<Query<unknown>, 'problem' | 'reload'>>(query: Q): Q {
  const { presence } = useKernel();
  const wait_ms = createMemo(() => {
    const problem = query.problem();
    if (problem === undefined || !isPassing(problem)) return undefined;
    return Math.max(RETRY_MS, (problem.retry_after ?? 0) * 1_000);
  });
  createEffect(() => {
    const every_ms = wait_ms();
    if (every_ms === undefined) return;
    const retry = createPoll({ run: query.reload, every_ms, visible: presence.here });
    retry.start();
    onCleanup(retry.stop);
  });
  const problem = createMemo(() => {
    const found = query.problem();
    return found !== undefined && isPassing(found) ? { ...found, retried: true } : found;
  });
  return { ...query, problem };
}

/** Repeats `run` while the component is there and a person looks at it; with nouns, when something of them has changed since. */
export function usePoll(run: () => Promise<void>, every_ms: number, nouns?: readonly string[]): void {
  const { presence, pulse } = useKernel();
  let began = performance.now();
  const runIfOld = async () => {
    if (nouns !== undefined && !pulse.isOld(nouns, began)) return;
    began = performance.now();
    await run();
  };
  const poll = createPoll({ run: runIfOld, every_ms, visible: presence.here });
  onMount(poll.start);
  onCleanup(poll.stop);
}

/** The same value, or lists of the same members. */
export const isSame = (before: unknown, now: unknown): boolean =>
  Array.isArray(before) && Array.isArray(now)
    ? before.length === now.length && before.every((member, place) => Object.is(member, now[place]))
    : Object.is(before, now);
