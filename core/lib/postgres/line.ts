import type { Socket } from 'node:net';
import { AppError } from '#core/errors.ts';
import { closed, type Exchange, exchangeOf, FLOODED, type ExchangeKind, OWN_BYTES, type Part, type Sent } from './exchange.ts';
import { IDLE, isExpected, keepCommands, packFlight, ROLLBACK_AND_SYNC, TRANSACTION_TAGS } from './flight.ts';
import { SETTINGS_TAG } from './settings.ts';
import { createReader, type Incoming, readError, readTag } from './reader.ts';

/** What is on its way on one session, in the order of the answers. */
export interface Line {
  put(part: Part): void;
  /** Rejects with the server's complaint, or a code of the connection. */
  exchange(bytes: Buffer, kind: ExchangeKind, sent?: Sent): Promise<void>;
  /** Before the first `call`. @param chains the server knows `rollback and chain`. @param more what the session keeps besides. */
  prepareTransactions(chains: boolean, more?: Buffer): void;
  /** More messages of a statement that was held, or is `within`. @param ends with them it needs nothing more. */
  more(bytes: Buffer, ends: boolean): void;
  /** Sets a time limit, say, with the next statement. */
  prefix(bytes: Buffer): void;
  is_first(exchange: Exchange): boolean;
  displace(): void;
  is_stalled(): boolean;
  is_clean(): boolean;
  take(chunk: Buffer): void;
}

/** Rows behind the limit are read and thrown away up to here: cheaper than ending the session. */
const SPILL_BYTES = 256 * 1024;
/** Nobody waits longer behind another's statement. */
const STALL_MS = 20;
/** Nor does anybody wait longer for an answer that comes with another's. */
const HELD_UP_MS = 100;

const NOTHING = Buffer.alloc(0);

export interface LineEnds {
  /** More bytes of rows came than a call may have: the session has to end. */
  readonly exceeded: () => void;
  /** What comes is not PostgreSQL's: the session has to end. */
  readonly strange: () => void;
}

/** @param socket of a session that is logged in. */
export function openLine(socket: Socket, { exceeded, strange }: LineEnds): Line {
  const line: Exchange[] = [];
  /** How many of those in the line are not the line's own. */
  let asked = 0;
  let prefix: Buffer | null = null;
  let spoiled = false;
  let left = OWN_BYTES;
  let unsent: Part[] = [];
  let waiting = false;
  /** Answers to come until the calls that were sent together are done: what comes meanwhile is sent together afterwards. */
  let flying = 0;
  let watching = false;
  let stalled: Exchange | null = null;
  let held_up: Exchange | null = null;
  let chains = false;
  let largest = OWN_BYTES;

  const reader = createReader(socket, { onMessage, onRow: (bytes) => meter(bytes), onStrange: strange });
  socket.once('close', () => {
    const error = closed();
    // Before it hangs up, a server says why.
    for (let first = shift(); first !== undefined; first = shift()) first.end(first.error ?? error);
  });

  /** @returns false when the row must not be read. */
  function meter(bytes: number): boolean {
    left -= bytes;
    if (left >= 0 && bytes <= largest) return true;
    exceeded();
    shift()?.end(FLOODED);
    return false;
  }

  function shift(): Exchange | undefined {
    const first = line.shift();
    if (first !== undefined && first.kind !== 'own') asked--;
    return first;
  }

  function onMessage(message: Incoming): void {
    const first = line[0];
    if (message.type === 'Z') return onReady(message.bytes[message.body] ?? 0);
    // A setting that is told of was changed by what a statement ran, or by the server: the session is not what it was.
    if (message.type === 'S') spoiled = true;
    if (first === undefined) return;
    if (message.type === 'C' && (first.prelude > 0 || first.kind === 'own')) {
      if (first.prelude > 0) first.prelude--;
      if (!TRANSACTION_TAGS.has(readTag(message))) spoiled = true;
      return;
    }
    if (message.type === 'C' && first.settings) {
      first.settings = false;
      if (readTag(message) !== SETTINGS_TAG) spoiled = true;
      return;
    }
    if (message.type === 'C' && first.closes && readTag(message) === 'ROLLBACK') return;
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
    if (message.type !== 'C' || !first.joined) return;
    land();
    if (line[0] !== undefined) begin(line[0]);
    first.end(null);
  }

  function onReady(status: number): void {
    const was_flying = flying > 0;
    const first = land();
    if (first !== undefined && !isExpected(status, first)) spoiled = true;
    const skipped: Exchange[] = [];
    // It failed, so the server skipped those without a Sync between.
    for (let last = first; last?.joined === true;) if ((last = land()) !== undefined) skipped.push(last);
    const has_landed = was_flying && flying === 0;
    // The last of a flight failed, so its rollback was skipped.
    if (has_landed && status !== IDLE) {
      line.unshift(ownExchange());
      send([ROLLBACK_AND_SYNC]);
    }
    const next = line[0];
    if (next === undefined) reader.useRows(null);
    else begin(next);
    if (has_landed && unsent.length > 0) sendSoon();
    first?.end(first.error);
    for (const exchange of skipped) {
      exchange.displace();
      exchange.end(null);
    }
  }

  function land(): Exchange | undefined {
    if (flying > 0) flying--;
    return shift();
  }

  function begin(exchange: Exchange): void {
    exchange.since = performance.now();
    left = exchange.enough;
    largest = exchange.largest;
    reader.useRows(exchange.rows, exchange.spills ? spill : undefined);
  }

  function spill(): void {
    left = Math.min(left, SPILL_BYTES);
  }

  /**
   * The first statement goes at once, those behind it together: calls once the flight before them has landed, and with them what
   * arrived at the same moment. Fewer and larger flights wake the server less often.
   */
  function put(part: Part): void {
    const is_first = asked === 0;
    if (prefix !== null) add({ bytes: prefix, exchange: exchangeOf('alone', settle) });
    prefix = null;
    add(part);
    if (asked > 1) watch();
    if (is_first && flying === 0) return sendAll();
    if (flying === 0) sendSoon();
  }

  function sendSoon(): void {
    if (waiting) return;
    waiting = true;
    setImmediate(() => {
      waiting = false;
      if (flying === 0) sendAll();
    });
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

  function sendAll(): void {
    const parts = packFlight(unsent, chains);
    if (unsent.some(({ exchange }) => exchange.kind === 'call')) flying = line.length;
    unsent = [];
    send(parts);
  }

  function send(parts: readonly Buffer[]): void {
    if (parts.length === 0 || socket.destroyed) return;
    socket.write(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts));
  }

  function ownExchange(): Exchange {
    return exchangeOf('own', settle);
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
    const took_ms = performance.now() - first.since;
    // Its answer may be there long since, and wait for that of a slow one behind it.
    if (first.joined && took_ms >= HELD_UP_MS && first !== held_up) {
      held_up = first;
      first.displace();
      first.linger();
    }
    if (first === stalled || took_ms < STALL_MS) return;
    setImmediate(() => {
      if (line[0] !== first) return;
      first.linger();
      displace(first);
    });
  }

  function displace(first: Exchange | undefined): void {
    stalled = first ?? null;
    const gone = new Set(line.slice(1).filter((exchange) => exchange.displace()));
    const dropped = unsent.filter(({ exchange }) => gone.has(exchange));
    unsent = unsent.filter(({ exchange }) => !gone.has(exchange));
    for (const { exchange } of dropped) {
      line.splice(line.indexOf(exchange), 1);
      asked--;
      exchange.end(null);
    }
  }

  function exchange(bytes: Buffer, kind: ExchangeKind, sent: Sent = {}): Promise<void> {
    if (socket.destroyed) return Promise.reject(closed());
    return new Promise<void>((resolve, reject) => {
      // Rows where none were asked for are no answer that could be cut short.
      const end = (error: unknown) =>
        error === null ? resolve() : reject(error === FLOODED && (sent.rows ?? null) === null ? closed() : error);
      put({ bytes, exchange: exchangeOf(kind, end, sent) });
    });
  }

  return {
    put,
    exchange,
    prepareTransactions(known, more = NOTHING) {
      chains = known;
      enqueue(ownExchange());
      send([more, keepCommands(known)]);
    },
    more(bytes, ends) {
      if (!ends || line[0]?.kind !== 'held') return send([bytes]);
      enqueue(ownExchange());
      send([bytes, ROLLBACK_AND_SYNC]);
    },
    prefix: (bytes) => void (prefix = bytes),
    is_first: (exchange) => line[0] === exchange,
    displace: () => displace(line[0]),
    is_stalled: () => stalled !== null && line[0] === stalled,
    is_clean: () => !spoiled,
    take: (chunk) => reader.take(chunk),
  };
}
