import { eq } from 'drizzle-orm';
import type { App } from '#core/platform/platform.ts';
import type { Db } from '#core/store/store.ts';
import { branchesIn, readBranches } from '#core/store/trees.ts';

/** Hashes that candidates need, whichever versions go. What a candidate holds never changes, so it is read once. */
export async function pinnedByCandidates(app: App, tx: Db): Promise<(hash: string) => boolean> {
  const { candidates } = app.store.tables;
  const rows = await tx.select({ id: candidates.id }).from(candidates);
  const pinned = app.snapshot_cache.pinned;
  const ids = new Set(rows.map(({ id }) => id));
  for (const id of pinned.keys()) if (!ids.has(id)) pinned.delete(id);
  for (const id of ids) if (!pinned.has(id)) pinned.set(id, await hashesOf(app, tx, id));
  return (hash) => [...pinned.values()].some((hashes) => hashes.has(hash));
}

/** Of a candidate's entities and branches. */
export async function hashesOf(app: App, tx: Db, id: string): Promise<ReadonlySet<string>> {
  const { candidates } = app.store.tables;
  const [row] = await tx.select({ content: candidates.content }).from(candidates).where(eq(candidates.id, id));
  const branches = branchesIn(row?.content ?? '') ?? [];
  const leaves = (await readBranches(app.store, tx, branches)).flat();
  return new Set([...branches, ...leaves.map(({ hash }) => hash)]);
}
