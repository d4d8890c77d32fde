import { beforeEach, describe, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { connection, ENVELOPE, modern, parameterOf, resourceOf, rpc, snapshotOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

let version = 0;
beforeEach(() => {
  version = 0;
});
const { control, host } = useHost('each');

interface Definitions {
  readonly all?: string;
  readonly pool_key?: string;
  readonly hello?: string;
  readonly skill?: string;
}
/** Two resources and a template, of which one thing or another is new. */
const deployDefinitions = ({
  all = 'select name from customers',
  pool_key = 'sha256:first',
  hello = 'Hello',
  skill,
}: Definitions = {}) => {
  const over = { ...connection, pool_key };
  const id = (n: number) => ({ id: `00000000-0000-7000-8000-00000000000${n}` });
  return control.deploy(
    snapshotOf(++version, {
      connections: [over],
      resources: [
        resourceOf(over, 'db://customers', all, { ...id(1), name: 'all' }),
        resourceOf(over, 'db://customers/{id}', 'select name from customers where id = :id', {
          ...id(2),
          name: 'one',
          parameters: [parameterOf('id', 'string')],
        }),
        resourceOf(over, 'db://greeting', 'select 1 as one', {
          ...id(3),
          name: 'greeting',
          mime_type: 'text/plain',
          transform_template: '{{ vars.hello }}',
        }),
      ],
      server: { global_variables: { hello }, ...(skill !== undefined && { skill }) },
    }),
  );
};

beforeEach(() => deployDefinitions());

// The first is another form of the address, which names the same resource.
const URIS = ['DB://customers/%32', 'db://customers', 'db://greeting'];
/** A client that follows all of them, and what it has heard since it was last asked. */
interface Follower {
  heard(): string[];
  close(): Promise<void>;
}

const FOLLOWERS: [string, () => Promise<Follower>][] = [
  [
    'the v1 client',
    async () => {
      const client = new LegacyClient({ name: 'legacy', version: '1' });
      const uris: string[] = [];
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void uris.push(params.uri));
      await client.connect(new LegacyTransport(host.mcp));
      for (const uri of URIS) await client.subscribeResource({ uri });
      await until(async () => (await host.health()).streams === 1);
      return { heard: () => uris.splice(0), close: () => client.close() };
    },
  ],
  [
    'the v2 client in the stateless revision',
    async () => {
      const client = new ModernClient({ name: 'modern', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
      const uris: string[] = [];
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => void uris.push(params.uri));
      await client.connect(new ModernTransport(host.mcp));
      await client.listen({ resourceSubscriptions: URIS });
      return { heard: () => uris.splice(0), close: () => client.close() };
    },
  ],
];

describe.each(FOLLOWERS)('%s', (_, follow) => {
  test('hears of a deploy that changes a resource it follows, and of no other', async () => {
    const follower = await follow();
    const hears = async (change: Definitions, uris: readonly string[]) => {
      const heard: string[] = [];
      await deployDefinitions(change);
      await until(() => {
        heard.push(...follower.heard());
        return heard.length >= uris.length;
      });
      expect(heard.toSorted()).toEqual([...uris]);
    };
    const all = 'select id, name from customers';
    await hears({ all }, ['db://customers']);
    await hears({ all, hello: 'Good day' }, ['db://greeting']);
    await hears({ all, hello: 'Good day', pool_key: 'sha256:second' }, URIS);
    await follower.close();
  });
});

describe('a session', () => {
  const open = async () => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const { headers } = await rpc(host.mcp, { id: 1, method: 'initialize', params });
    return { 'mcp-session-id': headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' };
  };

  test('hears on its next stream of what changed while it had none', async () => {
    const session = await open();
    const subscribe = { id: 2, method: 'resources/subscribe', params: { uri: 'db://customers' } };
    expect((await rpc(host.mcp, subscribe, session)).body.result).toEqual({});
    await deployDefinitions({ all: 'select 1 as one' });
    const stream = await fetch(host.mcp, { headers: { ...session, accept: 'text/event-stream' } });
    const reader = stream.body?.getReader();
    let text = '';
    while (!text.includes('}}\n')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
    await reader?.cancel();
    expect(text).toContain('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"db://customers"}}');
  });

  test('hears again on its next stream of what may have been lost with its connection, once', async () => {
    const session = await open();
    await rpc(host.mcp, { id: 2, method: 'resources/subscribe', params: { uri: 'db://customers' } }, session);
    const listen = async () => {
      const response = await fetch(host.mcp, { headers: { ...session, accept: 'text/event-stream' } });
      const text = response.text();
      return { text, leave: () => response.body?.cancel() };
    };
    const heard = (text: string) => [...text.matchAll(/"method":"notifications\/([\w/]+)"/g)].map(([, method]) => method);
    // Nobody can tell whether its reader is there.
    const lost = await listen();
    await deployDefinitions({ all: 'select 1 as one' });
    const next = await listen();
    expect(heard(await lost.text)).toEqual(['resources/updated']);
    const last = await listen();
    expect(heard(await next.text)).toEqual(['resources/updated']);
    await rpc(host.mcp, { id: 3, method: 'resources/unsubscribe', params: { uri: 'db://customers' } }, session);
    await deployDefinitions({ all: 'select 2 as one' });
    await rpc(host.mcp, { id: 2, method: 'resources/subscribe', params: { uri: 'db://customers' } }, session);
    control.send('stop', {});
    expect(heard(await last.text)).toEqual(['tools/list_changed', 'resources/list_changed', 'prompts/list_changed']);
  });

  test('may unsubscribe, and follows only what there is', async () => {
    const session = await open();
    const send = (method: string, params: object) => rpc(host.mcp, { id: 2, method, params }, session);
    expect((await send('resources/subscribe', { uri: 'db://nothing' })).body).toMatchObject({ error: { code: -32_002 } });
    expect((await send('resources/subscribe', { uri: `db://customers/${'1'.repeat(5_000)}` })).body).toMatchObject({
      error: { code: -32_602 },
    });
    expect((await send('resources/subscribe', {})).body).toMatchObject({ error: { code: -32_602 } });
    expect((await send('resources/subscribe', { uri: 'db://customers/2' })).body).toMatchObject({ result: {} });
    expect((await send('resources/unsubscribe', { uri: 'db://customers/2' })).body).toMatchObject({ result: {} });
    expect((await send('resources/unsubscribe', { uri: 'db://nothing' })).body).toMatchObject({ result: {} });
    const long = (n: number) => send('resources/subscribe', { uri: `db://customers/${n}${'1'.repeat(4_000)}` });
    for (let n = 0; n < 12; n++) expect((await long(n)).body).toMatchObject({ result: {} });
    expect((await long(12)).body).toMatchObject({
      error: { code: -32_602, message: expect.stringContaining('50000 characters') },
    });
    for (let n = 0; n < 12; n++) {
      await send('resources/unsubscribe', { uri: `db://customers/${n}${'1'.repeat(4_000)}` });
    }
    for (let n = 0; n < 200; n++) await send('resources/subscribe', { uri: `db://customers/${n}` });
    expect((await send('resources/subscribe', { uri: 'db://customers/200' })).body).toMatchObject({
      error: { code: -32_602, message: expect.stringContaining('200') },
    });
    expect((await rpc(host.mcp, { id: 3, method: 'resources/subscribe', params: { uri: 'db://customers' } })).body).toMatchObject(
      {
        error: { code: -32_600 },
      },
    );
  });
});

test('a subscription to what there is not is refused by name, and the skill is there', async () => {
  await deployDefinitions({ skill: 'Ask for customers by name.' });
  const { body: listed } = await modern(host.mcp, 'resources/list');
  const { resources } = listed.result as unknown as { resources: { uri: string }[] };
  const skill = resources.map(({ uri }) => uri).find((uri) => uri.startsWith('skill:'));
  const filter = (...uris: unknown[]) => ({ notifications: { toolsListChanged: true, resourceSubscriptions: uris } });
  const { body } = await modern(host.mcp, 'subscriptions/listen', filter('db://customers', 'db://nothing'));
  const read = await modern(host.mcp, 'resources/read', { uri: 'db://nothing' });
  expect(body.error).toMatchObject({ code: -32_602, message: 'Resource not found.', data: { uri: 'db://nothing' } });
  expect(body.error).toEqual(read.body.error);
  const client = new ModernClient({ name: 'modern', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const uris: string[] = [];
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void uris.push(params.uri));
  await client.connect(new ModernTransport(host.mcp));
  await client.listen({ resourceSubscriptions: [skill ?? '', 'db://customers'] });
  await deployDefinitions({ skill: 'Ask for customers by number.' });
  await until(() => uris.length > 0);
  expect(uris).toEqual([skill ?? '']);
  await client.close();
});

test('one caller follows so many resources, in all its sessions and subscriptions', async () => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
  const uris = (from: number) => Array.from({ length: 200 }, (_, n) => `db://customers/${from + n}`);
  const listeners: AbortController[] = [];
  // A response that nobody holds is collected, and its stream ends.
  const streams: Response[] = [];
  const listen = async (resourceSubscriptions: readonly string[]): Promise<string> => {
    const end = new AbortController();
    listeners.push(end);
    const response = await fetch(host.mcp, {
      method: 'POST',
      signal: end.signal,
      headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: { _meta: ENVELOPE, notifications: { resourceSubscriptions } },
      }),
    });
    if (response.headers.get('content-type') === 'text/event-stream') {
      streams.push(response);
      return 'open';
    }
    return ((await response.json()) as { error: { message: string } }).error.message;
  };
  const { headers } = await rpc(host.mcp, { id: 1, method: 'initialize', params });
  const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' };
  const subscribe = async (uri: string) =>
    (await rpc(host.mcp, { id: 2, method: 'resources/subscribe', params: { uri } }, session)).body;
  expect(await subscribe('db://customers')).toMatchObject({ result: {} });
  for (let n = 0; n < 49; n++) expect(await listen(uris(n * 200))).toBe('open');
  const refusal = 'A caller can subscribe to 10000 resources. Unsubscribe from some first.';
  expect(await listen(uris(0))).toBe(refusal);
  expect(await listen(uris(0).slice(1))).toBe('open');
  expect(await subscribe('db://greeting')).toMatchObject({ error: { code: -32_602, message: refusal } });
  expect(await subscribe('db://customers')).toMatchObject({ result: {} });
  expect(streams).toHaveLength(50);
  for (const end of listeners) end.abort();
  await until(async () => (await host.health()).streams === 0);
  expect(await subscribe('db://greeting')).toMatchObject({ result: {} });
});

test.each([
  ['db://x'],
  [['db://x', 1]],
  [Array.from({ length: 201 }, (_, n) => `db://${n}`)],
  [[`db://${'x'.repeat(5_000)}`]],
  [Array.from({ length: 13 }, (_, n) => `db://${n}${'x'.repeat(4_000)}`)],
])('a subscription to what is no list of URIs, or too long, is refused', async (resourceSubscriptions) => {
  const { body } = await modern(host.mcp, 'subscriptions/listen', { notifications: { resourceSubscriptions } });
  expect(body).toMatchObject({ error: { code: -32_602, message: expect.stringContaining('resourceSubscriptions') } });
});
