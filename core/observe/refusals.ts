import type { Platform } from '#core/platform/platform.ts';
import { desc, eq, gte, lt, sql } from 'drizzle-orm';
import type { RefusalKind } from '#core/contract/observe/calls.ts';
import type { UsageBatch } from '#core/contract/observe/usage-batch.ts';
import type { Handlers } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import { keepNewest, readPage } from '#core/store/pages.ts';
import { HOUR_MS, hourOf } from './metrics/sums.ts';

const MAX_REFUSALS = 1_000;
const COUNTED_MS = 24 * HOUR_MS;

/** Stores the refused requests of a host: the newest in a list, and the number of all. */
export async function storeRefusals(
  app: Platform,
  tx: Db,
  { refusals, refused }: Pick<UsageBatch, 'refusals' | 'refused'>,
): Promise<void> {
  const { refusals: table, refusal_counts } = app.store.tables;
  const now = app.clock().getTime();
  if (refusals.length > 0) {
    await tx
      .insert(table)
      .values(
        refusals
          .slice(-MAX_REFUSALS)
          .map(({ timestamp, ...rest }) => ({ ...rest, timestamp: new Date(Math.min(timestamp, now)).toISOString() })),
      );
    await keepNewest(tx, table, MAX_REFUSALS);
  }
  const hour = hourOf(now);
  for (const [kind, count] of Object.entries(refused) as [RefusalKind, number][]) {
    await tx
      .insert(refusal_counts)
      .values({ hour, kind, count })
      .onConflictDoUpdate({
        target: [refusal_counts.hour, refusal_counts.kind],
        set: { count: sql`${refusal_counts.count} + excluded.count` },
      });
  }
  if (Object.keys(refused).length > 0)
    await tx.delete(refusal_counts).where(lt(refusal_counts.hour, hourOf(now - 2 * COUNTED_MS)));
}

export const refusalHandlers: Pick<Handlers, 'logs.refusals'> = {
  'logs.refusals': async ({ app }, { skip, limit, kind }) => {
    const { refusals: table, refusal_counts } = app.store.tables;
    const { db } = app.store;
    const where = kind === undefined ? undefined : eq(table.kind, kind);
    const since = hourOf(app.clock().getTime() - COUNTED_MS);
    const [{ rows, total }, hours] = await Promise.all([
      readPage(db, table, { where, order: [desc(table.id)], skip, limit }),
      db.select().from(refusal_counts).where(gte(refusal_counts.hour, since)),
    ]);
    const counts: Partial<Record<RefusalKind, number>> = {};
    for (const { kind: counted, count } of hours) counts[counted] = (counts[counted] ?? 0) + count;
    return { items: rows.map((row) => ({ ...row, id: String(row.id) })), total, counts, counted_since: since };
  },
};
