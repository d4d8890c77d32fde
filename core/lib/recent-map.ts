/**
 * A map that strangers cannot fill without end: it keeps the `limit` keys that were used last, and never more than twice as
 * many. A step costs the same however full it is; dropping the oldest entry of one full map does not.
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
      const kept = older.get(key);
      if (kept !== undefined) set(key, kept);
      return kept;
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
