import type { Platform } from '#core/platform/platform.ts';
import type { Schema } from '#core/store/schema.ts';
import { eq } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';

export type CanaryRow = Schema['canaries']['$inferSelect'];

export async function runningCanary(app: Platform, tx: Db = app.store.db): Promise<CanaryRow | null> {
  const { canaries } = app.store.tables;
  const [row] = await tx.select().from(canaries).where(eq(canaries.status, 'running'));
  return row ?? null;
}

export async function readCanary(app: Platform, id: string): Promise<CanaryRow | undefined> {
  const { canaries } = app.store.tables;
  const [row] = await app.store.db.select().from(canaries).where(eq(canaries.id, id));
  return row;
}
