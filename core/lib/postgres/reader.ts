import type { Socket } from 'node:net';

/** One message of the server, where it stands in the bytes. */
export interface Incoming {
  /** Its letter. */
  readonly type: string;
  readonly bytes: Buffer;
  readonly body: number;
  readonly end: number;
}

/** A column as the server describes it. */
export interface DescribedColumn {
  readonly name: string;
  /** Its oid. */
  readonly type: number;
  /** The table that it is a column of, and its number there; 0: it is computed. */
  readonly table: number;
  readonly attribute: number;
}

/** Where the rows of an answer go. */
export interface RowReader {
  /** Reads one DataRow. @param text the same bytes as Latin-1. @returns false once no more rows are wanted. */
  add(bytes: Buffer, at: number, text: string): boolean;
}

export interface Reader {
  take(chunk: Buffer): void;
  /** Where rows go, and what is told when they are not wanted any more. */
  useRows(rows: RowReader | null, onTruncated?: () => void): void;
}

interface Listener {
  readonly onMessage: (message: Incoming) => void;
  /** @returns false when a row of so many bytes must not be read, nor anything after it. */
  readonly onRow: (bytes: number) => boolean;
  /** What comes is no PostgreSQL message, or longer than any is. */
  readonly onStrange: () => void;
}

const DATA_ROW = 0x44;
/** ParseComplete and BindComplete: nobody waits for them. */
const PARSED = 0x31;
const BOUND = 0x32;
const PARAMETER_STATUS = 0x53;
const HEADER = 5;
/** Of every message but a row: the longest errors and descriptions that are any use. */
const LARGEST_MESSAGE = 1024 * 1024;
/** Of all settings that are told of during one answer. */
const PARAMETER_BYTES = 256 * 1024;
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
  let parameters = 0;
  let rows: RowReader | null = null;
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
      parameters = 0;
      onTruncated = told;
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

/** Fields of an error that are looked at, and what they are called here. */
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

/** The number at the end of a command's tag. */
export const readCount = (message: Incoming): number => Number(/ (\d+)$/.exec(readTag(message))?.[1] ?? 0);

/** Such as `INSERT 0 5`. */
export const readTag = ({ bytes, body, end }: Incoming): string => bytes.toString('latin1', body, end - 1);

/** Keeps the values of the last row, as text. */
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
