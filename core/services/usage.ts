import { and, eq, getTableColumns, inArray, lt, or, isNull, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { UsageBatch, UsageItem, UsageKind } from '#core/contract/monitoring.ts';
import type { Db } from '#core/db/open.ts';
import type { Schema } from '#core/db/schema.ts';
import { addDuration, mergeInto } from '#core/histogram.ts';

type SeriesRow = Schema['usage_series']['$inferSelect'];

/** Rows of one insert: below the parameter limits of both databases. */
const ROWS_AT_ONCE = 500;
/** A host's clock may be ahead by so much; what is later counts as now. */
const CLOCK_SKEW_MS = 5 * 60_000;

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

/** The beginning of the minute or hour of a time. */
export const startOf = (ms: number, step_ms: number): string => new Date(Math.floor(ms / step_ms) * step_ms).toISOString();

/**
 * Stores what a host did, in one transaction: every call, its part of the series, the host's queues.
 * @returns false when this batch of this boot was stored before.
 */
export async function storeUsage(app: App, host_id: string, batch: UsageBatch): Promise<boolean> {
  const latest = app.clock().getTime() + CLOCK_SKEW_MS;
  const items = batch.items.map((item) => (Date.parse(item.timestamp) <= latest ? item : { ...item, timestamp: now(app) }));
  return app.store.write(async (tx) => {
    if (!(await claim(app, tx, host_id, batch))) return false;
    if (items.length > 0) {
      await insertLogs(app, tx, items);
      await addToSeries(app, tx, items);
    }
    await noteTokenUses(app, tx, batch.token_uses);
    return true;
  });
}

const now = (app: App): string => app.clock().toISOString();

/** Sequences of one boot grow: a batch that is not newer than the stored one was stored. */
async function claim(app: App, tx: Db, host_id: string, { boot_id, seq, queues }: UsageBatch): Promise<boolean> {
  const { host_reports } = app.store.tables;
  const report = { seq, reported_at: now(app), ...(queues === undefined ? {} : { queues }) };
  const stored = await tx
    .insert(host_reports)
    .values({ boot_id, host_id, queues: [], ...report })
    .onConflictDoUpdate({ target: host_reports.boot_id, set: report, setWhere: lt(host_reports.seq, seq) })
    .returning({ boot_id: host_reports.boot_id });
  return stored.length > 0;
}

/** As one value that the database takes apart: a bound value for every cell would cost more than the storing itself. */
async function insertLogs(app: App, tx: Db, items: readonly UsageItem[]): Promise<void> {
  const { request_logs } = app.store.tables;
  const columns = Object.values(getTableColumns(request_logs));
  const rows = items.map((item) => {
    const row: Readonly<Record<string, unknown>> = { ...item, id: app.ids() };
    return columns.map(({ name }) => row[name] ?? null);
  });
  const cells = columns.map((column, place) => CELL[app.store.dialect](column.getSQLType(), place));
  const each = sql.raw(app.store.dialect === 'sqlite' ? 'json_each' : 'jsonb_array_elements');
  const given = sql`${JSON.stringify(rows)}${sql.raw(app.store.dialect === 'sqlite' ? '' : '::jsonb')}`;
  await tx.insert(request_logs).select(sql`select ${sql.raw(cells.join(', '))} from ${each}(${given})`);
}

/** One cell of a row that stands in `value`. */
const CELL: Readonly<Record<App['store']['dialect'], (type: string, place: number) => string>> = {
  sqlite: (_, place) => `value ->> ${place}`,
  postgresql: (type, place) => `(value ->> ${place})::${type}`,
};

/** Reads the rows that these calls belong to, adds to them and writes them back. */
async function addToSeries(app: App, tx: Db, items: readonly UsageItem[]): Promise<void> {
  const { usage_series } = app.store.tables;
  await takeTurns(app, tx);
  const changed = new Map<string, SeriesRow>();
  for (const item of items) {
    const at = Date.parse(item.timestamp);
    const { kind, name } = item;
    count(changed, { seconds: 60, start: startOf(at, MINUTE_MS), kind: 'all', name: '' }, item);
    count(changed, { seconds: 60, start: startOf(at, MINUTE_MS), kind, name }, item);
    count(changed, { seconds: 3_600, start: startOf(at, HOUR_MS), kind, name }, item);
  }
  const rows = [...changed.values()];
  const stored = await tx
    .select()
    .from(usage_series)
    .where(and(inArray(usage_series.start, distinct(rows, 'start')), inArray(usage_series.name, distinct(rows, 'name'))));
  for (const row of stored) {
    const mine = changed.get(keyOf(row));
    if (mine !== undefined) changed.set(keyOf(row), sum(row, mine));
  }
  const written = [...changed.values()];
  for (let from = 0; from < written.length; from += ROWS_AT_ONCE) {
    await tx
      .insert(usage_series)
      .values(written.slice(from, from + ROWS_AT_ONCE))
      .onConflictDoUpdate({
        target: [usage_series.seconds, usage_series.start, usage_series.kind, usage_series.name],
        set: Object.fromEntries(SUMMED.map((column) => [column, sql`excluded.${sql.identifier(column)}`])),
      });
  }
}

const SUMMED = ['entity_id', 'calls', 'errors', 'duration_ms', 'rows', 'bytes', 'last_called_at', 'histogram'] as const;

/** Servers add to the same rows one after the other; embedded, writers take turns anyway. */
async function takeTurns(app: App, tx: Db): Promise<void> {
  if (app.store.dialect === 'sqlite') return;
  const { meta } = app.store.tables;
  await tx
    .insert(meta)
    .values({ key: 'usage_lock', value: '' })
    .onConflictDoUpdate({ target: meta.key, set: { value: '' } });
}

interface SeriesKey {
  readonly seconds: 60 | 3_600;
  readonly start: string;
  readonly kind: UsageKind | 'all';
  readonly name: string;
}

const keyOf = ({ seconds, start, kind, name }: SeriesKey): string => `${seconds} ${start} ${kind} ${name}`;

const distinct = (rows: readonly SeriesRow[], column: 'start' | 'name'): string[] => [...new Set(rows.map((row) => row[column]))];

function count(rows: Map<string, SeriesRow>, key: SeriesKey, item: UsageItem): void {
  const row = rows.get(keyOf(key)) ?? { ...key, ...NOTHING, histogram: {} };
  row.entity_id = key.kind === 'all' ? null : (item.entity_id ?? row.entity_id);
  row.calls += 1;
  row.errors += item.success ? 0 : 1;
  row.duration_ms += item.duration_ms;
  row.rows += item.rows;
  row.bytes += item.bytes;
  row.last_called_at = later(row.last_called_at, item.timestamp);
  addDuration(row.histogram, item.duration_ms);
  rows.set(keyOf(key), row);
}

const NOTHING = { entity_id: null, calls: 0, errors: 0, duration_ms: 0, rows: 0, bytes: 0, last_called_at: '' };

/** Two rows of one name as one; the second one is the later. */
export function sum<R extends Omit<SeriesRow, 'seconds' | 'start' | 'kind'>>(a: R, b: R): R {
  const histogram = { ...a.histogram };
  mergeInto(histogram, b.histogram);
  return {
    ...a,
    entity_id: b.entity_id ?? a.entity_id,
    calls: a.calls + b.calls,
    errors: a.errors + b.errors,
    duration_ms: a.duration_ms + b.duration_ms,
    rows: a.rows + b.rows,
    bytes: a.bytes + b.bytes,
    last_called_at: later(a.last_called_at, b.last_called_at),
    histogram,
  };
}

const later = (a: string, b: string): string => (a > b ? a : b);

async function noteTokenUses(app: App, tx: Db, uses: UsageBatch['token_uses']): Promise<void> {
  const { mcp_tokens } = app.store.tables;
  for (const { id, last_used_at } of uses) {
    await tx
      .update(mcp_tokens)
      .set({ last_used_at })
      .where(and(eq(mcp_tokens.id, id), or(isNull(mcp_tokens.last_used_at), lt(mcp_tokens.last_used_at, last_used_at))));
  }
}
