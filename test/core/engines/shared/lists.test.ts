import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { textOf } from '#core/engines/shared/rows.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import { EVERY_ENGINE, type OpenEngine } from './every-engine.ts';
import { READ, refusal, sql } from './suite.ts';

const INTEGERS = ['9007199254740993', '-9223372036854775808', '9223372036854775807', 5, null];
const NUMBERS = ['9007199254740993', 0.1, '0.25', 5, null];

/** The elements of a list one by one, as the database reads them from JSON or from its own lists. */
const EACH: Readonly<Record<string, string>> = {
  postgresql: "SELECT value #>> '{}' AS value FROM jsonb_array_elements($1)",
  mysql: "SELECT value FROM JSON_TABLE(?, '$[*]' COLUMNS (value VARCHAR(40) PATH '$')) AS list",
  sqlite: 'SELECT value FROM json_each(?)',
  libsql: 'SELECT value FROM json_each(?)',
  duckdb: 'SELECT unnest($1) AS value',
};
/** The same as JSON that has numbers, not texts. */
const TYPES: Readonly<Record<string, string>> = {
  postgresql: 'SELECT jsonb_typeof(value) AS type FROM jsonb_array_elements($1)',
  mysql: "SELECT JSON_TYPE(JSON_EXTRACT(?, '$[0]')) AS type",
  sqlite: 'SELECT typeof(value) AS type FROM json_each(?)',
  libsql: 'SELECT typeof(value) AS type FROM json_each(?)',
};

describe.each(EVERY_ENGINE.filter(({ kind }) => kind in EACH))('a list on $kind', ({ kind, up, open }) => {
  let engine: OpenEngine;
  beforeAll(async () => {
    if (up) engine = await open([]);
  }, 60_000);
  afterAll(() => engine?.close());

  const rowsOf = async (text: string | undefined, values: readonly Json[], items: Exclude<BoundType, object>) =>
    (await engine.source.query(sql(text ?? '', [values], [{ array: items }]), READ)).rows;

  test.skipIf(!up)('keeps every digit of its numbers', async () => {
    for (const [items, values] of [
      ['integer', INTEGERS],
      ['number', NUMBERS],
    ] as const) {
      // DuckDB has no list of numbers whose digits a double would lose.
      if (kind === 'duckdb' && items === 'number') continue;
      const found = (await rowsOf(EACH[kind], values, items)).map(({ value }) => value);
      expect(found.map(textOf)).toEqual(values.map(textOf));
    }
  });

  if (kind in TYPES) {
    test.skipIf(!up)('of numbers has numbers', async () => {
      const [first] = await rowsOf(TYPES[kind], ['9007199254740993'], 'integer');
      expect(textOf(first?.['type'])).toMatch(/^(?:number|integer)$/i);
    });
  }

  if (kind === 'sqlite' || kind === 'libsql') {
    test('and a value are refused where no number is as large or as exact', async () => {
      const large = '18446744073709551615';
      const exact = '0.12345678901234567890123';
      const cases: readonly (readonly [Json, BoundType])[] = [
        [large, 'integer'],
        [[large], { array: 'integer' }],
        [[exact], { array: 'number' }],
      ];
      for (const [value, type] of cases) {
        const error = await refusal(engine.source.query(sql('SELECT ? AS value', [value], [type]), READ));
        expect(error).toMatchObject({ code: 'sql_error', detail: expect.stringMatching(/declare the parameter as string/i) });
      }
    });
  }
});
