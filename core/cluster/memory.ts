import type { Kv } from './kv.ts';
import { createRecentMap } from './recent-map.ts';

/** Values and counters that are kept at least; those not used for longest go first. */
const KEPT = 50_000;

/**
 * The key-value store of one process.
 * @param now in ms. Monotonic, so that setting the clock does not lengthen a block.
 */
export function createMemoryKv(now: () => number = () => performance.now()): Kv {
  const values = createRecentMap<{ value: string; ends: number }>(KEPT);
  const counters = createRecentMap<{ count: number; ends: number }>(KEPT);
  const listeners = new Map<string, Set<(message: string) => void>>();
  return {
    up: () => true,
    async get(key) {
      const entry = values.get(key);
      return entry !== undefined && entry.ends > now() ? entry.value : null;
    },
    async set(key, value, ttl_ms) {
      values.set(key, { value, ends: ttl_ms === undefined ? Number.POSITIVE_INFINITY : now() + ttl_ms });
    },
    async delete(key) {
      values.delete(key);
      counters.delete(key);
    },
    async increment(key, window_ms, by = 1) {
      const kept = counters.get(key);
      const live = kept !== undefined && kept.ends > now();
      // What is taken back of a window that has ended is no credit for the next one.
      if (!live && by < 0) return { count: 0, resets_in_ms: 0 };
      const entry = live ? kept : { count: 0, ends: now() + window_ms };
      entry.count += by;
      if (!live) counters.set(key, entry);
      return { count: entry.count, resets_in_ms: entry.ends - now() };
    },
    async publish(channel, message) {
      for (const listener of listeners.get(channel) ?? []) listener(message);
    },
    async subscribe(channel, listener) {
      const set = listeners.get(channel) ?? new Set();
      set.add(listener);
      listeners.set(channel, set);
      return () => set.delete(listener);
    },
    async close() {
      listeners.clear();
    },
  };
}
