import { keepsDigits } from '#core/lib/exact-json.ts';
import type { BoundStatement, Json } from '../shared/source.ts';
import { arrayOidOf } from './types.ts';

type Loses = (text: string) => boolean;

/**
 * Types whose text may say more than the value that is made of it, by oid. A placeholder that was inferred as one of them goes on
 * as that when its column gets a wider type.
 */
const NARROW: readonly (readonly [oid: number, loses: Loses])[] = [
  // date, time and timestamp
  [1082, (text) => text.length > 10],
  [1083, (text) => !/^[\d:.]+$/.test(text)],
  [1114, (text) => /[zZ]$|[+-]\d\d(?::?\d\d)?$/.test(text.slice(10))],
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
    [arrayOidOf(oid), loses],
  ]),
);

/** Whether a value of the statement loses something in the type that the database inferred for its placeholder. */
export function isNarrowed({ values, typed }: BoundStatement, oids: readonly number[]): boolean {
  if (typed) return false;
  return oids.some((oid, i) => {
    const loses = LOSES.get(oid);
    return loses !== undefined && holds(values[i] ?? null, loses);
  });
}

function holds(value: Json, loses: Loses): boolean {
  if (Array.isArray(value)) return value.some((item: Json) => holds(item, loses));
  if (typeof value !== 'string' && typeof value !== 'number') return false;
  return loses(String(value));
}
