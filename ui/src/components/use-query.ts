import { createEffect, createMemo, on, onCleanup, onMount } from 'solid-js';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createPoll, type Query } from '#ui/src/kernel/data/query.ts';

const OFFLINE_RETRY_MS = 3_000;

/**
 * What `load` reads, for as long as the component is there. Every `read` goes through the cache: equal ones share one request, and a
 * change made in this browser reads again what it made untrue. Also again when `watch` gives another value, or a list with another
 * member; `every_ms` is for what changes by itself, such as metrics.
 */
export function useQuery<T>(
  load: (read: Read) => Promise<T>,
  options: { readonly every_ms?: number; readonly watch?: () => unknown } = {},
): Query<T> {
  const { cache } = useKernel();
  const query = cache.query(load);
  const { every_ms, watch } = options;
  if (watch === undefined) onMount(() => void query.show());
  else createEffect(on(createMemo(watch, undefined, { equals: isSame }), () => void query.show()));
  onCleanup(query.close);
  if (every_ms !== undefined) usePoll(query.reload, every_ms);
  return useRetry(query);
}

/** Asks again for as long as the server does not answer, and says so in the problem. What was read stays on the page meanwhile. */
export function useRetry<Q extends Pick<Query<unknown>, 'problem' | 'reload'>>(query: Q): Q {
  const { presence } = useKernel();
  const offline = createMemo(() => query.problem()?.code === 'offline');
  createEffect(() => {
    if (!offline()) return;
    const retry = createPoll({ run: query.reload, every_ms: OFFLINE_RETRY_MS, visible: presence.here });
    retry.start();
    onCleanup(retry.stop);
  });
  const problem = createMemo(() => {
    const found = query.problem();
    return found?.code === 'offline' ? { ...found, retried: true } : found;
  });
  return { ...query, problem };
}

/** Repeats `run` while the component is there and a person looks at it. */
export function usePoll(run: () => Promise<void>, every_ms: number): void {
  const { presence } = useKernel();
  const poll = createPoll({ run, every_ms, visible: presence.here });
  onMount(poll.start);
  onCleanup(poll.stop);
}

/** The same value, or lists of the same members. */
export const isSame = (before: unknown, now: unknown): boolean =>
  Array.isArray(before) && Array.isArray(now)
    ? before.length === now.length && before.every((member, place) => Object.is(member, now[place]))
    : Object.is(before, now);
