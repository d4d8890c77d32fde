import { createEffect, createMemo, on } from 'solid-js';
import { isSame, useRetry } from './use-query.ts';
import { createPages, type Pages } from '#ui/src/kernel/data/pages.ts';

type Load<T> = (skip: number, limit: number, signal: AbortSignal) => Promise<{ items: readonly T[]; total: number }>;

/** A long list for as long as the component is there, from its beginning when `watch` changes. */
export function usePages<T>(load: Load<T>, watch: () => unknown, { size = 50, most = 100 } = {}): Pages<T> {
  const pages = useRetry(createPages(load, { size, most }));
  createEffect(on(createMemo(watch, undefined, { equals: isSame }), () => void pages.restart()));
  return pages;
}
