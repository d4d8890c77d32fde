import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openMysql } from '#core/engines/mysql/source.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { paced } from '#test/support/paced.ts';
import { openTcpProxy, type TcpProxy } from '#test/support/tcp-proxy.ts';
import { FIXED, READ, refusal, sql } from './suite.ts';

const SERVERS = [
  {
    kind: 'postgresql',
    up: reachable.postgres,
    open: openPostgres,
    sleep: 'select pg_sleep(8)',
    others: 'select pid as id from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    end: (id: number) => `select pg_terminate_backend(${id})`,
  },
  {
    kind: 'mysql',
    up: reachable.mysql,
    open: openMysql,
    sleep: 'select sleep(8)',
    others: 'select id from information_schema.processlist where db = database() and id <> connection_id()',
    end: (id: number) => `kill ${id}`,
  },
] as const;

describe.each(SERVERS)('sessions of $kind that are lost', ({ kind, up, open, sleep, others, end }) => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let source: Source;

  beforeAll(async () => {
    if (!up) return;
    database = await testDatabase(kind);
    const { host, port } = database.settings;
    proxy = await openTcpProxy({ host: host ?? '', port: port ?? 0 });
    source = open({ ...database.settings, port: proxy.port, ssl_mode: 'disable', pool_size: 2 }, localPolicy);
  });
  afterAll(async () => {
    await source?.close();
    await proxy?.close();
    await database?.drop();
  });

  const endAll = async () => {
    for (const { id } of await database.run(others)) await database.run(end(Number(id)));
  };
  const one = async (limits = READ) => (await source.query(sql('select 1 as one'), limits)).rows;

  test.skipIf(!up)('while they are idle are replaced, and nobody who reads notices', async () => {
    for (const limits of [FIXED, READ, FIXED, READ]) {
      await Promise.all([one(limits), one(limits)]);
      proxy.cut();
      expect(await one(limits)).toEqual([{ one: 1 }]);
      await endAll();
      expect(await one(limits)).toEqual([{ one: 1 }]);
      proxy.cut();
      expect((await source.describe('select 2 as two', [])).columns).toMatchObject([{ name: 'two' }]);
    }
  });

  test.skipIf(!up)('with their statement do not run it again', async () => {
    await one();
    const call = refusal(source.query(sql(sleep), READ));
    await Bun.sleep(1_500);
    await endAll();
    const ended = performance.now();
    expect((await call).code).toBe('database_unreachable');
    expect(performance.now() - ended).toBeLessThan(paced(3_000));
    expect(await one()).toEqual([{ one: 1 }]);
  });
});

describe.skipIf(!reachable.postgres)('a type that nobody has met', () => {
  test('is looked up within the time of the call', async () => {
    const database = await testDatabase('postgresql');
    await database.run(`create type mood as enum ('happy')`);
    const source = openPostgres({ ...database.settings, pool_size: 1 }, localPolicy);
    await source.query(sql('select 1'), READ);
    const began = performance.now();
    const call = refusal(source.query(sql(`select 'happy'::mood as mood`), { ...READ, timeout_ms: 600 }));
    const slow = source.query(sql('select pg_sleep(3)'), READ);
    expect((await call).code).toBe('timeout');
    expect(performance.now() - began).toBeLessThan(paced(2_000));
    await slow;
    expect((await source.query(sql(`select array['happy']::mood[] as moods`), READ)).rows).toEqual([{ moods: ['happy'] }]);
    await source.close();
    await database.drop();
  });
});
