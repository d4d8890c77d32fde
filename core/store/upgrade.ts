import { asc, eq, inArray } from 'drizzle-orm';
import { type SnapshotContent, WHOLE_FORMAT } from '#snapshots/format.ts';
import { parseTree, toBlobs, toTree } from '#snapshots/tree.ts';
import type { Store } from './open.ts';

const WHOLE = `{"connections":`;

/**
 * Snapshots of the first edition hold their whole content in one text: each becomes the list of its entities, which are stored
 * once. Done again it finds nothing to do, so that several servers may start at once.
 */
export async function upgradeSnapshots(store: Store): Promise<void> {
  const { db, tables } = store;
  const { snapshots, blobs } = tables;
  const versions = await db.select({ version: snapshots.version }).from(snapshots).orderBy(asc(snapshots.version));
  let before = new Set<string>();
  for (const { version } of versions) {
    const hashes = await store.write(async (tx) => {
      const [row] = await tx.select().from(snapshots).where(eq(snapshots.version, version));
      if (row === undefined) return before;
      if (!row.content.startsWith(WHOLE)) return new Set(parseTree(row.content).leaves.map(({ hash }) => hash));
      const content = JSON.parse(row.content) as Omit<SnapshotContent, 'format'> & { readonly format: string };
      if (content.format !== WHOLE_FORMAT) throw new Error(`Snapshot ${version} has a format that this version does not read.`);
      const parts = toBlobs(content);
      const tree = toTree(parts.map(({ text: _, ...leaf }) => leaf));
      const fresh = parts.filter(({ hash }) => !before.has(hash));
      const stored = await tx
        .select({ hash: blobs.hash })
        .from(blobs)
        .where(
          inArray(
            blobs.hash,
            fresh.map(({ hash }) => hash),
          ),
        );
      const known = new Set(stored.map(({ hash }) => hash));
      for (const { hash, kind, text } of fresh) {
        if (known.has(hash)) await tx.update(blobs).set({ since: version }).where(eq(blobs.hash, hash));
        else await tx.insert(blobs).values({ hash, kind, text, since: version });
      }
      await tx.update(snapshots).set({ content: tree.text, checksum: tree.checksum }).where(eq(snapshots.version, version));
      return new Set(parts.map(({ hash }) => hash));
    });
    before = hashes;
  }
}
