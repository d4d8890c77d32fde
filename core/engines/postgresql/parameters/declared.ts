import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { BoundType } from '#core/lib/sql/result.ts';

/** Types for declaring placeholders, with their oids and those of their arrays, which are the same in every database. */
const OIDS = {
  text: [25, 1009],
  int8: [20, 1016],
  int4: [23, 1007],
  numeric: [1700, 1231],
  boolean: [16, 1000],
  date: [1082, 1182],
  timestamptz: [1184, 1185],
  uuid: [2950, 2951],
  jsonb: [3802, 3807],
  bytea: [17, 1001],
} as const;
const LISTED: ReadonlyMap<string, number> = new Map(
  Object.entries(OIDS).flatMap(([name, [oid, array]]) => [[name, oid] as const, [`${name}[]`, array] as const]),
);

/** For each declared type, one that holds all its values, and an alternative for functions that accept no other. */
const NAMES: Readonly<Record<ScalarType, readonly (keyof typeof OIDS)[]>> = {
  string: ['text'],
  integer: ['int8', 'int4'],
  number: ['numeric'],
  boolean: ['boolean'],
  date: ['date'],
  datetime: ['timestamptz'],
  uuid: ['uuid'],
  json: ['jsonb'],
  bytes: ['bytea'],
};

/** 0: the database infers the type. */
export const oidOf = (declared: string | null | undefined): number => LISTED.get(declared ?? '') ?? 0;

/** The types to declare a placeholder as, in order of preference. */
export const candidatesOf = (type: BoundType): readonly string[] =>
  typeof type === 'string' ? NAMES[type] : NAMES[type.array].map((name) => `${name}[]`);

const INT4 = new Map([
  ['int8', 'int4'],
  ['int8[]', 'int4[]'],
]);
export const asInt4 = (declared: string | null): string | null => INT4.get(declared ?? '') ?? declared;

const NUMBERS = [20, 21, 23, 26, 700, 701, 790, 1700];
const TEXTS = [18, 19, 25, 1042, 1043, 142];
const MOMENTS = [1082, 1114, 1184];
const JSONS = [114, 3802];
/** User-defined types have oids from here on (FirstNormalObjectId). */
const FIRST_USER_OID = 16_384;

/** Inferred types that hold every value of a declared type without loss. */
const LOSSLESS: Readonly<Record<Exclude<ScalarType, 'string'>, ReadonlySet<number>>> = {
  integer: new Set([20, 26, 1700]),
  // A numeric value that is compared with a real column is never equal, so real is included.
  number: new Set([700, 1700]),
  boolean: new Set([16]),
  date: new Set(MOMENTS),
  datetime: new Set(MOMENTS),
  uuid: new Set([2950]),
  json: new Set(JSONS),
  bytes: new Set([17]),
};

/** Inferred types that accept the text of at least some values of a declared type, when no other type can be declared. */
const ACCEPTED: Readonly<Record<Exclude<ScalarType, 'string'>, ReadonlySet<number>>> = {
  integer: new Set([...NUMBERS, ...TEXTS, ...JSONS]),
  number: new Set([...NUMBERS, ...TEXTS, ...JSONS]),
  boolean: new Set([16, ...TEXTS, ...JSONS]),
  date: new Set([...MOMENTS, ...TEXTS]),
  datetime: new Set([...MOMENTS, ...TEXTS]),
  uuid: new Set([2950, ...TEXTS]),
  json: new Set([...JSONS, ...TEXTS]),
  bytes: new Set([17]),
};

/** @param elements the element type of an array by its oid. */
function fits(type: BoundType, oid: number, table: typeof LOSSLESS, elements: ReadonlyMap<number, number>): boolean {
  if (typeof type === 'string') return type === 'string' || table[type].has(oid);
  const element = elements.get(oid);
  // A list is written as JSON there.
  if (element === undefined) return JSONS.includes(oid);
  return type.array === 'string' || table[type.array].has(element);
}

/** Whether a placeholder can have the type that the database inferred. */
export const isLossless = (type: BoundType, oid: number, elements: ReadonlyMap<number, number>): boolean =>
  (oid >= FIRST_USER_OID && (type === 'string' || (typeof type === 'object' && type.array === 'string'))) ||
  fits(type, oid, LOSSLESS, elements);

/** Whether the inferred type accepts any value. User-defined types are unknown, so they count as accepting. */
export const isFillable = (type: BoundType, oid: number, elements: ReadonlyMap<number, number>): boolean =>
  oid >= FIRST_USER_OID || fits(type, oid, ACCEPTED, elements);
