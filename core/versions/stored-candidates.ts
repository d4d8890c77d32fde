import type { Platform } from '#core/platform/platform.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { desc, eq, getTableColumns, inArray, isNotNull } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { branchesIn, listOf, PAGE, readBranches, readTree } from '#core/store/trees.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import { parseTree, type Tree } from '#snapshots/format/tree.ts';
import {
  hashesOf,
  pinnedByCandidates,
  contentOf,
  newBlobs,
  newestVersion,
  readSnapshot,
  type StoredSnapshot,
} from './stored-snapshots.ts';
import { pagesOf } from '#core/lib/slices.ts';

export type CandidateRow = Schema['candidates']['$inferSelect'];

/** What stands for the number of a version where a snapshot is none. */
export const NO_VERSION = 0;

/** Rows without their content, which may be long. */
export type CandidateHead = Omit<CandidateRow, 'content'>;

export async function candidateHeads(app: Platform, tx: Db = app.store.db): Promise<CandidateHead[]> {
  const { candidates } = app.store.tables;
  const { content: _, ...columns } = getTableColumns(candidates);
  return tx.select(columns).from(candidates).orderBy(desc(candidates.id));
}

/** Those with an address of their own, which are the ones that people count. */
export async function countShown(app: Platform, tx: Db): Promise<number> {
  const { candidates } = app.store.tables;
  return tx.$count(candidates, isNotNull(candidates.digest));
}

/** A candidate as what hosts are brought to. */
export async function readCandidate(app: Platform & WithSnapshots, id: string): Promise<StoredSnapshot | null> {
  const { candidates } = app.store.tables;
  const [row] = await app.store.db.select().from(candidates).where(eq(candidates.id, id));
  if (row === undefined) return null;
  const tree = await readTree(app.store, app.store.db, row.content);
  const settings = leavesOf(tree.leaves, 'server');
  const { server } = await contentOf(app, settings);
  const { checksum, created_at, counts } = row;
  return { version: NO_VERSION, checksum, created_at, counts, tree, server, branched: true };
}

/** What hosts may ask for by name: a candidate, or a stored version by its number (`v12`). */
export async function snapshotNamed(app: Platform & WithSnapshots, name: string): Promise<StoredSnapshot | null> {
  const version = /^v(\d{1,9})$/.exec(name)?.[1];
  return version === undefined ? readCandidate(app, name) : readSnapshot(app, Number(version));
}

/** Stores a candidate, and of its entities and branches those that are not stored yet. */
export async function storeCandidate(
  app: Platform & WithSnapshots,
  tx: Db,
  row: Omit<CandidateRow, 'content' | 'checksum'>,
  tree: Tree,
  textOf: (hash: string) => string | undefined,
): Promise<void> {
  const { candidates, blobs } = app.store.tables;
  const newest = await newestVersion(app, tx);
  for (const page of pagesOf(await newBlobs(app, tx, tree, newest, newest, textOf), PAGE)) {
    // What is there already stays the version's that brought it, with its secrets as they are sealed there.
    await tx.insert(blobs).values(page).onConflictDoNothing();
  }
  await tx.insert(candidates).values({ ...row, checksum: tree.checksum, content: listOf(tree) });
}

/** Removes a candidate, and what no version and no other candidate has. */
export async function removeCandidate(app: Platform & WithSnapshots, tx: Db, id: string): Promise<void> {
  const { candidates, snapshots, blobs } = app.store.tables;
  const left = new Set(await hashesOf(app, tx, id));
  await tx.delete(candidates).where(eq(candidates.id, id));
  const isPinned = await pinnedByCandidates(app, tx);
  for (const hash of left) if (isPinned(hash)) left.delete(hash);
  const branches = new Set<string>();
  for (const { content } of await tx.select({ content: snapshots.content }).from(snapshots)) {
    const listed = branchesIn(content);
    for (const hash of listed ?? []) branches.add(hash);
    if (listed === null) for (const { hash } of parseTree(content).leaves) left.delete(hash);
  }
  for (const hash of branches) left.delete(hash);
  const all = [...branches];
  for (let start = 0; start < all.length && left.size > 0; start += PAGE) {
    for (const leaves of await readBranches(app.store, tx, all.slice(start, start + PAGE))) {
      for (const { hash } of leaves) left.delete(hash);
    }
  }
  const gone = [...left];
  for (const page of pagesOf(gone, PAGE)) {
    await tx.delete(blobs).where(inArray(blobs.hash, page));
  }
}
