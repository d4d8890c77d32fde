import { cut } from '#core/lib/text/shorten.ts';
import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DOUBLE,
  DuckDBDateValue,
  FLOAT,
  DuckDBArrayType,
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBGeometryValue,
  DuckDBListType,
  DuckDBListValue,
  DuckDBMapType,
  DuckDBMapValue,
  type DuckDBPreparedStatement,
  DuckDBStructType,
  DuckDBStructValue,
  type DuckDBType,
  DuckDBTypeId,
  DuckDBUnionType,
  DuckDBUnionValue,
  type DuckDBValue,
  DuckDBVariantValue,
  HUGEINT,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api';
import { jsonText } from '#core/lib/exact-json.ts';
import { utcDatetime } from '#core/lib/text/datetimes.ts';
import { doubleOf, integerOf, textOf } from '../shared/rows.ts';
import type { BoundType, Json, ValueKind } from '#core/lib/sql/result.ts';
import { isHuge } from './typed.ts';

type ScalarType = Exclude<BoundType, object>;

/** Writes a value that is not null as JSON text. */
export type Encode = (value: DuckDBValue) => string;

const KINDS: Readonly<Partial<Record<DuckDBTypeId, ValueKind>>> = {
  [DuckDBTypeId.BOOLEAN]: 'boolean',
  [DuckDBTypeId.TINYINT]: 'integer',
  [DuckDBTypeId.SMALLINT]: 'integer',
  [DuckDBTypeId.INTEGER]: 'integer',
  [DuckDBTypeId.UTINYINT]: 'integer',
  [DuckDBTypeId.USMALLINT]: 'integer',
  [DuckDBTypeId.UINTEGER]: 'integer',
  [DuckDBTypeId.BIGINT]: 'bigint',
  [DuckDBTypeId.UBIGINT]: 'bigint',
  [DuckDBTypeId.HUGEINT]: 'bigint',
  [DuckDBTypeId.UHUGEINT]: 'bigint',
  [DuckDBTypeId.BIGNUM]: 'bigint',
  [DuckDBTypeId.FLOAT]: 'number',
  [DuckDBTypeId.DOUBLE]: 'number',
  [DuckDBTypeId.BLOB]: 'bytes',
  [DuckDBTypeId.GEOMETRY]: 'bytes',
  [DuckDBTypeId.LIST]: 'array',
  [DuckDBTypeId.ARRAY]: 'array',
  [DuckDBTypeId.STRUCT]: 'json',
  [DuckDBTypeId.MAP]: 'json',
  [DuckDBTypeId.UNION]: 'json',
  [DuckDBTypeId.VARIANT]: 'json',
  [DuckDBTypeId.SQLNULL]: 'json',
};

const isJson = (type: DuckDBType): boolean => type.alias === 'JSON';

export const kindOf = (type: DuckDBType): ValueKind => (isJson(type) ? 'json' : (KINDS[type.typeId] ?? 'string'));

/** DuckDB's name of a type, shortened: that of an enum or a deep structure can be as long as a page. */
export function typeName(type: DuckDBType): string {
  return cut(type.alias ?? String(type), 199);
}

/** Returns the function that writes values of a type as JSON. */
export function encoderOf(type: DuckDBType): Encode {
  const encode = encoderOfValues(type);
  return (value) => (value === null || value === undefined ? 'null' : encode(value));
}

function encoderOfValues(type: DuckDBType): Encode {
  if (isJson(type)) return (value) => jsonText(String(value));
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) return encodeItems(encoderOf(type.valueType));
  if (type instanceof DuckDBStructType) return encodeStruct(type);
  if (type instanceof DuckDBMapType) return encodeMap(type);
  if (type instanceof DuckDBUnionType) return encodeUnion(type);
  return ENCODERS[type.typeId] ?? encodeAny;
}

const ENCODERS: Readonly<Partial<Record<DuckDBTypeId, Encode>>> = {
  [DuckDBTypeId.FLOAT]: (value) => encodeNumber(shortest(Number(value))),
  [DuckDBTypeId.TIMESTAMP]: encodeMoment,
  [DuckDBTypeId.TIMESTAMP_S]: encodeMoment,
  [DuckDBTypeId.TIMESTAMP_MS]: encodeMoment,
  [DuckDBTypeId.TIMESTAMP_NS]: encodeMoment,
  [DuckDBTypeId.TIMESTAMP_TZ]: encodeMoment,
};

/** Writes a value without a more specific type, such as one inside a VARIANT. */
function encodeAny(value: DuckDBValue): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return encodeNumber(value);
  if (typeof value === 'bigint') return encodeInteger(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof DuckDBBlobValue || value instanceof DuckDBGeometryValue) return encodeBytes(value.bytes);
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return encodeItems(encodeAny)(value);
  if (value instanceof DuckDBVariantValue) return value.type ? encoderOf(value.type)(value.value) : encodeAny(value.value);
  if (value instanceof DuckDBUnionValue) return `{"tag":${JSON.stringify(value.tag)},"value":${encodeAny(value.value)}}`;
  if (value instanceof DuckDBMapValue) {
    return `[${value.entries.map(({ key, value: of }) => `[${encodeAny(key)},${encodeAny(of)}]`).join(',')}]`;
  }
  if (value instanceof DuckDBDateValue && Math.abs(value.days) === INFINITE_DAYS)
    return value.days > 0 ? '"infinity"' : '"-infinity"';
  if (value instanceof DuckDBStructValue) {
    const members = Object.entries(value.entries).map(([name, of]) => `${JSON.stringify(name)}:${encodeAny(of)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(String(value));
}

/** The library has constants for infinite moments, but not for the dates `infinity` and `-infinity`. */
const INFINITE_DAYS = 2_147_483_647;

const encodeNumber = (value: number): string => (Number.isFinite(value) ? String(value) : 'null');

function encodeInteger(value: bigint): string {
  return value <= 9007199254740991n && value >= -9007199254740991n ? String(value) : `"${value}"`;
}

function encodeBytes(bytes: Uint8Array): string {
  return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"`;
}

/** The shortest digits of the same 32-bit number. */
function shortest(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return rounded;
  }
  return value;
}

/** `infinity` and years BC stay as DuckDB writes them. */
function encodeMoment(value: DuckDBValue): string {
  const text = String(value);
  return JSON.stringify(text.replace(/^(\d{4,}-\d\d-\d\d) (\S+?)(?:\+00)?$/, text.endsWith('+00') ? '$1T$2Z' : '$1T$2'));
}

const encodeItems =
  (encode: Encode): Encode =>
  (value) => {
    const items = value instanceof DuckDBListValue || value instanceof DuckDBArrayValue ? value.items : [];
    return `[${items.map((item) => encode(item)).join(',')}]`;
  };

function encodeStruct(type: DuckDBStructType): Encode {
  const members = type.entryNames.map((name, n) => [name, JSON.stringify(name), encoderOf(type.entryTypes[n]!)] as const);
  return (value) => {
    const entries = value instanceof DuckDBStructValue ? value.entries : {};
    return `{${members.map(([name, key, encode]) => `${key}:${encode(entries[name] ?? null)}`).join(',')}}`;
  };
}

/** An object if the keys are text, else a list of pairs. */
function encodeMap(type: DuckDBMapType): Encode {
  const encodeKey = encoderOf(type.keyType);
  const encodeValue = encoderOf(type.valueType);
  const named = kindOf(type.keyType) === 'string';
  return (value) => {
    const entries = value instanceof DuckDBMapValue ? value.entries : [];
    if (!named) return `[${entries.map(({ key, value: of }) => `[${encodeKey(key)},${encodeValue(of)}]`).join(',')}]`;
    return `{${entries.map(({ key, value: of }) => `${JSON.stringify(String(key))}:${encodeValue(of)}`).join(',')}}`;
  };
}

function encodeUnion(type: DuckDBUnionType): Encode {
  const encoders = new Map(type.memberTags.map((tag, n) => [tag, encoderOf(type.memberTypes[n]!)] as const));
  return (value) => {
    if (!(value instanceof DuckDBUnionValue)) return encodeAny(value);
    return `{"tag":${JSON.stringify(value.tag)},"value":${(encoders.get(value.tag) ?? encodeAny)(value.value)}}`;
  };
}

const TYPES: Readonly<Record<ScalarType, DuckDBType>> = {
  string: VARCHAR,
  integer: BIGINT,
  number: DOUBLE,
  boolean: BOOLEAN,
  // Bound as text, which DuckDB converts to the type that it is compared with.
  date: VARCHAR,
  datetime: VARCHAR,
  uuid: VARCHAR,
  json: VARCHAR,
  bytes: BLOB,
};

/**
 * Binds a value with the type that the tool declares. Next to a 32-bit column a number is bound with 32 bits, because a double
 * would be a different number.
 */
export function bindValue(prepared: DuckDBPreparedStatement, index: number, value: Json, type: BoundType): void {
  if (value === null) return prepared.bindNull(index);
  if (typeof type === 'object') {
    const items = Array.isArray(value) ? value : [value];
    const is_list = type.array === 'number' && prepared.parameterTypeId(index) === DuckDBTypeId.LIST;
    const inferred = is_list ? prepared.parameterType(index) : null;
    const is_short = inferred instanceof DuckDBListType && inferred.valueType.typeId === DuckDBTypeId.FLOAT;
    return prepared.bindList(
      index,
      listValue(items.map((item: Json) => toValue(item, type.array))),
      LIST(is_short ? FLOAT : typeOf(type.array, items)),
    );
  }
  const is_short = type === 'number' && prepared.parameterTypeId(index) === DuckDBTypeId.FLOAT;
  prepared.bindValue(index, toValue(value, type), is_short ? FLOAT : typeOf(type, [value]));
}

const typeOf = (type: ScalarType, values: readonly Json[]): DuckDBType => (isHuge(type, values) ? HUGEINT : TYPES[type]);

function toValue(value: Json, type: ScalarType): DuckDBValue {
  if (value === null) return null;
  if (type === 'json') return JSON.stringify(value);
  if (type === 'integer') return integerOf(value);
  if (type === 'number') return doubleOf(value);
  if (type === 'bytes') return new DuckDBBlobValue(Buffer.from(textOf(value), 'base64'));
  if (type === 'boolean') return value === true || value === 'true';
  // A date would be taken from the zone of the text; sessions use UTC.
  return type === 'datetime' ? utcDatetime(textOf(value)) : textOf(value);
}
