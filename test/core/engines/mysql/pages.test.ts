import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openMysql } from '#core/engines/mysql/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy } from '#test/support/databases.ts';
import { canStartMariadb, startMariadb, type TemporaryMariadb } from '#test/support/mariadb-server.ts';
import { SETTINGS } from '../clickhouse/fixture.ts';
import { planPages, walkPages } from '../shared/page-walk.ts';

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
describe.skipIf(!canStartMariadb)('pages of MariaDB with the modes of MySQL', () => {
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

  test('go on behind dates that no calendar has, and behind the largest numbers', async () => {
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
});
