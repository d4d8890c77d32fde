import { eq } from 'drizzle-orm';
import type { Db, Store } from './store.ts';

/** A text that the servers of an installation share, by its key; null: nobody wrote it yet. */
export async function readMeta({ tables: { meta } }: Pick<Store, 'tables'>, db: Db, key: string): Promise<string | null> {
  const [row] = await db.select().from(meta).where(eq(meta.key, key));
  return row?.value ?? null;
}

export async function writeMeta({ tables: { meta } }: Pick<Store, 'tables'>, tx: Db, key: string, value: string): Promise<void> {
  await tx.insert(meta).values({ key, value }).onConflictDoUpdate({ target: meta.key, set: { value } });
}
