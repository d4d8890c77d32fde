import type { Platform } from '#core/platform/platform.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { desc, eq, getTableColumns, inArray, isNotNull } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { branchesIn, listOf, PAGE, readBranches, readTree } from '#core/store/trees.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Tree } from '#snapshots/format/tree.ts';
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

/** The version number of a snapshot that is not a version. */
export const NO_VERSION = 0;

/** A row without its content, which may be long. */
export type CandidateHead = Omit<CandidateRow, 'content'>;

export async function candidateHeads(app: Platform, tx: Db = app.store.db): Promise<CandidateHead[]> {
  const { candidates } = app.store.tables;
  const { content: _, ...columns } = getTableColumns(candidates);
  return tx.select(columns).from(candidates).orderBy(desc(candidates.id));
}

/** Candidates with an address: the only ones that the interface lists. */
export async function countShown(app: Platform, tx: Db): Promise<number> {
  const { candidates } = app.store.tables;
  return tx.$count(candidates, isNotNull(candidates.digest));
}

/** A candidate in the form in which hosts load it. */
export async function readCandidate(app: Platform & WithSnapshots, id: string): Promise<StoredSnapshot | null> {
  const { candidates } = app.store.tables;
  const [row] = await app.store.db.select().from(candidates).where(eq(candidates.id, id));
  if (row === undefined) return null;
  const tree = await readTree(app.store, app.store.db, row.content);
  const settings = leavesOf(tree.leaves, 'server');
  const { server } = await contentOf(app, settings);
  const { checksum, created_at, counts } = row;
  return { version: NO_VERSION, checksum, created_at, counts, tree, server };
}

/** A snapshot that a host requests by name: a candidate by its id, or a stored version by its number (`v12`). */
export async function snapshotNamed(app: Platform & WithSnapshots, name: string): Promise<StoredSnapshot | null> {
  const version = /^v(\d{1,9})$/.exec(name)?.[1];
  return version === undefined ? readCandidate(app, name) : readSnapshot(app, Number(version));
}

/** Stores a candidate, with those of its entities and branches that are not stored yet. */
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
    // Stored blobs stay as they are: they belong to the version that added them, and so do their sealed secrets.
    await tx.insert(blobs).values(page).onConflictDoNothing();
  }
  await tx.insert(candidates).values({ ...row, checksum: tree.checksum, content: listOf(tree) });
}

/** Removes a candidate, and the blobs that neither a version nor another candidate contains. */
export async function removeCandidate(app: Platform & WithSnapshots, tx: Db, id: string): Promise<void> {
  const { candidates, snapshots, blobs } = app.store.tables;
  const unused = new Set(await hashesOf(app, tx, id));
  await tx.delete(candidates).where(eq(candidates.id, id));
  const isPinned = await pinnedByCandidates(app, tx);
  for (const hash of unused) if (isPinned(hash)) unused.delete(hash);
  const branches = new Set<string>();
  for (const { content } of await tx.select({ content: snapshots.content }).from(snapshots)) {
    for (const hash of branchesIn(content)) branches.add(hash);
  }
  for (const hash of branches) unused.delete(hash);
  const all = [...branches];
  for (let start = 0; start < all.length && unused.size > 0; start += PAGE) {
    for (const leaves of await readBranches(app.store, tx, all.slice(start, start + PAGE))) {
      for (const { hash } of leaves) unused.delete(hash);
    }
  }
  for (const page of pagesOf([...unused], PAGE)) {
    await tx.delete(blobs).where(inArray(blobs.hash, page));
  }
}
