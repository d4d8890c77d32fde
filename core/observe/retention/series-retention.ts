import type { Platform } from '#core/platform/platform.ts';
import { and, desc, eq, lt, ne } from 'drizzle-orm';
import { HOURS_KEPT_DAYS, MINUTES_KEPT_DAYS } from '#core/contract/observe/metric-ranges.ts';
import { writeMeta } from '#core/store/meta.ts';
import { CALLER_MINUTES_FROM } from '#core/observe/metrics/ranges.ts';
import { DAY_MS, HOUR_MS } from '#core/observe/metrics/sums.ts';

/** Callers may be as many as calls: so many of their minutes are kept, the newest. */
export const MOST_CALLER_MINUTES = 1_000_000;

/** Forgets minutes and hours that are too old, and callers of whom nothing is left. */
export async function forgetSeries(app: Platform, most_minutes = MOST_CALLER_MINUTES): Promise<void> {
  const { usage_series, caller_series, usage_callers } = app.store.tables;
  // The hour in which the oldest minute lies is still asked for.
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
      await tx.delete(table).where(and(eq(table.seconds, 60), lt(table.start, before(MINUTES_KEPT_DAYS))));
      await tx.delete(table).where(and(ne(table.seconds, 60), lt(table.start, before(HOURS_KEPT_DAYS + 1))));
    }
    await tx.delete(usage_callers).where(lt(usage_callers.last_at, before(HOURS_KEPT_DAYS + 1)));
    const [last] = surplus;
    if (last === undefined) return;
    // Whole minutes go, so that those that stay are complete.
    const value = new Date(Date.parse(last.start) + 60_000).toISOString();
    await tx.delete(caller_series).where(and(eq(caller_series.seconds, 60), lt(caller_series.start, value)));
    await writeMeta(app.store, tx, CALLER_MINUTES_FROM, value);
  });
}
