import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import { keepsDigits, parseJson } from '#core/lib/exact-json.ts';
import type { BoundStatement, BoundType, Json, ValueKind } from '#core/lib/sql/result.ts';
import {
  parseArray,
  parseBigint,
  parseBoolean,
  parseBytes,
  parseFloat8,
  parseInteger,
  parseNumeric,
  type ParseText,
  parseTimestamp,
  parseTimestamptz,
  parseTimetz,
} from '../values.ts';

export interface TypeInfo {
  /** The name that PostgreSQL's format_type() returns. */
  readonly name: string;
  readonly kind: ValueKind;
  /** Undefined when the text is the value. */
  readonly parse: ParseText | undefined;
}

const asString = { kind: 'string', parse: undefined } as const;

/** Built-in types: oid, array oid, name, and how their text becomes JSON. Other types are read from pg_type. */
const BUILT_IN: readonly (readonly [oid: number, array: number, name: string, is?: Pick<TypeInfo, 'kind' | 'parse'>])[] = [
  [16, 1000, 'boolean', { kind: 'boolean', parse: parseBoolean }],
  [17, 1001, 'bytea', { kind: 'bytes', parse: parseBytes }],
  [18, 1002, '"char"'],
  [19, 1003, 'name'],
  [20, 1016, 'bigint', { kind: 'bigint', parse: parseBigint }],
  [21, 1005, 'smallint', { kind: 'integer', parse: parseInteger }],
  [23, 1007, 'integer', { kind: 'integer', parse: parseInteger }],
  [25, 1009, 'text'],
  [26, 1028, 'oid', { kind: 'integer', parse: parseInteger }],
  [114, 199, 'json', { kind: 'json', parse: parseJson }],
  [142, 143, 'xml'],
  [600, 1017, 'point'],
  [650, 651, 'cidr'],
  [700, 1021, 'real', { kind: 'number', parse: parseFloat8 }],
  [701, 1022, 'double precision', { kind: 'number', parse: parseFloat8 }],
  [790, 791, 'money'],
  [829, 1040, 'macaddr'],
  [869, 1041, 'inet'],
  [1042, 1014, 'character'],
  [1043, 1015, 'character varying'],
  [1082, 1182, 'date'],
  [1083, 1183, 'time without time zone'],
  [1114, 1115, 'timestamp without time zone', { kind: 'string', parse: parseTimestamp }],
  [1184, 1185, 'timestamp with time zone', { kind: 'string', parse: parseTimestamptz }],
  [1186, 1187, 'interval'],
  [1266, 1270, 'time with time zone', { kind: 'string', parse: parseTimetz }],
  [1560, 1561, 'bit'],
  [1562, 1563, 'bit varying'],
  [1700, 1231, 'numeric', { kind: 'string', parse: parseNumeric }],
  [2249, 2287, 'record'],
  [2950, 2951, 'uuid'],
  [3614, 3643, 'tsvector'],
  [3802, 3807, 'jsonb', { kind: 'json', parse: parseJson }],
  [3904, 3905, 'int4range'],
  [3906, 3907, 'numrange'],
  [3908, 3909, 'tsrange'],
  [3910, 3911, 'tstzrange'],
  [3912, 3913, 'daterange'],
  [3926, 3927, 'int8range'],
];

export const TYPES: ReadonlyMap<number, TypeInfo> = new Map(
  BUILT_IN.flatMap(([oid, array, name, is = asString]): [number, TypeInfo][] => [
    [oid, { name, ...is }],
    [array, arrayOf(name, is.parse)],
  ]),
);

/** Types that the database writes in ASCII only: numbers, times, bytes, identifiers. */
const ASCII = new Set([16, 17, 20, 21, 23, 26, 700, 701, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2950]);
export const isAsciiType = (oid: number): boolean => ASCII.has(oid);

export function arrayOf(name: string, parseItem: ParseText | undefined, delimiter = ','): TypeInfo {
  return { name: `${name}[]`, kind: 'array', parse: (text) => parseArray(text, parseItem, delimiter) };
}

/** The element type of a list. */
export const scalarOf = (type: BoundType): ScalarType => (typeof type === 'string' ? type : type.array);

const PARAMETER: Readonly<Record<string, ScalarType>> = {
  boolean: 'boolean',
  bigint: 'integer',
  smallint: 'integer',
  integer: 'integer',
  real: 'number',
  'double precision': 'number',
  numeric: 'number',
  date: 'date',
  'timestamp without time zone': 'datetime',
  'timestamp with time zone': 'datetime',
  uuid: 'uuid',
  json: 'json',
  jsonb: 'json',
  bytea: 'bytes',
  text: 'string',
  character: 'string',
  'character varying': 'string',
};

/** The parameter type of a described placeholder. Null for types without a parameter type. */
export function boundTypeOf(oid: number): BoundType | null {
  const name = TYPES.get(oid)?.name ?? '';
  if (!name.endsWith('[]')) return PARAMETER[name] ?? null;
  const array = PARAMETER[name.slice(0, -2)];
  return array === undefined ? null : { array };
}

/** Types whose text is JSON; an array bound to one is written as JSON. */
export const isJsonOid = (oid: number): boolean => oid === 114 || oid === 3802;

/** Types that have a zone, or store the text. Domains count as types without a zone. */
const KEEP_ZONE = new Set(
  BUILT_IN.filter(([, , name]) => /with time zone$|^text$|^character|^json/.test(name)).flatMap(([oid, array]) => [oid, array]),
);
export const keepsZone = (oid: number): boolean => KEEP_ZONE.has(oid);

/** Maps the oid of a type to that of its array, and the reverse. */
export const ARRAYS: ReadonlyMap<number, number> = new Map(BUILT_IN.map(([oid, array]) => [oid, array]));
export const ELEMENTS: ReadonlyMap<number, number> = new Map(BUILT_IN.map(([oid, array]) => [array, oid]));

type Loses = (text: string, type: ScalarType) => boolean;

/**
 * Types that may lose part of a value, by oid, with a check of the text. A placeholder that was inferred as one of them retains
 * the type when its column gets a wider type.
 */
const NARROW: readonly (readonly [oid: number, loses: Loses])[] = [
  // date, time and timestamp: words such as `now` are a date or a moment, depending on the column.
  [1082, (text) => !/^\d{4}-\d\d-\d\d$/.test(text)],
  [1083, (text) => !/^[\d:.]+$/.test(text)],
  // A datetime is in UTC, which the wider type assumes too.
  [1114, (text, type) => type !== 'datetime' && /[zZ]$|[+-]\d\d(?::?\d\d)?$/.test(text.slice(10))],
  // name, char and character(n)
  [19, (text) => text.length > 15],
  [18, (text) => text.length > 1],
  [1042, (text) => text.endsWith(' ')],
  // real and double precision
  [700, (text) => Math.fround(Number(text)) !== Number(text)],
  [701, (text) => !keepsDigits(Number(text), text)],
  // money
  [790, () => true],
];
const LOSES: ReadonlyMap<number, Loses> = new Map(
  NARROW.flatMap(([oid, loses]): [number, Loses][] => [
    [oid, loses],
    [ARRAYS.get(oid) ?? 0, loses],
  ]),
);

/** Whether a value of the statement loses something in the type that the database inferred for its placeholder. */
export function isNarrowed({ values, types, declared }: BoundStatement, oids: readonly number[]): boolean {
  return oids.some((oid, i) => {
    const loses = declared?.[i] ? undefined : LOSES.get(oid);
    return loses !== undefined && holds(values[i] ?? null, scalarOf(types[i] ?? 'string'), loses);
  });
}

function holds(value: Json, type: ScalarType, loses: Loses): boolean {
  if (Array.isArray(value)) return value.some((item: Json) => holds(item, type, loses));
  if (typeof value !== 'string' && typeof value !== 'number') return false;
  return loses(String(value), type);
}
