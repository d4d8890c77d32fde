import type { Platform } from '#core/platform/platform.ts';
import type { Db } from '#core/store/store.ts';
import { eq, desc, sql, and, inArray, lt, lte } from 'drizzle-orm';
import { branchesIn, readBranches, readTree, readTexts, listOf, PAGE } from '#core/store/trees.ts';
import { type Leaf, type Tree, toContent, HOLDS_SECRETS, deltaBetween, deltaOf, type Delta } from '#snapshots/format/tree.ts';
import type { LeafKind } from '#core/contract/entities.ts';
import type { Counts } from '#core/contract/deploy/deploy.ts';
import type { FrozenServer, SnapshotContent } from '#snapshots/format/format.ts';
import type { StoredActor } from '#core/contract/fields.ts';
import { type RecentMap, createRecentMap } from '#core/lib/recent-map.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Schema } from '#core/store/schema.ts';
import { pagesOf } from '#core/lib/slices.ts';
import { AppError } from '#core/errors.ts';

/** Reads the texts of frozen entities: from the working copy when it still has them, otherwise from the store. */
export const textsIn =
  (app: Platform & WithSnapshots, textOf: (hash: string) => string | undefined) =>
  async (leaves: readonly Leaf[]): Promise<ReadonlyMap<string, string>> => {
    const stored = await textsOf(
      app,
      leaves.filter(({ hash }) => textOf(hash) === undefined),
    );
    return new Map(leaves.map(({ hash }) => [hash, textOf(hash) ?? stored.get(hash) ?? '']));
  };

/** Older versions are deleted. */
export const MAX_SNAPSHOTS = 100;

/** A stored version: a list of its entities, whose texts are read when they are needed. */
export interface StoredSnapshot {
  readonly version: number;
  readonly checksum: string;
  readonly created_at: string;
  readonly counts: Counts;
  readonly tree: Tree;
  readonly server: FrozenServer;
}

export interface NewSnapshot extends Omit<StoredSnapshot, 'version'> {
  readonly note: string | null;
  readonly actor: StoredActor;
}

/** The versions that were read or stored last, and the texts that the newest one added. */
export interface SnapshotCache {
  readonly versions: Map<number, StoredSnapshot>;
  /** By hash. Without texts that may hold secrets: another server may seal them with another key. */
  texts: ReadonlyMap<string, string>;
  /** How many versions stay in the store. */
  max_versions: number;
  /** Hashes that each candidate contains, by its id. They stay stored when the last version with them is deleted. */
  readonly pinned: Map<string, ReadonlySet<string>>;
  /** Whether a configuration reads a claim of callers, by claim and checksum. The answer never changes. */
  readonly claim_reads: RecentMap<boolean>;
  /** References to secrets in frozen connections and settings, by their hash. */
  readonly secret_refs: RecentMap<readonly string[]>;
  /** The changes from one version to another, by both numbers. Versions never change. */
  readonly changed: RecentMap<VersionChanges>;
}

/** The names of the entities that a version adds, changes and removes, by kind, and their keys. */
export interface VersionChanges {
  readonly names: ReadonlyMap<LeafKind, Readonly<Record<'added' | 'changed' | 'removed', readonly string[]>>>;
  readonly keys: readonly string[];
}

/** Enough to send a host only what changed between the version it serves and the active one. */
const CACHED_VERSIONS = 3;

/** An installation has at most 1 000 connections. */
const MAX_SECRET_REFS = 1_000;

export const createSnapshotCache = (): SnapshotCache => ({
  versions: new Map(),
  texts: new Map(),
  max_versions: MAX_SNAPSHOTS,
  pinned: new Map(),
  claim_reads: createRecentMap(2 * CACHED_VERSIONS),
  secret_refs: createRecentMap(MAX_SECRET_REFS),
  changed: createRecentMap(MAX_SNAPSHOTS),
});

/** Drops the cached versions and texts, which are then read from the store. */
export function clearSnapshotCache({ snapshot_cache }: WithSnapshots): void {
  snapshot_cache.versions.clear();
  snapshot_cache.texts = new Map();
}

/** Frees the cached texts when they are more than `max`. @returns how many there were. */
export function releaseTexts({ snapshot_cache }: WithSnapshots, max: number): number {
  const { size } = snapshot_cache.texts;
  if (size >= max) snapshot_cache.texts = new Map();
  return size;
}

export async function readSnapshot(app: Platform & WithSnapshots, version: number): Promise<StoredSnapshot | null> {
  const cached = app.snapshot_cache.versions.get(version);
  if (cached !== undefined) return cached;
  const { snapshots } = app.store.tables;
  const [row] = await app.store.db.select().from(snapshots).where(eq(snapshots.version, version));
  if (row === undefined) return null;
  const tree = await readTree(app.store, app.store.db, row.content);
  const { server } = await contentOf(app, leavesOf(tree.leaves, 'server'));
  const { checksum, created_at, counts } = row;
  return cacheSnapshot(app, { version, checksum, created_at, counts, tree, server });
}

export function cacheSnapshot(app: Platform & WithSnapshots, stored: StoredSnapshot): StoredSnapshot {
  const { versions } = app.snapshot_cache;
  versions.delete(stored.version);
  versions.set(stored.version, stored);
  for (const [oldest] of [...versions].slice(0, -CACHED_VERSIONS)) versions.delete(oldest);
  return stored;
}

/** The canonical texts of some leaves, by hash. Rejects when one is not stored. */
export async function textsOf(app: Platform & WithSnapshots, leaves: readonly Leaf[]): Promise<Map<string, string>> {
  const fresh = app.snapshot_cache.texts;
  const missing = new Set(leaves.flatMap(({ hash }) => (fresh.has(hash) ? [] : [hash])));
  const found = await readTexts(app.store, app.store.db, [...missing]);
  for (const { hash } of leaves) {
    const text = fresh.get(hash);
    if (text !== undefined) found.set(hash, text);
  }
  const lost = leaves.find(({ hash }) => !found.has(hash));
  if (lost !== undefined) throw notStored(lost);
  return found;
}

/** The configuration that these leaves describe: all of it when they are the leaves of a whole tree. */
export async function contentOf(app: Platform & WithSnapshots, leaves: readonly Leaf[]): Promise<SnapshotContent> {
  const texts = await textsOf(app, leaves);
  return toContent(leaves, (hash) => texts.get(hash));
}

/** Number of the newest version, or 0 when nothing was ever deployed. */
export async function newestVersion(app: Platform, tx: Db = app.store.db): Promise<number> {
  const { snapshots } = app.store.tables;
  const [newest] = await tx.select({ version: snapshots.version }).from(snapshots).orderBy(desc(snapshots.version)).limit(1);
  return newest?.version ?? 0;
}

/**
 * Stores a snapshot as the next version, with those of its entities and branches that the previous version lacks.
 * @param newest number of the newest version, read in the same transaction.
 */
export async function storeSnapshot(
  app: Platform & WithSnapshots,
  tx: Db,
  { tree, note, actor, server, ...head }: NewSnapshot,
  textOf: (hash: string) => string | undefined,
  newest: number,
): Promise<StoredSnapshot> {
  const { snapshots } = app.store.tables;
  const version = newest + 1;
  const rows = await newBlobs(app, tx, tree, newest, version, textOf);
  const { checksum, created_at, counts } = head;
  await Promise.all([
    storeBlobs(app, tx, rows),
    tx.insert(snapshots).values({ version, checksum, content: listOf(tree), counts, note, actor, created_at }),
  ]);
  await deleteOldest(app, tx, version - app.snapshot_cache.max_versions);
  const cacheable = rows.filter(({ kind }) => kind !== 'branch' && !HOLDS_SECRETS.includes(kind));
  app.snapshot_cache.texts = new Map(cacheable.map(({ hash, text }) => [hash, text]));
  return { version, ...head, tree, server };
}

type NewBlob = Schema['blobs']['$inferInsert'];

/** The entities and branches of a tree that an earlier version lacks. Rejects when `textOf` and the store both lack a text. */
export async function newBlobs(
  app: Platform & WithSnapshots,
  tx: Db,
  tree: Tree,
  earlier: number,
  since: number,
  textOf: (hash: string) => string | undefined,
): Promise<NewBlob[]> {
  const before = await treeOf(app, tx, earlier);
  const { added } = deltaBetween(before, tree);
  const stored = await readTexts(
    app.store,
    tx,
    added.flatMap(({ hash }) => (textOf(hash) === undefined ? [hash] : [])),
  );
  const rows = new Map<string, NewBlob>();
  for (const leaf of added) {
    const { hash, kind } = leaf;
    const text = textOf(hash) ?? stored.get(hash);
    if (text === undefined) throw notStored(leaf);
    rows.set(hash, { hash, kind, text, since });
  }
  const known = new Set(before?.branches.map(({ hash }) => hash));
  for (const { hash, text } of tree.branches) if (!known.has(hash)) rows.set(hash, { hash, kind: 'branch', text, since });
  return [...rows.values()];
}

async function storeBlobs(app: Platform, tx: Db, rows: readonly NewBlob[]): Promise<void> {
  const { blobs } = app.store.tables;
  const set = { since: sql`excluded.since`, text: sql`excluded.text` };
  for (const page of pagesOf(rows, PAGE)) {
    await tx.insert(blobs).values(page).onConflictDoUpdate({ target: blobs.hash, set });
  }
}

/** A stored version's tree, and whether its branches are stored. */
async function treeOf(app: Platform & WithSnapshots, tx: Db, version: number): Promise<Tree | null> {
  const cached = app.snapshot_cache.versions.get(version);
  if (cached !== undefined) return cached.tree;
  const content = await contentText(app, tx, version);
  return content === null ? null : await readTree(app.store, tx, content);
}

/**
 * Deletes versions up to `last`, and the entities and branches that no later version contains: the next version lacks them, and none
 * added them again since.
 */
async function deleteOldest(app: Platform & WithSnapshots, tx: Db, last: number): Promise<void> {
  if (last < 1) return;
  const { snapshots, blobs } = app.store.tables;
  const old = await tx.select({ version: snapshots.version }).from(snapshots).where(lte(snapshots.version, last));
  const isPinned = old.length === 0 ? () => false : await pinnedByCandidates(app, tx);
  for (const { version } of old.toSorted((a, b) => a.version - b.version)) {
    const gone = (await lostAfter(app, tx, version)).filter((hash) => !isPinned(hash));
    for (const hashes of pagesOf(gone, PAGE)) {
      await tx.delete(blobs).where(and(inArray(blobs.hash, hashes), lte(blobs.since, version)));
    }
    app.snapshot_cache.versions.delete(version);
  }
  if (old.length > 0) await tx.delete(snapshots).where(lt(snapshots.version, last + 1));
}

/** Hashes that a version contains and the next one lacks. Reads only the branches that are not in both. */
async function lostAfter(app: Platform, tx: Db, version: number): Promise<string[]> {
  const [old, next] = [await contentText(app, tx, version), await contentText(app, tx, version + 1)];
  if (old === null || next === null) return [];
  const [was, is] = [branchesIn(old), branchesIn(next)];
  const [had, has] = [new Set(was), new Set(is)];
  const lost = was.filter((hash) => !has.has(hash));
  const came = is.filter((hash) => !had.has(hash));
  const leavesOf = async (hashes: readonly string[]) => (await readBranches(app.store, tx, hashes)).flat();
  return [...lost, ...lostWith(deltaOf(await leavesOf(came), await leavesOf(lost)))];
}

async function contentText(app: Platform, tx: Db, version: number): Promise<string | null> {
  const { snapshots } = app.store.tables;
  const [row] = await tx.select({ content: snapshots.content }).from(snapshots).where(eq(snapshots.version, version));
  return row?.content ?? null;
}

const notStored = ({ kind, name }: Leaf): AppError => new AppError('internal', `The text of the ${kind} ${name} is not stored.`);

const lostWith = ({ added }: Delta): string[] => added.map(({ hash }) => hash);

/** Tests whether a candidate needs a hash, even when no version does. A candidate never changes, so it is read once. */
export async function pinnedByCandidates(app: Platform & WithSnapshots, tx: Db): Promise<(hash: string) => boolean> {
  const { candidates } = app.store.tables;
  const rows = await tx.select({ id: candidates.id }).from(candidates);
  const pinned = app.snapshot_cache.pinned;
  const ids = new Set(rows.map(({ id }) => id));
  for (const id of pinned.keys()) if (!ids.has(id)) pinned.delete(id);
  for (const id of ids) if (!pinned.has(id)) pinned.set(id, await hashesOf(app, tx, id));
  return (hash) => [...pinned.values()].some((hashes) => hashes.has(hash));
}

/** Hashes of a candidate's entities and branches. */
export async function hashesOf(app: Platform, tx: Db, id: string): Promise<ReadonlySet<string>> {
  const { candidates } = app.store.tables;
  const [row] = await tx.select({ content: candidates.content }).from(candidates).where(eq(candidates.id, id));
  const branches = row === undefined ? [] : branchesIn(row.content);
  const leaves = (await readBranches(app.store, tx, branches)).flat();
  return new Set([...branches, ...leaves.map(({ hash }) => hash)]);
}

export interface WithSnapshots {
  readonly snapshot_cache: SnapshotCache;
}
