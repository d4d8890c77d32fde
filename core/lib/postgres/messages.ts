import { AppError } from '#core/errors.ts';

/** Messages of a PostgreSQL client (PostgreSQL documentation, section 55.7). All values are sent as text. */

/** Protocol 3.0. */
const VERSION = 196_608;

const SYNC_TYPE = 0x53;
export const SYNC = Buffer.from([SYNC_TYPE, 0, 0, 0, 4]);
export const FLUSH = Buffer.from([0x48, 0, 0, 0, 4]);
/** Execute of the unnamed portal to its end, and Sync. */
export const EXECUTE = Buffer.concat([Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]), SYNC]);
/** Close of the unnamed portal, and Sync. */
export const closePortal = Buffer.concat([Buffer.from([0x43, 0, 0, 0, 6, 0x50, 0]), SYNC]);

export function executeSome(rows: number): Buffer {
  const bytes = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
  bytes.writeInt32BE(rows, 6);
  return bytes;
}

export const TERMINATE = Buffer.from([0x58, 0, 0, 0, 4]);

export function startupMessage(settings: Readonly<Record<string, string>>): Buffer {
  // A zero byte would end the value and start another setting.
  if (Object.values(settings).some((value) => value.includes('\0')))
    throw new AppError('database_unreachable', 'The user name and the database cannot contain a NUL character.', {
      reason: 'failed',
    });
  const fields = Buffer.from(`${Object.entries(settings).flat().join('\0')}\0\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(head.length + fields.length, 0);
  head.writeUInt32BE(VERSION, 4);
  return Buffer.concat([head, fields]);
}

/** PasswordMessage, SASLInitialResponse and SASLResponse have the same type. */
export const passwordMessage = (answer: string | Buffer): Buffer =>
  message('p', typeof answer === 'string' ? Buffer.from(answer) : answer);

export const simpleQuery = (text: string): Buffer => message('Q', zeroEnded(text));

export function parseMessage(name: string, text: string, oids: readonly number[]): Buffer {
  checkCount(oids.length);
  const types = Buffer.alloc(2 + 4 * oids.length);
  types.writeUInt16BE(oids.length, 0);
  for (const [i, oid] of oids.entries()) types.writeUInt32BE(oid, 2 + 4 * i);
  return message('P', zeroEnded(name), zeroEnded(text), types);
}

/** Parse, bind and execute a text as the unnamed statement, which accepts one statement only, with text values and a Sync. */
export const unnamed = (text: string, values: readonly string[]): Buffer =>
  Buffer.concat([
    parseMessage(
      '',
      text,
      values.map(() => TEXT),
    ),
    bindAndExecute('', values),
  ]);

/** The oid of `text`. */
export const TEXT = 25;

/** Bind and Execute of a prepared statement without values, without Sync. */
export const executePrepared = (name: string): Buffer => Buffer.concat([bindMessage(name, []), executeSome(0)]);

export const describeMessages = (name: string): Buffer => message('D', Buffer.from('S'), zeroEnded(name));

/** Bind of the unnamed portal, its execution to the end, and Sync. */
export function bindAndExecute(name: string, values: readonly (string | null)[]): Buffer {
  const bytes = bindMessage(name, values, EXECUTE.length);
  EXECUTE.copy(bytes, bytes.length - EXECUTE.length);
  return bytes;
}

/** Bind of the unnamed portal. `name` is chosen by Sluice and ASCII. @param room bytes left free after it. */
export function bindMessage(name: string, values: readonly (string | null)[], room = 0): Buffer {
  checkCount(values.length);
  let size = 5 + 1 + name.length + 1 + 2 + 2 + 2;
  const lengths: number[] = [];
  for (const value of values) {
    const length = value === null ? -1 : Buffer.byteLength(value);
    lengths.push(length);
    size += 4 + Math.max(0, length);
  }
  const bytes = Buffer.allocUnsafe(size + room);
  bytes[0] = 0x42;
  let at = bytes.writeUInt32BE(size - 1, 1);
  bytes[at++] = 0;
  at += bytes.write(name, at, 'latin1');
  bytes[at++] = 0;
  // No format codes: text for all.
  at = bytes.writeUInt16BE(0, at);
  at = bytes.writeUInt16BE(values.length, at);
  for (let i = 0; i < values.length; i++) {
    at = bytes.writeInt32BE(lengths[i]!, at);
    const value = values[i]!;
    if (value !== null) at += bytes.write(value, at, 'utf8');
  }
  bytes.writeUInt16BE(0, at);
  return bytes;
}

/** The protocol counts values in 16 bits. */
function checkCount(values: number): void {
  if (values > 65_535) throw new AppError('sql_error', 'A statement can have at most 65,535 bound values; send fewer.');
}

const zeroEnded = (text: string): Buffer => Buffer.from(`${text}\0`);

function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
