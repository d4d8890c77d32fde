import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openMysql } from '#core/engines/mysql/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy } from '#test/support/databases.ts';
import { canStartMariadb, startMariadb, type TemporaryMariadb } from '#test/support/mariadb-server.ts';
import { testApp } from '#test/support/app.ts';
import { SETTINGS } from '../clickhouse/fixture.ts';
import { planPages, walkPages } from '../shared/page-walk.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { toolOn } from '../shared/tool-call.ts';

const MICROSECONDS = "'2026-01-02 03:04:05.123456'";
const LATER = "'2026-01-02 03:04:05.123457'";
const DAYS = [
  "'0000-00-00'",
  "'0000-00-00'",
  "'2026-00-00'",
  "'2026-00-15'",
  "'2026-01-02'",
  "'2026-02-31'",
  "'9999-12-31'",
  'null',
];
const MOMENTS = ["'0000-00-00 00:00:00'", "'2026-00-15 01:02:03.5'", MICROSECONDS, LATER, "'2026-02-31 00:00:00'", 'null'];
const STAMPS = ["'0000-00-00 00:00:00'", "'1970-01-02 00:00:00'", MICROSECONDS, LATER, 'null'];
const PRICES = ['-1', '0', '0.000000000000000000000000000001', '1', '9'.repeat(35), 'null'];
const LARGE = [`-${'9'.repeat(65)}`, '5', `${'9'.repeat(64)}8`, '9'.repeat(65), 'null'];

// The modes of MySQL's own defaults, under which a cast of such a date is null.
describe.skipIf(!canStartMariadb)('MariaDB with modes of its own', () => {
  let server: TemporaryMariadb;
  let source: Source;

  beforeAll(async () => {
    server = await startMariadb(['--sql-mode=TRADITIONAL'], {});
    await server.run('CREATE DATABASE zero');
    await server.run(`CREATE TABLE zero.things (id INT PRIMARY KEY, day DATE, seen DATETIME(6), stamp TIMESTAMP(6) NULL,
      price DECIMAL(65,30), large DECIMAL(65,0))`);
    await server.run("SET sql_mode = 'ALLOW_INVALID_DATES'");
    for (let id = 0; id < DAYS.length; id++) {
      const cells = [DAYS, MOMENTS, STAMPS, PRICES, LARGE].map((choices) => choices[id % choices.length]);
      await server.run(`INSERT INTO zero.things VALUES (${id}, ${cells.join(', ')})`);
    }
    source = openMysql({ ...SETTINGS, db_type: 'mysql', port: server.port, database: 'zero', username: 'root' }, localPolicy);
  }, 60_000);

  afterAll(async () => {
    await source?.close();
    await server?.stop();
  });

  test('has pages that go on behind dates that no calendar has, and behind the largest numbers', async () => {
    for (const text of [
      'SELECT * FROM things',
      'SELECT id, MAX(day) AS day, MAX(seen) AS seen, MAX(stamp) AS stamp, MAX(price) AS price, MAX(large) AS large FROM things GROUP BY id',
    ]) {
      for (const column of ['day', 'seen', 'stamp', 'price', 'large']) {
        for (const desc of [false, true]) {
          const by = [column, 'id'].map((each) => ({ column: each, desc }));
          const bench = { source, db_type: 'mysql' as const };
          const [all = []] = await walkPages(source, await planPages(bench, text, by, { max_rows: 100 }));
          expect(all).toHaveLength(DAYS.length);
          for (const max_rows of [1, 3]) {
            const pages = await walkPages(source, await planPages(bench, text, by, { max_rows }));
            expect([column, desc, max_rows, pages.flat()]).toEqual([column, desc, max_rows, all]);
          }
        }
      }
    }
  });

  // The default of some managed servers; the statements are in the server's own grammar when they are checked, described and called.
  test('reads statements in the grammar that its modes make', async () => {
    await server.run("SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'");
    await server.run('CREATE TABLE zero.`order` (id INT PRIMARY KEY, note VARCHAR(20))');
    await server.run('INSERT INTO zero.`order` VALUES (1, CHAR(92)), (2, NULL)');
    const settings = { ...SETTINGS, db_type: 'mysql', port: server.port, database: 'zero', username: 'root' } as const;
    const quoting = openMysql(settings, localPolicy);
    const grammar = await quoting.grammar?.();
    expect(grammar).toBe('mysql ANSI_QUOTES NO_BACKSLASH_ESCAPES');
    const tool = await toolOn(
      { source: quoting, db_type: 'mysql' },
      `SELECT "id", "note" || ':n' AS joined FROM "order" WHERE "note" = '\\' AND "id" = :n`,
      [{ name: 'n', type: 'integer', description: 'n', required: true }],
    );
    expect(await tool.call({ n: 1 })).toMatchObject({ rows: [{ id: 1, joined: '\\:n' }] });
    const other = { ...sql('SELECT "id" AS id FROM `order`'), dialect: 'mysql' };
    expect((await refusal(quoting.query(other, READ))).detail).toStartWith('The SQL mode of the database server was changed');
    expect((await quoting.test()).warnings).toContain('The account has all privileges on the whole server.');
    await quoting.close();
    const t = await testApp();
    await t.signIn();
    const { username, host, port } = { ...settings, host: '127.0.0.1' };
    const body = { name: 'modes', db_type: 'mariadb', host, port, database: 'zero', username };
    const connection_id = String((await t.request('POST', '/api/v1/connections', { body })).body['id']);
    const sql_query = 'SELECT "id" FROM "order" WHERE "id" = :n';
    const parameters = [{ name: 'n', type: 'integer', description: 'The number of the order.', required: true }];
    const draft = { name: 'read_order', connection_id, description: 'Reads the number of an order.', sql_query, parameters };
    expect((await t.request('POST', '/api/v1/tools', { body: draft })).status).toBe(201);
    const preview = { connection_id, sql_query, parameters: { n: 2 } };
    expect((await t.request('POST', '/api/v1/preview/execute', { body: preview })).body).toMatchObject({ rows: [{ id: 2 }] });
    const deployed = await t.request('POST', '/api/v1/deploy', { body: {} });
    expect(deployed.body).toMatchObject({ snapshot_version: 1, counts: { tools: 1 } });
    await t.close();
  });

  test('ends statements at its own time limit where that is the smaller one', async () => {
    await server.run("CREATE USER quick@'127.0.0.1' WITH MAX_STATEMENT_TIME 0.3");
    await server.run("GRANT SELECT, INSERT ON zero.* TO quick@'127.0.0.1'");
    const settings = { ...SETTINGS, db_type: 'mysql', port: server.port, database: 'zero', username: 'quick' } as const;
    const quick = openMysql(settings, localPolicy);
    for (const options of [FIXED, READ, WRITE]) {
      const error = await refusal(quick.query(sql('SELECT sleep(5)'), options));
      expect(error).toMatchObject({ code: 'timeout', detail: expect.stringContaining('(max_statement_time: 0.3 s)') });
    }
    expect((await quick.test()).limits).toEqual([{ name: 'max_statement_time', value: '0.3 s', source: 'account' }]);
    await quick.close();
    await server.run('SET GLOBAL max_statement_time = 20');
    const slow = openMysql({ ...settings, username: 'root' }, localPolicy);
    expect((await slow.test()).limits).toEqual([{ name: 'max_statement_time', value: '20 s', source: 'server' }]);
    expect((await refusal(slow.query(sql('SELECT sleep(5)'), { ...READ, timeout_ms: 100 }))).detail).not.toContain('server');
    await slow.close();
  });
});
