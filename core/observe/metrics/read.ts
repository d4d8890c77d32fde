import type { Platform } from '#core/platform/platform.ts';
import { and, eq, gte, inArray, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm';
import type { UsageKind } from '#core/contract/observe/calls.ts';
import type { Schema } from '#core/store/schema.ts';
import { type Histogram, mergeInto, sumOfTexts } from '#core/lib/histogram.ts';
import { isClient } from '#core/observe/call-filters.ts';
import { type Part, partsOf, type Span } from './ranges.ts';
import { ADDED } from './sums.ts';

/** Selects calls by caller. */
export interface Filter {
  readonly client?: string | undefined;
  readonly person?: string | undefined;
  readonly token?: string | undefined;
  readonly connection_id?: string | undefined;
}

export const isFiltered = ({ client, person, token, connection_id }: Filter): boolean =>
  [client, person, token, connection_id].some((value) => value !== undefined);

/** Sums of a group of calls. */
export interface Total extends Readonly<Record<(typeof ADDED)[number], number>> {
  readonly last_called_at: string;
  readonly histogram: Histogram;
}

export interface NamedTotal extends Total {
  readonly kind: UsageKind;
  readonly name: string;
  readonly entity_id: string | null;
}

type Table = Schema['usage_series'] | Schema['caller_series'];

/** Totals by name. Without a filter, the series of names is read, which may be stored for longer than the series of callers. */
export async function readNames(app: Platform, span: Span, filter: Filter): Promise<NamedTotal[]> {
  const { table, where } = seriesOf(app, span, filter);
  const rows = await app.store.db
    .select({ kind: table.kind, name: table.name, entity_id: sql<string | null>`max(${table.entity_id})`, ...totals(app, table) })
    .from(table)
    .where(where)
    .groupBy(table.kind, table.name);
  return rows.flatMap(({ kind, ...row }) => (kind === 'all' ? [] : [{ ...row, kind, ...toTotal(row) }]));
}

export interface CallerTotal extends Total {
  readonly client: string | null;
  readonly person: string | null;
  readonly token: string | null;
}

/** Totals of each caller. Several callers may share a client, person or token. */
export async function readCallers(app: Platform, span: Span, filter: Filter): Promise<CallerTotal[]> {
  const { caller_series: table, usage_callers: callers } = app.store.tables;
  const { client, person, token } = callers;
  const rows = await app.store.db
    .select({ client, person, token, ...totals(app, table) })
    .from(table)
    .innerJoin(callers, eq(callers.id, table.caller_id))
    .where(and(within(table, partsOf(span, LEVELS)), filtered(app, filter)))
    .groupBy(client, person, token);
  return rows.map((row) => ({ ...row, ...toTotal(row) }));
}

/** Selects the calls of a name, or of one definition under all its names. */
export interface Series {
  readonly kind: UsageKind;
  readonly names: readonly string[];
  /** Null: any definition with the name. */
  readonly entity_id: string | null;
}

/** Totals by the start of their rows. @param step in ms, a multiple of the length of the rows. */
export async function readTimes(
  app: Platform,
  span: Span,
  step: number,
  filter: Filter,
  of: Series | null,
): Promise<Map<number, Total>> {
  const { table, where } = seriesOf(app, span, filter, step, of === null);
  const rows = await app.store.db
    .select({ start: table.start, ...totals(app, table) })
    .from(table)
    .where(and(where, of === null ? undefined : inSeries(table, of)))
    .groupBy(table.start);
  const found = new Map<number, Total>();
  for (const { start, ...row } of rows) {
    const at = Math.floor(Date.parse(start) / step) * step;
    const total = toTotal(row);
    const known = found.get(at);
    found.set(at, known === undefined ? total : addTotals(known, total));
  }
  return found;
}

function inSeries(table: Table, { kind, names, entity_id }: Series): SQL | undefined {
  if (names.length === 0) return sql`1 = 0`;
  const its = entity_id === null ? undefined : or(isNull(table.entity_id), eq(table.entity_id, entity_id));
  return and(eq(table.kind, kind), inArray(table.name, [...names]), its);
}

/** Adds two totals. */
export function addTotals<T extends Total>(a: T, b: Total): T {
  mergeInto(a.histogram, b.histogram);
  const last_called_at = a.last_called_at > b.last_called_at ? a.last_called_at : b.last_called_at;
  return { ...a, ...Object.fromEntries(ADDED.map((name) => [name, a[name] + b[name]])), last_called_at };
}

/** Days first: months of many names are read from few rows. */
const LEVELS = [86_400, 3_600, 60] as const;

/** @param step of the points, the maximum length of a row. @param all whether to add up the calls of all names. */
function seriesOf(
  { store, ...app }: Platform,
  span: Span,
  filter: Filter,
  step?: number,
  all = false,
): { table: Table; where: SQL | undefined } {
  const fits = (levels: readonly number[]) => levels.filter((seconds) => step === undefined || step % (seconds * 1_000) === 0);
  if (isFiltered(filter)) {
    const table = store.tables.caller_series;
    return { table, where: and(within(table, partsOf(span, fits(LEVELS))), filtered({ ...app, store }, filter)) };
  }
  const table = store.tables.usage_series;
  const parts = partsOf(span, fits(LEVELS));
  // Every call of a minute is also in a row of kind `all`, so only one kind may be read.
  const kind = (seconds: number) => (all && seconds === 60 ? eq(table.kind, 'all') : ne(table.kind, 'all'));
  return { table, where: within(table, parts, kind) };
}

const within = (table: Table, parts: readonly Part[], more: (seconds: number) => SQL | undefined = () => undefined): SQL =>
  or(
    ...parts.map(({ seconds, from, until }) =>
      and(eq(table.seconds, seconds as 60), gte(table.start, isoOf(from)), lt(table.start, isoOf(until)), more(seconds)),
    ),
  ) ?? sql`1 = 0`;

const isoOf = (ms: number): string => new Date(ms).toISOString();

function filtered({ store }: Pick<Platform, 'store'>, { client, person, token, connection_id }: Filter): SQL | undefined {
  const { caller_series: table, usage_callers: callers } = store.tables;
  const whose = and(
    client === undefined ? undefined : isClient(store, callers.client, client),
    person === undefined ? undefined : eq(callers.person, person),
    token === undefined ? undefined : or(eq(callers.token, token), eq(callers.token_prefix, token)),
  );
  return and(
    whose === undefined ? undefined : inArray(table.caller_id, store.db.select({ id: callers.id }).from(callers).where(whose)),
    connection_id === undefined ? undefined : eq(table.connection_id, connection_id),
  );
}

type Summed = { readonly [K in (typeof ADDED)[number]]: SQL<number> };

/** Histograms are concatenated as text, because the database cannot merge them. */
function totals({ store }: Pick<Platform, 'store'>, table: Table) {
  const summed = Object.fromEntries(ADDED.map((name) => [name, sql`sum(${table[name]})`.mapWith(Number)])) as Summed;
  const joined =
    store.dialect === 'sqlite' ? sql<string>`group_concat(${table.histogram})` : sql<string>`string_agg(${table.histogram}, ',')`;
  return { ...summed, last_called_at: sql<string>`max(${table.last_called_at})`, histograms: joined };
}

type Row = Readonly<Record<(typeof ADDED)[number], number>> & { readonly last_called_at: string; readonly histograms: string };

function toTotal({ histograms, ...row }: Row): Total {
  return { ...row, histogram: sumOfTexts(histograms) };
}
