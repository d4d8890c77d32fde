import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Source } from '#core/engines/shared/source.ts';
import { openMysql } from '#core/engines/mysql/source.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

const TABLES = 150;

describe.skipIf(!reachable.mysql)('many tables of MariaDB', () => {
  let database: TestDatabase;
  let source: Source;

  beforeAll(async () => {
    database = await testDatabase('mysql');
    const key = (n: number) => `PRIMARY KEY, other INT, FOREIGN KEY (other) REFERENCES t${Math.max(0, n - 1)} (id)`;
    for (let n = 0; n < TABLES; n++) await database.run(`CREATE TABLE t${n} (id INT ${n < 3 ? key(n) : 'PRIMARY KEY'})`);
    source = openMysql({ ...database.settings, pool_size: 2 }, localPolicy);
  }, 120_000);

  afterAll(async () => {
    await source?.close();
    await database?.drop();
  });

  /** For its keys the server opens every table: once for the list, not once for each table in it. */
  test('are listed without opening all of them for each', async () => {
    const opened = async () => Number((await database.run(`SHOW GLOBAL STATUS LIKE 'Opened_table_definitions'`))[0]?.['Value']);
    const time = async () => {
      const began = performance.now();
      const found = await source.tables({ skip: 0, limit: 5_000 });
      return { found, took: performance.now() - began };
    };
    await time();
    const before = await opened();
    const { found, took } = await time();
    expect(found.total).toBe(TABLES);
    expect(
      found.items.filter(({ relations }) => relations !== undefined).map(({ name, relations }) => [name, relations]),
    ).toEqual([
      ['t0', 2],
      ['t1', 2],
      ['t2', 1],
    ]);
    expect((await opened()) - before).toBeLessThan(20 * TABLES);
    expect(took).toBeLessThan(8_000);
  });
});
