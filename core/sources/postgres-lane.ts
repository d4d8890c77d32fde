import type { Socket } from 'node:net';
import { AppError } from '#core/errors.ts';
import { isCode } from './postgres-errors.ts';
import type { Fetched, FetchOptions, Memory, SourceColumns } from './postgres-plan.ts';
import {
  bindAndExecute,
  bindMessage,
  closePortal,
  describeMessages,
  EXECUTE,
  executeSome,
  FLUSH,
  parseMessage,
  simpleQuery,
  SYNC,
} from './postgres-messages.ts';
import { createReader, type Incoming, readColumns, readError, readOids } from './postgres-reader.ts';
import { openRows, type RowSink } from './postgres-rows.ts';
import { declaredOid, isJsonOid } from './postgres-types.ts';
import { toBound } from './postgres-values.ts';
import { OWN_BYTES } from './postgres-wire.ts';
import type { BoundStatement } from './source.ts';

/**
 * Runs the statements of a read-only session after its login, by the extended protocol with text values: each is parsed once
 * and kept, a call is one write, and rows become objects while they arrive. The driver, which made the login, is not asked.
 */
export interface Lane {
  /** One statement at a time. Rejects as the driver does: with the server's fields, or with a code of the connection. */
  fetch(statement: BoundStatement, options: LaneOptions, memory: Memory): Promise<Fetched>;
  /** The statement as this session keeps it; undefined when it was not prepared here. */
  keeps(statement: BoundStatement): Kept | undefined;
  /** Sends a kept statement behind those that are on their way. They are answered in this order. */
  send(kept: Kept, statement: BoundStatement, exchange: Exchange): void;
  /** Prepares the statement anew when it is needed again. */
  forget(statement: BoundStatement): void;
  /** How many statements are on their way. */
  length(): number;
  is_first(exchange: Exchange): boolean;
  /** Tells those behind the first one that they had better go elsewhere. */
  displace(): void;
  /** The first one took so long that the others were sent elsewhere, and it is not done yet. */
  is_stalled(): boolean;
  /** Sets the time limit together with the next statement. */
  setTimeout(timeout_ms: number): void;
  /** No transaction was left open by the last statement, and its time limit could be set. */
  is_idle(): boolean;
  /** Statements that the session keeps. */
  kept(): number;
}

export type LaneOptions = Pick<FetchOptions, 'max_rows' | 'max_bytes' | 'portal'>;

/** A statement that the session keeps, and what the database said of it. */
export interface Kept {
  readonly name: string;
  readonly oids: readonly number[];
  readonly columns: SourceColumns;
}

/** One statement on its way, until the server is ready for the next one. */
export interface Exchange {
  /** Where its rows go; null: nobody wants them any more. */
  rows: RowSink | null;
  /** Bytes of rows that may come. */
  readonly enough: number;
  /** When it became the first one, of `performance.now()`. */
  since: number;
  /** The server's first complaint. */
  error: unknown;
  on(message: Incoming): void;
  /** @param error null when all went well. */
  end(error: unknown): void;
  /** It is not the first one, and should run elsewhere. */
  displace(): void;
  /** It has been the first one for longer than others should wait behind it. */
  linger(): void;
}

const IDLE = 0x49;
const CHUNK_ROWS = 500;
/** Rows behind the limit are read and thrown away up to here: cheaper than ending the session. */
const SPILL_BYTES = 256 * 1024;
/** The server's routines that find that a kept statement does not fit any more: it is prepared again. */
const STALE = new Set(['FetchPreparedStatement', 'RevalidateCachedQuery']);
/** SQLSTATEs that say the same: the types that were inferred for its placeholders fit no more, since a column has another one. */
const MISFITS = ['42883', '42725', '42804'];
/** Nobody waits longer behind another's statement. */
const STALL_MS = 20;

/** Most bytes that rows of an answer may have before the session is ended. */
export const enoughOf = (max_bytes: number): number => 2 * max_bytes + 1024 * 1024;

/** @param exceeded ends the session: more bytes came than a call may have. */
export function openLane(socket: Socket, exceeded: () => void): Lane & { take(chunk: Buffer): void } {
  const statements = new Map<string, Kept>();
  const line: Exchange[] = [];
  let count = 0;
  let status = IDLE;
  let prefix: Buffer | null = null;
  let spoiled = false;
  let kept_texts = 0;
  let left = OWN_BYTES;
  let unsent: Buffer[] = [];
  let watching = false;
  let stalled: Exchange | null = null;

  const reader = createReader(socket, { onMessage, onRow: (bytes) => meter(bytes), onStrange: () => socket.destroy() });
  socket.once('close', () => {
    const error = closed();
    for (let first = line.shift(); first !== undefined; first = line.shift()) first.end(error);
  });

  /** @returns false when the row must not be read. */
  function meter(bytes: number): boolean {
    left -= bytes;
    if (left >= 0) return true;
    exceeded();
    line.shift()?.end(FLOODED);
    return false;
  }

  function onMessage(message: Incoming): void {
    const first = line[0];
    if (message.type === 'Z') {
      status = message.bytes[message.body] ?? 0;
      line.shift();
      const next = line[0];
      if (next !== undefined) begin(next);
      else reader.useRows(null);
      first?.end(first.error);
      return;
    }
    if (first === undefined) return;
    if (message.type === 'E') first.error ??= readError(message);
    if (message.type === 'G' || message.type === 'H' || message.type === 'W') {
      first.error = new AppError(
        'sql_error',
        'COPY from or to the client is not supported; write a SELECT or an INSERT instead.',
      );
      line.shift();
      first.end(first.error);
      socket.destroy();
      return;
    }
    first.on(message);
  }

  function begin(exchange: Exchange): void {
    exchange.since = performance.now();
    left = exchange.enough;
    reader.useRows(exchange.rows, spill);
  }

  function spill(): void {
    left = Math.min(left, SPILL_BYTES);
  }

  /** The first statement goes at once, those behind it together. */
  function put(bytes: Buffer, exchange: Exchange): void {
    if (prefix !== null) {
      const setting = prefix;
      prefix = null;
      put(setting, settingExchange());
    }
    line.push(exchange);
    if (line.length === 1) begin(exchange);
    else watch();
    if (line.length > 1 || unsent.length > 0) {
      if (unsent.push(bytes) === 1) setImmediate(sendAll);
      return;
    }
    socket.write(bytes);
  }

  function sendAll(): void {
    const [first] = unsent;
    const bytes = unsent.length === 1 && first !== undefined ? first : Buffer.concat(unsent);
    unsent = [];
    if (!socket.destroyed) socket.write(bytes);
  }

  /** A time limit that could not be set makes the session unfit for the next call. */
  const settingExchange = (): Exchange => ({
    rows: null,
    enough: OWN_BYTES,
    since: 0,
    error: null,
    end: (error) => void (spoiled ||= error !== null),
    ...ALONE,
  });

  function watch(): void {
    if (watching) return;
    watching = true;
    setTimeout(look, STALL_MS).unref();
  }

  /** A busy program is no slow statement: what has arrived by now is read before anything is done. */
  function look(): void {
    const [first] = line;
    watching = false;
    if (first === undefined) return;
    watch();
    if (first === stalled || performance.now() - first.since < STALL_MS) return;
    setImmediate(() => {
      if (line[0] !== first) return;
      first.linger();
      displace(first);
    });
  }

  function displace(first: Exchange | undefined): void {
    stalled = first ?? null;
    for (const exchange of line.slice(1)) exchange.displace();
  }

  function exchange(bytes: Buffer, on: Exchange['on'], rows: RowSink | null = null, enough = OWN_BYTES) {
    if (socket.destroyed) return Promise.reject(closed());
    return new Promise<void>((resolve, reject) => {
      // Rows where none were asked for are no answer that could be cut short.
      const end = (error: unknown) =>
        error === null ? resolve() : reject(error === FLOODED && rows === null ? closed() : error);
      put(bytes, { rows, enough, since: 0, error: null, end, ...ALONE, on });
    });
  }

  async function prepare(statement: BoundStatement): Promise<Kept> {
    const { text, types, typed } = statement;
    const name = `s${++count}`;
    let oids: readonly number[] = [];
    let columns: SourceColumns = [];
    const declared = typed ? types.map(declaredOid) : [];
    await exchange(Buffer.concat([parseMessage(name, text, declared), describeMessages(name), SYNC]), (message) => {
      if (message.type === 't') oids = readOids(message);
      if (message.type === 'T') columns = readColumns(message);
    });
    const kept = { name, oids, columns };
    statements.set(keyOf(statement), kept);
    kept_texts++;
    return kept;
  }

  async function execute(kept: Kept, statement: BoundStatement, options: LaneOptions, memory: Memory): Promise<Fetched> {
    const { portal, max_bytes } = options;
    const { columns } = kept;
    const rows = openRows(columns, options, memory);
    let changed = 0;
    const bind = bindMessage(kept.name, valuesOf(statement, kept));
    const tail = portal ? [executeSome(Math.min(CHUNK_ROWS, options.max_rows + 1)), FLUSH] : [EXECUTE];
    const on = (message: Incoming) => {
      if (message.type === 'C') changed = readCount(message);
      const next = portal ? nextStep(message.type, rows) : null;
      if (next !== null) socket.write(next);
    };
    try {
      await exchange(Buffer.concat([bind, ...tail]), on, rows, enoughOf(max_bytes));
    } catch (error) {
      if (error !== FLOODED) throw error;
      rows.truncate();
    }
    return { source: columns, rows: rows.rows, truncated: rows.truncated(), affected_rows: columns.length > 0 ? null : changed };
  }

  return {
    async fetch(statement, options, memory) {
      const known = statements.get(keyOf(statement));
      try {
        return await execute(known ?? (await prepare(statement)), statement, options, memory);
      } catch (error) {
        if (known === undefined || !isStale(error)) throw error;
        statements.delete(keyOf(statement));
        return execute(await prepare(statement), statement, options, memory);
      }
    },
    keeps: (statement) => statements.get(keyOf(statement)),
    send: (kept, statement, sent) => put(bindAndExecute(kept.name, valuesOf(statement, kept)), sent),
    forget: (statement) => void statements.delete(keyOf(statement)),
    length: () => line.length,
    is_first: (asked) => line[0] === asked,
    displace: () => displace(line[0]),
    is_stalled: () => stalled !== null && line[0] === stalled,
    setTimeout(timeout_ms) {
      prefix = simpleQuery(`set statement_timeout = ${timeout_ms}`);
    },
    is_idle: () => status === IDLE && !spoiled,
    kept: () => kept_texts,
    take: (chunk) => reader.take(chunk),
  };
}

const closed = (): Error => Object.assign(new Error('The connection is closed.'), { code: 'CONNECTION_CLOSED' });

/** Of an exchange that has the session for itself. */
const ALONE = { on() {}, displace() {}, linger() {} };

/** Why an answer ended that was larger than a call may have. */
export const FLOODED = new Error('More came than a call may have.');

export const isStale = (error: unknown): boolean =>
  isCode(error, ...MISFITS) || (error instanceof Error && 'routine' in error && STALE.has(String(error.routine)));

/** Two statements of one text with other declared types are two. */
const keyOf = ({ text, types, typed }: BoundStatement): string => (typed ? `${types.map(declaredOid).join()} ${text}` : text);

/** What the server is told after a chunk of a portal; the end of every portal is a Sync. */
function nextStep(type: string, rows: RowSink): Buffer | null {
  if (type === 'C' || type === 'E' || type === 'I') return SYNC;
  if (type !== 's') return null;
  return rows.truncated() ? closePortal : Buffer.concat([executeSome(CHUNK_ROWS), FLUSH]);
}

/** The number at the end of the command's tag. */
export function readCount({ bytes, body, end }: Incoming): number {
  return Number(/ (\d+)\0?$/.exec(bytes.toString('latin1', body, end))?.[1] ?? 0);
}

function valuesOf({ values, types, typed }: BoundStatement, { oids }: Kept): (string | null)[] {
  return values.map((value, i) => {
    const type = types[i] ?? 'string';
    const bound = toBound(value, type);
    if (bound === null || typeof bound === 'string') return bound;
    return isJsonOid(typed ? declaredOid(type) : (oids[i] ?? 0)) ? bound.json : String(bound);
  });
}
