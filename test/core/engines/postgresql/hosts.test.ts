import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { HostTarget } from '#core/contract/definitions/connections.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import { checkHost } from '#core/engines/shared/check.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy } from '#test/support/databases.ts';
import { freePort } from '#test/support/free-port.ts';
import { canCreateCluster } from '#test/support/postgres-cluster.ts';
import { type PostgresPair, startPostgresPair } from '#test/support/postgres-pair.ts';
import { until } from '#test/support/until.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';

if (!canCreateCluster && process.env['CI'] === 'true') throw new Error('initdb is needed for the tests of several hosts');

const ROLE = sql('select pg_is_in_recovery() as standby');

describe.skipIf(!canCreateCluster)('several PostgreSQL hosts', () => {
  const opened: Source[] = [];
  let pair: PostgresPair;
  let dead = 0;
  beforeAll(async () => {
    pair = await startPostgresPair();
    dead = freePort();
    await pair.primary.run('create table items (id int primary key)');
    await until(async () => (await pair.standby.run("select to_regclass('items') as found"))[0]?.['found'] !== null);
  }, 90_000);
  afterEach(() => Promise.all(opened.splice(0).map((source) => source.close())));
  afterAll(() => pair.remove(), 60_000);

  function open(ports: readonly number[], target: HostTarget = 'any', changes: Partial<ConnectionSettings> = {}): Source {
    const settings: ConnectionSettings = {
      db_type: 'postgresql',
      host: ports.map((port) => `127.0.0.1:${port}`).join(','),
      port: null,
      target,
      database: 'postgres',
      username: 'postgres',
      password: null,
      ssl_mode: 'disable',
      ssl_ca: null,
      ssl_cert: null,
      ssl_key: null,
      extra_params: {},
      pool_size: 4,
      ...changes,
    };
    const source = openPostgres(settings, localPolicy);
    opened.push(source);
    return source;
  }
  const onStandby = async (source: Source, options = READ) => (await source.query(ROLE, options)).rows[0]?.['standby'];
  const insert = (source: Source, id: number) => source.query(sql(`insert into items values (${id})`), WRITE);
  const lagOf = async (source: Source) => (await source.hosts?.())?.find(({ role }) => role === 'standby')?.lag_ms ?? -1;

  test('any host that answers is read from, in the order of the list', async () => {
    expect(await onStandby(open([dead, pair.standby.port]))).toBe(true);
    expect(await onStandby(open([dead, pair.primary.port, pair.standby.port]))).toBe(false);
    const { reason, detail } = await refusal(onStandby(open([dead, freePort()])));
    expect([reason, detail]).toEqual(['refused', expect.stringContaining(String(dead))]);
  });

  test('a standby is read from and the primary is written to, from one connection', async () => {
    const orders = [
      [pair.primary.port, pair.standby.port],
      [pair.standby.port, pair.primary.port],
    ];
    for (const [n, ports] of orders.entries()) {
      const source = open(ports, 'prefer_standby');
      expect([await onStandby(source), await onStandby(source, FIXED)]).toEqual([true, true]);
      await insert(source, n);
      expect(await onStandby(source, WRITE)).toBe(false);
    }
  });

  test('without a standby the primary is read from', async () => {
    expect(await onStandby(open([dead, pair.primary.port], 'prefer_standby'))).toBe(false);
  });

  test('target primary finds the primary wherever it stands in the list', async () => {
    const source = open([pair.standby.port, dead, pair.primary.port], 'primary');
    expect([await onStandby(source), await onStandby(source, FIXED)]).toEqual([false, false]);
  });

  test('writes never go to a standby, whatever the target is', async () => {
    for (const target of ['any', 'primary', 'prefer_standby'] as const) {
      const { code, reason, detail } = await refusal(insert(open([pair.standby.port, dead], target), 1_000));
      expect([code, reason]).toEqual(['database_unreachable', 'no_primary']);
      expect(detail).toContain(`127.0.0.1:${pair.standby.port} is a standby; 127.0.0.1:${dead} does not answer (refused)`);
    }
    const alone = open([], 'primary', { host: '127.0.0.1', port: pair.standby.port });
    expect((await refusal(onStandby(alone))).reason).toBe('no_primary');
    expect(await pair.primary.run('select * from items where id = 1000')).toEqual([]);
  });

  test('the state of each host has its role, and the lag of a standby', async () => {
    const source = open([pair.primary.port, pair.standby.port, dead], 'prefer_standby');
    expect(await source.hosts?.()).toEqual([
      { host: `127.0.0.1:${pair.primary.port}`, role: 'primary', lag_ms: null, error: null },
      { host: `127.0.0.1:${pair.standby.port}`, role: 'standby', lag_ms: expect.any(Number), error: null },
      { host: `127.0.0.1:${dead}`, role: null, lag_ms: null, error: expect.stringContaining('Nothing accepts connections') },
    ]);
    expect(openPostgres({ ...(await settingsOf()), host: '127.0.0.1' }, localPolicy)).not.toHaveProperty('hosts');
    await pair.standby.run('select pg_wal_replay_pause()');
    await insert(source, 2_000);
    await until(async () => (await lagOf(source)) > 300);
    await pair.standby.run('select pg_wal_replay_resume()');
    await until(async () => (await lagOf(source)) === 0);
  });
  const settingsOf = async (): Promise<ConnectionSettings> => ({
    db_type: 'postgresql',
    host: null,
    port: pair.primary.port,
    database: 'postgres',
    username: 'postgres',
    password: null,
    ssl_mode: 'disable',
    ssl_ca: null,
    ssl_cert: null,
    ssl_key: null,
    extra_params: {},
    pool_size: 1,
  });

  test('a cancelled statement is cancelled on the host that runs it', async () => {
    const source = open([dead, pair.standby.port, pair.primary.port]);
    const stop = new AbortController();
    const sleeping = refusal(source.query(sql('select pg_sleep(30)'), { ...READ, timeout_ms: 20_000, signal: stop.signal }));
    const active =
      "select 1 from pg_stat_activity where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()";
    await until(async () => (await pair.standby.run(active)).length === 1);
    stop.abort();
    await sleeping;
    await until(async () => (await pair.standby.run(active)).length === 0);
  });

  test('each host passes the address guard', async () => {
    const guarded = { ...localPolicy, allow_private_networks: false };
    const source = openPostgres({ ...(await settingsOf()), host: '127.0.0.1,10.1.2.3' }, guarded);
    opened.push(source);
    expect((await refusal(onStandby(source))).code).toBe('private_network_blocked');
    for (const host of ['192.0.2.1,169.254.169.254', '192.0.2.1:5432,127.0.0.1:5432']) {
      const target = { db_type: 'postgresql' as const, host, port: 5432, database: 'postgres' };
      const blocked = await refusal(checkHost(target, guarded));
      expect([host, blocked.code, blocked.errors[0]?.field]).toEqual([host, 'private_network_blocked', 'host']);
    }
  });

  test('after a failover the promoted standby is written to, without a restart (last)', async () => {
    const source = open([pair.primary.port, pair.standby.port], 'primary');
    const reading = open([pair.primary.port, pair.standby.port], 'prefer_standby');
    await insert(source, 3_000);
    expect(await onStandby(reading)).toBe(true);
    await until(async () => (await pair.standby.run('select id from items where id = 3000')).length === 1);
    await pair.primary.kill();
    await until(async () => (await refusal(insert(source, 3_001))).reason === 'no_primary');
    expect(await onStandby(reading)).toBe(true);
    await pair.standby.promote();
    const written = () =>
      insert(source, 3_002).then(
        () => true,
        () => false,
      );
    await until(written);
    expect(await pair.standby.run('select id from items where id > 2999 order by id')).toEqual([{ id: 3_000 }, { id: 3_002 }]);
    expect(await onStandby(source)).toBe(false);
    expect(await source.hosts?.()).toMatchObject([{ role: null }, { role: 'primary', lag_ms: null }]);
  });
});
