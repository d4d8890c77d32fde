import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { HostTarget } from '#core/contract/definitions/connections.ts';
import { openMysql } from '#core/engines/mysql/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy } from '#test/support/databases.ts';
import { freePort } from '#test/support/free-port.ts';
import { canStartMariadb, startMariadb, type TemporaryMariadb } from '#test/support/mariadb-server.ts';
import { until } from '#test/support/until.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';

const PORT = sql('select @@port as port');

describe.skipIf(!canStartMariadb)('several MariaDB hosts', () => {
  const opened: Source[] = [];
  let primary: TemporaryMariadb;
  let standby: TemporaryMariadb;
  let dead = 0;
  beforeAll(async () => {
    dead = freePort();
    [primary, standby] = await Promise.all([
      startMariadb(['--server-id=1', '--log-bin'], {}),
      startMariadb(['--server-id=2', '--log-bin', '--read-only'], {}),
    ]);
    await standby.run(
      `change master to master_host = '127.0.0.1', master_port = ${primary.port}, master_user = 'copies', master_connect_retry = 1, master_use_gtid = slave_pos`,
    );
    for (const text of [
      'create database shop',
      'create table shop.items (id int primary key)',
      "create user 'app'@'%'",
      "grant all on shop.* to 'app'@'%'",
      "grant replica monitor on *.* to 'app'@'%'",
      "create user 'copies'@'%'",
      "grant replication slave on *.* to 'copies'@'%'",
    ])
      await primary.run(text);
    await standby.run('start slave');
    await until(async () => {
      const source = open([standby.port]);
      return source.query(sql('select id from items'), READ).then(
        () => true,
        () => false,
      );
    });
  }, 90_000);
  afterEach(() => Promise.all(opened.splice(0).map((source) => source.close())));
  afterAll(() => Promise.all([primary?.stop(), standby?.stop()]), 60_000);

  function open(ports: readonly number[], target: HostTarget = 'any', username = 'app'): Source {
    const source = openMysql(
      {
        db_type: 'mariadb',
        host: ports.length === 1 ? '127.0.0.1' : ports.map((port) => `127.0.0.1:${port}`).join(', '),
        port: ports.length === 1 ? (ports[0] ?? null) : null,
        target,
        database: 'shop',
        username,
        password: null,
        ssl_mode: 'disable',
        ssl_ca: null,
        ssl_cert: null,
        ssl_key: null,
        extra_params: {},
        pool_size: 4,
      },
      localPolicy,
    );
    opened.push(source);
    return source;
  }
  const portOf = async (source: Source, options = READ) => (await source.query(PORT, options)).rows[0]?.['port'];
  const insert = (source: Source, id: number) => source.query(sql(`insert into items values (${id})`), WRITE);

  test('a standby is read from and the primary is written to, from one connection', async () => {
    const source = open([primary.port, standby.port], 'prefer_standby');
    expect([await portOf(source), await portOf(source, FIXED)]).toEqual([standby.port, standby.port]);
    await insert(source, 1);
    expect(await portOf(source, WRITE)).toBe(primary.port);
    expect(await portOf(open([dead, standby.port, primary.port], 'primary'))).toBe(primary.port);
    expect(await portOf(open([dead, standby.port, primary.port]))).toBe(standby.port);
  });

  test('writes never go to a standby, also for an account that read_only does not bind', async () => {
    for (const username of ['app', 'root']) {
      const { code, reason } = await refusal(insert(open([standby.port, dead], 'any', username), 1_000));
      expect([username, code, reason]).toEqual([username, 'database_unreachable', 'no_primary']);
    }
    await standby.run('set global read_only = 0');
    const replicating = await refusal(insert(open([standby.port, dead], 'any', 'root'), 1_000));
    await standby.run('set global read_only = 1');
    expect(replicating.reason).toBe('no_primary');
  });

  test('a session that writes leaves a server that became a standby', async () => {
    const source = open([primary.port, standby.port], 'primary', 'root');
    await insert(source, 10);
    await primary.run('set global read_only = 1');
    const refused = await refusal(insert(source, 11));
    await primary.run('set global read_only = 0');
    expect(refused.reason).toBe('no_primary');
    await insert(source, 12);
    expect((await source.query(sql('select id from items where id in (10, 11, 12) order by id'), READ)).rows).toEqual([
      { id: 10 },
      { id: 12 },
    ]);
  });

  test('the state of each host has its role, and the lag where the account may read it', async () => {
    const source = open([primary.port, standby.port, dead], 'prefer_standby');
    await until(async () => (await source.hosts?.())?.[1]?.lag_ms === 0);
    expect(await source.hosts?.()).toMatchObject([
      { role: 'primary', lag_ms: null },
      { role: 'standby', lag_ms: 0 },
      { role: null, error: expect.stringContaining('Nothing accepts connections') },
    ]);
    await standby.run('stop slave sql_thread');
    expect(await source.hosts?.()).toMatchObject([{ role: 'primary' }, { role: 'standby', lag_ms: null }, { role: null }]);
    await standby.run('start slave sql_thread');
  });

  test('after a failover the promoted standby is written to, without a restart (last)', async () => {
    const source = open([primary.port, standby.port], 'primary');
    const reading = open([primary.port, standby.port], 'prefer_standby');
    await insert(source, 3_000);
    const ids = async () => (await reading.query(sql('select id from items where id >= 3000 order by id'), READ)).rows;
    await until(async () => (await ids()).length === 1);
    await primary.stop();
    await until(async () => (await refusal(insert(source, 3_001))).reason === 'no_primary');
    expect(await ids()).toEqual([{ id: 3_000 }]);
    for (const text of ['stop slave', 'reset slave all', 'set global read_only = 0']) await standby.run(text);
    await until(() =>
      insert(source, 3_002).then(
        () => true,
        () => false,
      ),
    );
    expect(await ids()).toEqual([{ id: 3_000 }, { id: 3_002 }]);
    expect(await portOf(source)).toBe(standby.port);
  });
});
