import type { Readable, Writable } from 'node:stream';
import { AppError } from '#core/errors.ts';
import { type PostgresSession, UNNAMED } from './postgres-session.ts';
import { arrayOf, declaredOid, TYPES, type TypeInfo } from './postgres-types.ts';
import { type ParseText, toBound } from './postgres-values.ts';
import { textOf, uniqueNames } from './rows.ts';
import type { BoundStatement, Column, Json, QueryResult, Row, RunOptions } from './source.ts';

/** Columns as the server describes them. */
export type SourceColumns = readonly { readonly name: string; readonly type: number }[];

/** What one connection learns while it is used; shared by its sessions. */
export interface Memory {
  /** Types that are not built in, by oid. */
  readonly types: Map<number, TypeInfo>;
  /** A prepared statement keeps its list of columns, so what follows from it is worked out once. */
  readonly plans: WeakMap<SourceColumns, Plan>;
  /** Fixed texts that once gave far more rows than asked for: fetched through a portal from then on. */
  readonly large: Set<string>;
}

interface Plan {
  readonly names: readonly string[];
  readonly columns: readonly Column[];
  /** Columns whose text the driver cannot read, because their type is not built in. */
  readonly late: readonly { readonly name: string; readonly parse: ParseText }[];
}

/** Rows as they came: values of types that nobody looked up yet are still text. */
export interface Fetched {
  readonly source: SourceColumns;
  readonly rows: Row[];
  readonly truncated: boolean;
  readonly affected_rows: number | null;
}

export interface FetchOptions extends Pick<RunOptions, 'mode' | 'max_rows' | 'max_bytes'> {
  /** Fetch in chunks that the database waits between, at the price of a round trip. */
  readonly portal: boolean;
}

const CHUNK_ROWS = 500;
/** Rows behind the limit are read and thrown away up to here: cheaper than ending the session. */
const SPILL_BYTES = 256 * 1024;

interface Done extends Array<unknown> {
  readonly count: number | null;
}

/** What the driver's query can do together; its types allow only one of these at a time. */
interface DriverQuery {
  cursor(rows: number, onChunk: () => unknown): void;
  forEach(onRow: (values: Json[]) => void): Promise<Done | Readable | Writable>;
  /** There once the database has described the statement. */
  readonly statement: { readonly columns?: SourceColumns } | null;
}

/** Limits apply while rows come in: no more is held than what is answered, and about as many bytes on top. */
export async function fetchRows(
  session: PostgresSession,
  statement: BoundStatement,
  options: FetchOptions,
  memory: Memory,
): Promise<Fetched> {
  const { mode, max_rows, max_bytes } = options;
  const { counter, meter, sql } = session;
  const enough = 2 * max_bytes + 1024 * 1024;
  const rows: Row[] = [];
  let names: readonly string[] | undefined;
  let truncated = false;
  counter.bytes = 0;
  // A statement that writes runs to its end, whatever it returns.
  meter.allow(mode === 'write' ? Number.POSITIVE_INFINITY : enough, enough);

  const query = sql
    .unsafe(statement.text, boundValues(session, statement) as never[], UNNAMED)
    .values() as unknown as DriverQuery;
  session.in_portal = options.portal;
  if (options.portal) query.cursor(Math.min(CHUNK_ROWS, max_rows + 1), () => (truncated ? sql.CLOSE : undefined));
  let result: Done | Readable | Writable | undefined;
  try {
    result = await query.forEach((values) => {
      if (truncated) return;
      names ??= planOf(columnsOf(query), memory).names;
      if (rows.length < max_rows) {
        const row = toRow(values, names, counter);
        if (counter.bytes <= max_bytes) {
          rows.push(row);
          return;
        }
      }
      truncated = true;
      if (mode !== 'write') meter.allow(SPILL_BYTES, SPILL_BYTES);
    });
  } catch (error) {
    if (!session.flooded()) throw error;
    if (mode === 'write') {
      throw new AppError('too_large', 'The statement returned a row beyond the byte limit, so it was rolled back; return less.');
    }
    truncated = true;
  }
  meter.allow(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  if (result && !Array.isArray(result)) {
    // A stream, which would report the end of its session to nobody.
    result.on('error', () => {});
    session.abandon();
    throw new AppError('sql_error', 'COPY from or to the client is not supported; write a SELECT or an INSERT instead.');
  }
  const source = columnsOf(query);
  return { source, rows, truncated, affected_rows: source.length > 0 ? null : (result?.count ?? 0) };
}

function columnsOf(query: DriverQuery): SourceColumns {
  return query.statement?.columns ?? [];
}

function boundValues(session: PostgresSession, { values, types, typed }: BoundStatement): unknown[] {
  return values.map((value, i) => {
    const type = types[i] ?? 'string';
    const bound = toBound(value, type);
    return typed ? session.sql.typed(bound as never, declaredOid(type)) : bound;
  });
}

function toRow(values: Json[], names: readonly string[], counter: { bytes: number }): Row {
  const row: Row = {};
  let bytes = 2;
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!;
    const value = values[i]!;
    bytes += name.length + 4 + (typeof value === 'string' ? value.length + 2 : 5);
    if (name === '__proto__') Object.defineProperty(row, name, { value, enumerable: true, writable: true, configurable: true });
    else row[name] = value;
  }
  counter.bytes += bytes;
  return row;
}

export function planOf(source: SourceColumns, memory: Memory): Plan {
  const known = memory.plans.get(source);
  if (known) return known;
  const names = uniqueNames(source.map(({ name }) => name));
  const columns = source.map(({ type }, i) => {
    const { name, kind } = typeOf(type, memory) ?? { name: `type ${type}`, kind: 'string' as const };
    return { name: names[i]!, type: name, kind };
  });
  const late = source.flatMap(({ type }, i) => {
    const parse = TYPES.has(type) ? undefined : memory.types.get(type)?.parse;
    return parse === undefined ? [] : [{ name: names[i]!, parse }];
  });
  const plan = { names, columns, late };
  if (unknownTypes(source, memory).length === 0) memory.plans.set(source, plan);
  return plan;
}

export function typeOf(oid: number, memory: Pick<Memory, 'types'>): TypeInfo | undefined {
  return TYPES.get(oid) ?? memory.types.get(oid);
}

export function unknownTypes(source: SourceColumns, memory: Memory): number[] {
  if (memory.plans.has(source)) return [];
  return source.map(({ type }) => type).filter((oid) => !typeOf(oid, memory));
}

export function describedColumns(source: SourceColumns, memory: Memory): readonly Column[] {
  return planOf(source, memory).columns;
}

/** The answer, once every type in it is known: the driver left values of user-defined array types as text. */
export function toResult({ source, rows, truncated, affected_rows }: Fetched, memory: Memory): QueryResult {
  const { columns, late } = planOf(source, memory);
  for (const { name, parse } of late) {
    for (const row of rows) {
      const value = row[name];
      if (typeof value === 'string') row[name] = parse(value);
    }
  }
  return { columns, rows, truncated, affected_rows };
}

/** The values of a domain's array look like those of the type below it. */
export const TYPES_SQL = `
select t.oid::int8 as oid, format_type(t.oid, null) as name, coalesce(nullif(e.typbasetype, 0), e.oid)::int8 as item,
  format_type(e.oid, null) as item_name, e.typdelim::text as delimiter
from pg_catalog.pg_type t left join pg_catalog.pg_type e on e.oid = t.typelem and t.typcategory = 'A'
where t.oid = any($1::oid[])`;

export function learnTypes(rows: readonly Row[], memory: Memory): void {
  for (const { oid, name, item, item_name, delimiter } of rows) {
    const type: TypeInfo =
      item === null
        ? { name: textOf(name), kind: 'string', parse: undefined }
        : arrayOf(textOf(item_name), TYPES.get(Number(item))?.parse, textOf(delimiter));
    memory.types.set(Number(oid), type);
  }
}
