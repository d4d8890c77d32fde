import { createEffect, createMemo, on, onCleanup, onMount } from 'solid-js';
import { createPoll, createQuery, type Query } from '#ui/src/kernel/query.ts';

/**
 * Data of one call for as long as the component is there: again when `watch` gives another value, or a list with another member, and
 * every so often when asked.
 */
export function useQuery<T>(
  load: (signal: AbortSignal) => Promise<T>,
  options: { readonly every_ms?: number; readonly watch?: () => unknown } = {},
): Query<T> {
  const query = createQuery(load);
  const { every_ms, watch } = options;
  if (watch === undefined) onMount(() => void query.reload());
  else createEffect(on(createMemo(watch, undefined, { equals: isSame }), () => void query.reload()));
  if (every_ms !== undefined) {
    const poll = createPoll({ run: query.reload, every_ms, visible: () => document.visibilityState === 'visible' });
    onMount(poll.start);
    onCleanup(poll.stop);
  }
  return query;
}

const isSame = (before: unknown, now: unknown): boolean =>
  Array.isArray(before) && Array.isArray(now)
    ? before.length === now.length && before.every((member, place) => Object.is(member, now[place]))
    : Object.is(before, now);
