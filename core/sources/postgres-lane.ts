import type { Socket } from 'node:net';
import { AppError } from '#core/errors.ts';
import type { Fetched, FetchOptions, Memory, SourceColumns } from './postgres-plan.ts';
import {
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
import type { BoundStatement } from './source.ts';

/**
 * Runs the statements of a read-only session after its login, by the extended protocol with text values: each is parsed once
 * and kept, a call is one write, and rows become objects while they arrive. The driver, which made the login, is not asked.
 */
export interface Lane {
  /** One statement at a time. Rejects as the driver does: with the server's fields, or with a code of the connection. */
  fetch(statement: BoundStatement, options: LaneOptions, memory: Memory): Promise<Fetched>;
  /** Sets the time limit together with the next statement. */
  setTimeout(timeout_ms: number): void;
  /** No transaction was left open by the last statement, and its time limit could be set. */
  is_idle(): boolean;
  /** Statements that the session keeps. */
  kept(): number;
}

export type LaneOptions = Pick<FetchOptions, 'max_rows' | 'max_bytes' | 'portal'>;

/** A statement that the session keeps, and what the database said of it. */
interface Kept {
  readonly name: string;
  readonly oids: readonly number[];
  readonly columns: SourceColumns;
}

/** What is awaited from the server. */
interface Exchange {
  readonly on: (message: Incoming) => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  error: unknown;
}

const IDLE = 0x49;
const CHUNK_ROWS = 500;
/** Rows behind the limit are read and thrown away up to here: cheaper than ending the session. */
const SPILL_BYTES = 256 * 1024;
/** The server's routines that find that a kept statement does not fit any more: it is prepared again. */
const STALE = new Set(['FetchPreparedStatement', 'RevalidateCachedQuery']);

/** @param exceeded ends the session: more bytes came than a call may have. */
export function openLane(socket: Socket, exceeded: () => void): Lane & { take(chunk: Buffer): void } {
  const statements = new Map<string, Kept>();
  let count = 0;
  let status = IDLE;
  let running: Exchange | null = null;
  /** Ends of exchanges that nobody waits for. */
  let skipped = 0;
  let prefix: Buffer | null = null;
  let spoiled = false;
  let kept_texts = 0;
  let left = Number.POSITIVE_INFINITY;
  let flooded = false;

  const reader = createReader(socket, { onMessage, onRow: (bytes) => meter(bytes), onStrange: () => socket.destroy() });
  socket.once('close', () => end(Object.assign(new Error('The connection was closed.'), { code: 'CONNECTION_CLOSED' })));

  function end(error: unknown): void {
    const current = running;
    running = null;
    current?.reject(flooded ? FLOODED : error);
  }

  /** @returns false when the row must not be read. */
  function meter(bytes: number): boolean {
    left -= bytes;
    if (left >= 0) return true;
    flooded = true;
    exceeded();
    end(FLOODED);
    return false;
  }

  function onMessage(message: Incoming): void {
    const { type, bytes, body } = message;
    if (skipped > 0) {
      // Of a time limit that travelled ahead. One that could not be set makes the session unfit for the next call.
      if (type === 'E') spoiled = true;
      if (type === 'Z') skipped--;
      return;
    }
    if (type === 'Z') {
      status = bytes[body] ?? 0;
      const current = running;
      running = null;
      if (current === null) return;
      if (current.error === null) current.resolve();
      else current.reject(current.error);
      return;
    }
    if (running === null) return;
    if (type === 'E') running.error ??= readError(message);
    if (type === 'G' || type === 'H' || type === 'W') {
      socket.destroy();
      return end(new AppError('sql_error', 'COPY from or to the client is not supported; write a SELECT or an INSERT instead.'));
    }
    running.on(message);
  }

  function exchange(bytes: Buffer, on: (message: Incoming) => void): Promise<void> {
    if (socket.destroyed)
      return Promise.reject(Object.assign(new Error('The connection is closed.'), { code: 'CONNECTION_CLOSED' }));
    return new Promise((resolve, reject) => {
      running = { on, resolve, reject, error: null };
      socket.write(prefix === null ? bytes : Buffer.concat([prefix, bytes]));
      if (prefix !== null) skipped++;
      prefix = null;
    });
  }

  async function prepare(key: string, { text, types, typed }: BoundStatement): Promise<Kept> {
    const name = `s${++count}`;
    let oids: readonly number[] = [];
    let columns: SourceColumns = [];
    const declared = typed ? types.map(declaredOid) : [];
    await exchange(Buffer.concat([parseMessage(name, text, declared), describeMessages(name), SYNC]), (message) => {
      if (message.type === 't') oids = readOids(message);
      if (message.type === 'T') columns = readColumns(message);
    });
    const kept = { name, oids, columns };
    statements.set(key, kept);
    kept_texts++;
    return kept;
  }

  async function execute(kept: Kept, statement: BoundStatement, options: LaneOptions, memory: Memory): Promise<Fetched> {
    const { portal, max_bytes } = options;
    const { columns } = kept;
    const rows = openRows(columns, options, memory);
    const enough = 2 * max_bytes + 1024 * 1024;
    let changed = 0;
    left = enough;
    flooded = false;
    reader.useRows(rows, () => (left = Math.min(left, SPILL_BYTES)));
    const bind = bindMessage(kept.name, valuesOf(statement, kept));
    const tail = portal ? [executeSome(Math.min(CHUNK_ROWS, options.max_rows + 1)), FLUSH] : [EXECUTE];
    try {
      await exchange(Buffer.concat([bind, ...tail]), (message) => {
        if (message.type === 'C') changed = readCount(message);
        const next = portal ? nextStep(message.type, rows) : null;
        if (next !== null) socket.write(next);
      });
    } catch (error) {
      if (error !== FLOODED) throw error;
      rows.truncate();
    } finally {
      reader.useRows(null);
      left = Number.POSITIVE_INFINITY;
    }
    return { source: columns, rows: rows.rows, truncated: rows.truncated(), affected_rows: columns.length > 0 ? null : changed };
  }

  return {
    async fetch(statement, options, memory) {
      const key = statement.typed ? `${statement.types.map(declaredOid).join()} ${statement.text}` : statement.text;
      const known = statements.get(key);
      try {
        return await execute(known ?? (await prepare(key, statement)), statement, options, memory);
      } catch (error) {
        if (known === undefined || !(error instanceof Error && 'routine' in error && STALE.has(String(error.routine))))
          throw error;
        statements.delete(key);
        return execute(await prepare(key, statement), statement, options, memory);
      }
    },
    setTimeout(timeout_ms) {
      prefix = simpleQuery(`set statement_timeout = ${timeout_ms}`);
    },
    is_idle: () => status === IDLE && !spoiled,
    kept: () => kept_texts,
    take: (chunk) => reader.take(chunk),
  };
}

const FLOODED = new Error('More came than a call may have.');

/** What the server is told after a chunk of a portal; the end of every portal is a Sync. */
function nextStep(type: string, rows: RowSink): Buffer | null {
  if (type === 'C' || type === 'E' || type === 'I') return SYNC;
  if (type !== 's') return null;
  return rows.truncated() ? closePortal : Buffer.concat([executeSome(CHUNK_ROWS), FLUSH]);
}

/** The number at the end of the command's tag. */
function readCount({ bytes, body, end }: Incoming): number {
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
