const MINUTE_MS = 60_000;

/** The count of a window, and the whole seconds until it ends: at least one. */
export interface Counted {
  readonly count: number;
  readonly retry_after: number;
}

export const countMinute = (app: { readonly kv: Kv }, key: string, by = 1): Promise<Counted> => countIn(app, key, MINUTE_MS, by);

/** The key-value store: Redis, shared by many servers, or the memory of one process. Losing its contents does no harm. */
export interface Kv {
  /** False while Redis is down: counters and messages are then local to this process. */
  up(): boolean;
  get(key: string): Promise<string | null>;
  set(key: string, value: string, ttl_ms?: number): Promise<void>;
  delete(key: string): Promise<void>;
  /** Adds to a counter that ends `window_ms` after its first increment. Returns the new count and the remaining ms. Never rejects. */
  increment(key: string, window_ms: number, by?: number): Promise<{ count: number; resets_in_ms: number }>;
  /** Delivery is not guaranteed, so store what must not be lost. Never rejects. */
  publish(channel: string, message: string): Promise<void>;
  /** Returns a function that ends the subscription. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => void>;
  close(): Promise<void>;
}

/** Counts in a window over all servers, or in this server alone while Redis is down. */
export async function countIn({ kv }: { readonly kv: Kv }, key: string, window_ms: number, by = 1): Promise<Counted> {
  const { count, resets_in_ms } = await kv.increment(key, window_ms, by);
  return { count, retry_after: Math.max(1, Math.ceil(resets_in_ms / 1_000)) };
}
