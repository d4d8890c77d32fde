import type { Kv } from './kv.ts';

/** The key-value store of one process. */
export function createMemoryKv(now: () => number): Kv {
  const values = new Map<string, { value: string; ends: number }>();
  const counters = new Map<string, { count: number; ends: number }>();
  const listeners = new Map<string, Set<(message: string) => void>>();
  const sweep = () => {
    for (const map of [values, counters]) {
      if (map.size < 1_000) continue;
      for (const [key, entry] of map) if (entry.ends <= now()) map.delete(key);
    }
  };
  return {
    up: () => true,
    async get(key) {
      const entry = values.get(key);
      return entry !== undefined && entry.ends > now() ? entry.value : null;
    },
    async set(key, value, ttl_ms) {
      sweep();
      values.set(key, { value, ends: ttl_ms === undefined ? Number.POSITIVE_INFINITY : now() + ttl_ms });
    },
    async delete(key) {
      values.delete(key);
      counters.delete(key);
    },
    async increment(key, window_ms, by = 1) {
      sweep();
      const kept = counters.get(key);
      const entry = kept !== undefined && kept.ends > now() ? kept : { count: 0, ends: now() + window_ms };
      entry.count += by;
      counters.set(key, entry);
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
