import type { Platform } from '#core/platform/platform.ts';
import type { Db } from '#core/store/store.ts';
import { eq, desc, sql, and, inArray, lt, lte } from 'drizzle-orm';
import { branchesIn, readBranches, readTree, readTexts, listOf, PAGE } from '#core/store/trees.ts';
import { type Leaf, type Tree, toContent, HOLDS_SECRETS, deltaBetween, deltaOf, type Delta } from '#snapshots/format/tree.ts';
import type { Counts } from '#core/contract/deploy/deploy.ts';
import type { FrozenServer, SnapshotContent } from '#snapshots/format/format.ts';
import type { StoredActor } from '#core/contract/fields.ts';
import { type RecentMap, createRecentMap } from '#core/lib/recent-map.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Schema } from '#core/store/schema.ts';
import { pagesOf } from '#core/lib/slices.ts';
import { AppError } from '#core/errors.ts';

/** The texts of frozen entities: those that the working copy still has, the others as they are stored. */
export const textsIn =
  (app: Platform & WithSnapshots, textOf: (hash: string) => string | undefined) =>
  async (leaves: readonly Leaf[]): Promise<ReadonlyMap<string, string>> => {
    const stored = await textsOf(
      app,
      leaves.filter(({ hash }) => textOf(hash) === undefined),
    );
    return new Map(leaves.map(({ hash }) => [hash, textOf(hash) ?? stored.get(hash) ?? '']));
  };

/** Contract section 13. */
export const KEPT_SNAPSHOTS = 100;

/** A stored version: its list of entities, whose texts are read when they are needed. */
export interface StoredSnapshot {
  readonly version: number;
  readonly checksum: string;
  readonly created_at: string;
  readonly counts: Counts;
  readonly tree: Tree;
  readonly server: FrozenServer;
  /** Its branches are stored, not its list in one text. */
  readonly branched: boolean;
}

export interface NewSnapshot extends Omit<StoredSnapshot, 'version' | 'branched'> {
  readonly note: string | null;
  readonly actor: StoredActor;
}

/** The versions read or stored last, and the texts that came with the newest, but for secrets: another server may seal them anew. */
export interface SnapshotCache {
  readonly versions: Map<number, StoredSnapshot>;
  texts: ReadonlyMap<string, string>;
  /** How many versions are stored. */
  kept: number;
  /** What candidates hold, by their id: it stays stored when the last version that has it goes. */
  readonly pinned: Map<string, ReadonlySet<string>>;
  /** Whether a configuration reads a claim of callers, by the claim and its checksum: it never changes. */
  readonly claim_reads: RecentMap<boolean>;
}

/** Hosts are brought from one of these to the active one. */
const CACHED = 3;

export const createSnapshotCache = (): SnapshotCache => ({
  versions: new Map(),
  texts: new Map(),
  kept: KEPT_SNAPSHOTS,
  pinned: new Map(),
  claim_reads: createRecentMap(2 * CACHED),
});

export async function readSnapshot(app: Platform & WithSnapshots, version: number): Promise<StoredSnapshot | null> {
  const cached = app.snapshot_cache.versions.get(version);
  if (cached !== undefined) return cached;
  const { snapshots } = app.store.tables;
  const [row] = await app.store.db.select().from(snapshots).where(eq(snapshots.version, version));
  if (row === undefined) return null;
  const tree = await readTree(app.store, app.store.db, row.content);
  const { server } = await contentOf(app, leavesOf(tree.leaves, 'server'));
  const { checksum, created_at, counts } = row;
  const branched = branchesIn(row.content) !== null;
  return cacheSnapshot(app, { version, checksum, created_at, counts, tree, server, branched });
}

export function cacheSnapshot(app: Platform & WithSnapshots, stored: StoredSnapshot): StoredSnapshot {
  const { versions } = app.snapshot_cache;
  versions.delete(stored.version);
  versions.set(stored.version, stored);
  for (const [oldest] of [...versions].slice(0, -CACHED)) versions.delete(oldest);
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

/** The configuration that some leaves stand for; those of a whole tree: all of it. */
export async function contentOf(app: Platform & WithSnapshots, leaves: readonly Leaf[]): Promise<SnapshotContent> {
  const texts = await textsOf(app, leaves);
  return toContent(leaves, (hash) => texts.get(hash));
}

/** 0 when nothing was ever deployed. */
export async function newestVersion(app: Platform, tx: Db = app.store.db): Promise<number> {
  const { snapshots } = app.store.tables;
  const [newest] = await tx.select({ version: snapshots.version }).from(snapshots).orderBy(desc(snapshots.version)).limit(1);
  return newest?.version ?? 0;
}

/** Stores a snapshot as the next version, and of its entities and branches those that the version before lacks. */
export async function storeSnapshot(
  app: Platform & WithSnapshots,
  tx: Db,
  { tree, note, actor, server, ...head }: NewSnapshot,
  textOf: (hash: string) => string | undefined,
): Promise<StoredSnapshot> {
  const { snapshots } = app.store.tables;
  const newest = await newestVersion(app, tx);
  const version = newest + 1;
  const rows = await newBlobs(app, tx, tree, newest, version, textOf);
  const { checksum, created_at, counts } = head;
  await Promise.all([
    storeBlobs(app, tx, rows),
    tx.insert(snapshots).values({ version, checksum, content: listOf(tree), counts, note, actor, created_at }),
  ]);
  await forgetOldest(app, tx, version - app.snapshot_cache.kept);
  const kept = rows.filter(({ kind }) => kind !== 'branch' && !HOLDS_SECRETS.includes(kind));
  app.snapshot_cache.texts = new Map(kept.map(({ hash, text }) => [hash, text]));
  return { version, ...head, tree, server, branched: true };
}

type NewBlob = Schema['blobs']['$inferInsert'];

/** The entities and branches of a tree that an earlier version lacks. Rejects when a text is neither given nor stored. */
export async function newBlobs(
  app: Platform & WithSnapshots,
  tx: Db,
  tree: Tree,
  earlier: number,
  since: number,
  textOf: (hash: string) => string | undefined,
): Promise<NewBlob[]> {
  const before = await listedOf(app, tx, earlier);
  const { added } = deltaBetween(before?.tree ?? null, tree);
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
  const known = new Set(before?.branched === true ? before.tree.branches.map(({ hash }) => hash) : []);
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
type Listed = Pick<StoredSnapshot, 'tree' | 'branched'>;

async function listedOf(app: Platform & WithSnapshots, tx: Db, version: number): Promise<Listed | null> {
  const cached = app.snapshot_cache.versions.get(version);
  if (cached !== undefined) return cached;
  const content = await contentText(app, tx, version);
  return content === null ? null : { tree: await readTree(app.store, tx, content), branched: branchesIn(content) !== null };
}

/**
 * Drops versions up to `last`, and each entity and branch with the last version that has it: one that the next version lacks and
 * that did not come back since.
 */
async function forgetOldest(app: Platform & WithSnapshots, tx: Db, last: number): Promise<void> {
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

/** Hashes that a version has and the next one lacks. Only branches that are not in both are read. */
async function lostAfter(app: Platform, tx: Db, version: number): Promise<string[]> {
  const [old, next] = [await contentText(app, tx, version), await contentText(app, tx, version + 1)];
  if (old === null || next === null) return [];
  const [was, is] = [branchesIn(old), branchesIn(next)];
  const all = async (content: string) => (await readTree(app.store, tx, content)).leaves;
  if (was === null || is === null) return lostWith(deltaOf(await all(next), await all(old)));
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

/** Hashes that candidates need, whichever versions go. What a candidate holds never changes, so it is read once. */
export async function pinnedByCandidates(app: Platform & WithSnapshots, tx: Db): Promise<(hash: string) => boolean> {
  const { candidates } = app.store.tables;
  const rows = await tx.select({ id: candidates.id }).from(candidates);
  const pinned = app.snapshot_cache.pinned;
  const ids = new Set(rows.map(({ id }) => id));
  for (const id of pinned.keys()) if (!ids.has(id)) pinned.delete(id);
  for (const id of ids) if (!pinned.has(id)) pinned.set(id, await hashesOf(app, tx, id));
  return (hash) => [...pinned.values()].some((hashes) => hashes.has(hash));
}

/** Of a candidate's entities and branches. */
export async function hashesOf(app: Platform, tx: Db, id: string): Promise<ReadonlySet<string>> {
  const { candidates } = app.store.tables;
  const [row] = await tx.select({ content: candidates.content }).from(candidates).where(eq(candidates.id, id));
  const branches = branchesIn(row?.content ?? '') ?? [];
  const leaves = (await readBranches(app.store, tx, branches)).flat();
  return new Set([...branches, ...leaves.map(({ hash }) => hash)]);
}

export interface WithSnapshots {
  readonly snapshot_cache: SnapshotCache;
}
