import type { Platform } from '#core/platform/platform.ts';
import { and, desc, eq, lt, ne } from 'drizzle-orm';
import { HOURS_RETENTION_DAYS, MINUTES_RETENTION_DAYS } from '#core/contract/observe/metric-ranges.ts';
import { writeMeta } from '#core/store/meta.ts';
import { CALLER_MINUTES_FROM } from '#core/observe/metrics/ranges.ts';
import { DAY_MS, HOUR_MS } from '#core/observe/metrics/sums.ts';

/** Every call may have another caller, so only this many of the newest minutes of callers are stored. */
const MOST_CALLER_MINUTES = 1_000_000;

/** Deletes expired minutes and hours, and callers without any. */
export async function forgetSeries(app: Platform, most_minutes = MOST_CALLER_MINUTES): Promise<void> {
  const { usage_series, caller_series, usage_callers } = app.store.tables;
  // Metrics still read the hour that contains the oldest minute.
  const before = (days: number) => new Date(app.clock().getTime() - days * DAY_MS - HOUR_MS).toISOString();
  const surplus = await app.store.db
    .select({ start: caller_series.start })
    .from(caller_series)
    .where(eq(caller_series.seconds, 60))
    .orderBy(desc(caller_series.start))
    .limit(1)
    .offset(most_minutes);
  await app.store.write(async (tx) => {
    for (const table of [usage_series, caller_series]) {
      await tx.delete(table).where(and(eq(table.seconds, 60), lt(table.start, before(MINUTES_RETENTION_DAYS))));
      await tx.delete(table).where(and(ne(table.seconds, 60), lt(table.start, before(HOURS_RETENTION_DAYS + 1))));
    }
    await tx.delete(usage_callers).where(lt(usage_callers.last_at, before(HOURS_RETENTION_DAYS + 1)));
    const [last] = surplus;
    if (last === undefined) return;
    // Deletes whole minutes, so that the remaining ones are complete.
    const value = new Date(Date.parse(last.start) + 60_000).toISOString();
    await tx.delete(caller_series).where(and(eq(caller_series.seconds, 60), lt(caller_series.start, value)));
    await writeMeta(app.store, tx, CALLER_MINUTES_FROM, value);
  });
}
