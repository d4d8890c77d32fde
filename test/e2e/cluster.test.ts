import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { reachable } from '#test/support/databases.ts';
import { type Cluster, type Member, startCluster } from '#test/support/cluster.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import type { Programs } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

/** Two servers, two agents and three hosts on one PostgreSQL and one Redis, with a balancer in front of the servers. */
const DEPLOYS = 6;
/** How soon a deploy is everywhere. The best of several: other work of the machine is not ours. */
const CONVERGES_MS = 1_000;
const HOST_COUNT = 3;

interface HostRow {
  readonly id: string;
  readonly url: string;
  readonly snapshot_version: number | null;
}
interface Receipt {
  readonly changed: boolean;
  readonly snapshot_version: number;
  readonly duration_ms: number;
  readonly warnings: readonly string[];
  readonly hosts: readonly { readonly id: string; readonly acked_ms: number | null; readonly error: string | null }[];
}
interface Status {
  readonly status: string;
  readonly snapshot_version: number;
  readonly hosts: readonly HostRow[];
}

describe.skipIf(!reachable.postgres || !reachable.redis)('two servers, two agents and three hosts', () => {
  let cluster: Cluster;
  let one: Programs;
  let other: Programs;
  let hosts: Member[] = [];
  let agents: (Member & { readonly url: string })[] = [];
  let names = 0;

  const told = () =>
    [one, other].map((server) => server.output().slice(-2_000)).join('\n---\n') +
    hosts.map((host) => host.output().slice(-800)).join('\n---\n');
  const eventually = (condition: () => Promise<boolean> | boolean) => until(condition, told);
  const status = (server: Programs) => server.api<Status>('GET', '/deploy/status');
  /** Every server says that so many hosts serve what is active. */
  const settled = (count = HOST_COUNT) =>
    eventually(async () => {
      for (const server of cluster.servers) {
        const { hosts: rows, snapshot_version } = await status(server);
        if (rows.length !== count || rows.some((row) => row.snapshot_version !== snapshot_version)) return false;
      }
      return true;
    });
  const change = (server: Programs, settings: object = { server_name: `Cluster ${++names}` }) =>
    server.api('PATCH', '/server/config', settings);
  const deploy = (server: Programs) => server.api<Receipt>('POST', '/deploy', {});
  const slowest = ({ hosts: acks }: Receipt) => Math.max(...acks.map(({ acked_ms }) => acked_ms ?? Number.POSITIVE_INFINITY));
  const served = async (url: string, headers: Record<string, string> = {}) => {
    const client = await connectClient('v2', `${url}/mcp`, headers);
    const { structuredContent } = await client.call('search_products', { text: 'l', limit: 3 });
    await client.close();
    return structuredContent?.['rows'];
  };
  const versionOf = async ({ url }: HostRow) =>
    ((await (await fetch(`${url}/health`)).json()) as { snapshot_version: number }).snapshot_version;

  beforeAll(async () => {
    cluster = await startCluster(10);
    one = await cluster.startServer();
    await one.demo();
    other = await cluster.startServer();
    await one.signIn();
    await other.signIn();
    agents = [await cluster.startAgent(), await cluster.startAgent()];
    hosts = Array.from({ length: HOST_COUNT }, () => cluster.startHost());
    await settled();
  }, 90_000);
  afterAll(() => cluster.stop(), 30_000);

  test('a deploy of either server reaches every host, and its receipt holds every answer', async () => {
    // Both servers have some, or it would be no proof.
    const connected = [one, other].map((server) => server.output().match(/host connected/g)?.length ?? 0);
    expect(Math.min(...connected)).toBeGreaterThan(0);
    const times: number[] = [];
    for (let turn = 0; turn < DEPLOYS; turn++) {
      const server = turn % 2 === 0 ? one : other;
      await change(server);
      const receipt = await deploy(server);
      expect(receipt.changed).toBe(true);
      // A busy machine checks fewer statements in time.
      expect(receipt.warnings.filter((warning) => !warning.includes('did not answer within'))).toEqual([]);
      expect(receipt.hosts.map(({ acked_ms, error }) => [acked_ms === null, error])).toEqual(
        receipt.hosts.map(() => [false, null]),
      );
      expect(receipt.hosts).toHaveLength(HOST_COUNT);
      for (const each of [one, other]) {
        const { hosts: rows, snapshot_version } = await status(each);
        expect(snapshot_version).toBe(receipt.snapshot_version);
        expect(await Promise.all(rows.map(versionOf))).toEqual(rows.map(() => receipt.snapshot_version));
      }
      times.push(slowest(receipt));
    }
    process.stdout.write(`deploys over ${HOST_COUNT} hosts of two servers: slowest answers after ${times.join(', ')} ms\n`);
    expect(Math.min(...times)).toBeLessThan(CONVERGES_MS);
    await settled();
    const [mine, theirs] = await Promise.all([one, other].map((server) => server.api<Status>('GET', '/server/health')));
    expect(mine?.hosts).toHaveLength(HOST_COUNT);
    expect(theirs?.hosts).toEqual(mine?.hosts ?? []);
    const origin = { address: '127.0.0.1', program_version: PRODUCT_VERSION };
    expect((await status(other)).hosts).toMatchObject(hosts.map(() => origin));
  }, 90_000);

  test('a stop and a start of one server are heard by all hosts', async () => {
    const { hosts: rows } = await status(one);
    await other.api('POST', '/deploy/stop', {});
    for (const { url } of rows) await eventually(async () => (await fetch(`${url}/mcp`, { method: 'POST' })).status === 503);
    expect((await status(one)).status).toBe('stopped');
    expect((await deploy(one)).hosts).toHaveLength(HOST_COUNT);
    for (const { url } of rows) expect(await served(url)).toHaveLength(3);
    await settled();
  }, 60_000);

  test('a call on any host is listed on both servers, and cancelled from the one without its host', async () => {
    const { items } = await one.api<{ items: { connection_id: string }[] }>('GET', '/tools');
    const sql_query =
      'with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000000) select count(*) as n from n';
    const slow = { name: 'count_long', description: 'Counts for a long time', sql_query, timeout_ms: 120_000 };
    await one.api('POST', '/tools', { connection_id: items[0]?.connection_id, ...slow });
    await deploy(one);
    await settled();
    const { hosts: rows } = await status(one);
    const clients = await Promise.all(rows.map(({ url }) => connectClient('v2', `${url}/mcp`)));
    const pending = clients.map((client) => client.call('count_long', {}));
    const running = async (server: Programs) =>
      (await server.api<{ items: { id: string; name: string }[] }>('GET', '/calls/running')).items.filter(
        ({ name }) => name === 'count_long',
      );
    for (const server of [one, other]) await eventually(async () => (await running(server)).length === HOST_COUNT);
    // Each server has hosts of its own, so one of them at least is told through Redis.
    for (const server of [one, other]) expect(server.output()).toContain('host connected');
    const calls = await running(other);
    for (const { id } of calls) await other.api('POST', `/calls/${id}/cancel`);
    const told_callers = await Promise.all(pending);
    expect(told_callers.map(({ content }) => content[0]?.text)).toEqual(calls.map(() => 'An administrator cancelled this call.'));
    for (const server of [one, other]) await eventually(async () => (await running(server)).length === 0);
    await Promise.all(clients.map((client) => client.close()));
  }, 120_000);

  test('a session of an administrator holds on both servers and ends on both at once', async () => {
    const account = JSON.stringify({ username: 'ada', password: 'correct horse' });
    const json = { 'content-type': 'application/json' };
    const login = await fetch(`${one.url}/api/v1/auth/login`, { method: 'POST', headers: json, body: account });
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const me = async (server: Programs) => (await fetch(`${server.url}/api/v1/auth/me`, { headers: { cookie } })).status;
    expect([await me(one), await me(other)]).toEqual([200, 200]);
    await fetch(`${other.url}/api/v1/auth/logout`, { method: 'POST', headers: { cookie } });
    expect([await me(one), await me(other)]).toEqual([401, 401]);
  });

  test('an agent token counts on both servers and agents together, and ends everywhere at once', async () => {
    await change(one, { agent_rate_limit: 6 });
    const { id, token } = await one.api<{ id: string; token: string }>('POST', '/agent-tokens', {
      name: 'Both',
      duration_minutes: 15,
    });
    const headers = { authorization: `Bearer ${token}` };
    const rest = (server: Programs) => fetch(`${server.url}/api/v1/tools`, { headers }).then((answer) => answer.status);
    const call = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_queue_metrics', arguments: {} },
    });
    const accept = 'application/json, text/event-stream';
    const mcp = (url: string) =>
      fetch(`${url}/agent-mcp/mcp`, {
        method: 'POST',
        headers: { ...headers, accept, 'content-type': 'application/json' },
        body: call,
      }).then(async (answer) => [answer.status, await answer.text()] as const);
    const fine = await Promise.all([rest(one), rest(other), rest(one), rest(other)]);
    expect(fine).toEqual([200, 200, 200, 200]);
    for (const { url } of agents) expect((await mcp(url))[0]).toBe(200);
    expect([await rest(one), await rest(other)]).toEqual([429, 429]);
    for (const { url } of agents) expect((await mcp(url))[0]).toBe(429);
    for (const server of [one, other]) {
      expect(await server.api('GET', '/agent-activity?success=true')).toMatchObject({ total: 6 });
    }
    await other.api('DELETE', `/agent-tokens/${id}`);
    expect([await rest(one), await rest(other)]).toEqual([401, 401]);
    for (const { url } of agents) expect((await mcp(url))[0]).toBe(401);
    await change(one, { agent_rate_limit: 120 });
  });

  test('any host goes on with the session that another one opened, until it ends there', async () => {
    const urls = (await status(one)).hosts.map(({ url }) => `${url}/mcp`);
    const post = (url: string, id: string | null, message: object) =>
      fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-06-18',
          ...(id === null ? {} : { 'mcp-session-id': id }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });
    const [first, second, third] = urls;
    if (first === undefined || second === undefined || third === undefined) throw new Error('There are three.');
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'Somebody', version: '1' } };
    const opened = await post(first, null, { id: 1, method: 'initialize', params });
    const id = opened.headers.get('mcp-session-id') ?? '';
    for (const url of urls) {
      expect((await post(url, id, { id: 2, method: 'tools/list' })).status).toBe(200);
      expect((await post(url, `${id.slice(0, -2)}xx`, { id: 3, method: 'tools/list' })).status).toBe(404);
    }
    expect((await fetch(third, { method: 'DELETE', headers: { 'mcp-session-id': id } })).status).toBe(204);
    expect((await post(third, id, { id: 4, method: 'tools/list' })).status).toBe(404);
  });

  test('an access token of any host is accepted by every host, and ends on all of them within a second', async () => {
    await change(one, { auth_type: 'bearer' });
    await deploy(one);
    const { id, token } = await one.api<{ id: string; token: string }>('POST', '/mcp-tokens', {
      name: 'Everywhere',
      all_toolsets: true,
    });
    const { hosts: rows } = await status(other);
    const bearer = { authorization: `Bearer ${token}` };
    const began = performance.now();
    for (const { url } of rows) await eventually(async () => (await served(url, bearer)) !== undefined);
    const created_ms = performance.now() - began;
    await other.api('DELETE', `/mcp-tokens/${id}`);
    const ended = performance.now();
    for (const { url } of rows) {
      await eventually(async () => (await fetch(`${url}/mcp`, { method: 'POST', headers: bearer })).status === 401);
    }
    process.stdout.write(
      `access token: good on all hosts after ${Math.round(created_ms)} ms, gone after ${Math.round(performance.now() - ended)} ms\n`,
    );
    await change(other, {
      auth_type: 'oauth_credentials',
      oauth_clients: [{ client_id: 'app', client_secret: 'a-secret-of-some-length' }],
    });
    await deploy(other);
    const issued = await fetch(`${rows[0]?.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'app', client_secret: 'a-secret-of-some-length' }),
    });
    const { access_token } = (await issued.json()) as { access_token: string };
    for (const { url } of rows) expect(await served(url, { authorization: `Bearer ${access_token}` })).toHaveLength(3);
    await change(one, { auth_type: 'none', oauth_clients: [] });
    await deploy(one);
    await settled();
  }, 60_000);

  test('figures and the live log of each server hold what every host did', async () => {
    const logs = await Promise.all([one, other].map(openLiveLog));
    const { hosts: rows } = await status(one);
    for (const { url } of rows) expect(await served(url)).toHaveLength(3);
    await change(one);
    await deploy(other);
    for (const log of logs) {
      for (const { id } of rows)
        await eventually(() => log.text().includes('snapshot_loaded') && log.text().includes(`"host":"${id}"`));
      await eventually(() => (log.text().match(/"message":"tool search_products"/g)?.length ?? 0) >= rows.length);
    }
    const completed = async (server: Programs) => {
      const { connections } = await server.api<{ connections: Record<string, { completed: number }> }>('GET', '/queue/metrics');
      return Object.values(connections).reduce((sum, queue) => sum + queue.completed, 0);
    };
    await eventually(async () => (await completed(one)) >= rows.length && (await completed(one)) === (await completed(other)));
    for (const log of logs) log.close();
  }, 60_000);

  test('a host killed during a deploy is not waited for, and a host that comes takes the active version', async () => {
    await change(one);
    const [victim] = hosts;
    const deploying = deploy(one);
    await victim?.kill('SIGKILL');
    const receipt = await deploying;
    expect(receipt.hosts.filter(({ acked_ms }) => acked_ms !== null).length).toBeGreaterThanOrEqual(HOST_COUNT - 1);
    await settled(HOST_COUNT - 1);
    hosts = [...hosts.slice(1), cluster.startHost()];
    await settled();
    for (const { url } of (await status(other)).hosts) expect(await served(url)).toHaveLength(3);
  }, 60_000);

  test('hosts of a server killed during a deploy go on, turn to the other one and receive its deploys', async () => {
    const { hosts: rows } = await status(other);
    await change(one);
    const deploying = deploy(one).then(
      () => 'answered',
      () => 'lost',
    );
    await one.stop('SIGKILL');
    await deploying;
    for (const { url } of rows) expect(await served(url)).toHaveLength(3);
    await eventually(async () => (await status(other)).hosts.length === HOST_COUNT);
    await change(other);
    const receipt = await deploy(other);
    expect(receipt.hosts.map(({ acked_ms }) => acked_ms === null)).toEqual([false, false, false]);
    one = await cluster.startServer(one);
    await one.signIn();
    // All are with the one that was left; new ones turn to both.
    await Promise.all(hosts.map((host) => host.kill('SIGKILL')));
    hosts = Array.from({ length: HOST_COUNT }, () => cluster.startHost());
    await settled();
  }, 90_000);

  test('without Redis everything goes on; what is told at once comes within seconds, and heals by itself', async () => {
    cluster.redis.use('refused');
    const reasons = async (server: Programs) =>
      (await (
        await fetch(`${server.url}/readyz`, { headers: { 'x-service-token': 'c'.repeat(16) + '0123456789abcdefg' } })
      ).json()) as {
        status: string;
        reasons: string[];
      };
    for (const server of [one, other]) await eventually(async () => (await reasons(server)).reasons.join().includes('Redis'));
    await change(one);
    const receipt = await deploy(other);
    expect(receipt.hosts.map(({ acked_ms }) => acked_ms === null)).toEqual([false, false, false]);
    process.stdout.write(`without Redis: slowest answer after ${slowest(receipt)} ms\n`);
    await settled();
    const { id, token } = await one.api<{ id: string; token: string }>('POST', '/agent-tokens', {
      name: 'Alone',
      duration_minutes: 15,
    });
    const rest = (server: Programs) =>
      fetch(`${server.url}/api/v1/tools`, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.status);
    expect([await rest(one), await rest(other)]).toEqual([200, 200]);
    expect(await one.api('GET', '/agent-activity?success=true&limit=2')).toMatchObject({
      items: [{ token_name: 'Alone' }, { token_name: 'Alone' }],
    });
    await other.api('DELETE', `/agent-tokens/${id}`);
    expect([await rest(one), await rest(other)]).toEqual([401, 401]);
    for (const { url } of (await status(one)).hosts) expect(await served(url)).toHaveLength(3);
    cluster.redis.use('none');
    for (const server of [one, other]) await eventually(async () => (await reasons(server)).status === 'ready');
    // What comes by Redis alone comes again.
    const logs = await Promise.all([one, other].map(openLiveLog));
    await change(other);
    const healed = await deploy(one);
    expect(healed.hosts.map(({ acked_ms }) => acked_ms === null)).toEqual([false, false, false]);
    await settled();
    for (const log of logs) {
      for (const { id: host } of healed.hosts) await eventually(() => log.text().includes(`"host":"${host}"`));
      log.close();
    }
  }, 90_000);
});

interface LiveLog {
  text(): string;
  close(): void;
}

/** What the live log of a server says from now on. */
async function openLiveLog(server: Programs): Promise<LiveLog> {
  const account = JSON.stringify({ username: 'ada', password: 'correct horse' });
  const login = await fetch(`${server.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: account,
  });
  const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const ends = new AbortController();
  const { body } = await fetch(`${server.url}/api/v1/deploy/logs?since=${new Date().toISOString()}`, {
    headers: { cookie },
    signal: ends.signal,
  });
  let text = '';
  void (async () => {
    for await (const chunk of body ?? []) text += Buffer.from(chunk).toString();
  })().catch(() => undefined);
  return { text: () => text, close: () => ends.abort() };
}
