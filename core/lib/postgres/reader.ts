import type { Socket } from 'node:net';

/** One message of the server, as a range of bytes. */
export interface Incoming {
  /** Its type byte. */
  readonly type: string;
  readonly bytes: Buffer;
  readonly body: number;
  readonly end: number;
}

/** A column as the server describes it. */
export interface DescribedColumn {
  readonly name: string;
  /** Type oid. */
  readonly type: number;
  /** The oid of its table, and its number there; 0: it is computed. */
  readonly table: number;
  readonly attribute: number;
}

/** Receives the rows of an answer. */
export interface RowReader {
  /** Reads one DataRow. @param text the same bytes as Latin-1. @returns false when no more rows are needed. */
  add(bytes: Buffer, at: number, text: string): boolean;
}

export interface Reader {
  take(chunk: Buffer): void;
  /** Sets the receiver of rows, and a function to call when it needs no more. */
  useRows(rows: RowReader | null, onTruncated?: () => void): void;
}

interface Listener {
  readonly onMessage: (message: Incoming) => void;
  /** @returns false when a row with this many bytes must not be read, nor anything after it. */
  readonly onRow: (bytes: number) => boolean;
  /** The bytes are not a PostgreSQL message, or too long. */
  readonly onStrange: () => void;
}

const DATA_ROW = 0x44;
/** ParseComplete and BindComplete need no handling. */
const PARSED = 0x31;
const BOUND = 0x32;
const PARAMETER_STATUS = 0x53;
const HEADER = 5;
/** Maximum bytes of a message other than a row: more than any useful error or description. */
const LARGEST_MESSAGE = 1024 * 1024;
/** Maximum bytes of setting reports during one answer. */
const PARAMETER_BYTES = 256 * 1024;
/** Rows per slice, before other work gets a turn: about half a millisecond. */
const SLICE_ROWS = 500;
const PAUSE_MS = 1;

/** Splits received bytes into messages. Rows are read in slices with the socket paused, so that other calls get their turn. */
export function createReader(socket: Socket, { onMessage, onRow, onStrange }: Listener): Reader {
  /** Bytes of an incomplete message, or of rows that wait for their slice. */
  let held: Buffer[] = [];
  let missing = 0;
  /** True when the row at the beginning of `held` was counted already. */
  let counted = false;
  let resting = false;
  let ended = false;
  let parameters = 0;
  let rows: RowReader | null = null;
  let onTruncated = () => {};

  /** An unreadable message, such as a value longer than the message, ends the session and not the process. */
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
      const type = bytes[at]!;
      const is_row = type === DATA_ROW;
      if (type === PARAMETER_STATUS) parameters += length;
      if (length < 4 || (!is_row && length > LARGEST_MESSAGE) || parameters > PARAMETER_BYTES) {
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
      if (!is_row) {
        if (type !== PARSED && type !== BOUND) onMessage({ type: String.fromCharCode(type), bytes, body: at + HEADER, end });
      } else if (rows !== null) {
        // Decoded once for all rows in the chunk: a call per cell costs more than the cell.
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
    useRows(sink, onTruncate = () => {}) {
      rows = sink;
      parameters = 0;
      onTruncated = onTruncate;
    },
  };
}

export function readOids({ bytes, body }: Incoming): number[] {
  return Array.from({ length: bytes.readUInt16BE(body) }, (_, i) => bytes.readUInt32BE(body + 2 + 4 * i));
}

export function readColumns({ bytes, body }: Incoming): readonly DescribedColumn[] {
  let at = body + 2;
  return Array.from({ length: bytes.readUInt16BE(body) }, () => {
    const zero = bytes.indexOf(0, at);
    const name = bytes.toString('utf8', at, zero);
    const table = bytes.readUInt32BE(zero + 1);
    const attribute = bytes.readInt16BE(zero + 5);
    const type = bytes.readUInt32BE(zero + 7);
    at = zero + 19;
    return { name, type, table, attribute };
  });
}

/** Error fields that are read, and their names here. */
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

/** The number at the end of a command tag. */
export const readCount = (message: Incoming): number => Number(/ (\d+)$/.exec(readTag(message))?.[1] ?? 0);

/** For example `INSERT 0 5`. */
export const readTag = ({ bytes, body, end }: Incoming): string => bytes.toString('latin1', body, end - 1);

/** Stores the values of the last row, as text. */
export function lastRow(): RowReader & { readonly cells: (string | null)[] } {
  const cells: (string | null)[] = [];
  return {
    cells,
    add(bytes, body) {
      let at = body + 2;
      for (let i = 0; i < bytes.readUInt16BE(body); i++) {
        const length = bytes.readInt32BE(at);
        at += 4;
        cells[i] = length < 0 ? null : bytes.toString('utf8', at, at + length);
        at += Math.max(0, length);
      }
      return true;
    },
  };
}
