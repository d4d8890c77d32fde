import { expect, test } from 'bun:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { connectionOf, modern, promptOf, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { liveToken, tokenText, toolsetOf } from './toolsets-support.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('each');
const shop = connectionOf({});
const tools = ['orders', 'salaries'].map((name) => toolOf(shop, name, 'select 1 as n', { tags: [name] }));
const toolsets = [toolsetOf('orders', { tags: ['orders'] }), toolsetOf('salaries', { tags: ['salaries'] })];

const deployServer = (server: object) =>
  control.deploy(snapshotOf(1, { connections: [shop], tools, prompts: [promptOf('greet', 'Hello')], toolsets, server }));

test('over SSE a token sees its toolsets, and what it is given later', async () => {
  await deployServer({ transport: 'sse', auth_type: 'bearer' });
  const token = await liveToken(tokenText(1), ['orders']);
  control.send('tokens', { tokens: [token] });
  await until(async () => (await host.health()).access_tokens.as_of !== null);
  const authorization = `Bearer ${tokenText(1)}`;
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(
    new SSEClientTransport(new URL('/sse', host.mcp), {
      eventSourceInit: { fetch: (url, init) => fetch(url, { ...init, headers: { ...init?.headers, authorization } }) },
      requestInit: { headers: { authorization } },
    }),
  );
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  expect(await names()).toEqual(['orders']);
  expect((await client.listPrompts()).prompts).toEqual([]);
  expect(client.callTool({ name: 'salaries' })).rejects.toThrow('Unknown tool.');
  control.send('tokens', { tokens: [{ ...token, toolsets: ['salaries'] }] });
  await until(async () => (await names()).join() === 'salaries');
  await client.close();
});

test('the peer on standard input sees everything, whatever toolsets there are', async () => {
  await deployServer({ auth_type: 'bearer' });
  const answers: string[] = [];
  const bridge = host.host.connect((text) => answers.push(text));
  await bridge.take({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
  expect(answers.join()).toContain('"name":"orders"');
  expect(answers.join()).toContain('"name":"salaries"');
  bridge.close();
});

test('without authentication every address is open, and lists may be shared', async () => {
  await deployServer({ auth_type: 'none' });
  const at = async (path: string) => (await modern(new URL(`/mcp${path}`, host.mcp), 'tools/list')).body.result;
  expect(await at('')).toMatchObject({ cacheScope: 'public', tools: [{ name: 'orders' }, { name: 'salaries' }] });
  expect(await at('/salaries')).toMatchObject({ tools: [{ name: 'salaries' }] });
  expect((await modern(new URL('/mcp/nowhere', host.mcp), 'tools/list')).status).toBe(404);
});

test('a caller whose token another server issued has the toolsets that its scopes name', async () => {
  const issuer = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const token = new URLSearchParams(await request.text()).get('token') ?? '';
      return Response.json({ active: true, sub: token, scope: token.replaceAll('.', ' ') });
    },
  });
  try {
    const server = {
      auth_type: 'oauth_introspection' as const,
      introspection_url: `http://127.0.0.1:${issuer.port}/introspect`,
      introspection_cache_ttl_seconds: 60,
    };
    await deployServer(server);
    const names = async (token: string, path = '') => {
      const headers = { authorization: `Bearer ${token}` };
      const { status, body } = await modern(new URL(`/mcp${path}`, host.mcp), 'tools/list', {}, headers);
      return status === 200 ? ((body.result?.['tools'] ?? []) as { name: string }[]).map(({ name }) => name).join(' ') : status;
    };
    expect([await names('orders.openid'), await names('salaries.orders'), await names('other')]).toEqual([
      'orders',
      'orders salaries',
      '',
    ]);
    expect([await names('orders', '/orders'), await names('orders', '/salaries')]).toEqual(['orders', 404]);
    // What is remembered of a token goes with the toolsets of now.
    await control.deploy(
      snapshotOf(2, { connections: [shop], tools, toolsets: [toolsetOf('other', { tags: ['salaries'] })], server }),
    );
    expect([await names('orders.openid'), await names('other')]).toEqual(['', 'salaries']);
    await control.deploy(snapshotOf(3, { connections: [shop], tools, server }));
    expect(await names('other')).toBe('orders salaries');
  } finally {
    await issuer.stop(true);
  }
});
