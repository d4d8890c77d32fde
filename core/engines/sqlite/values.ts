import { AppError } from '#core/errors.ts';
import { jsonText, keepsDigits } from '#core/lib/exact-json.ts';
import { isoDatetime } from '#core/lib/text/datetimes.ts';
import { doubleOf, fits64Bits, integerOf, listText, textOf } from '../shared/rows.ts';
import type { BoundType, Json, ValueKind } from '#core/lib/sql/result.ts';

/** A value as SQLite returns it. Integers are always bigint, so that a double stays a double. */
export type SqliteValue = null | bigint | number | string | Uint8Array;

type Encode = (value: SqliteValue) => string;

/**
 * How the values of a column are converted, by its declared type: the values themselves only have a storage class. Text without a
 * rule stays unchanged, and a value of another type than the column's is never dropped.
 */
const RULES: readonly { readonly declared: RegExp; readonly kind: ValueKind; readonly encode: Encode }[] = [
  { declared: /^bool/, kind: 'json', encode: encodeBoolean },
  { declared: /^jsonb?$/, kind: 'json', encode: encodeJson },
  { declared: /^(datetime|timestamp)/, kind: 'bigint', encode: encodeMoment },
  { declared: /^(date|time)/, kind: 'bigint', encode: encodeIntegerOrText },
  { declared: /int/, kind: 'bigint', encode: encodeIntegerOrText },
  { declared: /char|clob|text|uuid|string/, kind: 'string', encode: encodeText },
  { declared: /blob|binary|bytea/, kind: 'bytes', encode: encodeText },
  { declared: /real|floa|doub|dec|num/, kind: 'json', encode: encodeAny },
];

const UNDECLARED = { kind: 'json', encode: encodeAny } as const;

/** Kind and JSON encoder of a column. Expressions have no declared type; their kind is `json`, which accepts any value. */
export function columnRule(declared: string | null): { readonly kind: ValueKind; readonly encode: Encode } {
  const type = declared?.trim().toLowerCase() ?? '';
  return RULES.find((rule) => rule.declared.test(type)) ?? UNDECLARED;
}

function encodeAny(value: SqliteValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return isSafe(value) ? String(value) : `"${value}"`;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  return `"${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}"`;
}

function encodeBoolean(value: SqliteValue): string {
  if (value === 1n) return 'true';
  return value === 0n ? 'false' : encodeAny(value);
}

/** SQLite can store a fraction in an integer column. As a string it still matches the column's schema. */
function encodeIntegerOrText(value: SqliteValue): string {
  return typeof value === 'number' && Number.isFinite(value) ? `"${value}"` : encodeAny(value);
}

/** `datetime()` and CURRENT_TIMESTAMP write a space where ISO 8601 has a `T`. */
function encodeMoment(value: SqliteValue): string {
  if (typeof value !== 'string') return encodeIntegerOrText(value);
  return JSON.stringify(value.replace(/^(\d{4}-\d\d-\d\d) (?=\d\d:\d\d)/, '$1T'));
}

function encodeText(value: SqliteValue): string {
  return typeof value === 'bigint' || typeof value === 'number' ? `"${value}"` : encodeAny(value);
}

function encodeJson(value: SqliteValue): string {
  return typeof value === 'string' ? jsonText(value) : encodeAny(value);
}

function isSafe(value: bigint): boolean {
  return value <= 9007199254740991n && value >= -9007199254740991n;
}

/**
 * Converts a bound value to SQLite's storage classes. Arrays and JSON become JSON text, for `json_each`; booleans become 0 and 1.
 */
export function toSqliteValue(value: Json, type: BoundType): SqliteValue {
  if (value === null) return null;
  if (typeof type === 'object') return listText(value, (item) => itemText(item, type.array));
  if (type === 'json') return JSON.stringify(value);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (type === 'integer') return toSqliteInteger(value);
  if (type === 'number') return toSqliteNumber(value);
  if (type === 'bytes') return new Uint8Array(Buffer.from(textOf(value), 'base64'));
  // SQLite's functions only read ISO zones.
  return type === 'datetime' ? isoDatetime(textOf(value)) : textOf(value);
}

/** An element of a list, for `json_each`. */
function itemText(item: Json, type: Exclude<BoundType, object>): string {
  if (type === 'json' || typeof item === 'boolean') return JSON.stringify(item);
  const value = toSqliteValue(item, type);
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

function toSqliteInteger(value: Json): bigint {
  const integer = integerOf(value);
  if (fits64Bits(integer)) return integer;
  throw new AppError('sql_error', TOO_LARGE);
}

const TOO_LARGE = 'An integer beyond 2^63 - 1 does not fit into SQLite. Send a smaller one, or declare the parameter as string.';

const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** A double, or an integer when only that keeps the digits. Page positions may contain text where the column does. */
function toSqliteNumber(value: Json): SqliteValue {
  if (typeof value !== 'string') return doubleOf(value);
  if (!NUMBER.test(value)) return value;
  if (!/^-?\d+$/.test(value) || keepsDigits(Number(value), value)) return doubleOf(value);
  const whole = BigInt(value);
  return fits64Bits(whole) ? whole : doubleOf(value);
}
