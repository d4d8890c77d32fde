import { beforeEach, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { Client as ModernClient, SSEClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { FrozenServer, FrozenTool } from '#snapshots/format/format.ts';
import { readEvents } from '#mcp-host/protocol/events.ts';
import { connection, modern, snapshotOf, toolOf } from '../support.ts';
import { liveToken } from '../toolsets/toolsets-support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
let version = 0;
beforeEach(() => {
  version = 0;
});
const { control, host, closing } = useHost('each');

const LARGE = 'select hex(randomblob(1000000)) as text';
const deployServer = (server: Partial<FrozenServer> = {}, more: FrozenTool[] = []) => {
  version++;
  return control.deploy(
    snapshotOf(version, {
      connections: [connection],
      tools: [toolOf(connection, `tool_${version}`, 'select 1 as one'), toolOf(connection, 'endless', ENDLESS), ...more],
      server: { transport: 'sse', ...server },
    }),
  );
};

beforeEach(() => deployServer());

async function connectClient(heard: () => void = () => undefined): Promise<LegacyClient> {
  const client = new LegacyClient({ name: 'sse', version: '1' });
  client.setNotificationHandler(ToolListChangedNotificationSchema, heard);
  await client.connect(new SSEClientTransport(new URL('/sse', host.mcp)));
  closing.push(() => client.close());
  return client;
}

/** A raw stream: where its messages go, and what came over it so far. */
async function open(headers: Record<string, string> = {}) {
  const end = new AbortController();
  const response = await fetch(new URL('/sse', host.mcp), { headers, signal: end.signal });
  const events: [string, string][] = [];
  let ended = false;
  if (response.body !== null && response.ok) {
    void readEvents(response.body, (event, data) => events.push([event, data]))
      .catch(() => undefined)
      .finally(() => {
        ended = true;
      });
    await until(() => events.length > 0);
    closing.push(() => end.abort());
  }
  return {
    status: response.status,
    events,
    ended: () => ended,
    leave: () => end.abort(),
    address: events[0]?.[1] ?? '/messages',
  };
}
const postTo = async (address: string, body: string | object, headers: Record<string, string> = {}) =>
  (
    await fetch(new URL(address, host.mcp), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
  ).status;

describe('the official client', () => {
  test('lists, calls, hears of a deploy, and lists again', async () => {
    let heard = 0;
    const client = await connectClient(() => void heard++);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['endless', 'tool_1']);
    expect(await client.callTool({ name: 'tool_1' })).toMatchObject({ structuredContent: { rows: [{ one: 1 }] } });
    expect(await client.callTool({ name: 'nothing' }).catch((error: unknown) => error)).toMatchObject({ code: -32_602 });
    await deployServer();
    await until(() => heard === 1);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['endless', 'tool_2']);
  });

  test('has its calls cancelled when it leaves, and leaves nothing behind', async () => {
    const client = await connectClient();
    await until(async () => (await host.health()).streams === 2);
    const call = client.callTool({ name: 'endless' }).catch(() => null);
    await until(async () => (await host.health()).connections[0]?.queue.active === 1);
    await client.close();
    await until(async () => (await host.health()).connections[0]?.queue.active === 0);
    await until(async () => (await host.health()).sessions === 0 && (await host.health()).streams === 0);
    await call;
  });
});

describe.each([
  ['with an initialize handshake', {}],
  ['in the stateless revision', { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const],
])('the official v2 client %s', (_, options) => {
  test('lists, calls, hears of progress, cancels, hears of a deploy, and lists again', async () => {
    const client = new ModernClient({ name: 'sse', version: '2' }, options);
    let heard = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard++);
    await client.connect(new ModernTransport(new URL('/sse', host.mcp)));
    closing.push(() => client.close());
    if ('versionNegotiation' in options) await client.listen({ toolsListChanged: true });
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    expect(await names()).toEqual(['endless', 'tool_1']);
    expect(await client.callTool({ name: 'tool_1' })).toMatchObject({ structuredContent: { rows: [{ one: 1 }] } });
    const progress: number[] = [];
    const end = new AbortController();
    const told = { signal: end.signal, onprogress: ({ progress: figure }: { progress: number }) => progress.push(figure) };
    const call = client.callTool({ name: 'endless' }, told).catch(() => 'cancelled');
    await until(() => progress.length >= 2);
    expect(progress.slice(0, 2)).toEqual([0, 1]);
    end.abort();
    expect(await call).toBe('cancelled');
    await until(async () => (await host.health()).connections[0]?.queue.active === 0);
    await deployServer();
    await until(() => heard === 1);
    expect(await names()).toEqual(['endless', 'tool_2']);
  });
});

test('/mcp is served beside it', async () => {
  expect((await modern(host.mcp, 'tools/list')).status).toBe(200);
});

test('a message is accepted at once and answered over the stream', async () => {
  const { address, events } = await open();
  expect(events[0]).toEqual(['endpoint', expect.stringMatching(/^\/messages\?session_id=[\w-]{32}$/)]);
  expect(await postTo(address, { id: 1, method: 'ping' })).toBe(202);
  await until(() => events.length === 2);
  expect(events[1]).toEqual(['message', '{"jsonrpc":"2.0","id":1,"result":{}}']);
});

test('what cannot be read, has no session, or another method is refused', async () => {
  const { address, events } = await open();
  expect([
    await postTo(address, 'not json'),
    await postTo(address, 'a=b', { 'content-type': 'text/plain' }),
    await postTo('/messages', { id: 1, method: 'ping' }),
    await postTo('/messages?session_id=x', { id: 1, method: 'ping' }),
    await postTo('/sse', { id: 1, method: 'ping' }),
    (await fetch(new URL('/messages', host.mcp))).status,
    await postTo(address, { id: 1, method: 'ping' }, { origin: 'https://evil.example.com' }),
  ]).toEqual([400, 415, 404, 404, 405, 405, 403]);
  expect(events.length).toBe(1);
});

test('without the setting the paths are not there, and a deploy that takes it away ends the streams', async () => {
  const { address, ended } = await open();
  await deployServer({ transport: 'http' });
  await until(() => ended());
  expect([(await open()).status, await postTo(address, { id: 1, method: 'ping' })]).toEqual([404, 404]);
  expect(await host.health()).toMatchObject({ sessions: 0, streams: 0 });
});

test('a reader that reads nothing of large results is let go', async () => {
  await deployServer({}, [toolOf(connection, 'large', LARGE)]);
  const socket = connect(Number(host.mcp.port), host.mcp.hostname);
  closing.push(() => socket.destroy());
  socket.write(`GET /sse HTTP/1.1\r\nhost: ${host.mcp.host}\r\n\r\n`);
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
  });
  const address = await until(() => /data: (\S+)/.exec(text)?.[1]);
  socket.pause();
  // What comes after it was let go finds nobody.
  let accepted = 0;
  for (let id = 1; id <= 16; id++) {
    const status = await postTo(address, { id, method: 'tools/call', params: { name: 'large' } });
    if (status === 404) break;
    expect(status).toBe(202);
    accepted++;
  }
  expect(accepted).toBeGreaterThan(6);
  await until(async () => (await host.health()).streams === 0);
  await until(async () => (await host.health()).connections[0]?.queue.active === 0);
});

test('a stream belongs to the credential that opened it, and ends with it', async () => {
  const [one, two] = [await liveToken('one', null), await liveToken('two', null)];
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  await deployServer({ auth_type: 'bearer' });
  control.send('tokens', { tokens: [one, two] });
  await until(async () => (await host.health()).access_tokens.as_of !== null);
  expect((await open()).status).toBe(401);
  const { address, ended } = await open(bearer('one'));
  expect([
    await postTo(address, { id: 1, method: 'ping' }),
    await postTo(address, { id: 1, method: 'ping' }, bearer('two')),
    await postTo(address, { id: 1, method: 'ping' }, bearer('one')),
  ]).toEqual([401, 404, 202]);
  control.send('tokens', { tokens: [{ ...one, revoked: true }, two] });
  await until(() => ended());
  expect(await postTo(address, { id: 1, method: 'ping' }, bearer('one'))).toBe(401);
});
