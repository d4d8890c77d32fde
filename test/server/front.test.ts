import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { rpc, type TestHost, testHost } from '#test/mcp-host/support.ts';
import { freePort } from '#test/support/free-port.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

/** What reached the program behind `/agent-mcp`: headers, and when each part of a body came. */
const reached: { path: string; headers: Headers; parts: string[] }[] = [];
const behind = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const record = { path: new URL(request.url).pathname, headers: request.headers, parts: [] as string[] };
    reached.push(record);
    const decoder = new TextDecoder();
    for await (const part of request.body ?? []) record.parts.push(decoder.decode(part));
    if (!(request.headers.get('accept-encoding') ?? '').includes('gzip')) return new Response('done');
    return new Response(Bun.gzipSync('done'), { headers: { 'content-encoding': 'gzip' } });
  },
});
let s: ListeningServer;
let host: TestHost;
const mcp_port = freePort();

beforeAll(async () => {
  s = await listeningServer(undefined, {
    SVC_ALLOW_PRIVATE_NETWORKS: 'true',
    SVC_FASTMCP_PORT: String(mcp_port),
    SVC_AGENT_MCP_URL: `http://127.0.0.1:${behind.port}`,
    SVC_TRUSTED_PROXIES: '127.0.0.0/8',
  });
  await s.signIn();
  const databases = join(s.directory, 'databases');
  mkdirSync(databases, { recursive: true });
  new Database(join(databases, 'shop.sqlite'), { create: true }).run('create table products (id integer)');
  host = await testHost(databases, s.url, {
    service_token: s.service_token,
    openSecret: (sealed, place) => s.server.app.keyring.open(sealed, place),
  });
  const connection = await s.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const tool = { connection_id: connection.id, name: 'region', description: 'The region', sql_query: 'select 1 as one' };
  expect((await s.send('tools.create', tool)).status).toBe(201);
  await until(() => s.server.app.hosts.list().length > 0);
  await s.call('config.update', {
    transport: 'sse',
    mcp_proxy: true,
    mcp_domain: 'mcp.example.com',
    ui_domain: 'ui.example.com',
  });
  expect((await s.send('deploy.run')).status).toBe(200);
}, 60_000);
afterAll(async () => {
  await host.stop();
  await s.stop();
  await behind.stop(true);
});

const at = (path: string) => new URL(path, s.url);
const hello = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

describe('with mcp_proxy the front port', () => {
  test('answers for the MCP server, sessions included', async () => {
    const opened = await rpc(at('/mcp'), hello);
    expect(opened).toMatchObject({ status: 200, body: { result: { serverInfo: { name: 'Sluice' } } } });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const called = await rpc(at('/mcp'), { id: 2, method: 'tools/call', params: { name: 'region', arguments: {} } }, session);
    expect(JSON.stringify(called.body.result)).toContain('one');
    expect((await fetch(at('/mcp'), { method: 'DELETE', headers: session })).status).toBeLessThan(300);
  });

  test('hands on what a stream says as it says it', async () => {
    const opened = await rpc(at('/mcp'), hello);
    const ending = new AbortController();
    const headers = { accept: 'text/event-stream', 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const stream = await fetch(at('/mcp'), { headers, signal: ending.signal });
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    let text = '';
    void (async () => {
      for await (const part of stream.body ?? []) text += Buffer.from(part).toString();
    })().catch(() => undefined);
    const body = await s.call('tools.list', {});
    const tool = body.items[0];
    await s.send('tools.update', { id: tool?.id, description: 'The region of the shop' });
    await s.call('deploy.run', {});
    await until(
      () => text.includes('notifications/tools/list_changed'),
      () => text,
    );
    ending.abort();
  }, 60_000);

  test('speaks the older transport too', async () => {
    const ending = new AbortController();
    const stream = await fetch(at('/sse'), { headers: { accept: 'text/event-stream' }, signal: ending.signal });
    let text = '';
    void (async () => {
      for await (const part of stream.body ?? []) text += Buffer.from(part).toString();
    })().catch(() => undefined);
    await until(() => text.includes('/messages?'));
    const path = /data: (\/messages\S+)/.exec(text)?.[1] ?? '';
    const posted = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...hello }),
    };
    expect((await fetch(at(path), posted)).status).toBe(202);
    await until(() => text.includes('serverInfo'));
    ending.abort();
  }, 60_000);

  test('tells pages of listed origins alone, and what they need to read', async () => {
    const asked = (origin: string) =>
      fetch(at('/mcp'), { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });
    expect((await asked('https://evil.example')).status).toBe(403);
    const allowed = await asked('http://localhost:5173');
    expect(allowed.headers.get('access-control-allow-headers')).toContain('Mcp-Session-Id');
    const answer = await rpc(at('/mcp'), hello, { origin: 'http://localhost:5173' });
    expect(answer.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id');
  });

  test('gives each domain its part', async () => {
    const status = async (name: string, path: string, method = 'GET') =>
      (await fetch(at(path), { method, headers: { host: name } })).status;
    expect((await rpc(at('/mcp'), hello, { host: 'mcp.example.com' })).status).toBe(200);
    expect((await rpc(at('/mcp'), hello, { host: 'ui.example.com' })).status).toBe(200);
    expect(await status('mcp.example.com', '/api/v1/auth/status')).toBe(404);
    expect(await status('mcp.example.com', '/')).toBe(404);
    expect(await status('ui.example.com', '/api/v1/auth/status')).toBe(200);
    // On the domain of MCP the host answers for its own tokens; elsewhere people sign in.
    expect(await status('mcp.example.com', '/oauth/token', 'POST')).toBe(404);
    expect(await status('mcp.example.com', '/oauth/authorize')).toBe(404);
    expect(await status('ui.example.com', '/oauth/token', 'POST')).toBe(400);
  });

  test('tells the MCP server which address its clients asked for', async () => {
    await s.call('config.update', { auth_type: 'bearer' });
    await s.call('deploy.run', {});
    await until(async () => (await rpc(at('/mcp'), hello)).status === 401);
    const { port } = new URL(s.url);
    for (const [headers, origin] of [
      [{ host: `localhost:${port}` }, `http://localhost:${port}`],
      [{ host: `127.0.0.1:${port}` }, `http://127.0.0.1:${port}`],
      [{ host: 'mcp.example.com', 'x-forwarded-proto': 'https' }, 'https://mcp.example.com'],
      [{ host: 'ui.example.com', 'x-asked-origin': 'https://evil.example' }, 'http://ui.example.com'],
    ] as const) {
      const document = await fetch(at('/.well-known/oauth-protected-resource/mcp'), { headers });
      expect(await document.json()).toMatchObject({ resource: `${origin}/mcp` });
      const about_sse = await fetch(at('/.well-known/oauth-protected-resource/sse'), { headers });
      expect(await about_sse.json()).toMatchObject({ resource: `${origin}/sse` });
      const challenge = (await rpc(at('/mcp'), hello, headers)).headers.get('www-authenticate');
      expect(challenge).toBe(`Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`);
      const registered = await fetch(at('/register'), { method: 'POST', headers, body: '{}' });
      expect([registered.status, await registered.json()]).toEqual([
        400,
        { error: 'invalid_client_metadata', error_description: expect.stringContaining('Authorization: Bearer') },
      ]);
    }
    await s.call('config.update', { auth_type: 'none' });
    await s.call('deploy.run', {});
    await until(async () => (await rpc(at('/mcp'), hello)).status === 200);
  }, 60_000);

  test('says where clients find the MCP server', async () => {
    expect((await s.call('server.health', {})).mcp_url).toBe(`http://127.0.0.1:${mcp_port}/mcp`);
    await s.call('config.update', { ssl_enabled: true });
    expect((await s.call('server.health', {})).mcp_url).toBe('https://mcp.example.com/mcp');
    await s.call('config.update', { ssl_enabled: false });
  });

  test('says so when the MCP server is away, and when it is not served here', async () => {
    await s.call('config.update', { mcp_proxy: false });
    const off = await rpc(at('/mcp'), hello);
    expect([off.status, JSON.stringify(off.body)]).toEqual([404, expect.stringContaining('mcp_proxy')]);
    await s.call('config.update', { mcp_proxy: true });
    expect((await rpc(at('/mcp'), hello)).status).toBe(200);
    await s.call('deploy.stop', {});
    await until(async () => (await rpc(at('/mcp'), hello)).status === 503);
    await s.call('deploy.run', {});
    await until(async () => (await rpc(at('/mcp'), hello)).status === 200);
  }, 60_000);
});

describe('what is handed on', () => {
  test('arrives part by part', async () => {
    reached.length = 0;
    const socket = net.connect(s.server.port, '127.0.0.1', () => {
      socket.write('POST /agent-mcp/mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n');
    });
    let answer = '';
    socket.on('data', (bytes) => (answer += String(bytes)));
    await until(() => reached[0]?.parts.join('') === 'first');
    socket.write('4\r\nlast\r\n0\r\n\r\n');
    await until(() => answer.includes('done'));
    expect(reached[0]?.parts.join('')).toBe('firstlast');
    socket.destroy();
  }, 60_000);

  test('comes back in an encoding that the caller takes', async () => {
    const ask = async (encoding: string) => {
      const response = await fetch(at('/agent-mcp/health'), { headers: { 'accept-encoding': encoding }, decompress: false });
      return [response.headers.get('content-encoding'), await response.bytes()] as const;
    };
    const [encoding, bytes] = await ask('gzip');
    expect([encoding, Buffer.from(Bun.gunzipSync(new Uint8Array(bytes))).toString()]).toEqual(['gzip', 'done']);
    const [none, plain] = await ask('identity');
    expect([none, Buffer.from(plain).toString()]).toEqual([null, 'done']);
    const head = await fetch(at('/agent-mcp/health'), { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } });
    expect([head.status, (await head.bytes()).length]).toEqual([200, 0]);
  });

  test('comes back plain to whoever names no encoding', async () => {
    const socket = net.connect(s.server.port, '127.0.0.1', () => {
      socket.write('GET /agent-mcp/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    });
    let answer = '';
    socket.on('data', (bytes) => (answer += String(bytes)));
    await until(() => socket.destroyed);
    expect(answer.toLowerCase()).not.toContain('content-encoding');
    expect(answer).toContain('done');
  });

  test('carries the address of the caller, and nothing that only we may say', async () => {
    reached.length = 0;
    const headers = { 'x-forwarded-for': '198.51.100.7, 127.0.0.2', 'x-client-address': '192.0.2.66', cookie: 'svc_session=x' };
    expect((await fetch(at('/agent-mcp/health'), { headers })).status).toBe(200);
    const got = reached[0]?.headers;
    expect([got?.get('x-client-address'), got?.get('cookie'), got?.get('x-service-token')]).toEqual([
      '198.51.100.7',
      null,
      s.service_token,
    ]);
    // Nobody else's token is taken for ours, or handed on.
    expect((await fetch(at('/agent-mcp/health'), { headers: { 'x-service-token': 'wrong' } })).status).toBe(401);
    expect(reached).toHaveLength(1);
  });
});

describe('our own programs', () => {
  const ask = (path: string, headers: Record<string, string>) =>
    fetch(at(path), { headers, signal: AbortSignal.timeout(20_000) });
  const CONTROL = '/api/internal/agent/settings';

  test('may call us by any name, such as that of a container, with their token', async () => {
    const token = { 'x-service-token': s.service_token };
    for (const name of ['server:3000', 'sluice-server-1.internal:3000', 'mcp.example.com']) {
      expect([name, (await ask(CONTROL, { host: name, ...token })).status]).toEqual([name, 200]);
    }
    // The agent asks the REST interface for its callers.
    expect((await ask('/api/v1/auth/status', { host: 'server:3000', ...token })).status).toBe(200);
  });

  test('nobody else may', async () => {
    const refused = await ask(CONTROL, { host: 'server:3000' });
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('SVC_ALLOWED_HOSTS')]);
    expect((await ask(CONTROL, { host: 'server:3000', 'x-service-token': 'wrong' })).status).toBe(401);
    expect((await ask('/api/v1/auth/status', { host: 'server:3000' })).status).toBe(403);
    // A page that was led here by a name of its own is refused even if it knew the token.
    const page = { host: 'evil.example', origin: 'http://evil.example', 'x-service-token': s.service_token };
    expect((await ask(CONTROL, page)).status).toBe(403);
  });

  test('the MCP host believes the front port by any name', async () => {
    const named = (headers: Record<string, string>) => rpc(host.mcp, hello, { host: 'mcp-1.internal', ...headers });
    expect((await named({})).status).toBe(403);
    expect((await named({ 'x-service-token': s.service_token })).status).toBe(200);
  });
});
