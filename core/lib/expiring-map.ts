import { createRecentMap } from '#core/lib/recent-map.ts';

/** Values by key until a moment in ms. At least `limit` keys are kept; beyond that, those that were not used for longest go. */
export interface ExpiringMap<V> {
  get(key: string): V | undefined;
  set(key: string, value: V, until: number): void;
  /** 0 when there is none. */
  until(key: string): number;
  delete(key: string): void;
  clear(): void;
  size(): number;
}

export function createExpiringMap<V>(now: () => number, limit: number): ExpiringMap<V> {
  const entries = createRecentMap<{ readonly value: V; readonly until: number }>(limit);
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (entry.until > now()) return entry.value;
      entries.delete(key);
      return undefined;
    },
    set: (key, value, until) => entries.set(key, { value, until }),
    until: (key) => entries.get(key)?.until ?? 0,
    delete: (key) => entries.delete(key),
    clear: () => entries.clear(),
    size: () => entries.size(),
  };
}
