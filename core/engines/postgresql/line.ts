import type { Socket } from 'node:net';
import { AppError } from '#core/errors.ts';
import { SYNC, unnamed } from './messages.ts';
import { createReader, type Incoming, readError } from './reader.ts';
import type { RowSink } from './rows.ts';
import { OWN_BYTES } from './wire.ts';

/** One statement on its way, until the server is ready for the next one. */
export interface Exchange {
  /** Where its rows go; null: nobody wants them any more. */
  rows: RowSink | null;
  /** Bytes of rows that may come. */
  readonly enough: number;
  /** It leaves no transaction open behind it. */
  readonly alone: boolean;
  /** When it became the first one, of `performance.now()`. */
  since: number;
  /** Commands of ours that are answered before it. */
  prelude: number;
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

/** What waits to be sent. `alone`: outside of a transaction; `held`: more messages of it follow. */
export interface Part {
  readonly bytes: Buffer;
  readonly exchange: Exchange;
  readonly kind: 'call' | 'held' | 'alone';
}

/** What is on its way on one session, in the order of the answers. */
export interface Line {
  put(part: Part): void;
  /** Rejects with the server's complaint, or a code of the connection. */
  exchange(bytes: Buffer, kind: Part['kind'], sent: Sent): Promise<void>;
  /** What ends a statement that was held: more messages went before it. */
  rollback(): Buffer;
  /** Sets a time limit, say, with the next statement. */
  prefix(bytes: Buffer): void;
  is_first(exchange: Exchange): boolean;
  displace(): void;
  is_stalled(): boolean;
  is_clean(): boolean;
  take(chunk: Buffer): void;
}

/** What ReadyForQuery says: no transaction, one, or one that failed. */
const IDLE = 0x49;
const IN_TRANSACTION: ReadonlySet<number> = new Set([0x54, 0x45]);
/**
 * Sent as texts each time: a statement that was kept prepared could be replaced by code of the database, and then there would
 * be no transaction.
 */
const BEGIN = unnamed('begin read only');
const ROLLBACK = unnamed('rollback');
const ROLLBACK_AND_BEGIN = Buffer.concat([ROLLBACK, BEGIN]);
const ROLLBACK_AND_SYNC = Buffer.concat([ROLLBACK, SYNC]);
/** Rows behind the limit are read and thrown away up to here: cheaper than ending the session. */
const SPILL_BYTES = 256 * 1024;
/** Nobody waits longer behind another's statement. */
const STALL_MS = 20;

/** @param exceeded ends the session: more bytes came than a call may have. */
export function openLine(socket: Socket, exceeded: () => void): Line {
  const line: Exchange[] = [];
  /** Of those in the line, the rollbacks that end a flight; and how many others there are. */
  const ours = new Set<Exchange>();
  let asked = 0;
  let prefix: Buffer | null = null;
  let spoiled = false;
  let left = OWN_BYTES;
  let unsent: Part[] = [];
  let waiting = false;
  let watching = false;
  let stalled: Exchange | null = null;

  const reader = createReader(socket, { onMessage, onRow: (bytes) => meter(bytes), onStrange: () => socket.destroy() });
  socket.once('close', () => {
    const error = closed();
    for (let first = shift(); first !== undefined; first = shift()) first.end(error);
  });

  /** @returns false when the row must not be read. */
  function meter(bytes: number): boolean {
    left -= bytes;
    if (left >= 0) return true;
    exceeded();
    shift()?.end(FLOODED);
    return false;
  }

  function shift(): Exchange | undefined {
    const first = line.shift();
    if (first !== undefined && !ours.delete(first)) asked--;
    return first;
  }

  function onMessage(message: Incoming): void {
    const first = line[0];
    if (message.type === 'Z') return onReady(message.bytes[message.body] ?? 0);
    // A setting that is told of was changed by what a statement ran, or by the server: the session is not what it was.
    if (message.type === 'S') spoiled = true;
    if (first === undefined) return;
    if (message.type === 'C' && first.prelude > 0) {
      first.prelude--;
      return;
    }
    if (message.type === 'E') first.error ??= readError(message);
    if (message.type === 'G' || message.type === 'H' || message.type === 'W') {
      first.error = new AppError(
        'sql_error',
        'COPY from or to the client is not supported; write a SELECT or an INSERT instead.',
      );
      shift();
      first.end(first.error);
      socket.destroy();
      return;
    }
    first.on(message);
  }

  function onReady(status: number): void {
    const first = shift();
    if (first !== undefined && !(first.alone ? status === IDLE : IN_TRANSACTION.has(status))) spoiled = true;
    const next = line[0];
    if (next !== undefined) begin(next);
    else reader.useRows(null);
    first?.end(first.error);
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
  function put(part: Part): void {
    const is_first = asked === 0;
    if (prefix !== null) add({ bytes: prefix, exchange: exchangeOf('alone', settle), kind: 'alone' });
    prefix = null;
    add(part);
    if (asked > 1) watch();
    if (is_first) return sendAll();
    if (!waiting) setImmediate(sendAll);
    waiting = true;
  }

  function add(part: Part): void {
    enqueue(part.exchange);
    unsent.push(part);
    asked++;
  }

  function enqueue(exchange: Exchange): void {
    line.push(exchange);
    if (line.length === 1) begin(exchange);
  }

  /** Every flight ends with a rollback, unless more messages of its last statement follow. */
  function sendAll(): void {
    const parts: Buffer[] = [];
    let open = false;
    for (const { bytes, exchange, kind } of unsent) {
      if (kind === 'alone') {
        if (open) parts.push(ROLLBACK);
        exchange.prelude = open ? 1 : 0;
      } else {
        parts.push(open ? ROLLBACK_AND_BEGIN : BEGIN);
        exchange.prelude = open ? 2 : 1;
      }
      parts.push(bytes);
      open = kind === 'call';
    }
    unsent = [];
    waiting = false;
    if (open) parts.push(rollback());
    if (!socket.destroyed) socket.write(Buffer.concat(parts));
  }

  function rollback(): Buffer {
    const ending = exchangeOf('alone', settle);
    ours.add(ending);
    enqueue(ending);
    return ROLLBACK_AND_SYNC;
  }

  /** What is ours and fails, a rollback or a time limit, makes the session unfit for the next call. */
  function settle(error: unknown): void {
    spoiled ||= error !== null;
  }

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

  function exchange(bytes: Buffer, kind: Part['kind'], sent: Sent): Promise<void> {
    if (socket.destroyed) return Promise.reject(closed());
    return new Promise<void>((resolve, reject) => {
      // Rows where none were asked for are no answer that could be cut short.
      const end = (error: unknown) =>
        error === null ? resolve() : reject(error === FLOODED && (sent.rows ?? null) === null ? closed() : error);
      put({ bytes, kind, exchange: exchangeOf(kind, end, sent) });
    });
  }

  return {
    put,
    exchange,
    rollback,
    prefix: (bytes) => void (prefix = bytes),
    is_first: (exchange) => line[0] === exchange,
    displace: () => displace(line[0]),
    is_stalled: () => stalled !== null && line[0] === stalled,
    is_clean: () => !spoiled,
    take: (chunk) => reader.take(chunk),
  };
}

const closed = (): Error => Object.assign(new Error('The connection is closed.'), { code: 'CONNECTION_CLOSED' });

/** One that has the session for itself, or is one of ours. */
const exchangeOf = (
  kind: Part['kind'],
  end: Exchange['end'],
  { on = () => {}, rows = null, enough = OWN_BYTES }: Sent = {},
): Exchange => ({
  rows,
  enough,
  alone: kind === 'alone',
  since: 0,
  prelude: 0,
  error: null,
  on,
  end,
  displace() {},
  linger() {},
});

export interface Sent {
  readonly on?: Exchange['on'];
  readonly rows?: RowSink | null;
  readonly enough?: number;
}

/** Why an answer ended that was larger than a call may have. */
export const FLOODED = new Error('The answer is larger than a call can have.');
