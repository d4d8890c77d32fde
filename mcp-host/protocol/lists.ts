import { createPacked, type Packed } from './gzip.ts';

/** The lists of the protocol and the member that their results carry. */
export const LIST_MEMBER = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
} as const;
export type ListMethod = keyof typeof LIST_MEMBER;
export const LIST_METHODS = Object.keys(LIST_MEMBER) as readonly ListMethod[];

/** A list rendered once per snapshot, a page each. */
export interface RenderedList {
  readonly pages: readonly Page[];
  /** Every item as text, to tell whether two snapshots list the same. */
  readonly items: readonly string[];
  /** The pages without their cursors: one that lists the same goes over into the next snapshot. */
  readonly bodies: readonly Page[];
}

/** The members of a result that is the same for everybody, such as a page of a list. */
export interface Page {
  /** The whole answer, when these texts stand around the members. */
  wrap(before: string, after: string): ResponseBody;
}

/** An answer that is ready to be sent. */
export interface ResponseBody {
  /** Characters of it as text. */
  readonly size: number;
  plain(): Blob;
  /** As gzip; null when it is not worth while, or not compressed yet. */
  packed(): Blob | null;
}

/** Items a page. Clients that read only the first page are common, so it is long. */
const PAGE = 1_000;
/**
 * ResponseBody answers that are kept of a page: clients count their requests, so nearly all ask for a list under the same few ids. An
 * answer that is kept is sent without being copied or encoded again.
 */
const KEPT = 4;
const LONGEST_KEPT = 2_000;
/** From so many bytes on gzip saves round trips: what a new connection may send at once (RFC 6928). */
const PACKED_FROM = 14_000;

/**
 * @param items each as text. @param snapshot_id names the snapshot in cursors, so that a deploy between two pages is seen as such.
 * @param before the same list of the snapshot before, whose pages stay where they list the same.
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
  const plain = keeping((before, after) => new Blob([before, encoded(), after]));
  const packed = keeping((before, after) => (packer ??= createPacked(encoded())).wrap(before, after));
  const worth = members.length >= PACKED_FROM;
  return {
    wrap: (before, after) => ({
      size: before.length + members.length + after.length,
      plain: () => plain(before, after),
      packed: () => (worth ? packed(before, after) : null),
    }),
  };
}

/** Keeps the last few of what it makes, but nothing for an id of any length. */
function keeping<T extends Blob | null>(make: (before: string, after: string) => T): (before: string, after: string) => T {
  const kept = new Map<string, T>();
  return (before, after) => {
    if (before.length > LONGEST_KEPT) return make(before, after);
    const key = `${before}${after}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const made = make(before, after);
    if (made === null) return made;
    const [oldest] = kept.size < KEPT ? [] : kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(key, made);
    return made;
  };
}

const toCursor = (snapshot_id: string, page: number): string => Buffer.from(`${snapshot_id}.${page}`).toString('base64url');

/** The page that a cursor names, or null when it is not ours or from an earlier snapshot. Empty means the first page. */
export function pageAt({ pages }: RenderedList, cursor: string, snapshot_id: string): Page | null {
  if (cursor === '') return pages[0] ?? null;
  const page = pages.findIndex((_, n) => n > 0 && toCursor(snapshot_id, n) === cursor);
  return pages[page] ?? null;
}

export const sameList = (a: RenderedList, b: RenderedList): boolean =>
  a.items.length === b.items.length && a.items.every((item, n) => item === b.items[n]);
