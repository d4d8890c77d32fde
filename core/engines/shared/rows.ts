import { AppError } from '#core/errors.ts';
import { keepsDigits } from '#core/lib/exact-json.ts';
import type { Json, Row } from '#core/lib/sql/result.ts';
import type { RowReceiver } from './source.ts';

/** Names for the members of a row object: a repeated name gets `_2`, `_3` …, skipping names of other columns. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  /** The last number that was appended to a name. */
  const counts = new Map<string, number>();
  return names.map((name) => {
    let count = counts.get(name);
    if (count === undefined) {
      counts.set(name, 1);
      return name;
    }
    do count++;
    while (taken.has(`${name}_${count}`));
    counts.set(name, count);
    return `${name}_${count}`;
  });
}

/** Bytes and rows of one part of a streamed result: other calls wait for its two milliseconds. */
export const PART_BYTES = 64 * 1024;
export const PART_ROWS = 250;
/** Maximum bytes of one row of a streamed result. */
export const LARGEST_ROW = 64 * 1024 * 1024;

/** Hands a result over. Once it has begun, a lost connection is not a reason to run the statement again. */
export async function handOver(receiver: RowReceiver, work: (receiver: RowReceiver) => Promise<void>): Promise<void> {
  let begun = false;
  try {
    await work({
      begin(columns) {
        begun = true;
        receiver.begin(columns);
      },
      rows: (part) => receiver.rows(part),
    });
  } catch (error) {
    if (!begun || !(error instanceof AppError) || error.code !== 'database_unreachable') throw error;
    throw new AppError('database_unreachable', error.detail, { reason: 'failed', cause: error });
  }
}

/** A page of a catalogue. Each row contains the total; a page past the end has one row without a name. */
export const pageOf = <Item>(rows: readonly Row[], toItem: (row: Row) => Item): { items: Item[]; total: number } => ({
  items: rows.filter((row) => row['name'] !== null).map(toItem),
  total: Number(rows[0]?.['total'] ?? 0),
});

/**
 * Indexes from rows of one column each, in order; `part` is its name. A table without an index has one row without a name.
 */
export function indexesOf<Index>(
  rows: readonly Row[],
  toIndex: (row: Row, parts: readonly (Json | undefined)[]) => Index,
): Index[] {
  const named = Map.groupBy(
    rows.filter(({ name }) => name !== null),
    ({ name }) => textOf(name),
  );
  return [...named.values()].flatMap((parts) =>
    parts[0] === undefined
      ? []
      : [
          toIndex(
            parts[0],
            parts.map(({ part }) => part),
          ),
        ],
  );
}

export const noTable = (): AppError => new AppError('not_found', 'There is no table with this name in the database.');

/** Limits of the product's internal statements, such as reading a schema. */
export const CATALOGUE_LIMITS = { timeout_ms: 10_000, max_rows: 5_000, max_bytes: 64 * 1024 * 1024 };

/** A LIKE pattern for "contains", with `!` as the escape character because a backslash means different things in SQL modes. */
export function containsPattern(search: string): string {
  return `%${search.replace(/[!%_]/g, (character) => `!${character}`)}%`;
}

/** A value of a catalogue row as text; null becomes the empty string. */
export function textOf(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}

/** A value of type `number` as a double. Throws `sql_error` when the double would change digits. */
export function doubleOf(value: Json): number {
  const text = textOf(value);
  const double = Number(text);
  if (typeof value === 'number' || keepsDigits(double, text)) return double;
  throw new AppError(
    'sql_error',
    'A value of type number has more digits than a double keeps. Send fewer digits, or declare the parameter as string and CAST it in the statement.',
  );
}

/** A value of type `integer`, of any size. */
export const integerOf = (value: Json): bigint => BigInt(typeof value === 'number' ? Math.trunc(value) : textOf(value));

export const fits64Bits = (integer: bigint): boolean => BigInt.asIntN(64, integer) === integer;

/** A list as JSON text. @param write writes one element that is not null. */
export const listText = (list: Json, write: (item: Json) => string): string =>
  `[${(Array.isArray(list) ? list : [list]).map((item: Json) => (item === null ? 'null' : write(item))).join(',')}]`;

/** A number as JSON text. A JavaScript number would round digits that arrive as text. */
export const numberText = (value: Json): string =>
  typeof value === 'string' && DIGITS.test(value) ? value : JSON.stringify(value);
/** A number without an exponent: types other than numbers read `1e+21` differently. */
export function plainDigits(text: string): string {
  if (!text.includes('e')) return text;
  const [, sign = '', whole = '', fraction = '', exponent = ''] = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? [];
  if (exponent === '') return text;
  const point = whole.length + Number(exponent);
  const digits = whole + fraction;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  const padded = digits.padEnd(point, '0');
  return sign + padded.slice(0, point) + (padded.length > point ? `.${padded.slice(point)}` : '');
}
const DIGITS = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
