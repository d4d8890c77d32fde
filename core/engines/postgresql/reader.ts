import type { Socket } from 'node:net';
import type { SourceColumns } from './plan.ts';
import type { RowSink } from './rows.ts';
import { LARGEST_MESSAGE } from './wire.ts';

/** One message of the server, where it stands in the bytes. */
export interface Incoming {
  /** Its letter. */
  readonly type: string;
  readonly bytes: Buffer;
  readonly body: number;
  readonly end: number;
}

export interface Reader {
  take(chunk: Buffer): void;
  /** Where rows go, and what is told when they are not wanted any more. */
  useRows(rows: RowSink | null, onTruncated?: () => void): void;
}

interface Listener {
  readonly onMessage: (message: Incoming) => void;
  /** @returns false when a row of so many bytes must not be read, nor anything after it. */
  readonly onRow: (bytes: number) => boolean;
  readonly onStrange: () => void;
}

const DATA_ROW = 0x44;
const HEADER = 5;
/** Rows read before other work gets its turn: about half a millisecond. */
const SLICE_ROWS = 500;
const PAUSE_MS = 1;

/** Cuts what arrives into messages. Rows are read in slices, and the socket rests meanwhile, so that other calls are not kept waiting. */
export function createReader(socket: Socket, { onMessage, onRow, onStrange }: Listener): Reader {
  /** Bytes of a message that is not whole yet, or that wait for their slice. */
  let held: Buffer[] = [];
  let missing = 0;
  /** The row at the beginning of `held` was counted already. */
  let counted = false;
  let resting = false;
  let ended = false;
  let rows: RowSink | null = null;
  let onTruncated = () => {};

  /** What cannot be read, such as a value that is longer than its message, ends the session and not the program. */
  function read(bytes: Buffer): void {
    try {
      readMessages(bytes);
    } catch {
      ended = true;
      onStrange();
    }
  }

  function take(chunk: Buffer): void {
    if (ended) return;
    if (resting || held.length > 0) {
      held.push(chunk);
      missing -= chunk.length;
      if (resting || missing > 0) return;
      const whole = Buffer.concat(held);
      held = [];
      read(whole);
      return;
    }
    read(chunk);
  }

  function readMessages(bytes: Buffer): void {
    let at = 0;
    let slice = 0;
    let text = '';
    while (at + HEADER <= bytes.length) {
      const length = bytes.readUInt32BE(at + 1);
      const end = at + 1 + length;
      const is_row = bytes[at] === DATA_ROW;
      if (length < 4 || (!is_row && length > LARGEST_MESSAGE)) {
        ended = true;
        return onStrange();
      }
      if (is_row && !counted && !onRow(length)) {
        ended = true;
        return;
      }
      counted = is_row;
      if (end > bytes.length) return hold(bytes, at, end - bytes.length);
      counted = false;
      if (!is_row) onMessage({ type: String.fromCharCode(bytes[at]!), bytes, body: at + HEADER, end });
      else if (rows !== null) {
        // Once for all rows in it: a call for each cell costs more than the cell.
        if (text === '') text = bytes.toString('latin1');
        if (!rows.add(bytes, at + HEADER, text)) onTruncated();
      }
      at = end;
      if (is_row && ++slice === SLICE_ROWS && at < bytes.length) return rest(bytes.subarray(at));
    }
    if (at < bytes.length) hold(bytes, at, HEADER - (bytes.length - at));
  }

  function hold(bytes: Buffer, at: number, more: number): void {
    held = [bytes.subarray(at)];
    missing = more;
  }

  function rest(bytes: Buffer): void {
    resting = true;
    held = [bytes];
    socket.pause();
    setTimeout(() => {
      resting = false;
      const [first] = held;
      const all = held.length === 1 && first !== undefined ? first : Buffer.concat(held);
      held = [];
      socket.resume();
      if (!ended && !socket.destroyed) read(all);
    }, PAUSE_MS);
  }

  return {
    take,
    useRows(sink, told = () => {}) {
      rows = sink;
      onTruncated = told;
    },
  };
}

export function readOids({ bytes, body }: Incoming): number[] {
  return Array.from({ length: bytes.readUInt16BE(body) }, (_, i) => bytes.readUInt32BE(body + 2 + 4 * i));
}

export function readColumns({ bytes, body }: Incoming): SourceColumns {
  let at = body + 2;
  return Array.from({ length: bytes.readUInt16BE(body) }, () => {
    const zero = bytes.indexOf(0, at);
    const name = bytes.toString('utf8', at, zero);
    const type = bytes.readUInt32BE(zero + 7);
    at = zero + 19;
    return { name, type };
  });
}

/** Fields of an error that are looked at, with the names that the driver gives them. */
const FIELDS: Readonly<Record<string, string>> = {
  S: 'severity_local',
  C: 'code',
  H: 'hint',
  P: 'position',
  R: 'routine',
};

export function readError({ bytes, body, end }: Incoming): Error {
  const fields: Record<string, string> = {};
  let message = '';
  for (let at = body; at < end && bytes[at] !== 0;) {
    const type = String.fromCharCode(bytes[at]!);
    const zero = bytes.indexOf(0, at + 1);
    if (zero < 0 || zero >= end) break;
    const text = bytes.toString('utf8', at + 1, zero);
    const name = FIELDS[type];
    if (type === 'M') message = text;
    if (name !== undefined) fields[name] = text;
    at = zero + 1;
  }
  return Object.assign(new Error(message), fields);
}
