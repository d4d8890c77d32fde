/** The lists of the protocol and the member that their results carry. */
export const LIST_MEMBER = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
} as const;
export type ListMethod = keyof typeof LIST_MEMBER;

/** A list rendered once per snapshot: the members of its result as text, a page each. */
export interface RenderedList {
  readonly pages: readonly string[];
  /** Every item as text, to tell whether two snapshots list the same. */
  readonly items: readonly string[];
}

/** Items a page. Clients that read only the first page are common, so it is long. */
const PAGE = 1_000;

/**
 * @param items each as text. @param edition names the snapshot in cursors, so that a deploy between two pages is seen as such.
 */
export function renderList(method: ListMethod, items: readonly string[], edition: string): RenderedList {
  const pages: string[] = [];
  for (let start = 0; start === 0 || start < items.length; start += PAGE) {
    const next = start + PAGE < items.length ? `,"nextCursor":"${toCursor(edition, pages.length + 1)}"` : '';
    pages.push(`"${LIST_MEMBER[method]}":[${items.slice(start, start + PAGE).join(',')}]${next}`);
  }
  return { pages, items };
}

const toCursor = (edition: string, page: number): string => Buffer.from(`${edition}.${page}`).toString('base64url');

/** The page that a cursor names, or null when it is not ours or from an earlier snapshot. Empty means the first page. */
export function pageAt({ pages }: RenderedList, cursor: string, edition: string): string | null {
  if (cursor === '') return pages[0] ?? null;
  const page = pages.findIndex((_, n) => n > 0 && toCursor(edition, n) === cursor);
  return pages[page] ?? null;
}

export const sameList = (a: RenderedList, b: RenderedList): boolean =>
  a.items.length === b.items.length && a.items.every((item, n) => item === b.items[n]);
