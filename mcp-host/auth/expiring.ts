/** Values by key until a moment in ms; of more than `limit`, the one written first goes. */
export interface Expiring<V> {
  get(key: string): V | undefined;
  set(key: string, value: V, until: number): void;
  /** 0 when there is none. */
  until(key: string): number;
  delete(key: string): void;
  clear(): void;
  size(): number;
}

export function createExpiring<V>(now: () => number, limit: number): Expiring<V> {
  const entries = new Map<string, { readonly value: V; readonly until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (entry.until > now()) return entry.value;
      entries.delete(key);
      return undefined;
    },
    set(key, value, until) {
      entries.delete(key);
      const oldest = entries.size < limit ? undefined : entries.keys().next().value;
      if (oldest !== undefined) entries.delete(oldest);
      entries.set(key, { value, until });
    },
    until: (key) => entries.get(key)?.until ?? 0,
    delete: (key) => void entries.delete(key),
    clear: () => entries.clear(),
    size: () => entries.size,
  };
}
