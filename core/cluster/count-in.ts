import type { Kv } from './kv.ts';

const MINUTE_MS = 60_000;

/** What was counted in a window, and the whole seconds until it ends: at least one. */
export interface Counted {
  readonly count: number;
  readonly retry_after: number;
}

/** Counts in a window: over all servers, or while Redis is away in this one. */
export async function countIn({ kv }: { readonly kv: Kv }, key: string, window_ms: number, by = 1): Promise<Counted> {
  const { count, resets_in_ms } = await kv.increment(key, window_ms, by);
  return { count, retry_after: Math.max(1, Math.ceil(resets_in_ms / 1_000)) };
}

export const countMinute = (app: { readonly kv: Kv }, key: string, by = 1): Promise<Counted> => countIn(app, key, MINUTE_MS, by);
