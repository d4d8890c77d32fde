import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { pruneUsage } from '#core/control-plane/control-plane.ts';
import { callTool, rpc } from '#test/mcp-host/support.ts';
import { stage } from '#test/server/deploy/candidate-support.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';
import { until } from '#test/support/until.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

describe.each([...namedStores])('revisions that clients used in %s', (metadata) => {
  let t: TestApp;
  let seq = 0;
  beforeEach(async () => {
    seq = 0;
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
  });
  afterEach(() => t.close());

  const MINUTE = 60_000;
  const start = Date.parse('2026-03-01T08:00:00.000Z');
  const at = (minute: number) => new Date(start + minute * MINUTE).toISOString();
  const call = (minute: number, client: string | null, protocol_version?: string): Partial<Call> => ({
    kind: 'tool',
    name: 'orders',
    client,
    ...(protocol_version !== undefined && { protocol_version }),
    timestamp: at(minute),
    duration_ms: 1,
    wait_ms: 0,
    rows: 0,
    bytes: 0,
  });
  const store = async (calls: readonly Partial<Call>[], over: object = {}) => {
    const body = { boot_id: 'boot', seq: ++seq, ...toBatch(calls), ...over };
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    expect((await t.request('POST', '/api/internal/hosts/h1/usage', { body, headers })).status).toBe(204);
  };
  const versions = (input: object = {}) => t.call('clients.versions', input);

  test('a visitor cannot list them, and an unknown revision is refused', async () => {
    expect((await t.send('clients.versions', {}, { anonymous: true })).status).toBe(401);
    expect((await t.request('GET', '/api/v1/clients/versions?below=2020-01-01')).status).toBe(422);
    expect(await versions()).toEqual({ items: [], total: 0 });
  });

  test('each client is listed with each revision, from its first call or list to its last', async () => {
    await store([call(1, 'claude-code/2.1', '2025-03-26'), call(5, 'claude-code/2.1', '2025-03-26')]);
    await store([call(9, 'claude-code/2.1', '2025-11-25'), call(7, 'acme/tools/3', '2026-07-28')], {
      lists: [
        {
          client: 'claude-code/2.1',
          protocol_version: '2025-03-26',
          timestamp: start + 8 * MINUTE,
          method: 'tools/list',
          duration_ms: 1,
        },
      ],
    });
    expect(await versions()).toEqual({
      items: [
        { client: 'claude-code', version: '2.1', protocol_version: '2025-11-25', first_at: at(9), last_at: at(9) },
        { client: 'claude-code', version: '2.1', protocol_version: '2025-03-26', first_at: at(1), last_at: at(8) },
        { client: 'acme/tools', version: '3', protocol_version: '2026-07-28', first_at: at(7), last_at: at(7) },
      ],
      total: 3,
    });
    expect(await versions({ limit: 1, skip: 1 })).toMatchObject({ items: [{ protocol_version: '2025-03-26' }], total: 3 });
  });

  test('`below` lists whom a minimum version would refuse', async () => {
    await store([call(1, 'old/1', '2024-11-05'), call(2, 'middle/1', '2025-06-18'), call(3, 'new/1', '2026-07-28')]);
    const refused = async (below: string) => (await versions({ below })).items.map(({ client }) => client);
    expect(await refused('2024-11-05')).toEqual([]);
    expect(await refused('2025-06-18')).toEqual(['old']);
    expect(await refused('2026-07-28')).toEqual(['middle', 'old']);
  });

  test('a client without a name or version is listed, and one whose host does not report revisions is not', async () => {
    await store([call(1, null, '2025-03-26'), call(2, 'nameless'), call(3, 'plain', '2025-06-18')]);
    expect((await versions()).items.map(({ client, version }) => [client, version])).toEqual([
      ['plain', null],
      [null, null],
    ]);
  });

  test('a busy client is written at most once a minute, and an earlier time never replaces a later one', async () => {
    await store([call(10, 'busy/1', '2025-06-18')]);
    await store([{ ...call(10, 'busy/1', '2025-06-18'), timestamp: new Date(start + 10 * MINUTE + 30_000).toISOString() }]);
    expect((await versions()).items).toMatchObject([{ first_at: at(10), last_at: at(10) }]);
    await store([call(12, 'busy/1', '2025-06-18')]);
    await store([call(2, 'busy/1', '2025-06-18')]);
    expect((await versions()).items).toMatchObject([{ last_at: at(12) }]);
  });

  test('names that callers make up take the place of the oldest, and rows end after 90 days', async () => {
    await store([call(0, 'first/1', '2025-06-18')]);
    const made_up = (from: number) => Array.from({ length: 700 }, (_, n) => call(1 + from, `made-up-${from}-${n}`, '2025-06-18'));
    await store(made_up(0));
    await store(made_up(1));
    const { total, items } = await versions();
    expect(total).toBeLessThanOrEqual(1_000);
    expect(items[0]?.client).toStartWith('made-up-1-');
    expect((await t.request('GET', '/api/v1/clients/versions?limit=100&skip=900')).body).not.toMatchObject({ items: [] });
    await store([call(5, 'lasting/1', '2025-06-18')]);
    t.advance(89 * 24 * 60 * MINUTE);
    await pruneUsage(t.app);
    await t.signIn();
    expect((await versions()).items[0]?.client).toBe('lasting');
    t.advance(2 * 24 * 60 * MINUTE);
    await pruneUsage(t.app);
    await t.signIn();
    expect((await versions()).total).toBe(0);
  });
});

test('a host reports the revision of calls and lists, of official clients and of raw requests', async () => {
  const s = await stage();
  try {
    const { mcp } = s.hosts[0]!;
    const client = new Client({ name: 'official', version: '1.2' });
    await client.connect(new StreamableHTTPClientTransport(mcp));
    await client.callTool({ name: 'ledger', arguments: {} });
    await client.close();
    await callTool(mcp, 'ledger');
    // Without a session and a header, a request counts as the revision that had none.
    await rpc(mcp, { id: 1, method: 'tools/list', params: {} });
    const { Client: NextClient, StreamableHTTPClientTransport: NextTransport } = await import('@modelcontextprotocol/client');
    const next = new NextClient({ name: 'next', version: '2' });
    await next.connect(new NextTransport(mcp));
    await next.listTools();
    await next.close();
    const seen = async () =>
      (await s.t.call('clients.versions', {})).items
        .map(({ client: name, protocol_version }) => `${name} ${protocol_version}`)
        .toSorted();
    await until(async () => (await seen()).length >= 4);
    expect(await seen()).toEqual(['next 2025-11-25', 'null 2025-03-26', 'official 2025-11-25', 'raw 2026-07-28']);
  } finally {
    await s.close();
  }
});
