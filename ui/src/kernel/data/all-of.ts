type Load<T> = (skip: number, limit: number) => Promise<{ items: readonly T[]; total: number }>;

/** A whole list, in pages of as many as the server gives at once; `most` ends it earlier. */
export async function allOf<T>(load: Load<T>, page: number, most = Number.POSITIVE_INFINITY) {
  const first = await load(0, page);
  const pages = Math.ceil(Math.min(first.total, most) / page);
  const others = await Promise.all(Array.from({ length: Math.max(0, pages - 1) }, (_, index) => load((index + 1) * page, page)));
  return { ...first, items: distinct([first, ...others].flatMap(({ items }) => items)) };
}

/** A record as it is by now, of a list that cannot be asked for one; undefined: it is not there any more. */
export const again = async <T extends { readonly id: string }>({ id }: T, load: Load<T>): Promise<T | undefined> =>
  (await allOf(load, 100)).items.find((one) => one.id === id);

/** Something new at the head of a list moves its last row to the next page, where it is seen again. */
export function distinct<T>(items: readonly T[]): readonly T[] {
  const seen = new Set<unknown>();
  return items.filter((item) => {
    const id = typeof item === 'object' && item !== null && 'id' in item ? item.id : undefined;
    return id === undefined || (!seen.has(id) && seen.add(id));
  });
}
