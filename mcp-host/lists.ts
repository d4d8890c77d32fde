/** The lists of the protocol and the member that their results carry. */
export const LIST_MEMBER = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
} as const;
export type ListMethod = keyof typeof LIST_MEMBER;

/** A list rendered once per snapshot, a page each. */
export interface RenderedList {
  readonly pages: readonly Page[];
  /** Every item as text, to tell whether two snapshots list the same. */
  readonly items: readonly string[];
}

/** The members of a result that is the same for everybody, such as a page of a list. */
export interface Page {
  /** The whole answer, when these texts stand around the members. */
  within(before: string, after: string): Blob;
}

/** Items a page. Clients that read only the first page are common, so it is long. */
const PAGE = 1_000;
/**
 * Whole answers that are kept of a page: clients count their requests, so nearly all ask for a list under the same few ids. An
 * answer that is kept is sent without being copied or encoded again.
 */
const KEPT = 4;

/**
 * @param items each as text. @param edition names the snapshot in cursors, so that a deploy between two pages is seen as such.
 */
export function renderList(method: ListMethod, items: readonly string[], edition: string): RenderedList {
  const pages: Page[] = [];
  for (let start = 0; start === 0 || start < items.length; start += PAGE) {
    const next = start + PAGE < items.length ? `,"nextCursor":"${toCursor(edition, pages.length + 1)}"` : '';
    pages.push(createPage(`"${LIST_MEMBER[method]}":[${items.slice(start, start + PAGE).join(',')}]${next}`));
  }
  return { pages, items };
}

function createPage(members: string): Page {
  const answers = new Map<string, Blob>();
  let bytes: Buffer<ArrayBuffer> | undefined;
  return {
    within(before, after) {
      const key = `${before}${after}`;
      const known = answers.get(key);
      if (known !== undefined) return known;
      const answer = new Blob([before, (bytes ??= Buffer.from(members)), after]);
      const [oldest] = answers.size < KEPT ? [] : answers.keys();
      if (oldest !== undefined) answers.delete(oldest);
      answers.set(key, answer);
      return answer;
    },
  };
}

const toCursor = (edition: string, page: number): string => Buffer.from(`${edition}.${page}`).toString('base64url');

/** The page that a cursor names, or null when it is not ours or from an earlier snapshot. Empty means the first page. */
export function pageAt({ pages }: RenderedList, cursor: string, edition: string): Page | null {
  if (cursor === '') return pages[0] ?? null;
  const page = pages.findIndex((_, n) => n > 0 && toCursor(edition, n) === cursor);
  return pages[page] ?? null;
}

export const sameList = (a: RenderedList, b: RenderedList): boolean =>
  a.items.length === b.items.length && a.items.every((item, n) => item === b.items[n]);
