import type { Socket } from 'node:net';
import { AppError } from '#core/errors.ts';
import {
  closed,
  type Exchange,
  exchangeOf,
  FLOODED,
  type ExchangeKind,
  INTERNAL_BYTES,
  type Part,
  type Sent,
} from './exchange.ts';
import { IDLE, isExpected, keepCommands, packFlight, ROLLBACK_AND_SYNC, TRANSACTION_TAGS } from './flight.ts';
import { SETTINGS_TAG } from './settings.ts';
import { createReader, type Incoming, type Reader, readError, readTag } from './reader.ts';

/** The pending exchanges of one session, in the order of their answers. */
export interface Line {
  put(part: Part): void;
  /** Rejects with the server's error, or with a code of the connection. */
  exchange(bytes: Buffer, kind: ExchangeKind, sent?: Sent): Promise<void>;
  /**
   * Called before the first `call`. @param chains the server supports `rollback and chain`. @param more further statements to
   * prepare in the session.
   */
  prepareTransactions(chains: boolean, more?: Buffer): void;
  /** Sends more messages of a `held` or `within` statement. @param ends they are its last. */
  more(bytes: Buffer, ends: boolean): void;
  /** Sends bytes, such as a time limit, together with the next statement. */
  prefix(bytes: Buffer): void;
  is_first(exchange: Exchange): boolean;
  displace(): void;
  is_stalled(): boolean;
  is_clean(): boolean;
  take(chunk: Buffer): void;
}

/** Up to this many bytes of rows after the limit are read and discarded, which is cheaper than closing the session. */
const SPILL_BYTES = 256 * 1024;
/** Milliseconds that a statement waits behind another one. */
const STALL_MS = 20;
/** Milliseconds that it waits for an answer that arrives with another one. */
const HELD_UP_MS = 100;

const NOTHING = Buffer.alloc(0);

export interface LineEnds {
  /** More bytes of rows arrived than allowed for a call, so the session must be closed. */
  readonly exceeded: () => void;
  /** The bytes are not PostgreSQL's protocol, so the session must be closed. */
  readonly strange: () => void;
}

/** @param socket of a logged-in session. */
export const openLine = (socket: Socket, ends: LineEnds): Line => new ExchangeLine(socket, ends);

class ExchangeLine implements Line {
  readonly #socket: Socket;
  readonly #ends: LineEnds;
  readonly #reader: Reader;
  readonly #line: Exchange[] = [];
  /** Number of queued exchanges that the line did not add. */
  #queued = 0;
  #prefix: Buffer | null = null;
  #spoiled = false;
  #remaining = INTERNAL_BYTES;
  #unsent: Part[] = [];
  #waiting = false;
  /** Expected answers of the current flight. Statements that arrive before it has landed form the next flight. */
  #flying = 0;
  #watching = false;
  #stalled: Exchange | null = null;
  #held_up: Exchange | null = null;
  #chains = false;
  #largest = INTERNAL_BYTES;

  constructor(socket: Socket, ends: LineEnds) {
    this.#socket = socket;
    this.#ends = ends;
    this.#reader = createReader(socket, {
      onMessage: (message) => this.#onMessage(message),
      onRow: (bytes) => this.#meter(bytes),
      onStrange: ends.strange,
    });
    socket.once('close', () => {
      const error = closed();
      // Before it closes the connection, a server sends the reason.
      for (let first = this.#shift(); first !== undefined; first = this.#shift()) first.end(first.error ?? error);
    });
  }

  /**
   * The first statement is sent at once. Later calls are sent together once the flight before them has landed, with all that
   * arrived at the same moment: fewer and larger flights wake the server less often.
   */
  put(part: Part): void {
    const is_first = this.#queued === 0;
    if (this.#prefix !== null) this.#add({ bytes: this.#prefix, exchange: exchangeOf('alone', this.#settle) });
    this.#prefix = null;
    this.#add(part);
    if (this.#queued > 1) this.#watchFirst();
    if (is_first && this.#flying === 0) return this.#sendAll();
    if (this.#flying === 0) this.#sendSoon();
  }

  exchange(bytes: Buffer, kind: ExchangeKind, sent: Sent = {}): Promise<void> {
    if (this.#socket.destroyed) return Promise.reject(closed());
    return new Promise<void>((resolve, reject) => {
      // Rows that were not requested cannot be truncated, so they are an error.
      const end = (error: unknown) =>
        error === null ? resolve() : reject(error === FLOODED && (sent.rows ?? null) === null ? closed() : error);
      this.put({ bytes, exchange: exchangeOf(kind, end, sent) });
    });
  }

  prepareTransactions(known: boolean, more: Buffer = NOTHING): void {
    this.#chains = known;
    this.#enqueue(this.#internalExchange());
    this.#send([more, keepCommands(known)]);
  }

  more(bytes: Buffer, ends: boolean): void {
    if (!ends || this.#line[0]?.kind !== 'held') return this.#send([bytes]);
    this.#enqueue(this.#internalExchange());
    this.#send([bytes, ROLLBACK_AND_SYNC]);
  }

  prefix(bytes: Buffer): void {
    this.#prefix = bytes;
  }

  is_first(exchange: Exchange): boolean {
    return this.#line[0] === exchange;
  }

  displace(): void {
    this.#displace(this.#line[0]);
  }

  is_stalled(): boolean {
    return this.#stalled !== null && this.#line[0] === this.#stalled;
  }

  is_clean(): boolean {
    return !this.#spoiled;
  }

  take(chunk: Buffer): void {
    this.#reader.take(chunk);
  }

  /** @returns false when the row must not be read. */
  #meter(bytes: number): boolean {
    this.#remaining -= bytes;
    if (this.#remaining >= 0 && bytes <= this.#largest) return true;
    this.#ends.exceeded();
    this.#shift()?.end(FLOODED);
    return false;
  }

  #shift(): Exchange | undefined {
    const first = this.#line.shift();
    if (first !== undefined && first.kind !== 'own') this.#queued--;
    return first;
  }

  #onMessage(message: Incoming): void {
    const first = this.#line[0];
    if (message.type === 'Z') return this.#onReady(message.bytes[message.body] ?? 0);
    // A statement or the server changed a reported setting, so the session is no longer clean.
    if (message.type === 'S') this.#spoiled = true;
    if (first === undefined) return;
    if (message.type === 'C' && (first.prelude > 0 || first.kind === 'own')) {
      if (first.prelude > 0) first.prelude--;
      if (!TRANSACTION_TAGS.has(readTag(message))) this.#spoiled = true;
      return;
    }
    if (message.type === 'C' && first.settings) {
      first.settings = false;
      if (readTag(message) !== SETTINGS_TAG) this.#spoiled = true;
      return;
    }
    if (message.type === 'C' && first.closes && readTag(message) === 'ROLLBACK') return;
    if (message.type === 'E') first.error ??= readError(message);
    if (message.type === 'G' || message.type === 'H' || message.type === 'W') {
      first.error = new AppError(
        'sql_error',
        'COPY from or to the client is not supported; write a SELECT or an INSERT instead.',
      );
      this.#shift();
      first.end(first.error);
      this.#socket.destroy();
      return;
    }
    first.on(message);
    if (message.type !== 'C' || !first.joined) return;
    this.#land();
    if (this.#line[0] !== undefined) this.#begin(this.#line[0]);
    first.end(null);
  }

  #onReady(status: number): void {
    const was_flying = this.#flying > 0;
    const first = this.#land();
    if (first !== undefined && !isExpected(status, first)) this.#spoiled = true;
    const skipped: Exchange[] = [];
    // It failed, so the server skipped the exchanges that have no Sync in between.
    for (let last = first; last?.joined === true;) if ((last = this.#land()) !== undefined) skipped.push(last);
    const has_landed = was_flying && this.#flying === 0;
    // The last one of a flight failed, so its rollback was skipped.
    if (has_landed && status !== IDLE) {
      this.#line.unshift(this.#internalExchange());
      this.#send([ROLLBACK_AND_SYNC]);
    }
    const next = this.#line[0];
    if (next === undefined) this.#reader.useRows(null);
    else this.#begin(next);
    if (has_landed && this.#unsent.length > 0) this.#sendSoon();
    first?.end(first.error);
    for (const exchange of skipped) {
      exchange.displace();
      exchange.end(null);
    }
  }

  #land(): Exchange | undefined {
    if (this.#flying > 0) this.#flying--;
    return this.#shift();
  }

  #begin(exchange: Exchange): void {
    exchange.since = performance.now();
    this.#remaining = exchange.enough;
    this.#largest = exchange.largest;
    this.#reader.useRows(exchange.rows, exchange.spills ? this.#spill : undefined);
  }

  readonly #spill = (): void => {
    this.#remaining = Math.min(this.#remaining, SPILL_BYTES);
  };

  #sendSoon(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    setImmediate(() => {
      this.#waiting = false;
      if (this.#flying === 0) this.#sendAll();
    });
  }

  #add(part: Part): void {
    this.#enqueue(part.exchange);
    this.#unsent.push(part);
    this.#queued++;
  }

  #enqueue(exchange: Exchange): void {
    this.#line.push(exchange);
    if (this.#line.length === 1) this.#begin(exchange);
  }

  #sendAll(): void {
    const parts = packFlight(this.#unsent, this.#chains);
    if (this.#unsent.some(({ exchange }) => exchange.kind === 'call')) this.#flying = this.#line.length;
    this.#unsent = [];
    this.#send(parts);
  }

  #send(parts: readonly Buffer[]): void {
    if (parts.length === 0 || this.#socket.destroyed) return;
    this.#socket.write(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts));
  }

  #internalExchange(): Exchange {
    return exchangeOf('own', this.#settle);
  }

  /** When an internal command fails, such as a rollback or a time limit, the session is not used for the next call. */
  readonly #settle = (error: unknown): void => {
    this.#spoiled ||= error !== null;
  };

  #watchFirst(): void {
    if (this.#watching) return;
    this.#watching = true;
    setTimeout(() => this.#look(), STALL_MS).unref();
  }

  /** This process may be busy, so received answers are read before a statement counts as slow. */
  #look(): void {
    const [first] = this.#line;
    this.#watching = false;
    if (first === undefined) return;
    this.#watchFirst();
    const took_ms = performance.now() - first.since;
    // Its answer may be complete, but delayed by that of a slow statement after it.
    if (first.joined && took_ms >= HELD_UP_MS && first !== this.#held_up) {
      this.#held_up = first;
      first.displace();
      first.linger();
    }
    if (first === this.#stalled || took_ms < STALL_MS) return;
    setImmediate(() => {
      if (this.#line[0] !== first) return;
      first.linger();
      this.#displace(first);
    });
  }

  #displace(first: Exchange | undefined): void {
    this.#stalled = first ?? null;
    const gone = new Set(this.#line.slice(1).filter((exchange) => exchange.displace()));
    const dropped = this.#unsent.filter(({ exchange }) => gone.has(exchange));
    this.#unsent = this.#unsent.filter(({ exchange }) => !gone.has(exchange));
    for (const { exchange } of dropped) {
      this.#line.splice(this.#line.indexOf(exchange), 1);
      this.#queued--;
      exchange.end(null);
    }
  }
}
