import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openMysql } from '#core/engines/mysql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { until } from '#test/support/until.ts';

let database: TestDatabase;
const sources: Source[] = [];

beforeAll(async () => {
  if (!reachable.mysql) return;
  database = await testDatabase('mysql');
  await database.run('CREATE TABLE t (id INT PRIMARY KEY, a INT) ENGINE = InnoDB');
  await database.run('INSERT INTO t VALUES (1, 0), (2, 0)');
});

afterAll(async () => {
  await Promise.all(sources.map((source) => source.close()));
  if (database) await quiet();
  await database?.drop();
});

function open(settings: Partial<ConnectionSettings> = {}): Source {
  const source = openMysql({ ...database.settings, ...settings }, localPolicy);
  sources.push(source);
  return source;
}

/** Connections to the test's database, besides the test's own. */
async function connections(): Promise<Record<string, unknown>[]> {
  return database.run('SELECT id, info FROM information_schema.processlist WHERE db = database() AND id <> connection_id()');
}

/** What runs there now. */
async function statements(): Promise<unknown[]> {
  return (await connections()).map(({ info }) => info).filter((info) => info !== null);
}

/** KILL QUERY is a request: the thread shows its statement until it comes to a point where it looks. */
async function quiet(): Promise<void> {
  await until(async () => (await statements()).length === 0);
}

/** A million rows out of nothing. */
const MILLION = "SELECT seq AS id, concat('row number ', seq) AS name FROM seq_1_to_1000000";
const SLOW = 'SELECT sum(a.seq * b.seq * c.seq) FROM seq_1_to_100000 AS a, seq_1_to_100000 AS b, seq_1_to_100000 AS c';

describe.skipIf(!reachable.mysql)('MariaDB limits', () => {
  test('fetching stops at the row limit, and the session goes on', async () => {
    const source = open({ pool_size: 1 });
    for (const mode of ['fixed', 'read'] as const) {
      const result = await source.query(sql(MILLION), { ...READ, mode, max_rows: 10 });
      expect(result.rows).toHaveLength(10);
      expect(result.truncated).toBe(true);
      expect((await source.query(sql(`${MILLION} LIMIT 10`), { ...READ, mode, max_rows: 10 })).truncated).toBe(false);
      const [first] = (await source.query(sql('SELECT connection_id() AS id'), { ...READ, mode })).rows;
      await source.query(sql(MILLION), { ...READ, mode, max_rows: 10 });
      expect((await source.query(sql('SELECT connection_id() AS id'), { ...READ, mode })).rows).toEqual([first!]);
    }
  });

  test('a limit of its own in the statement does not get past the row limit', async () => {
    const result = await open().query(sql(`${MILLION} LIMIT 900000`), { ...READ, max_rows: 10 });
    expect(result).toMatchObject({ truncated: true });
    expect(result.rows).toHaveLength(10);
    await quiet();
  });

  test('fetching stops at the byte limit, a giant value included', async () => {
    const source = open();
    const result = await source.query(sql(MILLION), { ...READ, max_rows: 1_000_000, max_bytes: 10_000 });
    expect(result.truncated).toBe(true);
    expect(JSON.stringify(result.rows).length).toBeWithin(8_000, 10_001);
    const giant = await source.query(sql("SELECT repeat('x', 10000000) AS a"), { ...READ, max_bytes: 100_000 });
    expect(giant).toMatchObject({ rows: [], truncated: true });
  });

  test('a write that returns more than may be held is rolled back and says so', async () => {
    const text = "INSERT INTO wide VALUES (1, repeat('x', 10000000)) RETURNING *";
    await database.run('CREATE TABLE wide (id INT, body LONGTEXT)');
    expect((await refusal(open().query(sql(text), { ...WRITE, max_bytes: 100_000 }))).code).toBe('too_large');
    await until(async () => Number((await database.run('SELECT count(*) AS n FROM wide'))[0]?.['n']) === 0);
    const many = await open().query(sql("INSERT INTO wide SELECT seq, 'x' FROM seq_1_to_5000 RETURNING id"), {
      ...WRITE,
      max_rows: 10,
    });
    expect([many.rows.length, many.truncated]).toEqual([10, true]);
    expect(Number((await database.run('SELECT count(*) AS n FROM wide'))[0]?.['n'])).toBe(5_000);
  });

  test('a million rows pass with flat memory', async () => {
    const source = open();
    await source.query(sql(MILLION), READ);
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 3; i++) {
      await source.query(sql(MILLION), { ...READ, max_rows: 100 });
      await source.query(sql(`${MILLION} LIMIT 999999`), { ...READ, max_rows: 100 });
    }
    Bun.gc(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(32 * 1024 * 1024);
  });
});

describe.skipIf(!reachable.mysql)('MariaDB cancellation', () => {
  for (const mode of ['fixed', 'read', 'write'] as const) {
    test(`a statement that takes too long is stopped in the server (${mode})`, async () => {
      const source = open();
      const start = performance.now();
      expect((await refusal(source.query(sql(SLOW), { ...READ, mode, timeout_ms: 300 }))).code).toBe('timeout');
      expect(performance.now() - start).toBeWithin(290, 8_000);
      await quiet();
      expect((await source.query(sql('SELECT 1 AS a'), READ)).rows).toEqual([{ a: 1 }]);
    });
  }

  test('a statement whose caller goes away is stopped in the server', async () => {
    for (const text of [SLOW, 'SELECT sleep(20)']) {
      const source = open();
      const controller = new AbortController();
      const running = refusal(source.query(sql(text), { ...READ, signal: controller.signal }));
      while ((await statements()).length === 0) await Bun.sleep(10);
      controller.abort();
      expect((await running).code).toBe('cancelled');
      await quiet();
      expect(source.sessions()).toBe(0);
    }
  });

  test('a statement that lifts the time limit of the server is stopped all the same', async () => {
    const text = `SET STATEMENT max_statement_time = 0 FOR ${SLOW}`;
    expect((await refusal(open().query(sql(text), { ...READ, timeout_ms: 300 }))).code).toBe('timeout');
    await quiet();
  });

  test('a write that waits for a lock is stopped and leaves nothing', async () => {
    const source = open();
    await database.run('START TRANSACTION');
    await database.run('UPDATE t SET a = 1 WHERE id = 1');
    const write = source.query(sql('UPDATE t SET a = a + 10'), { ...WRITE, timeout_ms: 300 });
    expect((await refusal(write)).code).toBe('timeout');
    await database.run('ROLLBACK');
    expect(await database.run('SELECT a FROM t')).toEqual([{ a: 0 }, { a: 0 }]);
    expect((await source.query(sql('UPDATE t SET a = 5'), WRITE)).affected_rows).toBe(2);
  });

  test('a statement that waits for a table to be redesigned is stopped before it is prepared', async () => {
    const source = open();
    await database.run('LOCK TABLES t WRITE');
    expect((await refusal(source.query(sql('SELECT * FROM t'), { ...READ, timeout_ms: 300 }))).code).toBe('timeout');
    await database.run('UNLOCK TABLES');
    expect((await source.query(sql('SELECT count(*) AS n FROM t'), READ)).rows).toEqual([{ n: 2 }]);
  });
});

describe.skipIf(!reachable.mysql)('MariaDB sessions', () => {
  test('are at most pool_size over all modes, and closed with the source', async () => {
    const source = open({ pool_size: 2 });
    expect(source.sessions()).toBe(0);
    const modes = ['fixed', 'read', 'write'] as const;
    const calls = Array.from({ length: 30 }, (_, i) =>
      source.query(sql('SELECT ? AS i, sleep(0.002)', [i], ['integer']), { ...READ, mode: modes[i % 3]! }),
    );
    const most = Math.max(...(await Promise.all(Array.from({ length: 5 }, async () => (await connections()).length))));
    expect(most).toBeLessThanOrEqual(2 + sources.reduce((sum, other) => sum + (other === source ? 0 : other.sessions()), 0));
    expect((await Promise.all(calls)).map(({ rows }) => rows[0]?.['i'])).toEqual(Array.from({ length: 30 }, (_, i) => i));
    expect(source.sessions()).toBeLessThanOrEqual(2);
    await source.close();
    expect(source.sessions()).toBe(0);
  });

  test('a session that the server closed is replaced', async () => {
    const source = open({ pool_size: 1 });
    const [row] = (await source.query(sql('SELECT connection_id() AS id'), { ...READ, mode: 'fixed' })).rows;
    await database.run(`KILL ${Number(row?.['id'])}`);
    await Bun.sleep(50);
    const [next] = (await source.query(sql('SELECT connection_id() AS id'), { ...READ, mode: 'fixed' })).rows;
    expect(next?.['id']).not.toBe(row!['id']!);
  });

  test('a session that is killed while it works is named as lost', async () => {
    const source = open();
    const running = refusal(source.query(sql('SELECT sleep(5)'), READ));
    // What a session says before the statement is under way for a moment too.
    const working = async () => (await connections()).find(({ info }) => String(info).includes('sleep(5)'));
    let busy = await working();
    while (busy === undefined) {
      await Bun.sleep(10);
      busy = await working();
    }
    await database.run(`KILL ${Number(busy['id'])}`);
    expect((await running).code).toBe('database_unreachable');
    expect((await source.query(sql('SELECT 1 AS a'), READ)).rows).toEqual([{ a: 1 }]);
  });

  test('a failed login says why', async () => {
    const cases = [
      [{ password: 'wrong', username: 'root' }, 'auth_failed'],
      [{ username: 'nobody_of_this_name', password: 'x' }, 'auth_failed'],
      [{ database: 'no_such_database' }, 'database_missing'],
      [{ port: 1 }, 'refused'],
      [{ ssl_mode: 'require' }, 'tls_failed'],
      [{ host: 'no-such-host.invalid' }, 'dns_failed'],
    ] as const;
    for (const [settings, reason] of cases) {
      const source = open(settings);
      expect(await refusal(source.test())).toMatchObject({ code: 'database_unreachable', reason });
      expect(source.sessions()).toBe(0);
    }
    const blocked = openMysql(database.settings, { ...localPolicy, allow_private_networks: false });
    expect((await refusal(blocked.test())).code).toBe('private_network_blocked');
  });
});
