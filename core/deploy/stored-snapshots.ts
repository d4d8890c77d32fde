import { and, desc, eq, inArray, lt, lte } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { Counts } from '#core/contract/deploy/deploy.ts';
import { AppError } from '#core/errors.ts';
import { HOLDS_SECRETS } from '#core/identity/keys.ts';
import type { Db } from '#core/store/open.ts';
import type { FrozenServer, SnapshotContent } from '#snapshots/format.ts';
import { deltaOf, type Delta, type Leaf, parseTree, toContent, type Tree } from '#snapshots/tree.ts';

/** Contract section 13. */
export const KEPT_SNAPSHOTS = 100;
/** Hashes that one statement asks for or writes. */
const PAGE = 200;

/** A stored version: its list of entities, whose texts are read when they are needed. */
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
  readonly actor: { readonly type: string; readonly id: string | null; readonly name: string };
}

/** The versions read or stored last, and the texts that came with the newest, but for secrets: another server may seal them anew. */
export interface SnapshotCache {
  readonly versions: Map<number, StoredSnapshot>;
  texts: ReadonlyMap<string, string>;
  /** How many versions are stored. */
  kept: number;
}
export const createSnapshotCache = (): SnapshotCache => ({ versions: new Map(), texts: new Map(), kept: KEPT_SNAPSHOTS });
/** Hosts are brought from one of these to the active one. */
const CACHED = 3;

export async function readSnapshot(app: App, version: number): Promise<StoredSnapshot | null> {
  const cached = app.snapshot_cache.versions.get(version);
  if (cached !== undefined) return cached;
  const { snapshots } = app.store.tables;
  const [row] = await app.store.db.select().from(snapshots).where(eq(snapshots.version, version));
  if (row === undefined) return null;
  const tree = parseTree(row.content);
  const { server } = await contentOf(
    app,
    tree.leaves.filter(({ kind }) => kind === 'server'),
  );
  const { checksum, created_at, counts } = row;
  return cacheSnapshot(app, { version, checksum, created_at, counts, tree, server });
}

export function cacheSnapshot(app: App, stored: StoredSnapshot): StoredSnapshot {
  const { versions } = app.snapshot_cache;
  versions.delete(stored.version);
  versions.set(stored.version, stored);
  for (const [oldest] of [...versions].slice(0, -CACHED)) versions.delete(oldest);
  return stored;
}

/** The canonical texts of some leaves, by hash. Rejects when one is not stored. */
export async function textsOf(app: App, leaves: readonly Leaf[]): Promise<Map<string, string>> {
  const { blobs } = app.store.tables;
  const found = new Map<string, string>();
  const missing = new Set<string>();
  for (const { hash } of leaves) {
    const fresh = app.snapshot_cache.texts.get(hash);
    if (fresh === undefined) missing.add(hash);
    else found.set(hash, fresh);
  }
  const hashes = [...missing];
  for (let start = 0; start < hashes.length; start += PAGE) {
    const rows = await app.store.db
      .select({ hash: blobs.hash, text: blobs.text })
      .from(blobs)
      .where(inArray(blobs.hash, hashes.slice(start, start + PAGE)));
    for (const { hash, text } of rows) found.set(hash, text);
  }
  const lost = leaves.find(({ hash }) => !found.has(hash));
  if (lost !== undefined) throw notStored(lost);
  return found;
}

/** The configuration that some leaves stand for; those of a whole tree: all of it. */
export async function contentOf(app: App, leaves: readonly Leaf[]): Promise<SnapshotContent> {
  const texts = await textsOf(app, leaves);
  return toContent(leaves, (hash) => texts.get(hash));
}

/** 0 when nothing was ever deployed. */
export async function newestVersion(app: App, tx: Db = app.store.db): Promise<number> {
  const { snapshots } = app.store.tables;
  const [newest] = await tx.select({ version: snapshots.version }).from(snapshots).orderBy(desc(snapshots.version)).limit(1);
  return newest?.version ?? 0;
}

/** Stores a snapshot as the next version, and of its entities those that the version before lacks. */
export async function storeSnapshot(
  app: App,
  tx: Db,
  { tree, note, actor, server, ...head }: NewSnapshot,
  textOf: (hash: string) => string | undefined,
): Promise<StoredSnapshot> {
  const { snapshots } = app.store.tables;
  const newest = await newestVersion(app, tx);
  const version = newest + 1;
  const before = await treeOf(app, tx, newest);
  const texts = new Map<string, string>();
  for (const leaf of deltaOf(before?.leaves ?? null, tree.leaves).added) {
    const text = textOf(leaf.hash) ?? (await storedText(app, tx, leaf));
    if (text === null) throw notStored(leaf);
    if (!HOLDS_SECRETS.includes(leaf.kind)) texts.set(leaf.hash, text);
    await storeBlob(app, tx, leaf, text, version);
  }
  const { checksum, created_at, counts } = head;
  await tx.insert(snapshots).values({ version, checksum, content: tree.text, counts, note, actor, created_at });
  await forgetOldest(app, tx, version - app.snapshot_cache.kept);
  app.snapshot_cache.texts = texts;
  return { version, ...head, tree, server };
}

async function storeBlob(app: App, tx: Db, { kind, hash }: Leaf, text: string, since: number): Promise<void> {
  const { blobs } = app.store.tables;
  await tx.insert(blobs).values({ hash, kind, text, since }).onConflictDoUpdate({ target: blobs.hash, set: { since, text } });
}

async function storedText(app: App, tx: Db, { hash }: Leaf): Promise<string | null> {
  const { blobs } = app.store.tables;
  const [row] = await tx.select({ text: blobs.text }).from(blobs).where(eq(blobs.hash, hash));
  return row?.text ?? null;
}

async function treeOf(app: App, tx: Db, version: number): Promise<Tree | null> {
  const cached = app.snapshot_cache.versions.get(version);
  if (cached !== undefined) return cached.tree;
  const { snapshots } = app.store.tables;
  const [row] = await tx.select({ content: snapshots.content }).from(snapshots).where(eq(snapshots.version, version));
  return row === undefined ? null : parseTree(row.content);
}

/**
 * Drops versions up to `last`, and each entity with the last version that has it: one that the next version lacks and that did
 * not come back since.
 */
async function forgetOldest(app: App, tx: Db, last: number): Promise<void> {
  const { snapshots, blobs } = app.store.tables;
  const old = await tx.select({ version: snapshots.version }).from(snapshots).where(lte(snapshots.version, last));
  for (const { version } of old.toSorted((a, b) => a.version - b.version)) {
    const [tree, next] = [await treeOf(app, tx, version), await treeOf(app, tx, version + 1)];
    const gone = next === null || tree === null ? [] : lostWith(deltaOf(next.leaves, tree.leaves));
    for (let start = 0; start < gone.length; start += PAGE) {
      const hashes = gone.slice(start, start + PAGE);
      await tx.delete(blobs).where(and(inArray(blobs.hash, hashes), lte(blobs.since, version)));
    }
    app.snapshot_cache.versions.delete(version);
  }
  if (old.length > 0) await tx.delete(snapshots).where(lt(snapshots.version, last + 1));
}

const notStored = ({ kind, name }: Leaf): AppError => new AppError('internal', `The text of the ${kind} ${name} is not stored.`);
const lostWith = ({ added }: Delta): string[] => added.map(({ hash }) => hash);
