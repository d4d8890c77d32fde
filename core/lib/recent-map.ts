/** Values by key until a moment in ms. At least `limit` keys are stored; beyond that, the least recently used are removed. */
export interface ExpiringMap<V> {
  get(key: string): V | undefined;
  set(key: string, value: V, until: number): void;
  /** 0 when there is no entry. */
  until(key: string): number;
  delete(key: string): void;
  clear(): void;
  size(): number;
}

/**
 * A map with a limited size, for keys that anyone can choose: it contains the `limit` most recently used keys, and at most twice
 * as many. The time of a step does not depend on the size, unlike removing the oldest entry of a single full map.
 */
export interface RecentMap<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
  clear(): void;
  size(): number;
}

export function createRecentMap<V>(limit: number): RecentMap<V> {
  let recent = new Map<string, V>();
  let older = new Map<string, V>();
  const set = (key: string, value: V): void => {
    if (recent.size >= limit && !recent.has(key)) {
      older = recent;
      recent = new Map();
    }
    older.delete(key);
    recent.set(key, value);
  };
  return {
    get(key) {
      const value = recent.get(key);
      if (value !== undefined) return value;
      const older_value = older.get(key);
      if (older_value !== undefined) set(key, older_value);
      return older_value;
    },
    set,
    delete(key) {
      recent.delete(key);
      older.delete(key);
    },
    clear() {
      recent.clear();
      older.clear();
    },
    size: () => recent.size + older.size,
  };
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
