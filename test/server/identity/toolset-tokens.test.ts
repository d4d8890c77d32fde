import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { modern, type TestHost, testHost } from '#test/mcp-host/support.ts';
import { freePort } from '#test/support/free-port.ts';
import { paced } from '#test/support/paced.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

let s: ListeningServer;
let host: TestHost;
const ids: Record<string, string> = {};
const mcp_port = freePort();

beforeAll(async () => {
  s = await listeningServer(undefined, { SVC_ALLOW_PRIVATE_NETWORKS: 'true', SVC_FASTMCP_PORT: String(mcp_port) });
  await s.signIn();
  const databases = join(s.directory, 'databases');
  mkdirSync(databases, { recursive: true });
  new Database(join(databases, 'shop.sqlite'), { create: true }).run('create table products (id integer)');
  host = await testHost(databases, s.url, {
    service_token: s.service_token,
    openSecret: (sealed, place) => s.server.app.keyring.open(sealed, place),
    auth: {
      tokens: { read: () => Promise.resolve(null), write: () => Promise.resolve() },
      keys: s.server.app.env.SVC_ENCRYPTION_KEY,
      public_url: null,
      ask: () => Promise.reject(new Error('nobody is asked')),
    },
  });
  await make('connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  for (const [name, tags] of [
    ['orders', ['sales']],
    ['salaries', ['people']],
  ] as const) {
    await make('tools', { connection_id: ids['shop'], name, description: `The ${name}`, sql_query: 'select 1 as one', tags });
  }
  await make('toolsets', { name: 'sales', include: { tags: ['sales'] }, instructions: 'Orders of this shop.' });
  await make('toolsets', { name: 'people', include: { tags: ['people'] } });
  await until(() => s.server.app.hosts.list().length > 0);
  await s.call('config.update', { mcp_proxy: true, auth_type: 'bearer' });
  expect((await s.send('deploy.run')).status).toBe(200);
}, 60_000);
afterAll(async () => {
  await host.stop();
  await s.stop();
});

async function make(plural: string, body: object) {
  const answer = await s.api('POST', `/${plural}`, body);
  expect([answer.body, answer.status]).toEqual([answer.body, 201]);
  ids[String(answer.body['name'])] = String(answer.body['id']);
  return answer.body;
}
const toolsFor = async (token: unknown, path = ''): Promise<unknown> => {
  const { status, body } = await modern(
    new URL(`${s.url}/mcp${path}`),
    'tools/list',
    {},
    { authorization: `Bearer ${String(token)}` },
  );
  return status === 200 ? ((body.result?.['tools'] ?? []) as { name: string }[]).map(({ name }) => name).join(' ') : status;
};

test('a token sees its toolsets through the front port, and another change of it counts within a second', async () => {
  const token = await make('mcp-tokens', { name: 'desk', toolsets: ['sales'], claims: { sub: 'u1', region: 'north' } });
  expect(token).toMatchObject({ toolsets: ['sales'], claims: { sub: 'u1', region: 'north' } });
  await until(async () => (await toolsFor(token['token'])) === 'orders');
  expect(await toolsFor(token['token'], '/sales')).toBe('orders');
  expect([await toolsFor(token['token'], '/people'), await toolsFor(token['token'], '/none')]).toEqual([404, 404]);
  const began = performance.now();
  expect(await s.call('mcp_tokens.update', { id: String(token['id']), toolsets: ['people'], name: 'staff' })).toMatchObject({
    name: 'staff',
    toolsets: ['people'],
    claims: { region: 'north' },
  });
  await until(async () => (await toolsFor(token['token'])) === 'salaries');
  expect(performance.now() - began).toBeLessThan(paced(1_000));
  await s.call('mcp_tokens.update', { id: String(token['id']), toolsets: null, all_toolsets: true });
  await until(async () => (await toolsFor(token['token'])) === 'orders salaries');
  const history = (await s.call('history.list', { entity_type: 'mcp_token' })).items;
  expect(history.map(({ action }) => action)).toEqual(['update', 'update', 'create']);
  expect(history[1]?.changes).toMatchObject({ toolsets: { old: ['sales'], new: ['people'] } });

  const client = new Client({ name: 'c', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${String(token['token'])}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${s.url}/mcp/sales`), { requestInit }));
  expect(client.getInstructions()).toBe('Orders of this shop.');
  expect((await client.callTool({ name: 'orders', arguments: {} })).isError).toBeFalsy();
  await client.close();
});

test('what is wrong with the toolsets or claims of a token is refused', async () => {
  const statusOf = async (body: object) => (await s.send('mcp_tokens.create', { name: 'x', toolsets: [], ...body })).status;
  expect(await statusOf({ toolsets: ['nowhere'] })).toBe(422);
  expect(await statusOf({ toolsets: ['oauth'] })).toBe(422);
  expect(await statusOf({ toolsets: 'sales' })).toBe(422);
  expect(await statusOf({ claims: { text: 'x'.repeat(4_096) } })).toBe(422);
  expect(await statusOf({ claims: { sub: 1 } })).toBe(422);
  expect(await statusOf({ claims: { groups: 'one' } })).toBe(422);
  expect(await statusOf({ claims: { a: { b: { c: { d: { e: { f: {} } } } } } } })).toBe(422);
  expect((await s.send('mcp_tokens.update', { id: crypto.randomUUID(), name: 'x' })).status).toBe(404);
  const token = await make('mcp-tokens', { name: 'short', toolsets: ['sales'] });
  const at = `/mcp-tokens/${String(token['id'])}`;
  expect((await s.send('mcp_tokens.update', { id: String(token['id']), toolsets: ['nowhere'] })).status).toBe(422);
  // A toolset that went may stay in the list: it gives nothing.
  const gone = await make('toolsets', { name: 'gone' });
  await s.call('mcp_tokens.update', { id: String(token['id']), toolsets: ['sales', 'gone'] });
  await s.call('toolsets.delete', { id: String(gone['id']) });
  expect((await s.send('mcp_tokens.update', { id: String(token['id']), toolsets: ['gone'] })).status).toBe(200);
  await s.call('mcp_tokens.delete', { id: String(token['id']) });
  expect((await s.send('mcp_tokens.update', { id: String(token['id']), name: 'y' })).status).toBe(409);
  const anonymous = await fetch(`${s.url}/api/v1${at}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  expect(anonymous.status).toBe(401);
});

test('an OAuth client sees its toolsets, and a token for the address of a toolset sees that one alone', async () => {
  const oauth_clients = [
    { client_id: 'robot', client_secret: 'secret of the robot', toolsets: ['sales', 'people'], claims: { tier: 2 } },
  ];
  const wrong = await s.send('config.update', {
    auth_type: 'oauth_credentials',
    oauth_clients: [{ ...oauth_clients[0], toolsets: ['no'] }],
  });
  expect(wrong.status).toBe(422);
  await s.call('config.update', { auth_type: 'oauth_credentials', oauth_clients });
  const shown = (await s.call('config.update', { oauth_clients: [{ client_id: 'robot' }] })).oauth_clients;
  expect(shown).toEqual([{ client_id: 'robot', secret_set: true, toolsets: ['sales', 'people'], claims: { tier: 2 } }]);
  expect((await s.send('deploy.run')).status).toBe(200);
  const tokenFor = async (resource?: string) => {
    const response = await fetch(`${s.url}/mcp/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'robot',
        client_secret: 'secret of the robot',
        ...(resource === undefined ? {} : { resource }),
      }),
    });
    return ((await response.json()) as { access_token?: string }).access_token ?? response.status;
  };
  const whole = await tokenFor();
  expect([await toolsFor(whole), await toolsFor(whole, '/people')]).toEqual(['orders salaries', 'salaries']);
  const narrow = await tokenFor(`${s.url}/mcp/sales`);
  expect([await toolsFor(narrow), await toolsFor(narrow, '/sales'), await toolsFor(narrow, '/people')]).toEqual([
    'orders',
    'orders',
    404,
  ]);
  expect(await tokenFor(`${s.url}/mcp/oauth`)).toBe(400);
  const metadata = await fetch(`${s.url}/.well-known/oauth-protected-resource/mcp/sales`);
  expect(await metadata.json()).toMatchObject({ resource: `${s.url}/mcp/sales` });
});
