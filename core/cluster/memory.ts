import type { Kv } from './kv.ts';
import { createExpiringMap } from '#core/lib/recent-map.ts';

/** Values, and as many counters. Beyond that the least recently used ones are dropped. */
const MAX_ENTRIES = 50_000;

/**
 * The key-value store of one process.
 * @param now in ms. Monotonic, so that setting the clock does not lengthen a block.
 */
export function createMemoryKv(now: () => number = () => performance.now()): Kv {
  const values = createExpiringMap<string>(now, MAX_ENTRIES);
  const counters = createExpiringMap<{ count: number; readonly ends: number }>(now, MAX_ENTRIES);
  const listeners = new Map<string, Set<(message: string) => void>>();
  return {
    up: () => true,
    async get(key) {
      return values.get(key) ?? null;
    },
    async set(key, value, ttl_ms) {
      values.set(key, value, ttl_ms === undefined ? Number.POSITIVE_INFINITY : now() + ttl_ms);
    },
    async delete(key) {
      values.delete(key);
      counters.delete(key);
    },
    async increment(key, window_ms, by = 1) {
      const current = counters.get(key);
      // A refund for a window that has ended must not become credit in the next one.
      if (current === undefined && by < 0) return { count: 0, resets_in_ms: 0 };
      const entry = current ?? { count: 0, ends: now() + window_ms };
      entry.count += by;
      if (current === undefined) counters.set(key, entry, entry.ends);
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
