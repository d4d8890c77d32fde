import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { takeLease } from '#core/platform/leases.ts';
import type { Replay } from '#core/contract/deploy/replay.ts';
import { openSource } from '#core/engines/index.ts';
import { type TestHost, testHost } from '#test/mcp-host/support.ts';
import { reachable, redisUrl, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

/** A database of Redis that no other test uses. */
const REDIS = `${redisUrl}/7`;
const SENT = 'canary-51c7-customer';
const SQL = 'select id, total from orders where customer <> :customer order by id';
const RUNNING = 'A replay is already running. Wait for it to finish, or cancel it.';
/** A host that cannot answer would be waited for much longer. */
const AT_ONCE_MS = 20_000;

interface Pair {
  readonly servers: readonly [ListeningServer, ListeningServer];
  readonly database: TestDatabase;
  readonly hosts: readonly TestHost[];
  readonly api: (n: 0 | 1, method: string, path: string, body?: object) => Promise<Record<string, unknown>>;
  readonly replay: (n: 0 | 1, input: object) => Promise<Replay>;
}
const opened: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
}, 60_000);

/** Two servers on one PostgreSQL, two hosts with the first and one with the second; version 2 counts totals otherwise, 3 is version 1. */
async function pair(variables: Record<string, string>): Promise<Pair> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-replays-'));
  opened.push(() => rmSync(folder, { recursive: true, force: true }));
  const databases = join(folder, 'databases');
  mkdirSync(databases);
  const db = new Database(join(databases, 'shop.sqlite'), { create: true });
  db.run('create table orders (id integer primary key, customer text, total integer)');
  db.run("insert into orders values (1, 'ada', 10), (2, 'bob', 20)");
  db.close();
  const database = await testDatabase('postgresql');
  opened.push(() => database.drop());
  const start = async (): Promise<ListeningServer> => {
    const shared = { SVC_ROLE: 'server', SVC_FASTMCP_PORT: '0', SVC_SQLITE_DIR: databases, SVC_ALLOW_PRIVATE_NETWORKS: 'true' };
    const server = await listeningServer(database.url, { ...shared, ...variables });
    opened.push(() => server.stop());
    await server.signIn();
    return server;
  };
  const servers: Pair['servers'] = [await start(), await start()];
  const hosts: TestHost[] = [];
  for (const [n, { url, server, service_token }] of [servers[0], servers[0], servers[1]].entries()) {
    const own = join(folder, `host-${n}`);
    mkdirSync(own);
    const policy = { allow_private_networks: true, forbidden: [], sqlite_dir: databases };
    const host = await testHost(own, url, {
      id: `host-${n}`,
      service_token,
      openSource: (settings) => openSource(settings, policy),
      openSecret: (sealed, place) => server.app.keyring.open(sealed, place),
    });
    opened.push(() => host.stop());
    hosts.push(host);
  }
  const api: Pair['api'] = async (n, method, path, body) => {
    const { status, body: answer } = await servers[n].api(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  };
  for (const { server } of servers) await until(() => server.app.hosts.list().length === 3);
  await api(0, 'PATCH', '/server/config', { replay_samples: 50, deploy_gates: { breaking: 'off', lint: 'off', tests: 'off' } });
  const { id } = await api(0, 'POST', '/connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const tool = await api(0, 'POST', '/tools', {
    connection_id: id,
    name: 'orders_but',
    description: 'Orders of everybody but one.',
    sql_query: SQL,
    parameters: [{ name: 'customer', type: 'string' }],
  });
  const deploy = async (sql_query: string) => {
    await api(0, 'PATCH', `/tools/${String(tool['id'])}`, { sql_query });
    const { snapshot_version } = await api(0, 'POST', '/deploy', {});
    await until(async () => {
      for (const host of hosts) if ((await host.health()).snapshot_version !== snapshot_version) return false;
      return true;
    });
  };
  await deploy(SQL);
  await deploy(SQL.replace('total from', 'total + 1 as total from'));
  await deploy(SQL);
  for (const { mcp } of hosts) {
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(mcp));
    await client.callTool({ name: 'orders_but', arguments: { customer: SENT } });
    await client.close();
  }
  return { servers, database, hosts, api, replay: async (n, input) => (await api(n, 'POST', '/replay', input)) as never };
}

/** Everything that the metadata database holds, as text. */
async function dump(database: TestDatabase): Promise<string> {
  const tables = await database.run("select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace");
  expect(tables.length).toBeGreaterThan(20);
  const texts: string[] = [];
  for (const { relname } of tables) {
    const [row] = await database.run(`select coalesce(string_agg(t::text, e'\\n'), '') as text from "${String(relname)}" t`);
    texts.push(String(row?.['text']));
  }
  return texts.join('\n');
}

describe.skipIf(!reachable.postgres || !reachable.redis)('a replay over two servers', () => {
  test('with Redis the hosts of both answer either server, and nothing of it can be read on the way or stays', async () => {
    const { database, replay, servers } = await pair({ SVC_KV: 'redis', SVC_REDIS_URL: REDIS });
    const seen: string[] = [];
    const spy = new Redis(REDIS);
    opened.push(() => spy.disconnect());
    await spy.psubscribe('*replay:*');
    spy.on('pmessage', (_pattern, _channel, message: string) => seen.push(message));
    for (const n of [0, 1] as const) {
      const found = await replay(n, { version: 2 });
      expect(found).toMatchObject({ calls: 3, changed: 3, failed: 0, skipped: 0, notes: [] });
      expect(found.hosts).toEqual([0, 1, 2].map((host) => ({ id: `host-${host}`, calls: 1, error: null })));
      expect(found.samples).toHaveLength(3);
      expect(found.samples[0]?.rows?.[0]).toEqual({ live: { id: 1, total: 10 }, other: { id: 1, total: 11 } });
    }
    // The first server asks, and takes one answer; the second one asks, and takes two.
    expect(seen.length).toBeGreaterThanOrEqual(5);
    for (const text of seen) expect(text).not.toMatch(/orders_but|total|host-|canary/);
    const stored = await dump(database);
    expect(stored).toContain('orders_but');
    expect(stored).not.toContain(SENT);
    expect(JSON.stringify(servers.map(({ lines }) => lines))).not.toContain(SENT);
  }, 120_000);

  let alone: Promise<Pair> | undefined;
  const pairAlone = () => (alone ??= pair({ SVC_KV: 'memory' }));

  test('without Redis the hosts of the other server are named and not waited for', async () => {
    const { database, replay } = await pairAlone();
    for (const [n, here, away] of [
      [0, ['host-0', 'host-1'], 'host-2'],
      [1, ['host-2'], 'host-0, host-1'],
    ] as const) {
      const began = performance.now();
      const found = await replay(n, { version: 2 });
      expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
      expect(found).toMatchObject({ calls: here.length, changed: here.length });
      expect(found.hosts).toEqual(here.map((id) => ({ id, calls: 1, error: null })));
      expect(found.notes).toEqual([expect.stringMatching(new RegExp(`did not take part.*: ${away}\\.$`))]);
    }
    expect(await dump(database)).not.toContain(SENT);
  }, 120_000);

  test('one replay runs at a time, whichever server is asked', async () => {
    const { servers, api } = await pairAlone();
    // One that began on a third server, which was killed.
    expect(await takeLease(servers[0].server.app, 'replay', 'killed', 3)).toBe(true);
    const ask = (n: 0 | 1) => servers[n].send('replay.run', { version: 2 });
    for (const n of [0, 1] as const) expect(await ask(n)).toMatchObject({ status: 409, body: { detail: RUNNING } });
    await until(async () => (await ask(1)).status === 200);
    await api(0, 'POST', '/replay', { version: 2 });
    const both = await Promise.all([ask(0), ask(1), ask(0), ask(1)]);
    for (const { status, body } of both)
      expect([status, body.detail]).toEqual(status === 200 ? [200, undefined] : [409, RUNNING]);
    expect(both.some(({ status }) => status === 200)).toBe(true);
  }, 120_000);
});
