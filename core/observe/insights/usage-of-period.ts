import type { Platform } from '#core/platform/platform.ts';
import { and, eq, gte, inArray, lt, or, type SQL, sql } from 'drizzle-orm';
import type { InsightPeriod } from '#core/contract/observe/insight-rules.ts';
import { pagesOf } from '#core/lib/slices.ts';
import { PAGE } from '#core/store/trees.ts';
import { HOUR_MS, hourOf, MINUTE_MS, startOf } from '../metrics/sums.ts';
import type { Live, LiveDefinitions } from './live.ts';

const SUMS = [
  'calls',
  'errors',
  'refused',
  'no_slot',
  'timeout',
  'cancelled',
  'rate_limited',
  'duration_ms',
  'rows',
  'bytes',
] as const;

/** Calls of one tool in the period. */
export type Usage = Readonly<Record<(typeof SUMS)[number], number>>;

/** Results that insights need not read again. */
export interface InsightCache {
  /** Sums of the hours of a period that ended a while ago. They hardly change, and they are many. */
  readonly ended: Map<InsightPeriod, { readonly from: string; readonly to: string; readonly sums: UsageByName }>;
  live: LiveDefinitions | null;
}
export const createInsightCache = (): InsightCache => ({ ended: new Map(), live: null });

type UsageByName = ReadonlyMap<string, Usage>;

/** Hosts report calls within seconds. Calls of a host that was disconnected are counted up to an hour late. */
const SETTLED_HOURS = 3;

interface Counted {
  readonly live: Live;
}

/** Sums of the calls of live definitions, by name. @param tools the served tools. */
export async function readUsage(
  app: Platform & WithInsights,
  period: InsightPeriod,
  since: string,
  tools: ReadonlyMap<string, Counted>,
): Promise<UsageByName> {
  const to = hourOf(app.clock().getTime() - SETTLED_HOURS * HOUR_MS);
  const { ended: cache } = app.insights;
  const known = cache.get(period);
  const is_known = known !== undefined && known.from === since && known.to === to;
  const recent_hours = and(ofHours(app), gte(app.store.tables.usage_series.start, to));
  const [ended, recent] = await Promise.all([is_known ? known.sums : sumEnded(app, since, to), sumsOf(app, recent_hours)]);
  cache.set(period, { from: since, to, sums: ended });
  const all = new Map(ended);
  for (const [name, usage] of recent) {
    const earlier = all.get(name);
    all.set(name, earlier === undefined ? usage : added(earlier, usage));
  }
  const young = [...tools].filter(([name, { live }]) => live.from > since && all.has(name));
  for (const [from, group] of Map.groupBy(young, ([, { live }]) => live.from)) {
    for (const page of pagesOf(group, PAGE)) {
      const names = page.map(([name]) => name);
      const sums = await sumsOf(app, and(countedSince(app, from), inArray(app.store.tables.usage_series.name, names)));
      for (const name of names) {
        const usage = sums.get(name);
        if (usage === undefined) all.delete(name);
        else all.set(name, usage);
      }
    }
  }
  return all;
}

/** Hours that began since a time, and before them the minutes that are still stored. */
export function countedSince(app: Platform, time: string): SQL | undefined {
  const { usage_series: table } = app.store.tables;
  const from = startOf(Date.parse(time) + MINUTE_MS - 1, MINUTE_MS);
  const whole = startOf(Date.parse(time) + HOUR_MS - 1, HOUR_MS);
  return or(
    and(ofHours(app), gte(table.start, whole)),
    and(eq(table.seconds, 60), gte(table.start, from), lt(table.start, whole)),
  );
}

const added = (one: Usage, other: Usage): Usage => usageFrom((name) => one[name] + other[name]);

const usageFrom = (valueOf: (name: keyof Usage) => number): Usage =>
  Object.fromEntries(SUMS.map((name) => [name, valueOf(name)])) as Usage;

const ofHours = ({ store }: Platform): SQL => eq(store.tables.usage_series.seconds, 3_600);

const sumEnded = (app: Platform, from: string, to: string): Promise<UsageByName> => {
  const { start } = app.store.tables.usage_series;
  return sumsOf(app, and(ofHours(app), gte(start, from), lt(start, to)));
};

/** Without the histograms, which would have to be read one by one. */
async function sumsOf({ store }: Platform, where: SQL | undefined): Promise<UsageByName> {
  const { usage_series: table } = store.tables;
  const rows = await store.db
    .select({ name: table.name, ...Object.fromEntries(SUMS.map((name) => [name, sql<number>`sum(${table[name]})`])) })
    .from(table)
    .where(and(where, eq(table.kind, 'tool')))
    .groupBy(table.name);
  return new Map(
    rows.map((row) => {
      const sums: Readonly<Record<string, unknown>> = row;
      return [row.name, usageFrom((name) => Number(sums[name]))];
    }),
  );
}

export interface WithInsights {
  readonly insights: InsightCache;
}
