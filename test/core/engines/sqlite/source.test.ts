import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Source } from '#core/engines/shared/source.ts';
import { READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { createSqliteFolder } from './fixture.ts';

const files = createSqliteFolder();
let source: Source;

beforeAll(() => {
  files.create(
    'shop.db',
    `CREATE TABLE item (
       id INTEGER PRIMARY KEY, name VARCHAR(50) NOT NULL DEFAULT 'none', price DECIMAL(10,2), ratio REAL, active BOOLEAN, extra JSON,
       picture BLOB, born DATE, seen DATETIME, any_thing
     );
     INSERT INTO item VALUES (1, 'pen', 1.5, 0.5, 1, '{"big":12345678901234567890,"exact":[12345678901234567890.5,1e400],"list":[1,"a"]}', x'00ff10', '2020-01-02',
       '2020-01-02 03:04:05.123', 7);
     INSERT INTO item VALUES (9007199254740993, 'ünïcode 😀 "quoted"', 2, 9e999, 0, 'not json', NULL, 1577923200, 1577923200, x'01');
     INSERT INTO item VALUES (3, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
     INSERT INTO item VALUES (4, 'odd', 'free', 'none', 'maybe', '[]', 'text', 'soon', 2.5, 1.25);
     CREATE TABLE part (item_id INTEGER REFERENCES item, code TEXT, PRIMARY KEY (item_id, code)) STRICT;
     CREATE VIEW cheap AS SELECT id, name FROM item WHERE price < 2;
     CREATE VIRTUAL TABLE words USING fts5(body);
     CREATE VIRTUAL TABLE boxes USING rtree(id, low, high);
     INSERT INTO words VALUES ('hello world');
     INSERT INTO boxes VALUES (1, 2, 3);
     CREATE TABLE many AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000000)
       SELECT i AS id, 'row number ' || i AS name FROM c;`,
  );
  source = files.open('shop.db');
});

afterAll(() => files.remove());

describe('values', () => {
  test('every storage class comes in the encoding of the contract', async () => {
    const { rows } = await source.query(sql('SELECT * FROM item ORDER BY id'), READ);
    expect(rows[0]).toEqual({
      id: 1,
      name: 'pen',
      price: 1.5,
      ratio: 0.5,
      active: true,
      extra: { big: '12345678901234567890', exact: ['12345678901234567890.5', '1e400'], list: [1, 'a'] },
      picture: 'AP8Q',
      born: '2020-01-02',
      seen: '2020-01-02T03:04:05.123',
      any_thing: 7,
    });
    expect(rows[3]).toEqual({
      id: '9007199254740993',
      name: 'ünïcode 😀 "quoted"',
      price: 2,
      ratio: null,
      active: false,
      extra: 'not json',
      picture: null,
      born: 1577923200,
      seen: 1577923200,
      any_thing: 'AQ==',
    });
    expect(Object.values(rows[1]!)).toEqual([3, '', null, null, null, null, null, null, null, null]);
  });

  test('a value that is not of its column type is kept, not dropped', async () => {
    const { rows } = await source.query(sql('SELECT * FROM item WHERE id = 4'), READ);
    expect(rows[0]).toMatchObject({ price: 'free', ratio: 'none', active: 'maybe', extra: [], picture: 'text', born: 'soon' });
    expect(rows[0]).toMatchObject({ seen: '2.5', any_thing: 1.25 });
  });

  test('the description of a statement agrees with its result', async () => {
    const text = 'SELECT *, price * 2 AS twice FROM item WHERE id > ?';
    const description = await source.describe(text, ['integer']);
    const result = await source.query({ text, values: [0], types: ['integer'] }, READ);
    expect(description.columns).toEqual([...result.columns]);
    expect(description.columns.map(({ type, kind }) => `${type} ${kind}`)).toEqual([
      'INTEGER bigint',
      'VARCHAR(50) string',
      'DECIMAL(10,2) json',
      'REAL json',
      'BOOLEAN json',
      'JSON json',
      'BLOB bytes',
      'DATE bigint',
      'DATETIME bigint',
      'any json',
      'any json',
    ]);
  });

  test('bound values have their declared types', async () => {
    const text =
      'SELECT typeof(?1) a, ?1 AS big, typeof(?2) b, typeof(?3) c, ?3 AS yes, typeof(?4) d, ?5 ->> 1 AS e, ?6 ->> 0 AS f, ?7 AS g';
    const result = await source.query(
      {
        text,
        values: ['9007199254740993', 5, true, null, [1, 'two'], ['x'], '2020-01-01'],
        types: ['integer', 'number', 'boolean', 'string', 'json', { array: 'string' }, 'date'],
      },
      READ,
    );
    expect(result.rows[0]).toEqual({
      a: 'integer',
      big: '9007199254740993',
      b: 'real',
      c: 'integer',
      yes: 1,
      d: 'null',
      e: 'two',
      f: 'x',
      g: '2020-01-01',
    });
  });

  test('the digits of a number are bound as they are, or refused', async () => {
    const bound = (value: string) => source.query(sql('SELECT typeof(?1) AS type, ?1 AS value', [value], ['number']), READ);
    expect((await bound('9007199254740993')).rows).toEqual([{ type: 'integer', value: '9007199254740993' }]);
    expect((await bound('-9223372036854775808')).rows).toEqual([{ type: 'integer', value: '-9223372036854775808' }]);
    expect((await bound('5')).rows).toEqual([{ type: 'real', value: 5 }]);
    expect((await bound('0.10')).rows).toEqual([{ type: 'real', value: 0.1 }]);
    for (const digits of ['9007199254740993.5', '0.1000000000000000055', '18446744073709551615', '-9223372036854775809']) {
      const refused = await refusal(bound(digits));
      expect([refused.code, refused.detail.includes(digits)]).toEqual(['sql_error', false]);
      expect(refused.detail).toContain('more digits');
    }
  });

  test('a datetime matches stored texts of any form through datetime(), as the guide says', async () => {
    const found = async (condition: string, moment: string) =>
      (await source.query(sql(`SELECT id FROM item WHERE id = 1 AND ${condition}`, [moment], ['datetime']), READ)).rows.length;
    expect(await found('seen >= ?1', '2020-01-02T03:04:05Z')).toBe(0);
    expect(await found('datetime(seen) >= datetime(?1)', '2020-01-02T03:04:05Z')).toBe(1);
    expect(await found('datetime(seen) >= datetime(?1)', '2020-01-02T05:04:05+02:00')).toBe(1);
    expect(await found('datetime(seen) >= datetime(?1)', '2020-01-02T03:04:06Z')).toBe(0);
  });

  test('a repeated column name keeps every value', async () => {
    const { rows } = await source.query(sql('SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a'), READ);
    expect(rows[0]).toEqual({ a: 1, a_3: 2, a_2: 3, a_4: 4 });
  });

  test('full-text and spatial tables can be read', async () => {
    expect((await source.query(sql("SELECT body FROM words WHERE words MATCH 'hello'"), READ)).rows).toEqual([
      { body: 'hello world' },
    ]);
    expect((await source.query(sql('SELECT * FROM boxes'), READ)).rows).toEqual([{ id: 1, low: 2, high: 3 }]);
  });
});

describe('limits', () => {
  test('fetching stops at the row limit and says so', async () => {
    const result = await source.query(sql('SELECT id FROM many'), { ...READ, max_rows: 10 });
    expect(result.rows).toHaveLength(10);
    expect(result.truncated).toBe(true);
    const all = await source.query(sql('SELECT id FROM many LIMIT 10'), { ...READ, max_rows: 10 });
    expect(all.rows).toHaveLength(10);
    expect(all.truncated).toBe(false);
  });

  test('fetching stops at the byte limit', async () => {
    const result = await source.query(sql('SELECT * FROM many'), { ...READ, max_rows: 1_000_000, max_bytes: 10_000 });
    expect(result.truncated).toBe(true);
    expect(JSON.stringify(result.rows).length).toBeWithin(9_000, 10_001);
    const giant = await source.query(sql('SELECT zeroblob(50000000)'), READ);
    expect(giant).toMatchObject({ rows: [], truncated: true });
  });

  test('a million rows pass with flat memory in this process', async () => {
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 5; i++) await source.query(sql('SELECT * FROM many'), { ...READ, max_rows: 100 });
    expect(process.memoryUsage().rss - before).toBeLessThan(32 * 1024 * 1024);
  });
});

describe('writing', () => {
  test('a write is committed and counts its rows', async () => {
    files.create('write.db', 'CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)');
    const target = files.open('write.db');
    const insert = {
      text: 'INSERT INTO t (a) VALUES (?), (?)',
      values: ['x', 'y'],
      types: ['string', 'string'] as const,
    };
    expect(await target.query(insert, WRITE)).toEqual({ columns: [], rows: [], truncated: false, affected_rows: 2 });
    const returning = await target.query(sql("INSERT INTO t (a) VALUES ('z') RETURNING id, a"), WRITE);
    expect(returning.rows).toEqual([{ id: 3, a: 'z' }]);
    expect(returning.affected_rows).toBeNull();
    expect((await target.query(sql('CREATE TABLE u AS SELECT * FROM t'), WRITE)).affected_rows).toBe(0);
    expect((await target.query(sql('ALTER TABLE u RENAME COLUMN a TO b'), WRITE)).affected_rows).toBe(0);
    expect(files.look('write.db', 'SELECT count(*) AS n FROM u')).toEqual([{ n: 3 }]);
    expect((await target.describe('DELETE FROM t RETURNING id', [])).columns).toMatchObject([{ name: 'id', kind: 'bigint' }]);
    expect(files.look('write.db', 'SELECT count(*) AS n FROM t')).toEqual([{ n: 3 }]);
  });

  test('a failed write leaves nothing and the session serves the next one', async () => {
    files.create('failed.db', 'CREATE TABLE t (id INTEGER PRIMARY KEY)');
    const target = files.open('failed.db', { pool_size: 1 });
    const error = await refusal(target.query(sql('INSERT INTO t VALUES (1), (2), (1)'), WRITE));
    expect(error).toMatchObject({ code: 'sql_error', detail: 'UNIQUE constraint failed: t.id.' });
    expect((await target.query(sql('INSERT INTO t VALUES (7)'), WRITE)).affected_rows).toBe(1);
    expect(files.look('failed.db', 'SELECT id FROM t')).toEqual([{ id: 7 }]);
  });
});

describe('errors', () => {
  test('a faulty statement is answered with the words of SQLite and the place', async () => {
    const error = await refusal(source.query(sql('SELECT id FORM item'), READ));
    expect(error).toMatchObject({ code: 'sql_error', detail: 'near "item": syntax error.', position: 15 });
    expect(await refusal(source.describe('SELECT nix FROM item', []))).toMatchObject({
      code: 'sql_error',
      detail: 'no such column: nix.',
      position: 7,
    });
  });

  test('exactly one statement is run', async () => {
    for (const text of ['SELECT 1; SELECT 2', 'SELECT 1; -- note\n DELETE FROM item', "SELECT ';'; x"]) {
      expect((await refusal(source.query(sql(text), READ))).detail).toStartWith('Only one statement');
    }
    for (const text of ['', ' -- nothing', ';'])
      expect((await refusal(source.query(sql(text), READ))).detail).toBe('The statement is empty.');
    expect((await source.query(sql("SELECT ';' AS a; -- the end; really"), READ)).rows).toEqual([{ a: ';' }]);
    expect((await refusal(source.query(sql('SELECT 1\0; SELECT 2'), READ))).code).toBe('sql_error');
  });
});

describe('schema', () => {
  const page = { skip: 0, limit: 5_000 };

  test('tables are listed with an exact total, shadow tables left out', async () => {
    const all = await source.tables(page);
    expect(all.items.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'boxes virtual table',
      'cheap view',
      'item table',
      'many table',
      'part table',
      'words virtual table',
    ]);
    expect(await source.tables({ skip: 1, limit: 1 })).toMatchObject({ items: [{ name: 'cheap', schema: 'main' }], total: 6 });
    expect(await source.tables({ skip: 50, limit: 1 })).toEqual({ items: [], total: 6 });
    expect((await source.tables({ ...page, search: 'AR' })).items.map(({ name }) => name)).toEqual(['part']);
    expect((await source.tables({ ...page, search: '%' })).total).toBe(0);
    expect((await source.tables({ ...page, schema: 'other' })).total).toBe(0);
  });

  test('columns tell type, default, key and reference', async () => {
    const item = await source.columns({ name: 'item' }, page);
    expect(item.total).toBe(10);
    expect(item.items.slice(0, 2)).toEqual([
      {
        name: 'id',
        type: 'INTEGER',
        nullable: false,
        default: null,
        primary_key: true,
        comment: null,
        parameter: 'integer',
        sortable: true,
        searchable: false,
      },
      {
        name: 'name',
        type: 'VARCHAR(50)',
        nullable: false,
        default: "'none'",
        primary_key: false,
        comment: null,
        parameter: 'string',
        sortable: true,
        searchable: true,
      },
    ]);
    const part = await source.columns({ schema: 'main', name: 'part' }, page);
    expect(part.items[0]).toMatchObject({ primary_key: true, references: { schema: 'main', table: 'item', column: 'id' } });
    expect(await source.columns({ name: 'item' }, { ...page, search: 'nothing like it' })).toEqual({ items: [], total: 0 });
    expect((await refusal(source.columns({ name: "item' --" }, page))).code).toBe('not_found');
  });

  test('the connection test tells the version', async () => {
    expect(await source.test()).toEqual({
      server_version: expect.stringMatching(/^SQLite 3\./) as string,
      warnings: [],
      superuser: false,
    });
  });
});
