import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { UsageKind } from '#core/contract/observe/calls.ts';
import type { Calls, CallGroup } from '#core/contract/observe/usage-batch.ts';
import { NEVER_RAN, outcomeOf } from '#core/contract/observe/outcomes.ts';
import { rowsOf } from '#core/store/columns.ts';
import type { Db } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import { addDuration, type Histogram, mergeInto } from '#core/lib/histogram.ts';

export type SeriesRow = Schema['usage_series']['$inferSelect'];

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

/** The beginning of the minute or hour of a time. */
export const startOf = (ms: number, step_ms: number): string => new Date(Math.floor(ms / step_ms) * step_ms).toISOString();

/** Adds calls to their minutes and hours, after the other servers and before them: see `takeTurns`. */
export async function addToSeries(app: App, tx: Db, groups: readonly CallGroup[], calls: Calls): Promise<void> {
  const rows = toRows(groups, calls);
  await mergeStored(app, tx, rows);
  await write(app, tx, rows);
}

/** Servers add to the same rows one after the other; embedded, writers take turns anyway. */
export async function takeTurns(app: App, tx: Db): Promise<void> {
  if (app.store.dialect === 'sqlite') return;
  const { meta } = app.store.tables;
  await tx
    .insert(meta)
    .values({ key: 'usage_lock', value: '' })
    .onConflictDoUpdate({ target: meta.key, set: { value: '' } });
}

/** Calls of one name within one span of time. */
interface Sum {
  readonly seconds: 60 | 3_600;
  /** Minutes or hours since 1970. */
  readonly span: number;
  readonly kind: UsageKind | 'all';
  readonly name: string;
  entity_id: string | null;
  calls: number;
  errors: number;
  refused: number;
  no_slot: number;
  timeout: number;
  cancelled: number;
  rate_limited: number;
  duration_ms: number;
  rows: number;
  bytes: number;
  last_ms: number;
  readonly histogram: Histogram;
}

const sumOf = (
  seconds: Sum['seconds'],
  span: number,
  { kind, name, entity_id }: Pick<Sum, 'kind' | 'name' | 'entity_id'>,
): Sum => ({
  seconds,
  span,
  kind,
  name,
  entity_id,
  calls: 0,
  errors: 0,
  refused: 0,
  no_slot: 0,
  timeout: 0,
  cancelled: 0,
  rate_limited: 0,
  duration_ms: 0,
  rows: 0,
  bytes: 0,
  last_ms: 0,
  histogram: {},
});

/** Every call is counted in the minute of its name; the minute of all and the hours are sums of those. */
function toRows(groups: readonly CallGroup[], calls: Calls): Sum[] {
  const minutes = toMinutes(groups, calls);
  const wider = new Map<string, Sum>();
  const addTo = (key: string, make: () => Sum, minute: Sum) => {
    const found = wider.get(key) ?? make();
    wider.set(key, found);
    addSum(found, minute);
  };
  for (const minute of minutes) {
    const { span, kind, name } = minute;
    const hour = Math.floor(span / 60);
    addTo(String(span), () => sumOf(60, span, ALL), minute);
    addTo(`${hour} ${kind} ${name}`, () => sumOf(3_600, hour, minute), minute);
  }
  return [...minutes, ...wider.values()];
}

const ALL = { kind: 'all', name: '', entity_id: null } as const;

function toMinutes(groups: readonly CallGroup[], calls: Calls): Sum[] {
  const { names, name_of } = namesOf(groups);
  const { group, timestamp, duration_ms, rows, bytes, error } = calls;
  const sums = new Map<number, Sum>();
  /** Calls come in the order of time, so that of the call before is mostly the one. */
  const latest: Sum[] = [];
  for (let n = 0; n < timestamp.length; n++) {
    const at = timestamp[n] ?? 0;
    const duration = duration_ms[n] ?? 0;
    const place = name_of[group[n] ?? 0] ?? 0;
    const span = Math.floor(at / MINUTE_MS);
    let sum = latest[place];
    if (sum?.span !== span) {
      const key = span * names.length + place;
      sum = sums.get(key) ?? sumOf(60, span, names[place] ?? ALL);
      sums.set(key, sum);
      latest[place] = sum;
    }
    sum.calls += 1;
    const outcome = outcomeOf(error[n] ?? null);
    if (outcome !== 'ok') sum.errors += 1;
    if (outcome !== 'ok' && outcome !== 'tool_error') sum[outcome] += 1;
    sum.rows += rows[n] ?? 0;
    sum.bytes += bytes[n] ?? 0;
    if (at > sum.last_ms) sum.last_ms = at;
    if (NEVER_RAN.has(outcome)) continue;
    sum.duration_ms += duration;
    addDuration(sum.histogram, duration);
  }
  return [...sums.values()];
}

/** The names that groups are of, and for every group the place of its name; groups of one name differ in who called. */
function namesOf(groups: readonly CallGroup[]) {
  const names: { kind: UsageKind; name: string; entity_id: string | null }[] = [];
  const places = new Map<string, number>();
  const name_of = groups.map(({ kind, name, entity_id }) => {
    const key = `${kind} ${name}`;
    const place = places.get(key) ?? names.push({ kind, name, entity_id: null }) - 1;
    places.set(key, place);
    const known = names[place];
    if (known !== undefined) known.entity_id = entity_id ?? known.entity_id;
    return place;
  });
  return { names, name_of };
}

function addSum(to: Sum, sum: Sum): void {
  for (const name of ADDED) to[name] += sum[name];
  to.last_ms = Math.max(to.last_ms, sum.last_ms);
  mergeInto(to.histogram, sum.histogram);
}

const timesOf = (rows: readonly Sum[]) =>
  ({
    seconds: { type: 'integer', cells: rows.map(({ seconds }) => seconds) },
    start: { type: 'time', cells: rows.map(({ seconds, span }) => span * seconds * 1_000) },
    kind: { type: 'text', cells: rows.map(({ kind }) => kind) },
    name: { type: 'text', cells: rows.map(({ name }) => name) },
  }) as const;

/** Histograms are merged here; what is added up else, the database adds. */
async function mergeStored(app: App, tx: Db, rows: readonly Sum[]): Promise<void> {
  const { usage_series } = app.store.tables;
  const mine = rowsOf(app.store.dialect, 'mine', timesOf(rows));
  const same = (['seconds', 'start', 'kind', 'name'] as const).map((key) =>
    eq(usage_series[key], sql`mine.${sql.identifier(key)}`),
  );
  const found = sql`(with recursive ${mine} select mine.place, ${usage_series.histogram} as histogram from mine cross join ${usage_series} where ${and(...same)}) as found`;
  const stored = await tx.select({ place: sql<number | string>`place`, histogram: sql<string>`histogram` }).from(found);
  for (const { place, histogram } of stored) {
    const row = rows[Number(place)];
    if (row !== undefined) mergeInto(row.histogram, JSON.parse(histogram) as Histogram);
  }
}

async function write(app: App, tx: Db, rows: readonly Sum[]): Promise<void> {
  const { usage_series } = app.store.tables;
  const added = rowsOf(app.store.dialect, 'added', {
    ...timesOf(rows),
    entity_id: { type: 'text', cells: rows.map(({ entity_id }) => entity_id) },
    calls: { type: 'integer', cells: rows.map(({ calls }) => calls) },
    errors: { type: 'integer', cells: rows.map(({ errors }) => errors) },
    ...Object.fromEntries(OTHER_ERRORS.map((name) => [name, { type: 'integer', cells: rows.map((row) => row[name]) } as const])),
    duration_ms: { type: 'real', cells: rows.map(({ duration_ms }) => duration_ms) },
    rows: { type: 'real', cells: rows.map((row) => row.rows) },
    bytes: { type: 'real', cells: rows.map(({ bytes }) => bytes) },
    last_called_at: { type: 'time', cells: rows.map(({ last_ms }) => last_ms) },
    histogram: { type: 'text', cells: rows.map(({ histogram }) => JSON.stringify(histogram)) },
  });
  await tx
    .insert(usage_series)
    .select(sql`with recursive ${added} select ${sql.raw(COLUMNS.join(', '))} from added where true`)
    .onConflictDoUpdate({
      target: [usage_series.seconds, usage_series.start, usage_series.kind, usage_series.name],
      set: {
        ...Object.fromEntries(ADDED.map((name) => [name, sql`${usage_series[name]} + excluded.${sql.identifier(name)}`])),
        entity_id: sql`coalesce(excluded.entity_id, ${usage_series.entity_id})`,
        last_called_at: laterOf(usage_series.last_called_at),
        histogram: sql`excluded.histogram`,
      },
    });
}

/** Of the errors, those that are not the tool's. */
export const OTHER_ERRORS = ['refused', 'no_slot', 'timeout', 'cancelled', 'rate_limited'] as const;
const ADDED = ['calls', 'errors', ...OTHER_ERRORS, 'duration_ms', 'rows', 'bytes'] as const;
/** In the order of the table. */
const COLUMNS = ['seconds', 'start', 'kind', 'name', 'entity_id', ...ADDED, 'last_called_at', 'histogram'];

const laterOf = (stored: Schema['usage_series']['last_called_at']): SQL =>
  sql`case when excluded.last_called_at > ${stored} then excluded.last_called_at else ${stored} end`;

/** Two rows of one name as one; the second one is the later. */
export function sum<R extends Omit<SeriesRow, 'seconds' | 'start' | 'kind'>>(a: R, b: R): R {
  const histogram = { ...a.histogram };
  mergeInto(histogram, b.histogram);
  return {
    ...a,
    entity_id: b.entity_id ?? a.entity_id,
    ...Object.fromEntries(ADDED.map((name) => [name, a[name] + b[name]])),
    last_called_at: a.last_called_at > b.last_called_at ? a.last_called_at : b.last_called_at,
    histogram,
  };
}
