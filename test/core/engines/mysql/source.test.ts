import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Source } from '#core/engines/shared/source.ts';
import { openMysql } from '#core/engines/mysql/source.ts';
import { shape } from '#core/query/shape.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { toolOn } from '../shared/tool-call.ts';

let database: TestDatabase;
let source: Source;

beforeAll(async () => {
  if (!reachable.mysql) return;
  database = await testDatabase('mysql');
  await database.run(`CREATE TABLE every_type (
      id BIGINT PRIMARY KEY, tiny TINYINT, flag TINYINT(1), small SMALLINT UNSIGNED, medium MEDIUMINT, whole INT, huge BIGINT UNSIGNED,
      price DECIMAL(30,10), short_float FLOAT, long_float DOUBLE, one_bit BIT(1), bits BIT(64), day DATE, moment DATETIME(6),
      stamp TIMESTAMP(3) NULL, clock TIME(3), annum YEAR, word VARCHAR(50), fixed CHAR(5), long_text TEXT, raw_bytes VARBINARY(10),
      picture BLOB, choice ENUM('a','b'), choices SET('x','y'), doc JSON, place POINT, address INET6, ident UUID
    ) CHARACTER SET utf8mb4`);
  await database.run(`SET time_zone = '+02:00'`);
  await database.run(`INSERT INTO every_type VALUES (
      9007199254740993, -128, 1, 65535, -8388608, -2147483648, 18446744073709551615,
      '12345678901234567890.1234567890', 1.1, 0.1, b'1', b'1111111111111111111111111111111111111111111111111111111111111111',
      '2020-02-29', '2020-01-02 03:04:05.123456', '2020-01-02 03:04:05.5', '-838:59:59', 2020, 'ünï😀"\\\\', 'ab', 'text', x'00ff',
      x'0102', 'b', 'x,y', '{"big": 12345678901234567890, "exact": [12345678901234567890.5, 1e400], "list": [1.5, null, true], "text": "ü"}', POINT(1, 2), '::1',
      '123e4567-e89b-12d3-a456-426614174000')`);
  await database.run('INSERT INTO every_type (id) VALUES (1)');
  await database.run(`SET STATEMENT sql_mode = '' FOR INSERT INTO every_type (id, day, moment, stamp, one_bit, bits)
    VALUES (2, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', b'0', b'101')`);
  source = openMysql({ ...database.settings, pool_size: 2 }, localPolicy);
});

afterAll(async () => {
  await source?.close();
  await database?.drop();
});

describe.skipIf(!reachable.mysql)('MariaDB values', () => {
  for (const mode of ['fixed', 'read'] as const) {
    test(`every type comes in the encoding of the contract (${mode})`, async () => {
      const { rows } = await source.query(sql('SELECT * FROM every_type ORDER BY id DESC'), { ...READ, mode });
      expect(rows[0]).toEqual({
        id: '9007199254740993',
        tiny: -128,
        flag: 1,
        small: 65_535,
        medium: -8_388_608,
        whole: -2_147_483_648,
        huge: '18446744073709551615',
        price: '12345678901234567890.1234567890',
        short_float: 1.1,
        long_float: 0.1,
        one_bit: true,
        bits: '18446744073709551615',
        day: '2020-02-29',
        moment: '2020-01-02T03:04:05.123456',
        stamp: '2020-01-02T01:04:05.500Z',
        clock: '-838:59:59',
        annum: 2020,
        word: 'ünï😀"\\',
        fixed: 'ab',
        long_text: 'text',
        raw_bytes: 'AP8=',
        picture: 'AQI=',
        choice: 'b',
        choices: 'x,y',
        doc: { big: '12345678901234567890', exact: ['12345678901234567890.5', '1e400'], list: [1.5, null, true], text: 'ü' },
        place: 'AQEAAAAAAAAAAADwPwAAAAAAAABA',
        address: '::1',
        ident: '123e4567-e89b-12d3-a456-426614174000',
      });
      expect(rows[1]).toMatchObject({ day: '0000-00-00', moment: '0000-00-00 00:00:00', one_bit: false, bits: 5 });
      expect(Object.values(rows[2]!).slice(1)).toEqual(Array.from({ length: 27 }, () => null));
    });
  }

  test('the description of a statement agrees with its result', async () => {
    const text = 'SELECT *, id + 1 AS more, NULL AS nothing, price IS NULL AS missing FROM every_type WHERE id > ?';
    const description = await source.describe(text, ['integer']);
    const result = await source.query(sql(text, [0], ['integer']), READ);
    expect(description).toEqual({ columns: [...result.columns] });
    const kinds = Object.fromEntries(description.columns.map(({ name, type, kind }) => [name, `${type}: ${kind}`]));
    expect(kinds).toMatchObject({
      id: 'bigint: bigint',
      flag: 'tinyint: integer',
      small: 'smallint unsigned: integer',
      huge: 'bigint unsigned: bigint',
      price: 'decimal: string',
      one_bit: 'bit(1): boolean',
      bits: 'bit(64): bigint',
      stamp: 'timestamp: string',
      choice: 'enum: string',
      choices: 'set: string',
      long_text: 'text: string',
      picture: 'blob: bytes',
      doc: 'json: json',
      place: 'geometry: bytes',
      ident: 'uuid: string',
      nothing: 'null: json',
    });
  });

  test('bound values have their declared types', async () => {
    const text = `SELECT id, ? AS b FROM every_type WHERE id = ? AND ? = 1.5 AND ? AND day = ? AND moment = ? AND ident = ?
      AND JSON_VALUE(?, '$[1]') = 'two' AND JSON_VALUE(?, '$[0]') = 'x' AND word LIKE ? LIMIT ? OFFSET ?`;
    const values = [null, '9007199254740993', 1.5, true, '2020-02-29', '2020-01-02T05:04:05.123456+02:00'];
    const more = ['123e4567-e89b-12d3-a456-426614174000', [1, 'two'], ['x'], 'ünï%', 5, 0];
    const result = await source.query(
      sql(
        text,
        [...values, ...more],
        [
          'string',
          'integer',
          'number',
          'boolean',
          'date',
          'datetime',
          'uuid',
          'json',
          { array: 'string' },
          'string',
          'integer',
          'integer',
        ],
      ),
      READ,
    );
    expect(result.rows).toEqual([{ id: '9007199254740993', b: null }]);
    const huge = sql('SELECT id FROM every_type WHERE huge = ?', ['18446744073709551615'], ['integer']);
    expect((await source.query(huge, READ)).rows).toHaveLength(1);
    const exact = '12345678901234567890.123456789';
    const sums = sql(
      'SELECT ? AS a, ? + 1 AS b, CAST(? AS DECIMAL(40, 9)) = ? AS same',
      [exact, exact, exact, exact],
      Array.from({ length: 4 }, () => 'number'),
    );
    const sum = '12345678901234567891.123456789';
    expect((await source.query(sums, READ)).rows).toEqual([{ a: exact, b: sum, same: 1 }]);
    const quoted = sql('SELECT ? AS a', [`'; DROP TABLE every_type; -- \\`]);
    expect((await source.query(quoted, READ)).rows).toEqual([{ a: `'; DROP TABLE every_type; -- \\` }]);
  });

  test('bound values are what a cast to their declared types is, also where nothing says which type is meant', async () => {
    const cases = [
      ['number', '0.1 + :v', 0.2, '0.3'],
      ['number', 'ROUND(19.99 * :v, 2)', -1.5, '-29.99'],
      ['number', 'CAST(:v AS SIGNED)', 2.5, 3],
      ['number', ':v = 1e21', 1e21, 1],
      ['number', ':v', 1e300, 1e300],
      ['boolean', "JSON_OBJECT('k', :v)", true, { k: true }],
      ['boolean', "JSON_OBJECT('k', :v)", null, { k: null }],
      ['json', "JSON_OBJECT('k', :v)", { a: [1] }, { k: { a: [1] } }],
      ['json', "JSON_OBJECT('k', :v)", null, { k: null }],
      ['json', "JSON_VALUE(:v, '$.a')", { a: 'x' }, 'x'],
      ['datetime', ':v + INTERVAL 90 MINUTE', '2020-01-01T03:04:05Z', '2020-01-01T04:34:05'],
      ['date', ':v + INTERVAL 1 DAY', '2020-02-28', '2020-02-29'],
      ['date', ':v', '0001-01-01', '0001-01-01'],
      ['integer', ':v / 2', 7, '3.5000'],
    ] as const;
    for (const [type, expression, value, back] of cases) {
      const parameter = { name: 'v', type, description: 'v', required: false };
      const tool = await toolOn({ source, db_type: 'mysql' }, `SELECT ${expression} AS back`, [parameter], {
        return_type: 'value',
      });
      const { value: found } = await tool.call({ v: value });
      expect([expression, found]).toEqual([expression, back]);
    }
  });

  test('a repeated or strange column name keeps every value', async () => {
    const { rows } = await source.query(sql('SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS `__proto__`'), READ);
    expect(Object.entries(rows[0]!)).toEqual([
      ['a', 1],
      ['a_3', 2],
      ['a_2', 3],
      ['__proto__', 4],
    ]);
  });
});

describe.skipIf(!reachable.mysql)('MariaDB statements', () => {
  test('a write is committed and counts its rows', async () => {
    await database.run('CREATE TABLE w (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(10) UNIQUE)');
    expect(await source.query(sql('INSERT INTO w (a) VALUES (?), (?)', ['x', 'y']), WRITE)).toEqual({
      columns: [],
      rows: [],
      truncated: false,
      affected_rows: 2,
    });
    const returning = await source.query(sql("INSERT INTO w (a) VALUES ('z') RETURNING id, a"), WRITE);
    expect(returning).toMatchObject({ rows: [{ id: 3, a: 'z' }], affected_rows: null });
    expect(await refusal(source.query(sql("INSERT INTO w (a) VALUES ('new'), ('x')"), WRITE))).toMatchObject({
      code: 'sql_error',
    });
    expect(await database.run('SELECT count(*) AS n FROM w')).toEqual([{ n: 3 }]);
    const cut = await source.query(sql('DELETE FROM w RETURNING id'), { ...WRITE, max_rows: 1 });
    expect(cut).toMatchObject({ rows: [{ id: 1 }], truncated: true });
    expect(await database.run('SELECT count(*) AS n FROM w')).toEqual([{ n: 0 }]);
  });

  test('a procedure is run in a writing session and its first result is given', async () => {
    await database.run(
      'CREATE PROCEDURE twice(IN n INT) BEGIN SELECT n AS a; SELECT n * 2 AS b; INSERT INTO w (a) VALUES (n); END',
    );
    const result = await source.query(sql('CALL twice(?)', [21], ['integer']), WRITE);
    expect(result).toMatchObject({ rows: [{ a: 21 }], results: 2 });
    expect(shape(result, 'rows', null).note).toContain('The procedure gave 2 results.');
    expect(await database.run("SELECT count(*) AS n FROM w WHERE a = '21'")).toEqual([{ n: 1 }]);
  });

  test('the values of OUT and INOUT parameters are columns of one row, and an empty result hides none', async () => {
    await database.run(
      "CREATE PROCEDURE sizes(IN n INT, OUT doubled INT, INOUT name VARCHAR(10)) BEGIN SET doubled = n * 2; SET name = CONCAT(name, '!'); END",
    );
    const integer = { name: 'n', type: 'integer', description: 'n', required: true } as const;
    const out = { name: 'doubled', type: 'integer', description: 'Filled by the procedure.', required: false } as const;
    const inout = { name: 'name', type: 'string', description: 'name', required: true } as const;
    const place = { source, db_type: 'mysql' } as const;
    const tool = await toolOn(place, 'CALL sizes(:n, :doubled, :name)', [integer, out, inout], { mode: 'write' });
    expect(await tool.call({ n: 21, name: 'a' })).toMatchObject({ rows: [{ doubled: 42, name: 'a!' }] });
    await database.run(
      'CREATE PROCEDURE late(IN n INT) BEGIN SELECT 1 AS a FROM w WHERE n < 0; SELECT n AS b; SELECT n + 1 AS c; END',
    );
    const late = await source.query(sql('CALL late(?)', [1], ['integer']), WRITE);
    expect(late).toMatchObject({ rows: [{ b: 1 }], columns: [{ name: 'b' }], results: 3, affected_rows: null });
  });

  test('describing never runs the statement', async () => {
    await database.run("INSERT INTO w (a) VALUES ('stay')");
    for (const text of ['DELETE FROM w', 'DELETE FROM w RETURNING id', 'DROP TABLE w', 'CALL twice(1)', 'UPDATE w SET a = ?']) {
      expect((await source.describe(text, [])).columns).toEqual([]);
    }
    expect(await database.run("SELECT count(*) AS n FROM w WHERE a = 'stay'")).toEqual([{ n: 1 }]);
  });

  test('a faulty statement is answered with the words of the server and the place', async () => {
    const error = await refusal(source.query(sql('SELECT 1 FORM w'), READ));
    expect(error).toMatchObject({ code: 'sql_error', position: 14, reason: '1064/42000' });
    expect(error.detail).toBe("Syntax error near 'w'.");
    expect((await refusal(source.query(sql('SELECT 1 FROM'), READ))).detail).toBe('Syntax error at the end of the statement.');
    expect(await refusal(source.describe('SELECT nix FROM w', []))).toMatchObject({ code: 'sql_error', position: 7 });
    expect(await refusal(source.query(sql('SELECT * FROM missing_one'), READ))).toMatchObject({
      code: 'sql_error',
      position: 14,
    });
  });

  test('exactly one statement is run', async () => {
    for (const text of ['SELECT 1; SELECT 2', 'SELECT 1; DROP TABLE w', '']) {
      expect((await refusal(source.query(sql(text), READ))).code).toBe('sql_error');
    }
    expect((await source.query(sql("SELECT ';' AS a; -- the end"), READ)).rows).toEqual([{ a: ';' }]);
  });
});

describe.skipIf(!reachable.mysql)('MariaDB schema', () => {
  const page = { skip: 0, limit: 5_000 };

  test('tables and columns are listed with exact totals', async () => {
    await database.run("CREATE TABLE parent (id INT PRIMARY KEY) COMMENT 'the first'");
    await database.run(`CREATE TABLE child (
      id INT PRIMARY KEY AUTO_INCREMENT, parent_id INT NOT NULL COMMENT 'who', label VARCHAR(20) DEFAULT 'none',
      CONSTRAINT fk FOREIGN KEY (parent_id) REFERENCES parent (id))`);
    await database.run('CREATE VIEW seen AS SELECT id FROM parent');
    const schema = database.settings.database;
    const all = await source.tables(page);
    expect(all.total).toBe(all.items.length);
    expect(all.items).toContainEqual({
      schema,
      name: 'parent',
      in_path: true,
      type: 'table',
      comment: 'the first',
      relations: 1,
    });
    expect(all.items).toContainEqual({ schema, name: 'seen', in_path: true, type: 'view', comment: null });
    expect(await source.tables({ skip: 1, limit: 1 })).toMatchObject({ items: [{ name: all.items[1]!.name }], total: all.total });
    expect(await source.tables({ skip: 99, limit: 1 })).toEqual({ items: [], total: all.total });
    expect((await source.tables({ ...page, search: 'AREN' })).items.map(({ name }) => name)).toEqual(['parent']);
    expect((await source.tables({ ...page, search: '%' })).total).toBe(0);
    expect((await source.tables({ ...page, schema: 'information_schema' })).total).toBeGreaterThan(10);
    const child = await source.columns({ name: 'child' }, page);
    const INTEGER = { parameter: 'integer', sortable: true, searchable: false } as const;
    const TEXT = { parameter: 'string', sortable: true, searchable: true } as const;
    expect(child).toEqual({
      total: 3,
      items: [
        { name: 'id', type: 'int(11)', nullable: false, default: null, primary_key: true, comment: null, ...INTEGER },
        {
          name: 'parent_id',
          type: 'int(11)',
          nullable: false,
          default: null,
          primary_key: false,
          references: { schema, table: 'parent', column: 'id' },
          comment: 'who',
          ...INTEGER,
        },
        { name: 'label', type: 'varchar(20)', nullable: true, default: "'none'", primary_key: false, comment: null, ...TEXT },
      ],
    });
    expect(await source.columns({ schema, name: 'child' }, { ...page, search: 'zzz' })).toEqual({ items: [], total: 0 });
    expect((await refusal(source.columns({ name: "child' -- " }, page))).code).toBe('not_found');
  });

  test('the connection test tells the version and names dangerous rights', async () => {
    const report = await source.test();
    expect(report.server_version).toMatch(/^MariaDB 1\d\./);
    expect(report.warnings).toEqual([
      'The account has all privileges on the whole server.',
      'The account has the FILE privilege: a statement can read and write files of the database server.',
      'The account can grant its privileges to others.',
    ]);
  });
});
