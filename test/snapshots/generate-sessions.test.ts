import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AppError, asFault } from '#core/errors.ts';
import { openMysql } from '#snapshots/generate/project/drivers/mysql.ts';
import { openPostgresql } from '#snapshots/generate/project/drivers/postgresql.ts';
import type { Database, Limits, NetworkSettings } from '#snapshots/generate/project/definitions.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { paced } from '#test/support/paced.ts';
import { openTcpProxy } from '#test/support/tcp-proxy.ts';
import { until } from '#test/support/until.ts';

/** What a session of a generated project keeps is what the next caller finds: the pool has one. */
const SERVERS = [
  {
    kind: 'postgresql',
    open: openPostgresql,
    is_reachable: reachable.postgres,
    held: `select count(*) as a from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
    locks: 'select pg_advisory_lock(7)',
    fails_locked: 'select pg_advisory_lock(7), 1 / (x - x) from generate_series(1, 1) x',
    sleep: 'select pg_sleep(4)',
    text: 'select cast($1 as text) as a',
    endless: "select repeat('x', 200) as a from (select generate_series(1, 2000000000)) endless",
    running: `select count(*) as a from pg_stat_activity where state = 'active' and query like '%generate_series(1, 2000000000)%' and query not like '%pg_stat_activity%'`,
    large: 'select repeat(md5(x::text), 31250) as a from generate_series(1, 200) x',
    returning: 'insert into wide select x, repeat(md5(x::text), 3125) from generate_series(1, 2000) x returning note',
    left: [
      ['setting', `select set_config('app.person', 'ann', false)`, `select nullif(current_setting('app.person', true), '') as a`],
      ['time zone', `set time zone 'Asia/Tokyo'`, `select current_setting('TimeZone') as a`],
      ['prepared statement', 'prepare kept as select 1', 'select count(*) as a from pg_prepared_statements'],
      ['channel', 'listen kept', 'select count(*) as a from pg_listening_channels()'],
      ['cursor', 'declare kept cursor with hold for select 1', 'select count(*) as a from pg_cursors where is_holdable'],
    ],
    fresh: [null, 'UTC', 0, 0, 0],
  },
  {
    kind: 'mysql',
    open: openMysql,
    is_reachable: reachable.mysql,
    held: `select is_used_lock('kept') is not null as a`,
    locks: `select get_lock('kept', 1)`,
    fails_locked: `select get_lock('kept', 1), (select 1 union select 2)`,
    sleep: 'select sleep(4)',
    text: 'select ? as a',
    endless: "select repeat('x', 200) as a from seq_1_to_2000000000",
    running:
      "select count(*) as a from information_schema.processlist where info like '%seq_1_to_2000000000%' and info not like '%processlist%'",
    large: 'select repeat(md5(seq), 31250) as a from seq_1_to_200',
    returning: 'insert into wide select seq, left(repeat(md5(seq), 3125), 60000) from seq_1_to_4000 returning note',
    left: [
      ['variable', `set @person = 'ann'`, 'select @person as a'],
      ['row limit', 'set sql_select_limit = 1', 'select @@sql_select_limit > 1 as a'],
      ['time zone', `set time_zone = '+09:00'`, 'select @@time_zone as a'],
      ['character set', 'set names latin1', 'select @@character_set_connection as a'],
    ],
    fresh: [null, 1, '+00:00', 'utf8mb4'],
  },
] as const;

for (const {
  kind,
  open,
  is_reachable,
  held,
  locks,
  fails_locked,
  sleep,
  text,
  endless,
  running,
  large,
  returning,
  left,
  fresh,
} of SERVERS) {
  describe.skipIf(!is_reachable)(`a session of a generated project with ${kind}`, () => {
    let server: TestDatabase;
    let database: Database;

    beforeAll(async () => {
      server = await testDatabase(kind);
      database = open(settingsOf(server));
    });

    afterAll(async () => {
      await database.close();
      await server.drop();
    });

    const run = async (
      statement: string,
      writes: boolean,
      values: readonly string[] = [],
      signal = new AbortController().signal,
      more: Partial<Limits> = {},
    ) => {
      const bound = { text: statement, values, types: values.map(() => 'string' as const) };
      const limits = { writes, timeout_ms: 5_000, max_rows: 10, max_bytes: 10_000, signal, ...more };
      const { rows } = await database.query(bound, limits);
      return rows[0]?.['a'];
    };
    const locksHeld = async () => Number((await server.run(held))[0]?.['a']);

    test.each(left.map(([what, keeps, looks], i) => [what, keeps, looks, fresh[i]] as const))(
      'leaves no %s to the next call',
      async (_, keeps, looks, expected) => {
        await run(keeps, true);
        for (const writes of [true, false]) expect(await run(looks, writes)).toEqual(expected as never);
      },
    );

    test('leaves no temporary table to the next call', async () => {
      await run('create temporary table kept (a int)', true);
      expect(await faultOf(run('select a from kept', false))).toContain('kept');
    });

    test('holds no lock after a read, a change and a failure', async () => {
      await run(locks, false);
      expect(await locksHeld()).toBe(0);
      await run(locks, true);
      expect(await locksHeld()).toBe(0);
      for (const writes of [false, true]) {
        expect(await faultOf(run(fails_locked, writes))).not.toBe('');
        // The server may need a moment to see that a session was ended.
        await until(async () => (await locksHeld()) === 0);
      }
    });

    test('runs the same statement again and keeps text as it is', async () => {
      for (const sent of ['ünïcode 😀', 'ünïcode 😀', '漢字']) expect(await run(text, false, [sent])).toBe(sent);
    });

    test('ends with a call that was cancelled, and the next call has another', async () => {
      const waiting = new AbortController();
      const slow = run(sleep, false, [], waiting.signal);
      setTimeout(() => waiting.abort(), 200);
      const started = performance.now();
      await slow.catch(() => undefined);
      expect(performance.now() - started).toBeLessThan(paced(3_000));
      for (let i = 0; i < 5; i++) expect(await run(text, false, ['next'])).toBe('next');
    });

    test('commits nothing of a call that was cancelled before its statement was sent', async () => {
      await run('create table kept_item (id int primary key)', true);
      const cancelled = run('insert into kept_item values (1)', true, [], AbortSignal.abort());
      expect(await cancelled.catch(asFault)).toMatchObject({ code: 'cancelled' });
      expect(await run('select count(*) as a from kept_item', false)).toBe(0);
    });

    test('keeps to the timeout of a call, also while it waits for a session', async () => {
      const started = performance.now();
      const short = { timeout_ms: 400 };
      const calls = [true, false, false].map((writes) => run(sleep, writes, [], undefined, short).catch(asFault));
      for (const fault of await Promise.all(calls)) expect(fault).toMatchObject({ code: 'timeout' });
      expect(performance.now() - started).toBeLessThan(paced(2_000));
    });

    test('keeps to the timeout of a call when nothing comes from the network any more', async () => {
      let dead = false;
      const settings = settingsOf(server);
      const target = { host: settings.host ?? '', port: settings.port ?? 0 };
      const proxy = await openTcpProxy(target, { toClient: (bytes) => (dead ? Buffer.alloc(0) : bytes) });
      const through = open({ ...settings, host: '127.0.0.1', port: proxy.port, ssl_mode: 'disable' });
      const limits = { writes: true, timeout_ms: 500, max_rows: 10, max_bytes: 10_000, signal: AbortSignal.timeout(20_000) };
      const ask = () => through.query({ text: 'select 1 as a', values: [], types: [] }, limits).catch(asFault);
      expect(await ask()).toMatchObject({ rows: [{ a: 1 }] });
      dead = true;
      const started = performance.now();
      for (const fault of await Promise.all([ask(), ask()])) expect(fault).toMatchObject({ code: 'timeout' });
      expect(performance.now() - started).toBeLessThan(paced(2_000));
      await proxy.close();
      await through.close();
    });

    test('ends a read in the server once it has all its rows', async () => {
      const limits = { writes: false, timeout_ms: 20_000, max_rows: 5, max_bytes: 1_000, signal: AbortSignal.timeout(20_000) };
      const found = await database.query({ text: endless, values: [], types: [] }, limits);
      expect(found).toMatchObject({ truncated: true });
      await until(async () => Number((await server.run(running))[0]?.['a']) === 0);
    });

    test('holds no more of a large result than the limit of bytes', async () => {
      const limits = { timeout_ms: 55_000, max_rows: 1_000, max_bytes: 2_000_000, signal: AbortSignal.timeout(55_000) };
      const result = async (writes: boolean, statement: string) => {
        Bun.gc(true);
        const before = process.memoryUsage().rss;
        const bound = { text: statement, values: [], types: [] };
        const { truncated } = await database.query(bound, { ...limits, writes });
        expect(truncated).toBe(true);
        return (process.memoryUsage().rss - before) / 2 ** 20;
      };
      expect(await result(false, large)).toBeLessThan(150);
      await run('create table wide (id int primary key, note text)', true);
      expect(await result(true, returning)).toBeLessThan(150);
    });

    test('commits a change, and nothing of one that fails', async () => {
      await run('create table item (id int primary key)', true);
      await run('insert into item values (1)', true);
      expect(await faultOf(run('insert into item values (2), (1)', true))).not.toBe('');
      expect(await run('select count(*) as a from item', false)).toBe(1);
    });
  });
}

describe.skipIf(!reachable.mysql)('a read of a generated project with mysql', () => {
  test.each(['analyze table item', 'check table item', 'set @person = 1', 'select 1 into @person'])(
    'refuses %s',
    async (text) => {
      const server = await testDatabase('mysql');
      const database = openMysql(settingsOf(server));
      await server.run('create table item (id int primary key)');
      const limits = { writes: false, timeout_ms: 5_000, max_rows: 10, max_bytes: 10_000, signal: AbortSignal.timeout(5_000) };
      const fault = await database.query({ text, values: [], types: [] }, limits).catch(asFault);
      expect(fault).toMatchObject({ code: 'not_read_only' });
      await database.close();
      await server.drop();
    },
  );
});

async function faultOf(call: Promise<unknown>): Promise<string> {
  const outcome = await call.catch(asFault);
  return outcome instanceof AppError ? outcome.detail : '';
}

function settingsOf({ settings }: TestDatabase): NetworkSettings {
  const { db_type, host, port, database, username, password } = settings;
  return {
    db_type,
    host: host ?? '',
    port: port ?? 0,
    database: database ?? '',
    username: username ?? '',
    password: password ?? '',
    ssl_mode: null,
    ssl_ca: null,
    ssl_cert: null,
    ssl_key: null,
    pool_size: 1,
    extra_params: {},
  };
}
