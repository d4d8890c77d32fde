/** The key-value store that many servers share (Redis) or one process keeps (memory). Nothing in it is the only truth. */
export interface Kv {
  /** False while many servers cannot be reached through it: then it counts, and carries messages, for this process alone. */
  up(): boolean;
  get(key: string): Promise<string | null>;
  set(key: string, value: string, ttl_ms?: number): Promise<void>;
  delete(key: string): Promise<void>;
  /** Adds to a counter that ends `window_ms` after its first increment; answers the new count and the time left in ms. Never fails. */
  increment(key: string, window_ms: number, by?: number): Promise<{ count: number; resets_in_ms: number }>;
  /** Somebody may miss it: what matters is stored. Never fails. */
  publish(channel: string, message: string): Promise<void>;
  /** Answers a function that ends the subscription. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => void>;
  close(): Promise<void>;
}
