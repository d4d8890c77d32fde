/** A limited number of items that callers hold between them: what each holds, the longest unused first. */
export interface Quota<T> {
  add(holder: string, item: T): void;
  /** The item is in use again. */
  touch(holder: string, item: T): void;
  remove(holder: string, item: T): void;
  /**
   * Items of which one must go before the holder may add another, in the order in which they should be asked; null when there is
   * room. A holder makes room among its own; the one that holds most makes room for those that hold less.
   */
  surplus(holder: string): Iterable<T> | null;
  /** What a holder holds, the longest unused first. */
  of(holder: string): Iterable<T>;
  count(): number;
}

/** @param total of all holders. @param each of one holder. */
export function createQuota<T>(total: number, each: number): Quota<T> {
  const held = new Map<string, Set<T>>();
  let count = 0;
  const largest = (): ReadonlySet<T> => {
    let most: ReadonlySet<T> = new Set();
    for (const items of held.values()) if (items.size > most.size) most = items;
    return most;
  };
  return {
    add(holder, item) {
      const items = held.get(holder) ?? new Set();
      held.set(holder, items.add(item));
      count++;
    },
    touch(holder, item) {
      const items = held.get(holder);
      if (items?.delete(item) === true) items.add(item);
    },
    remove(holder, item) {
      const items = held.get(holder);
      if (items?.delete(item) !== true) return;
      count--;
      if (items.size === 0) held.delete(holder);
    },
    surplus(holder) {
      const own = held.get(holder) ?? new Set();
      if (own.size >= each) return own;
      if (count < total) return null;
      const most = largest();
      return most.size > own.size ? [...own, ...most] : own;
    },
    of: (holder) => held.get(holder) ?? [],
    count: () => count,
  };
}
