import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { createDuckdbFolder } from './fixture.ts';

const files = createDuckdbFolder();
let source: Source;

beforeAll(async () => {
  await files.create(
    'shop.duckdb',
    `CREATE TYPE mood AS ENUM ('sad', 'it''s ok');
     CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL DEFAULT 'none', price DECIMAL(10,2), feels mood,
       state VARCHAR CHECK (state IN ('new', 'old')), seen TIMESTAMPTZ, born DATE, big BIGINT);
     COMMENT ON TABLE item IS 'What is sold'; COMMENT ON COLUMN item.name IS 'As printed';
     INSERT INTO item VALUES (1, 'pen', 1.50, 'sad', 'new', '2026-01-02 03:04:05+02', '2026-01-02', 9007199254740993),
       (2, 'ünïcode 😀 "quoted"', 2, NULL, 'old', NULL, '2026-02-01', 5), (3, '', NULL, NULL, NULL, NULL, NULL, NULL);
     CREATE TABLE part (item_id INTEGER REFERENCES item (id), code VARCHAR, PRIMARY KEY (item_id, code));
     CREATE VIEW cheap AS SELECT id, name FROM item WHERE price < 2;
     CREATE SCHEMA other; CREATE TABLE other.item (x INTEGER);
     CREATE TABLE many AS SELECT range AS id, 'row number ' || range AS name FROM range(1000000);`,
  );
  source = files.open('shop.duckdb');
});

afterAll(() => files.remove());

const VALUES = `SELECT true AS b, 1::TINYINT AS i1, 9007199254740993 AS i8, 170141183460469231731687303715884105727::HUGEINT AS h,
  12345678901234567890::UBIGINT AS u8, 0.1::FLOAT AS f, 'nan'::DOUBLE AS nan, '-inf'::DOUBLE AS inf, 1.10::DECIMAL(10,2) AS de,
  DATE '2026-01-02' AS da, TIME '03:04:05.123456' AS ti, TIMESTAMP '2026-01-02 03:04:05.5' AS ts,
  TIMESTAMPTZ '2026-01-02 03:04:05+02' AS tz, TIMESTAMP_S '2026-01-02 03:04:05' AS tss,
  TIMESTAMP_NS '2026-01-02 03:04:05.123456789' AS tns, 'infinity'::TIMESTAMP AS forever, TIMETZ '03:04:05+02' AS ttz,
  '\\xAA\\x00'::BLOB AS bl, 'sad'::mood AS en, [1, 2, NULL] AS li, [['a'], []] AS nested, {'a': 1, 'b': [1.5::FLOAT]} AS st,
  MAP {'k': 1} AS ma, MAP {1: 'x'} AS mi, union_value(num := 5) AS un, INTERVAL '1 month 2 days 3 hours' AS iv,
  UUID '12345678-1234-1234-1234-123456789abc' AS uu, '{"a":12345678901234567890,"b":[12345678901234567890.5,1e400]}'::JSON AS js, '101'::BIT AS bi,
  [1, 2]::INTEGER[2] AS ar, 123456789012345678901234567890::BIGNUM AS bn, NULL AS nothing, [9007199254740993] AS bigs`;

describe('values', () => {
  test('every type comes in the encoding of the contract, and is described as it comes', async () => {
    const { rows, columns } = await source.query(sql(VALUES), READ);
    expect(rows[0]).toEqual({
      b: true,
      i1: 1,
      i8: '9007199254740993',
      h: '170141183460469231731687303715884105727',
      u8: '12345678901234567890',
      f: 0.1,
      nan: null,
      inf: null,
      de: '1.10',
      da: '2026-01-02',
      ti: '03:04:05.123456',
      ts: '2026-01-02T03:04:05.5',
      tz: '2026-01-02T01:04:05Z',
      tss: '2026-01-02T03:04:05',
      tns: '2026-01-02T03:04:05.123456789',
      forever: 'infinity',
      ttz: '03:04:05+02',
      bl: 'qgA=',
      en: 'sad',
      li: [1, 2, null],
      nested: [['a'], []],
      st: { a: 1, b: [1.5] },
      ma: { k: 1 },
      mi: [[1, 'x']],
      un: { tag: 'num', value: 5 },
      iv: '1 month 2 days 03:00:00',
      uu: '12345678-1234-1234-1234-123456789abc',
      js: { a: '12345678901234567890', b: ['12345678901234567890.5', '1e400'] },
      bi: '101',
      ar: [1, 2],
      bn: '123456789012345678901234567890',
      nothing: null,
      bigs: ['9007199254740993'],
    });
    expect((await source.describe(VALUES, [])).columns).toEqual([...columns]);
    const kinds = Object.fromEntries(columns.map(({ name, kind }) => [name, kind]));
    expect(kinds).toMatchObject({
      b: 'boolean',
      i1: 'integer',
      i8: 'bigint',
      h: 'bigint',
      f: 'number',
      de: 'string',
      tz: 'string',
    });
    expect(kinds).toMatchObject({ bl: 'bytes', li: 'array', st: 'json', ma: 'json', js: 'json', un: 'json', bi: 'string' });
  });

  test('bound values have their declared types, lists and null too', async () => {
    const text = 'SELECT id FROM item WHERE id = ANY($1) AND big > $2 AND seen > $3 AND born = $4 AND price < $5';
    const values = [[1, 2, null], '9007199254740000', '2026-01-01T00:00:00Z', '2026-01-02', 1.75];
    const found = await source.query(sql(text, values, [{ array: 'integer' }, 'integer', 'datetime', 'date', 'number']), READ);
    expect(found.rows).toEqual([{ id: 1 }]);
    const none = (list: unknown[] | null, operator: string) =>
      source.query(sql(`SELECT count(*) AS n FROM item WHERE id ${operator}($1)`, [list as never], [{ array: 'integer' }]), READ);
    expect((await none([], '= ANY')).rows).toEqual([{ n: 0 }]);
    expect((await none([], '<> ALL')).rows).toEqual([{ n: 3 }]);
    expect((await none(null, '= ANY')).rows).toEqual([{ n: 0 }]);
    const types = await source.query(
      sql(
        'SELECT typeof($1) AS a, typeof($2) AS b, typeof($3) AS c, $4::JSON AS d',
        ['5', 5, true, { a: 1 }],
        ['integer', 'number', 'boolean', 'json'],
      ),
      READ,
    );
    expect(types.rows).toEqual([{ a: 'BIGINT', b: 'DOUBLE', c: 'BOOLEAN', d: { a: 1 } }]);
  });

  test('moments with a zone come in UTC, wherever the machine is', async () => {
    const text = `SELECT seen, [seen] AS list, MAP {seen: 1} AS map, 'infinity'::TIMESTAMPTZ AS forever, seen::VARIANT AS any
      FROM item WHERE id = 1`;
    const program = `const { openDuckdbEngine } = await import('#core/engines/duckdb/engine.ts');
      const engine = await openDuckdbEngine(${JSON.stringify(join(files.folder, 'shop.duckdb'))});
      const run = { text: ${JSON.stringify(text)}, types: [], values: [], policy: 'read', max_rows: 9, max_bytes: 9999 };
      console.log((await engine.run(run)).rows);
      engine.close();`;
    const child = Bun.spawn([process.execPath, '-e', program], { env: { ...process.env, TZ: 'Asia/Tokyo' }, stdout: 'pipe' });
    const moment = '2026-01-02T01:04:05Z';
    expect(JSON.parse(await new Response(child.stdout).text())).toEqual([
      { seen: moment, list: [moment], map: { '2026-01-02 01:04:05+00': 1 }, forever: 'infinity', any: moment },
    ]);
  });

  test('the digits of a number that a double cannot keep are refused', async () => {
    const bound = (value: unknown, type: BoundType) => source.query(sql('SELECT $1 AS value', [value as Json], [type]), READ);
    expect((await bound('0.10', 'number')).rows).toEqual([{ value: 0.1 }]);
    expect((await bound(['1.50'], { array: 'number' })).rows).toEqual([{ value: [1.5] }]);
    for (const [value, type] of [
      ['9007199254740993', 'number'],
      [['9007199254740993'], { array: 'number' }],
    ] as const) {
      const refused = await refusal(bound(value, type));
      expect(refused).toMatchObject({ code: 'sql_error', detail: expect.stringContaining('more digits') as string });
    }
  });

  test('lists of integers are as wide as their values', async () => {
    const found = async (id: string, text: string, ids: string[]) =>
      (await source.query(sql(`SELECT 1 AS one WHERE ${id} ${text}`, [ids], [{ array: 'integer' }]), READ)).rows.length;
    expect(await found('18446744073709551615::UBIGINT', '= ANY($1)', ['18446744073709551615', '5'])).toBe(1);
    expect(await found('5', '= ANY($1)', ['18446744073709551615', '5'])).toBe(1);
    expect(await found('18446744073709551615::UBIGINT', '= ANY($1)', ['5'])).toBe(0);
    expect(await found('18446744073709551615::UBIGINT', '<> ALL($1)', ['18446744073709551615'])).toBe(0);
    const typed = sql(
      'SELECT $1 AS id, $2 AS ids',
      ['18446744073709551615', ['5', '18446744073709551615']],
      ['integer', { array: 'integer' }],
      ['BIGINT', 'BIGINT[]'],
    );
    expect((await source.query(typed, READ)).rows).toEqual([{ id: '18446744073709551615', ids: [5, '18446744073709551615'] }]);
  });

  test('a placeholder that DuckDB cannot type is described with the declared type', async () => {
    const text = 'SELECT id, name FROM item WHERE $1 IS NULL OR id = $1 OR name = $2 ORDER BY id';
    const described = await source.describe(text, ['integer', 'string']);
    expect(described).toMatchObject({
      reads: [{ as: 'BIGINT' }, { as: 'VARCHAR' }],
      columns: [{ name: 'id', kind: 'integer' }, { name: 'name' }],
    });
    const found = await source.query(sql(text, [2, null], ['integer', 'string'], ['BIGINT', 'VARCHAR']), READ);
    expect(found.rows).toMatchObject([{ id: 2 }]);
    expect((await source.describe('SELECT id FROM item WHERE name = $1', ['string'])).reads?.[0]).not.toHaveProperty('as');
  });

  test('a repeated column name keeps every value', async () => {
    const { rows } = await source.query(sql('SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a'), READ);
    expect(rows[0]).toEqual({ a: 1, a_3: 2, a_2: 3, a_4: 4 });
  });

  test('what reads is not only SELECT', async () => {
    expect((await source.query(sql('FROM item SELECT id LIMIT 1'), READ)).rows).toEqual([{ id: 1 }]);
    expect((await source.query(sql('VALUES (1), (2)'), FIXED)).rows).toEqual([{ col0: 1 }, { col0: 2 }]);
    expect((await source.query(sql('DESCRIBE part'), READ)).rows).toMatchObject([
      { column_name: 'item_id' },
      { column_name: 'code' },
    ]);
    expect((await source.query(sql('SUMMARIZE many'), READ)).rows).toHaveLength(2);
    expect((await source.query(sql('SHOW TABLES'), READ)).rows).toContainEqual({ name: 'item' });
    const pivot = `PIVOT (SELECT state FROM item) ON state IN ('new', 'old') USING count(*)`;
    expect((await source.query(sql(pivot), READ)).rows).toEqual([{ new: 1, old: 1 }]);
    // Without the list it is several statements.
    const error = await refusal(source.query(sql('PIVOT item ON state USING count(*)'), READ));
    expect(error.detail).toStartWith('DuckDB connections are read-only');
  });
});

describe('limits', () => {
  test('fetching stops at the row and byte limits and says so', async () => {
    for (const [count, truncated] of [
      [999, false],
      [1_000, false],
      [1_001, true],
      [20_000, true],
    ] as const) {
      const found = await source.query(sql(`SELECT id FROM many WHERE id < ${count}`), READ);
      expect([found.rows.length, found.truncated]).toEqual([Math.min(count, 1_000), truncated]);
    }
    const small = await source.query(sql('SELECT * FROM many'), { ...READ, max_rows: 100_000, max_bytes: 4_096 });
    expect(small.truncated).toBe(true);
    expect(JSON.stringify(small.rows).length).toBeWithin(3_000, 4_100);
    expect(await source.query(sql(`SELECT repeat('x', 100000) AS a`), { ...READ, max_bytes: 10_000 })).toMatchObject({
      rows: [],
      truncated: true,
    });
  });
});

describe('writing', () => {
  test('is refused with a sentence, whatever asks for it', async () => {
    expect((await refusal(source.query(sql('SELECT 1'), WRITE))).code).toBe('not_read_only');
    for (const text of [
      "INSERT INTO part VALUES (1, 'a')",
      'CREATE TABLE x (a INT)',
      'DELETE FROM item RETURNING id',
      'UPDATE item SET big = 1',
    ]) {
      expect(await refusal(source.query(sql(text), READ))).toMatchObject({
        code: 'not_read_only',
        detail: expect.stringContaining('DuckDB connections are read-only') as string,
      });
      expect((await refusal(source.describe(text, []))).code).toBe('not_read_only');
    }
  });
});

describe('errors', () => {
  test('say what DuckDB says, in one line, and where, in characters', async () => {
    expect(await refusal(source.query(sql('SELECT id FORM item'), READ))).toMatchObject({ code: 'sql_error', position: 15 });
    const error = await refusal(source.describe(`SELECT 'äö', nix FROM item`, []));
    expect(error).toMatchObject({ code: 'sql_error', position: 13 });
    expect(error.detail).toStartWith('Referenced column "nix" not found in FROM clause!');
    expect(error.detail).not.toContain('\n');
    expect((await refusal(source.query(sql(`SELECT 'x'::INTEGER`), READ))).detail).toContain(`Could not convert string 'x'`);
    expect((await source.query(sql('SELECT 1 AS one'), READ)).rows).toEqual([{ one: 1 }]);
  });

  test('exactly one statement is run', async () => {
    for (const text of ['SELECT 1; SELECT 2', 'SELECT 1; DROP TABLE item', '', ' -- nothing', ';', 'SELECT 1\0; SELECT 2']) {
      expect((await refusal(source.query(sql(text), READ))).code).toBeOneOf(['sql_error', 'not_read_only']);
    }
    expect((await source.query(sql("SELECT ';' AS a; -- the end; really"), READ)).rows).toEqual([{ a: ';' }]);
  });
});

describe('schema', () => {
  const page = { skip: 0, limit: 5_000 };

  test('tables are listed with an exact total', async () => {
    const all = await source.tables(page);
    expect(all.items.map(({ schema, name, type }) => `${schema} ${name} ${type}`)).toEqual([
      'main cheap view',
      'main item table',
      'main many table',
      'main part table',
      'other item table',
    ]);
    expect(all.items[1]).toMatchObject({ comment: 'What is sold', relations: 1 });
    expect(await source.tables({ skip: 1, limit: 1 })).toMatchObject({ items: [{ name: 'item', schema: 'main' }], total: 5 });
    expect(await source.tables({ skip: 50, limit: 1 })).toEqual({ items: [], total: 5 });
    expect((await source.tables({ ...page, search: 'AR' })).items.map(({ name }) => name)).toEqual(['part']);
    expect((await source.tables({ ...page, search: '%' })).total).toBe(0);
    expect((await source.tables({ ...page, schema: 'other' })).total).toBe(1);
  });

  test('columns tell type, default, key, reference, comment and choices', async () => {
    const item = await source.columns({ name: 'ITEM' }, page);
    expect(item.total).toBe(8);
    expect(item.items.slice(0, 5)).toMatchObject([
      { name: 'id', type: 'INTEGER', nullable: false, default: null, primary_key: true, comment: null },
      { name: 'name', type: 'VARCHAR', nullable: false, default: "'none'", primary_key: false, comment: 'As printed' },
      { name: 'price', type: 'DECIMAL(10,2)', nullable: true },
      { name: 'feels', enum: ['sad', "it's ok"] },
      { name: 'state', enum: ['new', 'old'] },
    ]);
    const part = await source.columns({ schema: 'main', name: 'part' }, page);
    expect(part.items).toMatchObject([
      { primary_key: true, references: { schema: 'main', table: 'item', column: 'id' } },
      { primary_key: true },
    ]);
    expect(await source.columns({ name: 'item' }, { ...page, search: 'nothing like it' })).toEqual({ items: [], total: 0 });
    expect((await source.columns({ schema: 'other', name: 'item' }, page)).total).toBe(1);
    expect((await refusal(source.columns({ name: "item' --" }, page))).code).toBe('not_found');
  });

  test('the connection test tells the version, and the mark follows the schema', async () => {
    expect(await source.test()).toEqual({
      server_version: expect.stringMatching(/^DuckDB 1\./) as string,
      warnings: [],
      superuser: false,
    });
    expect(await source.schemaMark?.()).toMatch(/^[0-9a-f]{64}$/);
  });
});
