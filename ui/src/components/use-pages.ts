import { createEffect, createSignal, on } from 'solid-js';
import { useQuery, useRetry, useWatch } from './use-query.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createPages, type Pages } from '#ui/src/kernel/data/pages.ts';

type Page<T> = Promise<{ items: readonly T[]; total: number }>;

/** A paged list for the lifetime of the component; it restarts when `watch` changes. */
export function usePages<T>(
  load: (skip: number, limit: number, signal: AbortSignal) => Page<T>,
  watch: () => unknown,
  { size = 50, most = 100 } = {},
): Pages<T> {
  const { session } = useKernel();
  const pages = useRetry(createPages(load, { size, most }));
  // Reads that were in progress when the session ended were aborted.
  createEffect(on(session.state, (state, before) => void (before === 'expired' && state === 'signed_in' && pages.reload())));
  return { ...pages, stale: useWatch(pages, watch, pages.restart) };
}

/** A paged list that people edit here. It goes through the cache, so a change reloads as much as was shown. */
export function useCachedPages<T>(load: (read: Read, skip: number, limit: number) => Page<T>, size = 100): Pages<T> {
  const [wanted, setWanted] = createSignal(size);
  const list = useQuery((read) => allOf((skip, limit) => load(read, skip, limit), size, wanted()), { watch: wanted });
  const items = () => list.data()?.items;
  return {
    ...list,
    // Only the length grows; the filter never changes.
    stale: () => false,
    items,
    total: () => list.data()?.total,
    done: () => (items()?.length ?? 0) >= (list.data()?.total ?? Number.POSITIVE_INFINITY),
    more: async () => void setWanted(wanted() + size),
    restart: list.reload,
  };
}
