import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { Json } from '#core/lib/sql/result.ts';
import type { OracleColumn } from './grammar.ts';
import type { Random } from './random.ts';

/** Values of each declared type: those of the rows, their neighbours, ends of ranges and odd texts. */
const POOL: Readonly<Record<ScalarType, readonly Json[]>> = {
  string: [
    'ann',
    'Bob',
    '',
    ' ',
    'a%',
    '_ob',
    "O'Brien",
    'back\\slash',
    'ünï 😀',
    '10',
    '9',
    '2.5',
    '2026-01-05',
    'true',
    'NULL',
    '{a,b}',
    '[1]',
    'fine',
  ],
  integer: [
    0,
    1,
    2,
    3,
    5,
    9,
    10,
    -1,
    100,
    32_767,
    32_768,
    2_147_483_647,
    2_147_483_648,
    -2_147_483_649,
    '9007199254740993',
    '-9223372036854775808',
  ],
  number: [
    0,
    0.1,
    0.5,
    1,
    2.5,
    7,
    -1.5,
    19.99,
    9,
    10,
    1e-7,
    1e21,
    0.30000000000000004,
    '0.12345678901234567890',
    '123456789012345678.25',
  ],
  boolean: [true, false],
  date: ['2026-01-05', '2026-02-28', '2024-02-29', '1999-12-31', '1000-01-01', '9999-12-31'],
  datetime: [
    '2026-01-05T10:00:00Z',
    '2026-01-05T12:00:00+02:00',
    '2026-01-05T10:00:00.123456Z',
    '1999-12-31T23:59:59-08:00',
    '2026-01-05T00:00:00Z',
  ],
  uuid: ['2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d', '00000000-0000-0000-0000-000000000000', '2C5EA4C0-4067-11E9-8BAD-9B1DEB4D3B7D'],
  bytes: ['AP8=', 'YQ==', ''],
  json: [{ k: [1, 2] }, { k: 'v', n: null }, [1, 'x', null], 'text', 5, true, 2.5, {}, []],
};
const SMALL: readonly Json[] = [0, 1, 2, 3, 100];

/** In the place of a value that is left out. */
const ABSENT = Symbol('absent');
type Absent = typeof ABSENT;
export const isAbsent = (value: Json | Absent): value is Absent => value === ABSENT;

/** @param small a number of rows. */
export function valueOf(type: ScalarType, column: OracleColumn | null, small: boolean, random: Random): Json | Absent {
  if (random.chance(0.12)) return ABSENT;
  if (small) return random.pick(SMALL);
  const own = column?.values ?? [];
  return own.length > 0 && column?.type === type && random.chance(0.6) ? random.pick(own) : random.pick(POOL[type]);
}

export function listOf(type: ScalarType, column: OracleColumn | null, random: Random): Json | Absent {
  if (random.chance(0.08)) return ABSENT;
  const items: Json[] = [];
  while (random.chance(0.65) && items.length < 5) {
    const value = valueOf(type, column, false, random);
    if (!isAbsent(value)) items.push(value);
  }
  return items;
}
