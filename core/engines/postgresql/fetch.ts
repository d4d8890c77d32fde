import { AppError } from '#core/errors.ts';
import { FLOODED, type ExchangeKind } from '#core/lib/postgres/exchange.ts';
import type { Line } from '#core/lib/postgres/line.ts';
import {
  bindMessage,
  closePortal,
  describeMessages,
  EXECUTE,
  executeSome,
  FLUSH,
  parseMessage,
  SYNC,
} from '#core/lib/postgres/messages.ts';
import { type Incoming, readColumns, readCount, readOids, readTag, type RowReader } from '#core/lib/postgres/reader.ts';
import type { Fetched, FetchOptions, Memory, SourceColumns } from './plan.ts';
import { openRows, type RowSink } from './rows.ts';
import { LARGEST_ROW, PART_BYTES, PART_ROWS } from '../shared/rows.ts';
import { oidOf } from './parameters/declared.ts';
import { isJsonOid, keepsZone, scalarOf } from './parameters/types.ts';
import { toBound, withoutZone } from './values.ts';
import type { BoundStatement, Row } from '#core/lib/sql/result.ts';

/** A statement that a session has prepared, with the database's description of it. */
export interface CachedStatement {
  readonly name: string;
  readonly oids: readonly number[];
  readonly columns: SourceColumns;
}

/** Command tags that contain the number of changed rows. */
const CHANGING = /^(?:INSERT|UPDATE|DELETE|MERGE) /;
const CHUNK_ROWS = 500;
const MORE = Buffer.concat([executeSome(CHUNK_ROWS), FLUSH]);

/** Bytes of rows in an answer after which the session is closed. */
export const enoughOf = (max_bytes: number): number => 2 * max_bytes + 1024 * 1024;

/** @param name empty: the statement is replaced by the next one without a name. */
export async function prepare(
  line: Line,
  { text, declared = [] }: Pick<BoundStatement, 'text' | 'declared'>,
  name: string,
  kind: ExchangeKind,
): Promise<CachedStatement> {
  return { name, ...(await prepareText(line, text, declared.map(oidOf), name, kind)) };
}

/** @param types oids of the placeholders; 0 or absent: the database infers the type. */
export async function prepareText(
  line: Line,
  text: string,
  types: readonly number[],
  name = '',
  kind: ExchangeKind = 'within',
): Promise<Omit<CachedStatement, 'name'>> {
  let oids: readonly number[] = [];
  let columns: SourceColumns = [];
  const on = (message: Incoming) => {
    if (message.type === 't') oids = readOids(message);
    if (message.type === 'T') columns = readColumns(message);
  };
  await line.exchange(Buffer.concat([parseMessage(name, text, types), describeMessages(name), SYNC]), kind, { on });
  return { oids, columns };
}

/** Discards an answer: the placeholders of the cached statement now have other types. */
export const RETYPED = new Error('The placeholders of the statement have other types now.');

/**
 * Asks for the current types of a statement's placeholders. The message is in the same write as the statement, before it, because
 * the statement may fail due to other types.
 */
export const askTypes = ({ text, declared = [] }: Pick<BoundStatement, 'text' | 'declared'>): Buffer =>
  Buffer.concat([parseMessage('', text, declared.map(oidOf)), describeMessages('')]);

/** True when a message answers `askTypes` with other types than the cached ones. */
export const isRetyping = (message: Incoming, oids: CachedStatement['oids']): boolean =>
  message.type === 't' && readOids(message).join() !== oids.join();

/** Limits apply while rows arrive: memory is at most the returned rows and about as many bytes again. */
export async function execute(
  line: Line,
  cached: CachedStatement,
  statement: BoundStatement,
  options: FetchOptions & { readonly kind: ExchangeKind; readonly settings?: Buffer | null; readonly asks_types?: boolean },
  memory: Memory,
): Promise<Fetched> {
  const { portal, mode, kind, max_rows, max_bytes, settings = null, asks_types = false } = options;
  const { columns } = cached;
  const rows = openRows(columns, options, memory);
  const enough = enoughOf(max_bytes);
  let affected = 0;
  let direct: number | null = null;
  let retyped = false;
  const tail = portal ? [executeSome(Math.min(CHUNK_ROWS, max_rows + 1)), FLUSH] : [EXECUTE];
  const on = (message: Incoming) => {
    retyped ||= isRetyping(message, cached.oids);
    if (message.type === 'C' && mode === 'write' && CHANGING.test(readTag(message))) direct = readCount(message);
    if (message.type === 'C' && columns.length === 0) affected = readCount(message);
    const next = portal ? nextStep(message.type, rows) : null;
    if (next !== null) line.more(next, next !== MORE);
  };
  // A writing statement runs to its end, whatever it returns.
  const limits = mode === 'write' ? { enough: Number.POSITIVE_INFINITY, largest: enough, spills: false } : { enough };
  try {
    const bound = bindMessage(cached.name, valuesOf(statement, cached));
    const before = [...(settings === null ? [] : [settings]), ...(asks_types ? [askTypes(statement)] : [])];
    await line.exchange(Buffer.concat([...before, bound, ...tail]), kind, {
      on,
      rows,
      settings: settings !== null,
      ...limits,
    });
  } catch (error) {
    if (retyped) throw RETYPED;
    if (error !== FLOODED) throw error;
    if (mode === 'write')
      throw new AppError('too_large', 'The statement returned a row beyond the byte limit, so it was rolled back; return less.');
    rows.truncate();
  }
  if (retyped) throw RETYPED;
  return {
    source: columns,
    rows: rows.rows,
    truncated: rows.truncated(),
    affected_rows: columns.length > 0 ? null : affected,
    direct,
  };
}

/** Rows of the first part of a whole result, before their size is known. */
const FIRST_ROWS = 50;

/**
 * Fetches all rows within the transaction that was begun, part by part: the server waits until a part was received. The size of a
 * part follows that of its rows.
 */
export async function fetchParts(
  line: Line,
  cached: CachedStatement,
  statement: BoundStatement,
  memory: Memory,
  receive: (rows: Row[]) => Promise<void>,
): Promise<void> {
  const rows = openRows(cached.columns, { max_rows: Number.POSITIVE_INFINITY, max_bytes: Number.POSITIVE_INFINITY }, memory);
  let bytes = 0;
  let part_rows = FIRST_ROWS;
  let refusal: { readonly error: unknown } | null = null;
  const counted: RowReader = {
    add(chunk, at, text) {
      bytes += chunk.readUInt32BE(at - 4);
      return rows.add(chunk, at, text);
    },
  };
  const more = (): Buffer => Buffer.concat([executeSome(part_rows), FLUSH]);
  /** The part that is being received. The server prepares the next one at the same time. */
  let receiving: Promise<void> = Promise.resolve();
  const take = (): Row[] => {
    const part = rows.rows.splice(0);
    const fitting = Math.floor((PART_BYTES * part.length) / Math.max(1, bytes));
    part_rows = Math.max(1, Math.min(fitting, PART_ROWS, part_rows * 4));
    bytes = 0;
    return part;
  };
  const handOver = async (): Promise<void> => {
    await receiving;
    const part = take();
    if (refusal === null) {
      receiving = receive(part).catch((error: unknown) => {
        refusal = { error };
      });
    }
    line.more(refusal === null ? more() : closePortal, refusal !== null);
  };
  const on = ({ type }: Incoming) => {
    if (type === 's') void handOver();
    if (type === 'C' || type === 'E' || type === 'I') line.more(SYNC, true);
  };
  const bound = bindMessage(cached.name, valuesOf(statement, cached));
  const limits = { enough: Number.POSITIVE_INFINITY, largest: LARGEST_ROW, spills: false };
  await line
    .exchange(Buffer.concat([bound, more()]), 'within', { on, rows: counted, ...limits })
    .catch((error: unknown) => Promise.reject(error === FLOODED ? new AppError('too_large', LARGE_ROW) : error));
  await receiving;
  if (refusal !== null) throw (refusal as { readonly error: unknown }).error;
  if (rows.rows.length > 0) await receive(rows.rows);
}

const LARGE_ROW = `The result has a row of more than ${LARGEST_ROW / 1024 / 1024} MiB.`;

/** The message to send after a chunk of a portal. Every portal ends with a Sync. */
function nextStep(type: string, rows: RowSink): Buffer | null {
  if (type === 'C' || type === 'E' || type === 'I') return SYNC;
  if (type !== 's') return null;
  return rows.truncated() ? closePortal : MORE;
}

export function valuesOf({ values, types }: BoundStatement, { oids }: CachedStatement): (string | null)[] {
  return values.map((value, i) => {
    const type = types[i] ?? 'string';
    const oid = oids[i] ?? 0;
    const bound = toBound(scalarOf(type) === 'datetime' && !keepsZone(oid) ? withoutZone(value) : value, type);
    if (bound === null || typeof bound === 'string') return bound;
    return isJsonOid(oid) ? bound.json : String(bound);
  });
}
