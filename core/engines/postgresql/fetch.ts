import type { Readable, Writable } from 'node:stream';
import { AppError } from '#core/errors.ts';
import { type Fetched, type FetchOptions, type Memory, planOf, type SourceColumns } from './plan.ts';
import { type PostgresSession, UNNAMED } from './session.ts';
import { declaredOid } from './types.ts';
import { toBound } from './values.ts';
import { OWN_BYTES } from './wire.ts';
import type { BoundStatement, Json, Row } from '../shared/source.ts';

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
  meter.allow(OWN_BYTES, OWN_BYTES);
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
