import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { CLICKHOUSE_DIALECT } from '#core/engines/clickhouse/dialect.ts';
import { openClickhouse } from '#core/engines/clickhouse/source.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { bind } from '#core/lib/sql/bind.ts';
import { parseSql } from '#core/lib/sql/parse.ts';
import { type Chdb, hasChdb, startChdb } from '#test/support/chdb.ts';
import { localPolicy } from '#test/support/databases.ts';
import { paced } from '#test/support/paced.ts';
import { FIXED, READ, refusal, sql } from '../shared/suite.ts';
import { SETTINGS, SHOP } from './fixture.ts';

let chdb: Chdb;
let source: Source;

const open = (settings: Partial<ConnectionSettings> = {}, engine = chdb): Source =>
  openClickhouse({ ...SETTINGS, port: 8123, ...settings }, { ...localPolicy, fetch: engine.fetch });

describe.skipIf(!hasChdb)('the engine of ClickHouse 26.7', () => {
  beforeAll(async () => {
    chdb = await startChdb();
    for (const statement of SHOP) await chdb.run(statement);
    source = open();
  }, 60_000);

  afterAll(() => chdb?.stop());

  const VALUES = `SELECT true AS b, toInt8(-1) AS i8, toUInt32(4294967295) AS u32, 9007199254740993 AS u64, toInt64(-5) AS i64,
    toInt128('170141183460469231731687303715884105727') AS i128, 0.1 AS f, nan AS nan, -inf AS inf, toFloat32(0.1) AS f32,
    toDecimal64(1.1, 5) AS de, toDate('2026-01-02') AS da, toDate32('1900-01-02') AS d32, toDateTime('2026-01-02 03:04:05', 'Asia/Tokyo') AS dt,
    toDateTime64('2026-01-02 03:04:05.123456789', 9, 'UTC') AS d64, toUUID('12345678-1234-1234-1234-123456789abc') AS uu,
    'it\\'s "ü" 😀 \\n\\t\\\\' AS s, toFixedString('ab', 4) AS fs, CAST('x' AS Enum8('x' = 1)) AS en, [1, NULL] AS li, [[9007199254740993], []] AS nested,
    map('k', toInt64(9007199254740993)) AS ma, (1, 'x') AS tu, CAST((1, 'x') AS Tuple(a Int8, \`b c\` String)) AS nt, toIPv4('1.2.3.4') AS ip,
    toIntervalDay(3) AS iv, CAST('{"a":12345678901234567890,"b":{"c":[1.5]}}' AS JSON) AS js, CAST(toInt8(5) AS Variant(Int8, String)) AS va,
    toLowCardinality('lc') AS lc, NULL AS nothing, '\\xff\\xfe' AS raw, toNullable(toDecimal32(2, 1)) AS nd, [toDecimal32(1.5, 2)] AS ld`;

  test('every type comes in the encoding of the contract, and is described as it comes', async () => {
    const { rows, columns } = await source.query(sql(VALUES), READ);
    expect(rows[0]).toEqual({
      b: true,
      i8: -1,
      u32: 4_294_967_295,
      u64: '9007199254740993',
      i64: -5,
      i128: '170141183460469231731687303715884105727',
      f: 0.1,
      nan: null,
      inf: null,
      f32: 0.1,
      de: '1.10000',
      da: '2026-01-02',
      d32: '1900-01-02',
      dt: '2026-01-01T18:04:05Z',
      d64: '2026-01-02T03:04:05.123456789Z',
      uu: '12345678-1234-1234-1234-123456789abc',
      s: 'it\'s "ü" 😀 \n\t\\',
      fs: 'ab\0\0',
      en: 'x',
      li: [1, null],
      nested: [['9007199254740993'], []],
      ma: { k: '9007199254740993' },
      tu: [1, 'x'],
      nt: { a: 1, 'b c': 'x' },
      ip: '1.2.3.4',
      iv: 3,
      js: { a: '12345678901234567890', b: { c: [1.5] } },
      va: 5,
      lc: 'lc',
      nothing: null,
      raw: '\ufffd',
      nd: '2.0',
      ld: ['1.50'],
    });
    expect((await source.describe(VALUES, [])).columns).toEqual([...columns]);
    const kinds = Object.fromEntries(columns.map(({ name, kind }) => [name, kind]));
    expect(kinds).toMatchObject({
      b: 'boolean',
      i8: 'integer',
      u64: 'bigint',
      f: 'number',
      de: 'string',
      li: 'array',
      ma: 'json',
      iv: 'bigint',
    });
    expect(kinds).toMatchObject({
      tu: 'json',
      nt: 'json',
      js: 'json',
      va: 'json',
      lc: 'string',
      nothing: 'json',
      nd: 'string',
      dt: 'string',
    });
  });

  /** As a tool has it: names in the text, and the server's own typed parameters in what is sent. */
  async function call(text: string, types: Record<string, BoundType>, values: Record<string, Json | undefined>) {
    const parameters = Object.entries(types).map(([name, type]) =>
      typeof type === 'object' ? { name, type: 'array' as const, items: type.array } : { name, type },
    );
    const statement = parseSql(text, CLICKHOUSE_DIALECT, parameters);
    const bound = bind(statement, CLICKHOUSE_DIALECT, values);
    await source.describe(bound.text, bound.types);
    return (await source.query(bound, READ)).rows;
  }

  test('values travel beside the text, as what they are declared', async () => {
    const hostile = `it's "q" \\ \\' \n\t\0 {p1:String} ); DROP TABLE victim -- ü 😀`;
    const text = `SELECT :s AS s, :i AS i, :n AS n, :b AS b, :d AS d, :t AS t, :u AS u, :j AS j, toTypeName(:i) AS type, :s AS again`;
    const types = {
      s: 'string',
      i: 'integer',
      n: 'number',
      b: 'boolean',
      d: 'date',
      t: 'datetime',
      u: 'uuid',
      j: 'json',
    } as const;
    const values = {
      s: hostile,
      i: '-9007199254740993',
      n: 0.1,
      b: true,
      d: '1950-01-02',
      t: '2026-01-02T05:04:05.123456+02:00',
    };
    const uuid = '12345678-1234-1234-1234-123456789abc';
    expect(await call(text, types, { ...values, u: uuid, j: { a: ["it's"] } })).toEqual([
      {
        s: hostile,
        i: '-9007199254740993',
        n: 0.1,
        b: true,
        d: '1950-01-02',
        t: '2026-01-02T03:04:05.123456Z',
        u: uuid,
        j: `{"a":["it's"]}`,
        type: 'Nullable(Int64)',
        again: hostile,
      },
    ]);
    const [none] = await call(text, types, {});
    expect(none).toMatchObject({ s: null, i: null, n: null, b: null, d: null, t: null, u: null, j: null });
    expect(chdb.asked.at(-1)?.get('param_p1')).toBe('\\N');
    expect(chdb.asked.at(-1)?.get('readonly')).toBe('1');
  });

  test('what the type of a parameter cannot hold is refused, and never becomes another value', async () => {
    const refuses = async (type: 'integer' | 'number', value: string, sentence: string) => {
      const found = [
        await refusal(call('SELECT :v AS v', { v: type }, { v: value })),
        await refusal(call('SELECT 1 AS one WHERE 1 IN (:v)', { v: { array: type } }, { v: [value] })),
      ];
      for (const { code, detail } of found) {
        expect([code, detail.includes(value)]).toEqual(['sql_error', false]);
        expect(detail).toContain(sentence);
      }
    };
    await refuses('integer', '18446744073709551615', 'Declare the parameter as string and write toUInt64(:name)');
    await refuses('number', '9007199254740993', 'more digits');
    expect(await call('SELECT :v AS v', { v: 'integer' }, { v: '9223372036854775807' })).toEqual([{ v: '9223372036854775807' }]);
    expect(await call('SELECT :v AS v', { v: 'number' }, { v: '0.10' })).toEqual([{ v: 0.1 }]);
  });

  test('lists are one value: of every type, empty, with null, and null', async () => {
    const ids = (where: string, list: Json | undefined, items: 'integer' | 'string' | 'date' = 'integer') =>
      call(`SELECT id FROM item WHERE ${where} ORDER BY id`, { l: { array: items } }, { l: list }).then((rows) =>
        rows.map(({ id }) => id),
      );
    expect(await ids('id IN (:l)', [1, 3, 99])).toEqual([1, 3]);
    expect(await ids('id NOT IN (:l)', [1])).toEqual([2, 3]);
    expect(await ids('id IN (:l)', [])).toEqual([]);
    expect(await ids('id NOT IN (:l)', [])).toEqual([1, 2, 3]);
    for (const where of ['id IN (:l)', 'id NOT IN (:l)']) {
      expect(await ids(where, null)).toEqual([]);
      expect(await ids(where, undefined)).toEqual([]);
    }
    expect(await ids('name IN (:l)', ['pen', `b'\\`, null], 'string')).toEqual([1]);
    expect(await ids('has(tags, arrayElement(:l, 1))', [`b'`], 'string')).toEqual([1]);
    expect(
      await ids(
        'id IN (:l)',
        Array.from({ length: 5_000 }, (_, i) => i),
      ),
    ).toEqual([1, 2, 3]);
    expect(await ids('born IN (:l)', ['2026-01-02'], 'date')).toEqual([1]);
  });

  test('values stand where they are used: comparisons, LIMIT, moments, optional blocks', async () => {
    const types = { low: 'integer', from: 'datetime', most: 'integer', name: 'string' } as const;
    const text = 'SELECT id FROM item WHERE id >= :low AND seen >= :from [[ AND name = :name ]] ORDER BY id LIMIT :most';
    const values = { low: 1, from: '2026-01-01T00:00:00Z', most: 2 };
    expect(await call(text, types, values)).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await call(text, types, { ...values, name: 'pen' })).toEqual([{ id: 1 }]);
    const price = { p: 'number' } as const;
    expect(await call('SELECT id FROM item WHERE price < :p', price, { p: 1.75 })).toEqual([{ id: 1 }]);
    const long = refusal(call('SELECT :s AS s', { s: 'string' }, { s: 'x'.repeat(1_100_000) }));
    expect((await long).code).toBe('too_large');
  });

  test('an account whose profile is read-only sends no other setting, and numbers stay exact', async () => {
    const strict = await startChdb({ readonly: '1' });
    try {
      const found = await open({ database: 'default' }, strict).query(
        sql(`SELECT 9007199254740993 AS u, toDecimal64(1.1, 3) AS d, [9007199254740993] AS l, nan AS n,
          [toDateTime('2026-01-02 03:04:05', 'UTC')] AS z, toDateTime64('2026-01-02 03:04:05.5', 1, 'Asia/Tokyo') AS t`),
        READ,
      );
      const moments = { z: ['2026-01-02T03:04:05Z'], t: '2026-01-02 03:04:05.5' };
      expect(found.rows).toEqual([{ u: '9007199254740993', d: '1.1', l: ['9007199254740993'], n: null, ...moments }]);
      expect([...(strict.asked.at(-1)?.keys() ?? [])].toSorted()).toEqual(['database', 'default_format', 'query_id', 'readonly']);
    } finally {
      await strict.stop();
    }
    const loose = await startChdb({ readonly: '2' });
    expect((await refusal(open({ database: 'default' }, loose).query(sql('SELECT 1'), READ))).detail).toContain('readonly = 2');
    await loose.stop();
  }, 60_000);

  test('faults say what the engine says, and where, in characters', async () => {
    expect(await refusal(source.query(sql(`SELECT 'äö', id FORM item`), READ))).toMatchObject({
      code: 'sql_error',
      position: 21,
    });
    const error = await refusal(source.describe(`SELECT 'äö', nix FROM item`, []));
    expect(error).toMatchObject({ code: 'sql_error', position: 13 });
    expect(error.detail).toStartWith('Unknown expression identifier `nix`');
    expect(error.detail).not.toMatch(/Code:|\n|Stack|UNKNOWN_/);
    expect((await refusal(source.query(sql('SELECT * FROM nothing_like_it'), READ))).detail).toContain('nothing_like_it');
    expect((await refusal(source.query(sql(`SELECT toInt32('x')`), READ))).detail).toContain('Cannot parse');
  });

  test('describing runs no rows, and the catalogue is the same as on the old server', async () => {
    const began = performance.now();
    const far = 'SELECT count() AS n, sum(number) AS s FROM numbers(100000000000)';
    expect((await source.describe(far, [])).columns).toMatchObject([{ name: 'n', kind: 'bigint' }, { name: 's' }]);
    expect(performance.now() - began).toBeLessThan(paced(2_000));
    const page = { skip: 0, limit: 100 };
    expect((await source.tables(page)).items.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'cheap view',
      'item table',
      'victim table',
    ]);
    const { items, total } = await source.columns({ name: 'item' }, page);
    expect([total, items[0], items[3]?.enum]).toMatchObject([8, { name: 'id', primary_key: true }, ['new', "it's old"]]);
    expect((await source.test()).server_version).toMatch(/^ClickHouse 26\.7\./);
    expect(await source.schemaMark?.()).toMatch(/^\d+ \d+$/);
  });

  test('a fixed statement is read like any other', async () => {
    expect((await source.query(sql('SELECT id FROM cheap'), FIXED)).rows).toEqual([{ id: 1 }]);
  });
});
