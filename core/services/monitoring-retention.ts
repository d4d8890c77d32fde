import { and, asc, desc, eq, inArray, lt, lte, or } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { repeat } from './chores.ts';

const DAY_MS = 24 * 3_600_000;

/** Contract sections 10 and 13: what is kept of calls, minutes and revoked tokens. */
export const KEPT = {
  logs: 1_000_000,
  logs_ms: 30 * DAY_MS,
  series_ms: 7 * DAY_MS,
  revoked_tokens_ms: 30 * DAY_MS,
  /** A host that is cut off for longer sends what it has under the same sequence at most a day later. */
  reports_ms: DAY_MS,
} as const;

/** Rows of one transaction: other writers wait no longer than for so many. */
const ROWS_AT_ONCE = 5_000;
/** Of several servers one works within this time. */
const INTERVAL_MS = 10 * 60_000;

/** Forgets what is too old, or too much. @returns the number of request logs that went, null when another server was first. */
export async function forgetUsage(app: App, most_logs: number = KEPT.logs): Promise<number | null> {
  if (!(await claim(app))) return null;
  const { request_logs, usage_series, host_reports, mcp_tokens } = app.store.tables;
  const before = (ms: number) => new Date(app.clock().getTime() - ms).toISOString();
  await app.store.write(async (tx) => {
    // The hour in which the oldest minute lies is still asked for.
    await tx.delete(usage_series).where(lt(usage_series.start, before(KEPT.series_ms + 3_600_000)));
    await tx.delete(host_reports).where(lt(host_reports.reported_at, before(KEPT.reports_ms)));
    await tx
      .delete(mcp_tokens)
      .where(and(eq(mcp_tokens.revoked, true), lt(mcp_tokens.revoked_at, before(KEPT.revoked_tokens_ms))));
  });
  const surplus = await app.store.db
    .select({ id: request_logs.id, timestamp: request_logs.timestamp })
    .from(request_logs)
    .orderBy(desc(request_logs.timestamp), desc(request_logs.id))
    .limit(1)
    .offset(most_logs);
  const by_age = { timestamp: before(KEPT.logs_ms), id: '' };
  const last = surplus[0] !== undefined && surplus[0].timestamp >= by_age.timestamp ? surplus[0] : by_age;
  // In this form both databases read only the part of the index that goes.
  const where = and(
    lte(request_logs.timestamp, last.timestamp),
    or(lt(request_logs.timestamp, last.timestamp), lte(request_logs.id, last.id)),
  );
  for (let forgotten = 0; ;) {
    const gone = await app.store.write((tx) => {
      const oldest = tx
        .select({ id: request_logs.id })
        .from(request_logs)
        .where(where)
        .orderBy(asc(request_logs.timestamp), asc(request_logs.id))
        .limit(ROWS_AT_ONCE);
      return tx.delete(request_logs).where(inArray(request_logs.id, oldest)).returning({ id: request_logs.id });
    });
    forgotten += gone.length;
    if (gone.length < ROWS_AT_ONCE) return forgotten;
  }
}

/** One row says when it was done last. */
async function claim(app: App): Promise<boolean> {
  const { meta } = app.store.tables;
  const value = app.clock().toISOString();
  const due = new Date(app.clock().getTime() - INTERVAL_MS + 1_000).toISOString();
  const claimed = await app.store.write((tx) =>
    tx
      .insert(meta)
      .values({ key: 'usage_forgotten_at', value })
      .onConflictDoUpdate({ target: meta.key, set: { value }, setWhere: lt(meta.value, due) })
      .returning({ key: meta.key }),
  );
  return claimed.length > 0;
}

/** Forgets at once and every 10 minutes, one at a time. @returns a function that ends it. */
export function keepForgetting(app: App): () => void {
  const work = async (): Promise<void> => {
    const forgotten = await forgetUsage(app);
    if (forgotten) app.log.info('request logs forgotten', { count: forgotten });
  };
  return repeat(app, INTERVAL_MS, 'forgetting request logs', work, true);
}
