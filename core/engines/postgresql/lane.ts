import type { Socket } from 'node:net';
import { isCode } from './errors.ts';
import type { Fetched, FetchOptions, Memory, SourceColumns } from './plan.ts';
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
} from './messages.ts';
import { type Exchange, FLOODED, openLine } from './line.ts';
import { type Incoming, readColumns, readOids } from './reader.ts';
import { lastCell, openRows, type RowSink } from './rows.ts';
import { declaredOid, isJsonOid } from './types.ts';
import { toBound } from './values.ts';
import type { BoundStatement } from '../shared/source.ts';

/**
 * Runs the statements of a read-only session after its login, by the extended protocol with text values: each is parsed once
 * and kept, a call is one write, and rows become objects while they arrive. The driver, which made the login, is not asked.
 * Each statement has a read-only transaction of its own that is rolled back, whatever it did; its messages travel in the same
 * write, so that it costs no round trip.
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
  is_first(exchange: Exchange): boolean;
  /** Tells those behind the first one that they had better go elsewhere. */
  displace(): void;
  /** The first one took so long that the others were sent elsewhere, and it is not done yet. */
  is_stalled(): boolean;
  /** Sets the time limit together with the next statement. */
  setTimeout(timeout_ms: number): void;
  /** The value in the last row of one of our own texts, which brings its own transaction and is never kept. */
  ask(text: string): Promise<string>;
  /** Every transaction ended as it had to, no reported setting changed, and the time limit could be set. */
  is_clean(): boolean;
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

const CHUNK_ROWS = 500;
/** The server's routines that find that a kept statement does not fit any more: it is prepared again. */
const STALE = new Set(['FetchPreparedStatement', 'RevalidateCachedQuery']);
/** SQLSTATEs that say the same: the types that were inferred for its placeholders fit no more, since a column has another one. */
const MISFITS = ['42883', '42725', '42804'];

/** Most bytes that rows of an answer may have before the session is ended. */
export const enoughOf = (max_bytes: number): number => 2 * max_bytes + 1024 * 1024;

/** @param exceeded ends the session: more bytes came than a call may have. */
export function openLane(socket: Socket, exceeded: () => void): Lane & { take(chunk: Buffer): void } {
  const statements = new Map<string, Kept>();
  const line = openLine(socket, exceeded);
  let count = 0;
  let kept_texts = 0;

  async function prepare(statement: BoundStatement): Promise<Kept> {
    const { text, types, typed } = statement;
    const name = `s${++count}`;
    let oids: readonly number[] = [];
    let columns: SourceColumns = [];
    const declared = typed ? types.map(declaredOid) : [];
    const on = (message: Incoming) => {
      if (message.type === 't') oids = readOids(message);
      if (message.type === 'T') columns = readColumns(message);
    };
    await line.exchange(Buffer.concat([parseMessage(name, text, declared), describeMessages(name), SYNC]), 'call', { on });
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
      if (next === null) return;
      socket.write(next === MORE ? next : Buffer.concat([next, line.rollback()]));
    };
    try {
      await line.exchange(Buffer.concat([bind, ...tail]), portal ? 'held' : 'call', { on, rows, enough: enoughOf(max_bytes) });
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
    send: (kept, statement, sent) =>
      line.put({ bytes: bindAndExecute(kept.name, valuesOf(statement, kept)), exchange: sent, kind: 'call' }),
    forget: (statement) => void statements.delete(keyOf(statement)),
    is_first: (exchange) => line.is_first(exchange),
    displace: () => line.displace(),
    is_stalled: () => line.is_stalled(),
    setTimeout(timeout_ms) {
      line.prefix(simpleQuery(`set statement_timeout = ${timeout_ms}`));
    },
    async ask(text) {
      const rows = lastCell();
      await line.exchange(simpleQuery(text), 'alone', { rows });
      return rows.cell();
    },
    is_clean: () => line.is_clean(),
    kept: () => kept_texts,
    take: (chunk) => line.take(chunk),
  };
}

export const isStale = (error: unknown): boolean =>
  isCode(error, ...MISFITS) || (error instanceof Error && 'routine' in error && STALE.has(String(error.routine)));

/** Two statements of one text with other declared types are two. */
const keyOf = ({ text, types, typed }: BoundStatement): string => (typed ? `${types.map(declaredOid).join()} ${text}` : text);

/** What the server is told after a chunk of a portal; the end of every portal is a Sync. */
function nextStep(type: string, rows: RowSink): Buffer | null {
  if (type === 'C' || type === 'E' || type === 'I') return SYNC;
  if (type !== 's') return null;
  return rows.truncated() ? closePortal : MORE;
}

const MORE = Buffer.concat([executeSome(CHUNK_ROWS), FLUSH]);

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
