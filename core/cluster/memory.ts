import type { Kv } from './kv.ts';
import { createExpiringMap } from '#core/lib/expiring-map.ts';

/** Values and counters that are kept at least; those not used for longest go first. */
const KEPT = 50_000;

/**
 * The key-value store of one process.
 * @param now in ms. Monotonic, so that setting the clock does not lengthen a block.
 */
export function createMemoryKv(now: () => number = () => performance.now()): Kv {
  const values = createExpiringMap<string>(now, KEPT);
  const counters = createExpiringMap<{ count: number; readonly ends: number }>(now, KEPT);
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
      const kept = counters.get(key);
      // What is taken back of a window that has ended is no credit for the next one.
      if (kept === undefined && by < 0) return { count: 0, resets_in_ms: 0 };
      const entry = kept ?? { count: 0, ends: now() + window_ms };
      entry.count += by;
      if (kept === undefined) counters.set(key, entry, entry.ends);
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
