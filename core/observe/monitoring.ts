import { and, eq, gte, lt, ne, or } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { byPlural, OWNED_KINDS } from '#core/contract/entities.ts';
import type { Period, QueueMetrics, UsageStats } from '#core/contract/monitoring.ts';
import type { UsageKind } from '#core/contract/observe/calls.ts';
import type { Outcome } from '#core/contract/observe/outcomes.ts';
import { type Histogram, mergeInto, quantile } from '#core/lib/histogram.ts';
import type { Handlers } from '#core/run.ts';
import { REPORT_MS } from './running-calls.ts';
import { HOUR_MS, MINUTE_MS, OTHER_ERRORS, type SeriesRow, startOf, sum } from './usage-series.ts';

const MINUTES: Readonly<Record<Period, number>> = { '1h': 60, '6h': 360, '24h': 1_440, '7d': 10_080 };

export const monitoringHandlers: Pick<Handlers, Extract<keyof Handlers, `metrics.${string}` | `queue.${string}`>> = {
  'metrics.stats': async ({ app }, { period }) => {
    const by_kind = { tool: new Map(), resource: new Map(), prompt: new Map() } as const;
    for (const row of await readPeriod(app, period)) {
      if (row.kind === 'all') continue;
      const names: Map<string, SeriesRow> = by_kind[row.kind];
      const earlier = names.get(row.name);
      names.set(row.name, earlier === undefined ? row : sum(earlier, row));
    }
    return byPlural(OWNED_KINDS, (kind) => toStats(by_kind[kind]));
  },
  'metrics.timeseries': async ({ app }, { period, tool, kind, interval_seconds }) => {
    const { usage_series } = app.store.tables;
    const step = interval_seconds * 1_000;
    const count = Math.ceil((MINUTES[period] * MINUTE_MS) / step);
    const first = Math.floor(app.clock().getTime() / step) * step - (count - 1) * step;
    const name = tool === undefined ? '' : await nameOf(app, kind, tool);
    const rows = await app.store.db
      .select()
      .from(usage_series)
      .where(
        and(
          eq(usage_series.seconds, 60),
          gte(usage_series.start, new Date(first).toISOString()),
          eq(usage_series.kind, tool === undefined ? 'all' : kind),
          eq(usage_series.name, name),
        ),
      );
    const by_start = new Map<string, SeriesRow>();
    for (const row of rows) {
      const start = startOf(Date.parse(row.start), step);
      const earlier = by_start.get(start);
      by_start.set(start, earlier === undefined ? row : sum(earlier, row));
    }
    const points = Array.from({ length: count }, (_, index) => {
      const timestamp = new Date(first + index * step).toISOString();
      return { timestamp, ...toPoint(by_start.get(timestamp)) };
    });
    return { period, interval_seconds, points };
  },
  'queue.metrics': async ({ app }) => {
    const { host_reports } = app.store.tables;
    const recent = new Date(app.clock().getTime() - REPORT_MS).toISOString();
    const reports = await app.store.db.select().from(host_reports).where(gte(host_reports.reported_at, recent));
    const merged = new Map<string, Merged>();
    for (const gauge of reports.flatMap(({ queues }) => queues)) {
      const queue = merged.get(gauge.id) ?? { ...EMPTY_QUEUE, histogram: {} };
      queue.name = gauge.name;
      for (const field of ADDED) queue[field] += gauge[field];
      queue.longest_wait_ms = Math.max(queue.longest_wait_ms, gauge.longest_wait_ms || 0);
      queue.waits += gauge.waits.count;
      queue.waited_ms += gauge.waits.total_ms;
      mergeInto(queue.histogram, gauge.waits.histogram);
      merged.set(gauge.id, queue);
    }
    return { connections: Object.fromEntries([...merged].map(([id, queue]) => [id, toQueue(queue)])) };
  },
};

/** The running minute is the last one of a period. */
const firstMinute = (app: App, period: Period): number =>
  Math.floor(app.clock().getTime() / MINUTE_MS) * MINUTE_MS - (MINUTES[period] - 1) * MINUTE_MS;

/** The series of a period: its whole hours as hours, its edges as minutes. */
async function readPeriod(app: App, period: Period): Promise<SeriesRow[]> {
  const { usage_series } = app.store.tables;
  const first = firstMinute(app, period);
  const hours_from = startOf(first + HOUR_MS - 1, HOUR_MS);
  const hours_to = startOf(app.clock().getTime(), HOUR_MS);
  const minutes = and(eq(usage_series.seconds, 60), ne(usage_series.kind, 'all'));
  return app.store.db
    .select()
    .from(usage_series)
    .where(
      or(
        and(minutes, gte(usage_series.start, startOf(first, MINUTE_MS)), lt(usage_series.start, hours_from)),
        and(eq(usage_series.seconds, 3_600), gte(usage_series.start, hours_from), lt(usage_series.start, hours_to)),
        and(minutes, gte(usage_series.start, hours_to)),
      ),
    )
    .orderBy(usage_series.start);
}

function toStats(names: ReadonlyMap<string, SeriesRow>): Record<string, UsageStats> {
  const entries = [...names].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    entries.map(([name, row]) => {
      const { entity_id, calls, errors, rows, bytes, last_called_at } = row;
      const point = toPoint(row);
      return [name, { id: entity_id, ...point, error_rate: round(errors / calls), rows, bytes, last_called_at }];
    }),
  );
}

function toPoint(row: SeriesRow | undefined) {
  if (row === undefined) return { calls: 0, errors: 0, avg_ms: 0, p50_ms: 0, p95_ms: 0, p99_ms: 0, outcomes: {} };
  const { calls, errors, duration_ms, histogram } = row;
  const [p50_ms, p95_ms, p99_ms] = [quantile(histogram, 0.5), quantile(histogram, 0.95), quantile(histogram, 0.99)];
  return { calls, errors, avg_ms: average(duration_ms, histogram), p50_ms, p95_ms, p99_ms, outcomes: outcomesOf(row) };
}

/** Those that there were. */
function outcomesOf(row: SeriesRow): Partial<Record<Outcome, number>> {
  const { calls, errors } = row;
  const others = OTHER_ERRORS.map((name) => [name, row[name]] as const);
  const tool_error = others.reduce((rest, [, count]) => rest - count, errors);
  const all = [['ok', calls - errors] as const, ['tool_error', tool_error] as const, ...others];
  return Object.fromEntries(all.filter(([, count]) => count > 0));
}

/** An id may stand for a name; a name that nothing has gives a series of zeros. */
async function nameOf(app: App, kind: UsageKind, name_or_id: string): Promise<string> {
  const { tools, resources, prompts } = app.store.tables;
  const table = { tool: tools, resource: resources, prompt: prompts }[kind];
  const rows = await app.store.db.select({ name: table.name }).from(table).where(eq(table.id, name_or_id));
  return rows[0]?.name ?? name_or_id;
}

const ADDED = ['limit', 'active', 'waiting', 'completed', 'rejected', 'timed_out'] as const;
const EMPTY_QUEUE = {
  name: '',
  limit: 0,
  active: 0,
  waiting: 0,
  completed: 0,
  rejected: 0,
  timed_out: 0,
  longest_wait_ms: 0,
  waits: 0,
  waited_ms: 0,
};
type Merged = typeof EMPTY_QUEUE & { histogram: Histogram };

const toQueue = ({ waits, waited_ms, histogram, ...queue }: Merged): QueueMetrics => ({
  ...queue,
  avg_wait_ms: waits === 0 ? 0 : round(waited_ms / waits),
  p95_wait_ms: quantile(histogram, 0.95),
});

/** Of the calls that ran: those without a slot are not in the histogram. */
function average(duration_ms: number, histogram: Histogram): number {
  const measured = Object.values(histogram).reduce((sum, counted) => sum + counted, 0);
  return measured === 0 ? 0 : round(duration_ms / measured);
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000;
