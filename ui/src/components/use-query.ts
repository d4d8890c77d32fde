import { createEffect, createMemo, createSignal, on, onCleanup, onMount } from 'solid-js';
import type { OperationName } from '#core/contract/index.ts';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createPoll, type Query } from '#ui/src/kernel/data/query.ts';
import { isPassing } from '#ui/src/kernel/problem.ts';

const RETRY_MS = 3_000;

/**
 * The result of `load` for the lifetime of the component. Each `read` goes through the cache: equal reads share one request, and a
 * change, by this person or others, reloads what is derived from it (`freshness.ts`). Also reloads when `watch` returns another value,
 * or a list with other members.
 */
export function useQuery<T>(
  load: (read: Read) => Promise<T>,
  options: {
    /** Whether changes of other people reload it. Default: for all but the records that forms edit. */
    readonly live?: boolean;
    /** The inputs of `load`; a change marks the shown data as stale. */
    readonly watch?: () => unknown;
    /** A new value repeats the same read. */
    readonly again?: () => unknown;
  } = {},
): Query<T> & { readonly stale: () => boolean } {
  const { cache } = useKernel();
  const { live, watch, again } = options;
  const query = cache.query(load, live);
  if (watch === undefined) onMount(() => void query.show());
  const stale = watch === undefined ? () => false : useWatch(query, watch, query.show);
  if (again !== undefined) createEffect(on(again, () => void query.show(), { defer: true }));
  onCleanup(query.close);
  return useRetry({ ...query, stale });
}

/**
 * Calls `ask` at once and whenever `watch` returns another value.
 * @returns whether the shown data still belongs to an earlier value.
 */
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

/** Retries while the server is unreachable or rate-limits, and marks the problem as retried. Loaded data stays on the page. */
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

/** Repeats `run` while the component is mounted and the page is visible: for what the server does not announce. */
export function usePoll(run: () => Promise<void>, every_ms: number): void {
  const { presence } = useKernel();
  const poll = createPoll({ run, every_ms, visible: presence.here });
  onMount(poll.start);
  onCleanup(poll.stop);
}

/** Repeats `run` when the answers of an operation are outdated: for what is read without the cache. */
export function useFollow(name: OperationName, run: () => Promise<void>): void {
  const { refresher } = useKernel();
  let since: number | undefined = performance.now();
  const reload = () => {
    const began = performance.now();
    since = undefined;
    const done = () => void (since = began);
    run().then(done, done);
  };
  onMount(() => onCleanup(refresher({ name, since: () => since, reload })));
}

/** Equal values, or lists with equal members. */
export const isSame = (before: unknown, now: unknown): boolean =>
  Array.isArray(before) && Array.isArray(now)
    ? before.length === now.length && before.every((member, place) => Object.is(member, now[place]))
    : Object.is(before, now);
