import { AppError } from '#core/errors.ts';
import { atOffset, parseDatetime } from '#core/lib/text/datetimes.ts';
import { doubleOf, fits64Bits, integerOf, textOf } from '../shared/rows.ts';
import type { LimitClause } from '#core/lib/sql/statement.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';

type ScalarType = Exclude<BoundType, object>;

const TYPES: Readonly<Record<ScalarType, string>> = {
  string: 'String',
  integer: 'Int64',
  number: 'Float64',
  boolean: 'Bool',
  date: 'Date32',
  datetime: "DateTime64(6,'UTC')",
  uuid: 'UUID',
  json: 'String',
  bytes: 'String',
};

/** The server's type for a parameter. It is nullable, except for lists. */
const typeOf = (type: BoundType): string =>
  typeof type === 'object' ? `Array(${typeOf(type.array)})` : `Nullable(${TYPES[type]})`;

/** LIMIT, OFFSET and some functions do not accept nullable types. */
export function placeholder(number: number, _element: number, type: BoundType, limit?: LimitClause, given = false): string {
  if (limit !== undefined) return `{p${number}:${TYPES.integer}}`;
  if (type === 'bytes') return `base64Decode({p${number}:${given ? TYPES.bytes : typeOf(type)}})`;
  return `{p${number}:${given && typeof type === 'string' ? TYPES[type] : typeOf(type)}}`;
}

/** The text with nullable types for all parameters except integers. */
export const nullableText = (text: string, types: readonly BoundType[]): string =>
  text.replaceAll(/\{p(\d+):(?!Nullable\(|Array\()([^{}]+)\}/g, (whole, number: string, type: string) =>
    types[Number(number) - 1] === 'integer' ? whole : `{p${number}:Nullable(${type})}`,
  );

/** Values for describing a statement: the server evaluates constant expressions. */
export const SAMPLES: Readonly<Record<ScalarType, Json>> = {
  // A word that some functions require.
  string: 'day',
  integer: 1,
  number: 1,
  boolean: true,
  date: '2000-01-01',
  datetime: '2000-01-01T00:00:00Z',
  uuid: '00000000-0000-0000-0000-000000000000',
  json: {},
  bytes: '',
};

/** An empty list contains no value and excludes none, including null, which the server handles differently. */
export const list = (value: string | null, negated: boolean): string =>
  value === null ? `IS NULL IN (${negated ? '0, 1' : '2'})` : `${negated ? 'NOT IN' : 'IN'} ${value}`;

/** A value as the server reads it for a parameter of that type: escaped as in its tab-separated format. */
export function parameterText(value: Json, type: BoundType): string {
  if (typeof type === 'object') {
    const items = Array.isArray(value) ? (value as readonly Json[]) : [];
    return `[${items.map((item) => (item === null ? 'NULL' : quoted(plain(item, type.array), type.array))).join(',')}]`;
  }
  return value === null ? '\\N' : escaped(plain(value, type));
}

const UNQUOTED: ReadonlySet<ScalarType> = new Set(['integer', 'number', 'boolean']);

const quoted = (text: string, type: ScalarType): string => (UNQUOTED.has(type) ? text : `'${escaped(text)}'`);

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\\0',
  "'": "\\'",
};

const escaped = (text: string): string => text.replace(/[\\\t\n\r\0']/g, (char) => ESCAPES[char] ?? char);

function plain(value: Json, type: ScalarType): string {
  if (type === 'json') return JSON.stringify(value);
  if (type === 'number') return String(doubleOf(value));
  if (type === 'integer' && !fits64Bits(integerOf(value))) throw new AppError('sql_error', TOO_LARGE);
  if (type === 'date') return dateText(textOf(value));
  return type === 'datetime' ? utc(textOf(value)) : textOf(value);
}

/** A year outside Date32 would become the first or last date of its range. */
function dateText(text: string): string {
  if (text >= '1900-01-01' && text <= '2299-12-31') return text;
  throw new AppError('sql_error', DATE_RANGE);
}

const DATE_RANGE =
  'ClickHouse has dates from 1900 to 2299. Send one of these, or declare the parameter as string and convert it in the statement.';

/** A larger integer would become negative in Int64. */
const TOO_LARGE =
  'An integer beyond 2^63 - 1 does not fit a parameter of type integer. Declare the parameter as string and write toUInt64(:name) in the statement.';

/** The server's datetime type does not accept zones. */
function utc(text: string): string {
  const datetime = parseDatetime(text);
  if (datetime === null) throw new AppError('sql_error', 'A parameter of type datetime is not a date and time.');
  const { date, time, fraction } = atOffset(datetime, 0);
  return `${date} ${time}.${fraction.slice(1).padEnd(6, '0').slice(0, 6)}`;
}
