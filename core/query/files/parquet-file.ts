import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { AppError } from '#core/errors.ts';
import { cellText } from '#core/lib/csv.ts';
import type { Column, Json, Row } from '#core/lib/sql/result.ts';
import type { RowFile } from './row-file.ts';

/** Rows of a group: writing a group takes some milliseconds, in which no call runs. */
const GROUP_ROWS = 2_000;

/** How the values of a column are stored. */
interface Stored {
  readonly element: Omit<SchemaElement, 'name' | 'repetition_type'>;
  /** @param value not null. Undefined: the type does not hold it. */
  readonly store: (value: Json) => unknown;
}

const TEXT: Stored = {
  element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  store: (value) => cellText(value).toWellFormed(),
};
const BYTES: Stored = {
  element: { type: 'BYTE_ARRAY' },
  store: (value) => (typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'base64')) : undefined),
};
const BOOLEAN: Stored = { element: { type: 'BOOLEAN' }, store: (value) => (typeof value === 'boolean' ? value : undefined) };
const DOUBLE: Stored = { element: { type: 'DOUBLE' }, store: (value) => (typeof value === 'number' ? value : undefined) };
const INTEGER: Stored = { element: { type: 'INT64' }, store: toInt64 };

const DIGITS = /^-?\d{1,19}$/;
function toInt64(value: Json): bigint | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : undefined;
  if (typeof value !== 'string' || !DIGITS.test(value)) return undefined;
  const integer = BigInt(value);
  return BigInt.asIntN(64, integer) === integer ? integer : undefined;
}

const OF_KIND: Partial<Readonly<Record<Column['kind'], Stored>>> = {
  boolean: BOOLEAN,
  integer: INTEGER,
  bigint: INTEGER,
  number: DOUBLE,
  bytes: BYTES,
};

/**
 * Texts, decimals, times, JSON and arrays are texts, with the same characters as in results. A column of another type becomes a text
 * too if one of the first rows does not fit it, as in SQLite.
 */
export function openParquet(columns: readonly Column[]): RowFile {
  const bytes = new ByteWriter(64 * 1024);
  let held: Row[] = [];
  let open: { readonly writer: ParquetWriter; readonly stored: readonly Stored[] } | null = null;

  const begin = () => {
    const stored = columns.map(({ name, kind }) => {
      const likely = OF_KIND[kind] ?? TEXT;
      return held.every((row) => (row[name] ?? null) === null || likely.store(row[name] ?? null) !== undefined) ? likely : TEXT;
    });
    const elements = columns.map(({ name }, n): SchemaElement => ({ name, ...stored[n]!.element, repetition_type: 'OPTIONAL' }));
    const schema: SchemaElement[] = [{ name: 'rows', num_children: columns.length }, ...elements];
    const writer = new ParquetWriter({ writer: bytes, schema, statistics: false, createdBy: 'Sluice' });
    return { writer, stored };
  };
  const writeGroup = (rows: readonly Row[]): void => {
    const { writer, stored } = (open ??= begin());
    if (rows.length === 0) return;
    const columnData = columns.map(({ name }, n) => ({
      name,
      data: rows.map((row) => storedValue(row[name] ?? null, stored[n]!, name)),
      offsetIndex: false,
    }));
    void writer.write({ columnData, rowGroupSize: rows.length });
  };
  const take = (): Uint8Array => {
    const written = new Uint8Array(bytes.getBuffer());
    bytes.index = 0;
    return written;
  };
  return {
    mime_type: 'application/vnd.apache.parquet',
    write(rows) {
      held.push(...rows);
      if (held.length < GROUP_ROWS) return take();
      const group = held;
      writeGroup(group);
      held = [];
      return take();
    },
    end() {
      writeGroup(held);
      void open?.writer.finish();
      return take();
    },
  };
}

function storedValue(value: Json, { store }: Stored, column: string): unknown {
  if (value === null) return null;
  const stored = store(value);
  if (stored !== undefined) return stored;
  throw new AppError(
    'too_large',
    `A value of the column ${column} does not fit the type of the values before it. Use CSV or JSON Lines.`,
  );
}
