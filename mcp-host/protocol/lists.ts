import { createPacked, type Packed } from './gzip.ts';

/** The lists of the protocol, and the member of their results. */
const LIST_MEMBER = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
} as const;
export type ListMethod = keyof typeof LIST_MEMBER;
export const LIST_METHODS = Object.keys(LIST_MEMBER) as readonly ListMethod[];

/** A list, rendered once per snapshot into pages. */
export interface RenderedList {
  readonly pages: readonly Page[];
  /** Every item as text, to compare the lists of two snapshots. */
  readonly items: readonly string[];
  /** The pages without cursors. The next snapshot reuses the ones with the same items. */
  readonly bodies: readonly Page[];
}

/** The members of a result that is the same for all callers, such as a page of a list. */
export interface Page {
  /** The whole answer, with these texts around the members. */
  wrap(before: string, after: string): ResponseBody;
}

/** An answer that is ready to be sent. */
export interface ResponseBody {
  /** Characters of it as text. */
  readonly size: number;
  plain(): Blob;
  /** As gzip; null: too small, or not compressed yet. */
  packed(): Blob | null;
}

/** Items per page. Many clients read only the first page, so it is long. */
const PAGE = 1_000;
/**
 * Answers cached for a page: clients number their requests, so nearly all request a list with the same few ids. A cached answer
 * is sent without copying or encoding it again.
 */
const MOST_CACHED = 4;
const LONGEST_CACHED = 2_000;
/** From this size in bytes on, gzip saves round trips, because a new connection may send only this much at once (RFC 6928). */
const PACKED_FROM = 14_000;

/**
 * @param items each as text. @param snapshot_id names the snapshot in cursors, so that a deploy between two pages is detected.
 * @param before the same list of the previous snapshot: pages with the same items are reused.
 */
export function renderList(
  method: ListMethod,
  items: readonly string[],
  snapshot_id: string,
  before?: RenderedList,
): RenderedList {
  const pages: Page[] = [];
  const bodies: Page[] = [];
  for (let start = 0; start === 0 || start < items.length; start += PAGE) {
    const page = items.slice(start, start + PAGE);
    const old = before?.items.slice(start, start + PAGE);
    const same = old?.length === page.length && page.every((item, n) => item === old[n]);
    const body = (same ? before?.bodies[bodies.length] : undefined) ?? createPage(`"${LIST_MEMBER[method]}":[${page.join(',')}]`);
    bodies.push(body);
    const next = start + PAGE < items.length ? `,"nextCursor":"${toCursor(snapshot_id, bodies.length)}"` : '';
    pages.push({ wrap: (head, tail) => body.wrap(head, `${next}${tail}`) });
  }
  return { pages, items, bodies };
}

export function createPage(members: string): Page {
  let bytes: Buffer<ArrayBuffer> | undefined;
  let packer: Packed | undefined;
  const encoded = () => (bytes ??= Buffer.from(members));
  const plain = caching((before, after) => new Blob([before, encoded(), after]));
  const packed = caching((before, after) => (packer ??= createPacked(encoded())).wrap(before, after));
  const worth = members.length >= PACKED_FROM;
  return {
    wrap: (before, after) => ({
      size: before.length + members.length + after.length,
      plain: () => plain(before, after),
      packed: () => (worth ? packed(before, after) : null),
    }),
  };
}

/** Caches the last few answers, except those with a very long id. */
function caching<T extends Blob | null>(make: (before: string, after: string) => T): (before: string, after: string) => T {
  const cache = new Map<string, T>();
  return (before, after) => {
    if (before.length > LONGEST_CACHED) return make(before, after);
    const key = `${before}${after}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const created = make(before, after);
    if (created === null) return created;
    const [oldest] = cache.size < MOST_CACHED ? [] : cache.keys();
    if (oldest !== undefined) cache.delete(oldest);
    cache.set(key, created);
    return created;
  };
}

const toCursor = (snapshot_id: string, page: number): string => Buffer.from(`${snapshot_id}.${page}`).toString('base64url');

/** The page of a cursor; null when the cursor is unknown or from an earlier snapshot. An empty cursor means the first page. */
export function pageAt({ pages }: RenderedList, cursor: string, snapshot_id: string): Page | null {
  if (cursor === '') return pages[0] ?? null;
  const page = pages.findIndex((_, n) => n > 0 && toCursor(snapshot_id, n) === cursor);
  return pages[page] ?? null;
}

export const sameList = (a: RenderedList, b: RenderedList): boolean =>
  a.items.length === b.items.length && a.items.every((item, n) => item === b.items[n]);
