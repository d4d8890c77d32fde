type Load<T> = (skip: number, limit: number) => Promise<{ items: readonly T[]; total: number }>;

/** A whole list, read in pages of the server's maximum size, up to `most` items. */
export async function allOf<T>(load: Load<T>, page: number, most = Number.POSITIVE_INFINITY) {
  const first = await load(0, page);
  const pages = Math.ceil(Math.min(first.total, most) / page);
  const others = await Promise.all(Array.from({ length: Math.max(0, pages - 1) }, (_, index) => load((index + 1) * page, page)));
  return { ...first, items: distinct([first, ...others].flatMap(({ items }) => items)) };
}

/** Reads a record again from a list without a single-record endpoint; undefined: it no longer exists. */
export const again = async <T extends { readonly id: string }>({ id }: T, load: Load<T>): Promise<T | undefined> =>
  (await allOf(load, 100)).items.find((one) => one.id === id);

/** A new item at the head of a list moves the last row to the next page, where it appears a second time. */
export function distinct<T>(items: readonly T[]): readonly T[] {
  const seen = new Set<unknown>();
  return items.filter((item) => {
    const id = typeof item === 'object' && item !== null && 'id' in item ? item.id : undefined;
    return id === undefined || (!seen.has(id) && seen.add(id));
  });
}
