import { eq } from 'drizzle-orm';
import type { Db, Store } from './store.ts';

/** The key for the time of the last backup. */
export const BACKUP_AT = 'backup_at';

/** Reads a text that the servers of an installation share, by its key. Null when it was never written. */
export async function readMeta({ tables: { meta } }: Pick<Store, 'tables'>, db: Db, key: string): Promise<string | null> {
  const [row] = await db.select().from(meta).where(eq(meta.key, key));
  return row?.value ?? null;
}

export async function writeMeta({ tables: { meta } }: Pick<Store, 'tables'>, tx: Db, key: string, value: string): Promise<void> {
  await tx.insert(meta).values({ key, value }).onConflictDoUpdate({ target: meta.key, set: { value } });
}
