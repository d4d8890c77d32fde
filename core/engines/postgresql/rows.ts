import type { RowReader } from '#core/lib/postgres/reader.ts';
import { planOf, typeOf, type FetchOptions, type Memory, type SourceColumns } from './plan.ts';
import { isAsciiType } from './parameters/types.ts';
import type { ParseText } from './values.ts';
import type { Json, Row } from '#core/lib/sql/result.ts';

/** Reads the rows of one answer within its limits. */
export interface RowSink extends RowReader {
  readonly rows: Row[];
  truncate(): void;
  truncated(): boolean;
}

interface Reading {
  readonly name: string;
  readonly is_number: boolean;
  /** True when its text is ASCII only. */
  readonly is_ascii: boolean;
  readonly parse: ParseText | undefined;
}

const readings = new WeakMap<SourceColumns, readonly Reading[]>();

export function openRows(
  columns: SourceColumns,
  { max_rows, max_bytes }: Pick<FetchOptions, 'max_rows' | 'max_bytes'>,
  memory: Memory,
): RowSink {
  const cells = readingsOf(columns, memory);
  const rows: Row[] = [];
  let truncated = false;
  let size = 0;

  return {
    rows,
    add(bytes, body, text) {
      if (truncated) return false;
      if (rows.length >= max_rows) {
        truncated = true;
        return false;
      }
      const row: Row = {};
      let at = body + 2;
      size += 2;
      for (let i = 0; i < cells.length; i++) {
        const { name, is_number, is_ascii, parse } = cells[i]!;
        const length = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
        at += 4;
        size += name.length + 6;
        if (length < 0) {
          put(row, name, null);
          continue;
        }
        size += length;
        const end = at + length;
        if (is_number) put(row, name, readInteger(bytes, at, end));
        else {
          const read =
            is_ascii || (length <= SHORT && isAscii(bytes, at, end)) ? text.slice(at, end) : bytes.toString('utf8', at, end);
          put(row, name, parse === undefined ? read : parse(read));
        }
        at = end;
      }
      // A length beyond the received bytes is a protocol error. The caller closes the session.
      if (at > bytes.length) throw new RangeError('A row is shorter than its values.');
      if (size > max_bytes) {
        truncated = true;
        return false;
      }
      rows.push(row);
      return true;
    },
    truncate: () => void (truncated = true),
    truncated: () => truncated,
  };
}

/** Longer texts are cheaper to decode than to check. */
const SHORT = 64;

function isAscii(bytes: Buffer, at: number, end: number): boolean {
  for (let i = at; i < end; i++) if (bytes[i]! > 0x7f) return false;
  return true;
}

function put(row: Row, name: string, value: Json): void {
  if (name === '__proto__') Object.defineProperty(row, name, { value, enumerable: true, writable: true, configurable: true });
  else row[name] = value;
}

/** At most ten digits and a sign. */
function readInteger(bytes: Buffer, at: number, end: number): number {
  const is_negative = bytes[at] === 0x2d;
  let value = 0;
  for (let i = is_negative ? at + 1 : at; i < end; i++) value = value * 10 + bytes[i]! - 48;
  return is_negative ? -value : value;
}

function readingsOf(columns: SourceColumns, memory: Memory): readonly Reading[] {
  const known = readings.get(columns);
  if (known !== undefined) return known;
  const { names } = planOf(columns, memory);
  const readers = columns.map(({ type }, i) => {
    // Types that were unknown when the statement was prepared stay text here, even if they are known now.
    const known_type = typeOf(type, EMPTY);
    return {
      name: names[i]!,
      is_number: known_type?.kind === 'integer',
      is_ascii: isAsciiType(type),
      parse: known_type?.parse,
    };
  });
  readings.set(columns, readers);
  return readers;
}

const EMPTY: Pick<Memory, 'types'> = { types: new Map() };
