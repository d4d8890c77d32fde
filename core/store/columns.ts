import { type Column as TableColumn, SQL, sql, type SQLChunk, StringChunk } from 'drizzle-orm';
import type { Store } from './store.ts';

/**
 * Cells of one column. Integers are from 0 to 2⁵³. Thousandths are from 0 to 10¹², with three decimal places. Reals are 0 or more, and
 * SQLite stores fifteen digits of them (https://www.sqlite.org/floatingpoint.html). A time is in ms since 1970 and becomes ISO 8601 text.
 */
export type Column =
  | { readonly type: 'integer' | 'thousandths' | 'real' | 'time'; readonly cells: readonly number[] }
  | { readonly type: 'text'; readonly cells: readonly (string | null)[] };
export type Columns = Readonly<Record<string, Column>>;

/** Lists of values that many rows share, so that each value is sent once. */
export interface Shared {
  /** The index of each row in these lists. */
  readonly places: readonly number[];
  readonly columns: Columns;
}

/** The later of the stored time and the time of the row that conflicts with it. */
export const laterOf = (stored: TableColumn): SQL => {
  const given = sql`excluded.${sql.identifier(stored.name)}`;
  return sql`case when ${given} > ${stored} then ${given} else ${stored} end`;
};

const NOTHING_SHARED: Shared = { places: [], columns: {} };

/**
 * Rows for one statement, as a table of its `with recursive` clause: each column is one bound value, whatever the number of rows.
 * Binding each cell, or JSON that the database parses, takes several times as long as storing the rows.
 * There must be at least one row. Rows are numbered from 0.
 */
export function rowsOf(dialect: Store['dialect'], name: string, columns: Columns, shared = NOTHING_SHARED): SQL {
  const chunks: SQLChunk[] = [];
  const write = (text: string) => void chunks.push(new StringChunk(text));
  const bind = (value: unknown) => void chunks.push(sql.param(value));
  const names = [...Object.keys(columns), ...Object.keys(shared.columns)];
  const count = Object.values(columns)[0]?.cells.length ?? 0;
  const rows = { name, names, columns: Object.values(columns), shared, count };
  if (dialect === 'sqlite') writeBlobs(rows, write, bind);
  else writeArrays(rows, write, bind);
  return new SQL(chunks);
}

interface Rows {
  readonly name: string;
  readonly names: readonly string[];
  readonly columns: readonly Column[];
  readonly shared: Shared;
  readonly count: number;
}
type Write = (text: string) => void;
type Bind = (value: unknown) => void;

function writeArrays({ name, names, columns, shared }: Rows, write: Write, bind: Bind): void {
  write(`${name}(place, ${names.join(', ')}) as (select n - 1`);
  for (const index of columns.keys()) write(`, c${index}`);
  for (const column of Object.values(shared.columns)) {
    write(', (');
    writeArray(column, write, bind);
    write(')[shared + 1]');
  }
  write(' from unnest(');
  for (const column of columns) {
    writeArray(column, write, bind);
    write(', ');
  }
  writeArray({ type: 'integer', cells: shared.places }, write, bind);
  write(`) with ordinality as given(${[...columns.keys()].map((index) => `c${index}, `).join('')}shared, n))`);
}

const ARRAYS = {
  integer: 'bigint[]',
  thousandths: 'double precision[]',
  real: 'double precision[]',
  time: 'text[]',
  text: 'text[]',
} as const;

function writeArray(column: Column, write: Write, bind: Bind): void {
  bind(`{${membersOf(column).join(',')}}`);
  write(`::${ARRAYS[column.type]}`);
}

function membersOf({ type, cells }: Column): readonly (string | number)[] {
  if (type === 'text') return cells.map((cell) => (cell === null ? 'null' : quoted(cell)));
  return type === 'time' ? cells.map((ms) => new Date(ms).toISOString()) : cells;
}

/** An element of an array literal of PostgreSQL. */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

/** Columns are blobs, because SQLite finds a part of a blob in one step. In a text it would count characters from the start. */
function writeBlobs({ name, names, columns, shared, count }: Rows, write: Write, bind: Bind): void {
  const writeShared = (at: string) => {
    if (shared.places.length === 0) write('0');
    else writePart(digitsOf(shared.places), 'integer', at, write, bind);
  };
  write(`${name}_places(place, shared) as (select 0, `);
  writeShared('0');
  write(' union all select place + 1, ');
  writeShared('(place + 1)');
  write(` from ${name}_places where place < ${count - 1}), ${name}(place, ${names.join(', ')}) as (select place`);
  for (const column of columns) {
    write(', ');
    writeCell(column, 'place', write, bind);
  }
  for (const column of Object.values(shared.columns)) {
    write(', ');
    writeCell(column, 'shared', write, bind);
  }
  write(` from ${name}_places)`);
}

function writeCell(column: Column, at: string, write: Write, bind: Bind): void {
  const { type, cells } = column;
  const [first = null] = cells;
  if (type !== 'time' && cells.every((cell) => cell === first)) bind(first);
  else if (type === 'text' && isSparse(cells)) writeSparse(cells, at, write, bind);
  else if (type === 'text') writeTexts(cells, at, write, bind);
  else if (type === 'time') writePart(timesIn(cells), 'text', at, write, bind);
  else if (type === 'real') writePart(padded(cells.map(String)), 'real', at, write, bind);
  else if (type === 'integer') writePart(digitsOf(cells), 'integer', at, write, bind);
  else {
    writePart(digitsOf(cells.map((cell) => Math.round(cell * 1_000))), 'integer', at, write, bind);
    write(' / 1000.0');
  }
}

/** Below this share of non-null texts, checking one byte first is faster, because most rows are null. */
const SPARSE = 0.1;
const isSparse = (cells: readonly (string | null)[]): boolean => {
  let texts = 0;
  for (const cell of cells) if (cell !== null) texts++;
  return texts < cells.length * SPARSE;
};

function writeSparse(cells: readonly (string | null)[], at: string, write: Write, bind: Bind): void {
  write('case substr(');
  bind(Buffer.from(cells.map((cell) => (cell === null ? '0' : '1')).join(''), 'latin1'));
  write(`, ${at} + 1, 1) when x'31' then `);
  writeTexts(cells, at, write, bind);
  write(' end');
}

/** Texts of any length: the start and the size in bytes of each. A text without a start is null. */
function writeTexts(cells: readonly (string | null)[], at: string, write: Write, bind: Bind): void {
  const sizes = cells.map((cell) => (cell === null ? 0 : Buffer.byteLength(cell)));
  const starts: number[] = [];
  let next = 1;
  for (const [place, size] of sizes.entries()) {
    starts.push(cells[place] === null ? 0 : next);
    next += size;
  }
  write('cast(substr(');
  // An empty blob would be null.
  bind(Buffer.from(`${cells.join('')} `));
  write(', nullif(');
  writePart(digitsOf(starts), 'integer', at, write, bind);
  write(', 0), ');
  writePart(digitsOf(sizes), 'integer', at, write, bind);
  write(') as text)');
}

/** Cells of the same width, one after the other. */
interface Cells {
  readonly width: number;
  readonly bytes: Buffer;
}

function writePart({ width, bytes }: Cells, type: string, at: string, write: Write, bind: Bind): void {
  write('cast(substr(');
  bind(bytes);
  write(`, ${at} * ${width} + 1, ${width}) as ${type})`);
}

const ZERO = 48;

function digitsOf(cells: readonly number[]): Cells {
  let most = 0;
  for (const cell of cells) if (cell > most) most = cell;
  const width = String(most).length;
  const bytes = Buffer.allocUnsafe(cells.length * width);
  let end = 0;
  for (const cell of cells) {
    end += width;
    writeDigits(bytes, end, width, cell);
  }
  return { width, bytes };
}

/**
 * With leading zeros. Numbers above 2³¹ are written in parts, so that the arithmetic stays on 32-bit integers, which is faster.
 */
function writeDigits(bytes: Buffer, end: number, width: number, value: number): void {
  if (width > 9) {
    const high = Math.floor(value / 1e9);
    writeDigits(bytes, end - 9, width - 9, high);
    return writeDigits(bytes, end, 9, value - high * 1e9);
  }
  let rest = value | 0;
  for (let at = end - 1; at >= end - width; at--) {
    const next = (rest / 10) | 0;
    bytes[at] = ZERO + rest - next * 10;
    rest = next;
  }
}

function padded(cells: readonly string[]): Cells {
  const width = cells.reduce((most, { length }) => Math.max(most, length), 0);
  return { width, bytes: Buffer.from(cells.map((cell) => cell.padEnd(width)).join(''), 'latin1') };
}

const TIME_WIDTH = '2026-01-01T00:00:00.000Z'.length;
const UNTIL_MS = '2026-01-01T00:00:00.'.length;

/** Most times are in the same second as the previous one. */
function timesIn(times: readonly number[]): Cells {
  const bytes = Buffer.allocUnsafe(times.length * TIME_WIDTH);
  let second = Number.NaN;
  let known = 0;
  let at = 0;
  for (const ms of times) {
    const rest = ms % 1_000;
    if (ms - rest === second) {
      bytes.copyWithin(at, known, known + TIME_WIDTH);
      writeDigits(bytes, at + UNTIL_MS + 3, 3, rest);
    } else {
      bytes.write(new Date(ms).toISOString(), at, 'latin1');
      second = ms - rest;
    }
    known = at;
    at += TIME_WIDTH;
  }
  return { width: TIME_WIDTH, bytes };
}
