import type { Socket } from 'node:net';
import { AppError } from '#core/errors.ts';

/** Message types of the PostgreSQL protocol (its section 55.7) that are looked at here. */
const AUTHENTICATION = 0x52;
const READY = 0x5a;
const DATA_ROW = 0x44;
const COPY_DATA = 0x64;
const EMPTY_QUERY = 0x49;
/** What ReadyForQuery says when no transaction is open. */
const IDLE = 0x49;
/** Authentication, ParameterStatus, BackendKeyData, ErrorResponse, NoticeResponse, ReadyForQuery, NegotiateProtocolVersion. */
const STARTUP_TYPES = new Set(['R', 'S', 'K', 'E', 'N', 'Z', 'v'].map((type) => type.charCodeAt(0)));
const STARTUP_BYTES = 256 * 1024;
const PARAMETER_STATUS = 0x53;
/** Of every message but a row: the longest errors and descriptions that are any use. */
export const LARGEST_MESSAGE = 1024 * 1024;
/** Rows of our own short questions, such as the one of the login. */
export const OWN_BYTES = 64 * 1024;
const SASL_CONTINUE = 11;
/** More rounds than any server is set to would only keep this process busy. */
const SCRAM_FIRST = /^r=[\x21-\x2b\x2d-\x7e]+,s=[A-Za-z0-9+/]+=*,i=(\d{1,7})(,|$)/;
const MAX_SCRAM_ROUNDS = 1_000_000;

export interface RowMeter {
  /** From now on the driver hears nothing: the session goes on without it. */
  divert(take: (chunk: Buffer) => void): void;
  /** Bytes of rows that may still come in before `exceeded` is called, once. */
  allow(total: number, one_message: number): void;
  /** No transaction was left open by the last statement. */
  is_idle(): boolean;
}

interface Listener {
  /** More rows came in than the meter allows; nothing more is handed to the driver. */
  readonly exceeded: () => void;
  /** What answers is no PostgreSQL server. */
  readonly strange: (error: AppError) => void;
  /** The statement was empty. */
  readonly empty: () => void;
}

/**
 * Looks at the messages of a server before the driver does: what is no PostgreSQL server is told so at once instead of being
 * waited for, and rows are counted while they arrive, so that one huge row is never held in memory.
 */
export function meterRows(socket: Socket, tell: Listener): RowMeter {
  const header = Buffer.alloc(5);
  let in_header = 0;
  let in_body = 0;
  let left = OWN_BYTES;
  let largest = OWN_BYTES;
  /** The driver keeps each of them. */
  let parameters = 0;
  let status = IDLE;
  let stopped = false;
  let diverted: ((chunk: Buffer) => void) | null = null;
  let startup: Buffer | null = Buffer.alloc(0);

  /** Hands on what is in order, and tells about the rest. */
  function pass(chunk: Buffer, listener: (chunk: Buffer) => void): void {
    if (stopped) return;
    if (diverted !== null) return diverted(chunk);
    if (startup) {
      const before = startup.length;
      startup = Buffer.concat([startup, chunk]);
      const problem = strangeStartup(startup);
      if (problem) return stop(() => tell.strange(problem));
      const end = endOfStartup(startup);
      if (end === undefined) return listener(chunk);
      startup = null;
      listener(chunk.subarray(0, end - before));
      if (end - before === chunk.length) return;
      return pass(chunk.subarray(end - before), listener);
    }
    let begin = 0;
    for (let at = 0; at < chunk.length;) {
      if (in_body > 0) {
        if (header[0] === READY) status = chunk[at]!;
        const step = Math.min(in_body, chunk.length - at);
        in_body -= step;
        at += step;
        continue;
      }
      if (in_header === 0) begin = at;
      header[in_header++] = chunk[at++]!;
      if (in_header < 5) continue;
      in_header = 0;
      in_body = header.readUInt32BE(1) - 4;
      if (in_body < 0) return stop(() => tell.strange(notPostgres()));
      if (header[0] === EMPTY_QUERY) tell.empty();
      if (header[0] !== DATA_ROW && header[0] !== COPY_DATA) {
        if (header[0] === PARAMETER_STATUS) parameters += in_body;
        if (in_body > LARGEST_MESSAGE || parameters > STARTUP_BYTES) return stop(() => tell.strange(tooLong()));
        continue;
      }
      left -= in_body;
      if (left >= 0 && in_body <= largest) continue;
      listener(chunk.subarray(0, begin));
      return stop(tell.exceeded);
    }
    listener(chunk);
  }

  function stop(say: () => void): void {
    stopped = true;
    say();
  }

  // The driver must not see a chunk that was refused here, so its listener is called through ours.
  const on = socket.on.bind(socket) as (event: string, listener: (...args: never[]) => void) => Socket;
  const through = (event: string, listener: (chunk: Buffer) => void) =>
    on(event, event === 'data' ? (chunk: Buffer) => pass(chunk, listener) : listener);
  Object.assign(socket, { on: through });

  return {
    divert: (take) => void (diverted = take),
    allow(total, one_message) {
      left = total;
      largest = one_message;
      parameters = 0;
    },
    is_idle: () => status === IDLE,
  };
}

function* messages(bytes: Buffer): Generator<{ type: number; body: Buffer; whole: boolean; length: number }> {
  for (let at = 0; at + 5 <= bytes.length;) {
    const length = bytes.readUInt32BE(at + 1);
    const end = at + 1 + length;
    yield { type: bytes[at]!, body: bytes.subarray(at + 5, end), whole: end <= bytes.length, length };
    at = end;
  }
}

/** Where the first ReadyForQuery ends, once it is there. */
function endOfStartup(bytes: Buffer): number | undefined {
  let end = 0;
  for (const { type, whole, length } of messages(bytes)) {
    end += 1 + length;
    if (type === READY) return whole ? end : undefined;
  }
  return undefined;
}

function strangeStartup(bytes: Buffer): AppError | undefined {
  if (bytes.length > STARTUP_BYTES || (bytes.length > 0 && !STARTUP_TYPES.has(bytes[0]!))) return notPostgres();
  for (const { type, body, whole, length } of messages(bytes)) {
    if (length < 4 || length > STARTUP_BYTES || !STARTUP_TYPES.has(type)) return notPostgres();
    if (whole && type === AUTHENTICATION && body.length >= 4 && body.readUInt32BE(0) === SASL_CONTINUE) {
      const rounds = SCRAM_FIRST.exec(body.toString('latin1', 4))?.[1];
      if (rounds === undefined || Number(rounds) === 0 || Number(rounds) > MAX_SCRAM_ROUNDS) return notPostgres();
    }
    if (type === READY) return undefined;
  }
  return undefined;
}

export function notPostgres(): AppError {
  const detail = 'The server at this host and port does not speak the PostgreSQL protocol; check the host and the port.';
  return new AppError('database_unreachable', detail, { reason: 'failed' });
}

function tooLong(): AppError {
  const detail = 'The server sent a message that is longer than any PostgreSQL message; check the host and the port.';
  return new AppError('database_unreachable', detail, { reason: 'failed' });
}
