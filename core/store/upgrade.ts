import { asc, eq, inArray } from 'drizzle-orm';
import type { Log } from '#core/process/log.ts';
import { type SnapshotContent, WHOLE_FORMAT } from '#snapshots/format/format.ts';
import { toBlobs, toTree } from '#snapshots/format/tree.ts';
import { writeAlone } from './journal.ts';
import type { Db, Store } from './store.ts';
import { readTree } from './trees.ts';
import { pagesOf } from '#core/lib/slices.ts';

const WHOLE = `{"connections":`;
/** Hashes that one statement asks for. */
const PAGE = 500;
/** A start that takes longer says how far it is. */
const PROGRESS_MS = 5_000;

/**
 * Snapshots of the first edition hold their whole content in one text: each becomes the list of its entities, which are stored
 * once. Each is a transaction of its own that is done by one server alone, so that several may start at once, and whoever is
 * ended goes on where it was.
 */
export async function upgradeSnapshots(store: Store, log: Pick<Log, 'info'> | null = null): Promise<void> {
  const { snapshots } = store.tables;
  const versions = await store.db.select({ version: snapshots.version }).from(snapshots).orderBy(asc(snapshots.version));
  let converted = 0;
  let said = 0;
  for (const [n, { version }] of versions.entries()) {
    if (!isWhole(await contentOf(store, store.db, version))) continue;
    if (converted === 0) {
      said = performance.now();
      log?.info('converting deployed versions of the first edition', { versions: versions.length - n });
    }
    await store.write(async (tx) => {
      await writeAlone(store, tx);
      await upgradeOne(store, tx, version);
    });
    converted++;
    if (performance.now() - said < PROGRESS_MS) continue;
    log?.info('still converting deployed versions', { converted, left: versions.length - n - 1 });
    said = performance.now();
  }
  if (converted > 0) log?.info('deployed versions converted', { versions: converted });
}

async function upgradeOne(store: Store, tx: Db, version: number): Promise<void> {
  const { snapshots, blobs } = store.tables;
  const whole = await contentOf(store, tx, version);
  // Another server was quicker.
  if (!isWhole(whole)) return;
  const content = JSON.parse(whole) as Omit<SnapshotContent, 'format'> & { readonly format: string };
  if (content.format !== WHOLE_FORMAT) throw new Error(`Snapshot ${version} has a format that this version does not read.`);
  const parts = toBlobs(content);
  const tree = toTree(parts.map(({ text: _, ...leaf }) => leaf));
  const earlier = await contentOf(store, tx, version - 1);
  const before = new Set(earlier === '' ? [] : (await readTree(store, tx, earlier)).leaves.map(({ hash }) => hash));
  const fresh = parts.filter(({ hash }) => !before.has(hash));
  for (const page of pagesOf(fresh, PAGE)) {
    const hashes = page.map(({ hash }) => hash);
    const stored = await tx.select({ hash: blobs.hash }).from(blobs).where(inArray(blobs.hash, hashes));
    const known = stored.map(({ hash }) => hash);
    if (known.length > 0) await tx.update(blobs).set({ since: version }).where(inArray(blobs.hash, known));
    const rows = page.flatMap(({ hash, kind, text }) => (known.includes(hash) ? [] : [{ hash, kind, text, since: version }]));
    if (rows.length > 0) await tx.insert(blobs).values(rows);
  }
  await tx.update(snapshots).set({ content: tree.text, checksum: tree.checksum }).where(eq(snapshots.version, version));
}

const isWhole = (content: string): boolean => content.startsWith(WHOLE);

/** Empty when there is no such version. */
async function contentOf({ tables: { snapshots } }: Store, tx: Db, version: number): Promise<string> {
  const [row] = await tx.select({ content: snapshots.content }).from(snapshots).where(eq(snapshots.version, version));
  return row?.content ?? '';
}
