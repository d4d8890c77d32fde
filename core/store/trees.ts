import { inArray } from 'drizzle-orm';
import { createSlices, pagesOf } from '#core/lib/slices.ts';
import { SNAPSHOT_FORMAT } from '#snapshots/format/format.ts';
import { type Leaf, parseBranch, parseTree, toTree, type Tree } from '#snapshots/format/tree.ts';
import type { Db, Store } from './store.ts';

/** Before the hashes of a tree's branches, which are stored beside the entities. Without it the whole list is there. */
const LISTED = `${SNAPSHOT_FORMAT} branches\n`;
/** Hashes that one statement asks for or writes. */
export const PAGE = 200;

/** What is stored of a version: the hashes of its branches. A deploy writes those that are new. */
export const listOf = ({ branches }: Pick<Tree, 'branches'>): string => `${LISTED}${branches.map(({ hash }) => hash).join('\n')}`;

/** The hashes of a stored version's branches; null where the whole list is in one text, as it was stored before. */
export const branchesIn = (content: string): string[] | null =>
  content.startsWith(LISTED) ? content.slice(LISTED.length).split('\n') : null;

/** A stored version's tree. Rejects when one of its branches is not stored. */
export async function readTree(store: Pick<Store, 'tables'>, tx: Db, content: string): Promise<Tree> {
  const hashes = branchesIn(content);
  if (hashes === null) return parseTree(content);
  return toTree((await readBranches(store, tx, hashes)).flat());
}

/** The leaves of branches, in the order of their hashes. */
export async function readBranches(store: Pick<Store, 'tables'>, tx: Db, hashes: readonly string[]): Promise<Leaf[][]> {
  const texts = await readTexts(store, tx, hashes);
  return hashes.map((hash) => {
    const text = texts.get(hash);
    if (text === undefined) throw new Error('A part of a stored version is missing.');
    return parseBranch(text);
  });
}

/** Of the leaves of a stored version those that come first: up to one that is not wanted. */
export async function readFirst(
  store: Pick<Store, 'tables'>,
  tx: Db,
  content: string,
  isWanted: (leaf: Leaf) => boolean,
): Promise<Leaf[]> {
  const hashes = branchesIn(content);
  if (hashes === null) return parseTree(content).leaves.filter(isWanted);
  const found: Leaf[] = [];
  for (const hash of hashes) {
    const leaves = (await readBranches(store, tx, [hash])).flat();
    const wanted = leaves.filter(isWanted);
    found.push(...wanted);
    if (wanted.length < leaves.length) break;
  }
  return found;
}

/** Stored texts by their hashes, as far as they are there. */
export async function readTexts(
  { tables: { blobs } }: Pick<Store, 'tables'>,
  tx: Db,
  hashes: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const turn = createSlices();
  for (const page of pagesOf(hashes, PAGE)) {
    const rows = await tx.select({ hash: blobs.hash, text: blobs.text }).from(blobs).where(inArray(blobs.hash, page));
    for (const { hash, text } of rows) found.set(hash, text);
    await turn();
  }
  return found;
}
