import { inArray } from 'drizzle-orm';
import { createSlices, pagesOf } from '#core/lib/slices.ts';
import { SNAPSHOT_FORMAT } from '#snapshots/format/format.ts';
import { type Leaf, parseBranch, toTree, type Tree } from '#snapshots/format/tree.ts';
import type { Db, Store } from './store.ts';

/** First line of a stored version. The hashes of its branches follow. Their texts are stored with the entities. */
const LISTED = `${SNAPSHOT_FORMAT} branches\n`;
/** Hashes per statement. */
export const PAGE = 200;

/** The stored form of a version: the hashes of its branches. A deploy writes only new branches. */
export const listOf = ({ branches }: Pick<Tree, 'branches'>): string => `${LISTED}${branches.map(({ hash }) => hash).join('\n')}`;

/** The hashes of a stored version's branches. */
export function branchesIn(content: string): string[] {
  if (!content.startsWith(LISTED)) throw new Error('A stored version has a format that this version does not read.');
  return content.slice(LISTED.length).split('\n');
}

/** A stored version's tree. Rejects when one of its branches is not stored. */
export async function readTree(store: Pick<Store, 'tables'>, tx: Db, content: string): Promise<Tree> {
  return toTree((await readBranches(store, tx, branchesIn(content))).flat());
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

/** The first leaves of a stored version, up to one that does not match. */
export async function readFirst(
  store: Pick<Store, 'tables'>,
  tx: Db,
  content: string,
  matches: (leaf: Leaf) => boolean,
): Promise<Leaf[]> {
  const found: Leaf[] = [];
  for (const hash of branchesIn(content)) {
    const leaves = (await readBranches(store, tx, [hash])).flat();
    const matching = leaves.filter(matches);
    found.push(...matching);
    if (matching.length < leaves.length) break;
  }
  return found;
}

/** Stored texts by their hashes, without missing ones. */
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
