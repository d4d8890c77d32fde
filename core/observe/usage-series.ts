import type { Platform } from '#core/platform/platform.ts';
import { and, sql } from 'drizzle-orm';
import type { CallGroup } from '#core/contract/observe/usage-batch.ts';
import { type Column, laterOf, rowsOf } from '#core/store/columns.ts';
import { writeMeta } from '#core/store/meta.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { type Histogram, mergeInto } from '#core/lib/histogram.ts';
import { mayHaveOthers } from '#core/platform/leases.ts';
import type { Cell } from './count-calls.ts';
import { storeCallers } from './metrics/callers.ts';
import { ADDED, OTHER_ERRORS, type Sum, sumsOfCallers, sumsOfNames } from './metrics/sums.ts';

/** Adds calls to their minutes and hours. One server at a time: see `takeTurns`. */
export async function addToSeries(app: Platform, tx: Db, groups: readonly CallGroup[], cells: readonly Cell[]): Promise<void> {
  const { usage_series, caller_series } = app.store.tables;
  const callers = await storeCallers(app, tx, groups, cells);
  await add(app, tx, { table: usage_series, extra: [] }, sumsOfNames(groups, cells));
  await add(app, tx, { table: caller_series, extra: ['caller_id', 'connection_id'] }, sumsOfCallers(groups, callers, cells));
}

/** A table of sums, and the columns of its key besides time and name. */
interface Series {
  readonly table: Schema['usage_series'] | Schema['caller_series'];
  readonly extra: readonly ('caller_id' | 'connection_id')[];
}

async function add(app: Platform, tx: Db, series: Series, rows: readonly Sum[]): Promise<void> {
  await mergeStored(app, tx, series, rows);
  await write(app, tx, series, rows);
}

/** Makes servers add to the same rows one after the other. In an embedded database, writers take turns anyway. */
export async function takeTurns(app: Platform, tx: Db): Promise<void> {
  if (!mayHaveOthers(app)) return;
  await writeMeta(app.store, tx, 'usage_lock', '');
}

const keysOf = (rows: readonly Sum[], extra: Series['extra']) => {
  const all = {
    seconds: { type: 'integer', cells: rows.map(({ seconds }) => seconds) },
    start: { type: 'time', cells: rows.map(({ seconds, span }) => span * seconds * 1_000) },
    kind: { type: 'text', cells: rows.map(({ kind }) => kind) },
    name: { type: 'text', cells: rows.map(({ name }) => name) },
    caller_id: { type: 'integer', cells: rows.map(({ caller_id }) => caller_id) },
    connection_id: { type: 'text', cells: rows.map(({ connection_id }) => connection_id) },
  } as const satisfies Record<string, Column>;
  return Object.fromEntries([...KEY, ...extra].map((name) => [name, all[name]] as const));
};

const KEY = ['seconds', 'start', 'kind', 'name'] as const;

/** Histograms are merged here. The database adds the other columns. */
async function mergeStored(app: Platform, tx: Db, { table, extra }: Series, rows: readonly Sum[]): Promise<void> {
  const mine = rowsOf(app.store.dialect, 'mine', keysOf(rows, extra));
  const same = [...KEY, ...extra].map((key) => sql`${table}.${sql.identifier(key)} = mine.${sql.identifier(key)}`);
  const found = sql`(with recursive ${mine} select mine.place, ${table.histogram} as histogram from mine cross join ${table} where ${and(...same)}) as found`;
  const stored = await tx.select({ index: sql<number | string>`place`, histogram: sql<string>`histogram` }).from(found);
  for (const { index, histogram } of stored) {
    const row = rows[Number(index)];
    if (row !== undefined) mergeInto(row.histogram, JSON.parse(histogram) as Histogram);
  }
}

async function write(app: Platform, tx: Db, { table, extra }: Series, rows: readonly Sum[]): Promise<void> {
  const added = rowsOf(app.store.dialect, 'added', {
    ...keysOf(rows, extra),
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
  // In the column order of the table.
  const columns = [...KEY, 'entity_id', ...ADDED, 'last_called_at', 'histogram', ...extra].join(', ');
  await tx
    .insert(table)
    .select(sql`with recursive ${added} select ${sql.raw(columns)} from added where true`)
    .onConflictDoUpdate({
      target: 'caller_id' in table ? [...keyOf(table), table.caller_id, table.connection_id] : keyOf(table),
      set: {
        ...Object.fromEntries(ADDED.map((name) => [name, sql`${table[name]} + excluded.${sql.identifier(name)}`])),
        entity_id: sql`coalesce(excluded.entity_id, ${table.entity_id})`,
        last_called_at: laterOf(table.last_called_at),
        histogram: sql`excluded.histogram`,
      },
    });
}

const keyOf = ({ seconds, start, kind, name }: Series['table']) => [seconds, start, kind, name];
