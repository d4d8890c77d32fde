import mysql from 'mysql2';
import { parseJson } from '#core/lib/exact-json.ts';
import type { BoundType, Column, Json, ValueKind } from '#core/lib/sql/result.ts';
import { atOffset, parseDatetime } from '#core/lib/text/datetimes.ts';
import { doubleOf, listText, numberText, plainDigits, textOf } from '../shared/rows.ts';
import { minutesOf, UTC } from './extras.ts';

/** A column as the server describes it (column definition packet of MySQL). */
export interface MysqlField {
  readonly name: string;
  readonly columnType: number;
  readonly characterSet: number;
  readonly columnLength: number;
  readonly flags: number;
  readonly extendedTypeName?: string;
  readonly extendedFormat?: string;
  /** Its name in the table. Empty: it is computed. */
  readonly orgName?: string;
}

/** A value as the driver returns it, with big numbers and dates as text. */
export type MysqlValue = null | number | string | Buffer | readonly number[];

interface Rule {
  readonly type: string;
  readonly kind: ValueKind;
  /** @param zone the suffix for moments of the session: `Z`, or an offset from UTC. */
  readonly encode?: (value: MysqlValue, zone: string) => Json;
}

export const { Types } = mysql;
const { TypedParameter } = mysql;
const BINARY = 63;
const UNSIGNED = 32;
const ENUM = 256;
const SET = 2048;

/** `tinyint(1)` is a number: the column can hold other numbers, and `true` is only an alias of 1. */
const RULES: Readonly<Record<number, Rule>> = {
  [Types.TINY]: { type: 'tinyint', kind: 'integer' },
  [Types.SHORT]: { type: 'smallint', kind: 'integer' },
  [Types.INT24]: { type: 'mediumint', kind: 'integer' },
  [Types.LONG]: { type: 'int', kind: 'integer' },
  [Types.LONGLONG]: { type: 'bigint', kind: 'bigint' },
  [Types.YEAR]: { type: 'year', kind: 'integer' },
  [Types.FLOAT]: { type: 'float', kind: 'number', encode: encodeFloat },
  [Types.DOUBLE]: { type: 'double', kind: 'number' },
  [Types.DECIMAL]: { type: 'decimal', kind: 'string' },
  [Types.NEWDECIMAL]: { type: 'decimal', kind: 'string' },
  [Types.DATE]: { type: 'date', kind: 'string' },
  [Types.NEWDATE]: { type: 'date', kind: 'string' },
  [Types.DATETIME]: { type: 'datetime', kind: 'string', encode: encodeDatetime },
  [Types.TIMESTAMP]: { type: 'timestamp', kind: 'string', encode: encodeTimestamp },
  [Types.TIME]: { type: 'time', kind: 'string' },
  [Types.JSON]: { type: 'json', kind: 'json', encode: encodeJson },
  [Types.GEOMETRY]: { type: 'geometry', kind: 'bytes', encode: encodeGeometry },
  [Types.VECTOR]: { type: 'vector', kind: 'array' },
  [Types.NULL]: { type: 'null', kind: 'json' },
};

const JSON_RULE: Rule = { type: 'json', kind: 'json', encode: encodeJson };

/** Kind and encoder of a column, for descriptions and for results. */
export function columnRule(field: MysqlField): Rule {
  // MariaDB stores JSON in a text column; only the extended metadata shows it.
  if (field.extendedFormat === 'json') return JSON_RULE;
  if (field.columnType === Types.BIT) return bitRule(field);
  const rule = RULES[field.columnType];
  if (!rule) return textRule(field);
  return field.flags & UNSIGNED && rule.type.endsWith('int') ? { ...rule, type: `${rule.type} unsigned` } : rule;
}

export function toColumn(name: string, field: MysqlField): Column {
  const { type, kind } = columnRule(field);
  return { name, type, kind };
}

function textRule(field: MysqlField): Rule {
  if (field.extendedTypeName) return { type: field.extendedTypeName, kind: 'string' };
  if (field.flags & ENUM) return { type: 'enum', kind: 'string' };
  if (field.flags & SET) return { type: 'set', kind: 'string' };
  const fixed = field.columnType === Types.STRING;
  const long = field.columnType !== Types.STRING && field.columnType !== Types.VAR_STRING && field.columnType !== Types.VARCHAR;
  if (field.characterSet === BINARY) {
    return { type: long ? 'blob' : fixed ? 'binary' : 'varbinary', kind: 'bytes', encode: encodeBytes };
  }
  return { type: long ? 'text' : fixed ? 'char' : 'varchar', kind: 'string' };
}

/** One bit is a boolean; more bits are a number, of up to 64 bits. */
function bitRule({ columnLength }: MysqlField): Rule {
  if (columnLength === 1) return { type: 'bit(1)', kind: 'boolean', encode: (value) => bitsOf(value) === 1n };
  return { type: `bit(${columnLength})`, kind: 'bigint', encode: encodeBits };
}

function encodeBits(value: MysqlValue): Json {
  const bits = bitsOf(value);
  return bits <= 9007199254740991n ? Number(bits) : String(bits);
}

function bitsOf(value: MysqlValue): bigint {
  return Buffer.isBuffer(value) ? BigInt(`0x${value.toString('hex') || '0'}`) : 0n;
}

/** The shortest number that is the same 32-bit float, so that 1.1 is not sent as 1.100000023841858. */
function encodeFloat(value: MysqlValue): Json {
  if (typeof value !== 'number') return null;
  if (!Number.isFinite(value)) return null;
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}

/** `0000-00-00` is not a valid date; it stays as MySQL writes it. */
function encodeDatetime(value: MysqlValue): Json {
  const text = String(value);
  return text.startsWith('0000-00-00') ? text : text.replace(' ', 'T');
}

/** A timestamp arrives in the time zone of the session. */
function encodeTimestamp(value: MysqlValue, zone: string): Json {
  const text = String(value);
  return text.startsWith('0000-00-00') ? text : `${text.replace(' ', 'T')}${zone}`;
}

function encodeJson(value: MysqlValue): Json {
  return parseJson(String(value));
}

function encodeBytes(value: MysqlValue): Json {
  return Buffer.isBuffer(value) ? value.toString('base64') : value;
}

/** MySQL puts four bytes with the reference system (SRID) before the well-known binary. */
function encodeGeometry(value: MysqlValue): Json {
  return Buffer.isBuffer(value) ? value.subarray(4).toString('base64') : null;
}

/**
 * Converts a bound value for the binary protocol, with the type that a cast to the declared type would have. Integers are sent as
 * 64-bit integers, since doubles would lose digits and `LIMIT` would refuse them; numbers as decimals, as in SQL text; JSON and
 * arrays as JSON text; moments without `T` and zone, in the zone of the session.
 */
export function toMysqlValue(value: Json, type: BoundType, offset = UTC): unknown {
  if (value === null) return typedNull(type);
  if (type === 'json') return JSON.stringify(value);
  if (typeof type === 'object') return listText(value, (item) => itemText(item, type.array, offset));
  if (typeof value === 'boolean') return toInteger(value ? 1 : 0);
  if (type === 'integer') return toInteger(value);
  if (type === 'number') return toNumber(value);
  if (type === 'bytes') return Buffer.from(textOf(value), 'base64');
  if (type === 'date') return toMoment(TypedParameter.DATE, textOf(value), '');
  if (type !== 'datetime') return textOf(value);
  return toMoment(TypedParameter.DATETIME, toDatetime(textOf(value), offset), ' 00:00:00');
}

/** A null with the declared type, so that computed columns have the same type as with other values. */
function typedNull(type: BoundType): unknown {
  const typed = NULLS[typeof type === 'object' ? 'json' : type] ?? TypedParameter.VAR_STRING;
  return typed(null);
}

const NULLS: Partial<Readonly<Record<string, (value: null) => unknown>>> = {
  integer: TypedParameter.LONGLONG,
  boolean: TypedParameter.LONGLONG,
  number: TypedParameter.NEWDECIMAL,
  date: TypedParameter.DATE,
  datetime: TypedParameter.DATETIME,
};

/**
 * Servers silently truncate numbers with more digits than a decimal. Throws `sql_error` for digits that a double would lose too.
 */
function toNumber(value: Json): unknown {
  const digits = plainDigits(textOf(value));
  const [whole = '', fraction = ''] = digits.replace('-', '').split('.');
  const fits = fraction.length <= MOST_DECIMALS && whole.length + fraction.length <= MOST_DIGITS;
  return fits ? TypedParameter.NEWDECIMAL(digits) : doubleOf(value);
}

const MOST_DIGITS = 65;
const MOST_DECIMALS = 30;

/** The driver only keeps milliseconds. Moments with more digits and invalid dates are sent as text. */
function toMoment(typed: (value: Date) => unknown, text: string, more: string): unknown {
  // A server reads years with two digits as years of this century.
  const moment =
    text.startsWith('00') || /\.\d{4}/.test(text)
      ? Number.NaN
      : Date.parse(`${text.replace(' ', 'T')}${text.includes(':') ? '' : more.replace(' ', 'T')}Z`);
  return Number.isNaN(moment) ? text : typed(new Date(moment));
}

/** An element of a list, for JSON_TABLE. MySQL only keeps the digits of fractional numbers as text. */
function itemText(item: Json, type: Exclude<BoundType, object>, offset: string): string {
  if (type === 'datetime') return JSON.stringify(toDatetime(textOf(item), offset));
  return type === 'integer' || (type === 'number' && /^-?\d{1,19}$/.test(textOf(item))) ? numberText(item) : JSON.stringify(item);
}

function toInteger(value: Json): unknown {
  const integer = BigInt(typeof value === 'number' ? Math.trunc(value) : textOf(value));
  const { LONGLONG } = TypedParameter;
  return integer > 9223372036854775807n ? LONGLONG.unsigned(integer) : LONGLONG(integer);
}

/** MySQL cannot compare moments of different zones, so the moment is converted to the zone of the session. */
function toDatetime(text: string, offset: string): string {
  const datetime = parseDatetime(text);
  if (datetime === null) return text;
  const { date, time, fraction } = atOffset(datetime, minutesOf(offset));
  return `${date} ${time}${fraction.slice(0, 7)}`;
}
