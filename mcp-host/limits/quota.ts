/** A limited number of items that callers share: the items of each caller, longest unused first. */
export interface Quota<T> {
  add(holder: string, item: T): void;
  /** Marks the item as used now. */
  touch(holder: string, item: T): void;
  remove(holder: string, item: T): void;
  /**
   * Items of which one has to end before the holder may add another, in the order in which to try them; null: there is room. The
   * holder gives up its items first; at the total limit, the holder with the most items follows.
   */
  surplus(holder: string): Iterable<T> | null;
  /** The items of a holder, longest unused first. */
  of(holder: string): Iterable<T>;
  count(): number;
}

/** @param total most items of all holders. @param each most items of one holder. */
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
      const items = held.get(holder) ?? new Set();
      if (items.size >= each) return items;
      if (count < total) return null;
      const most = largest();
      return most.size > items.size ? [...items, ...most] : items;
    },
    of: (holder) => held.get(holder) ?? [],
    count: () => count,
  };
}
