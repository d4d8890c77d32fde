import { afterEach, beforeEach, expect, test } from 'bun:test';
import { BY_GROUPS, verifyPlaygroundToken } from '#core/edge/playground-token.ts';
import { isErrorBody } from '#test/support/app.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

let s: ListeningServer;
let host: Bun.Server<undefined>;
let seen: Seen[];
let cookie = '';
beforeEach(async () => {
  seen = [];
  s = await listeningServer();
  cookie = await s.signIn();
  host = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = Object.fromEntries(request.headers);
      seen.push({ method: request.method, path: pathname + search, headers, body: await request.text() });
      if (request.method === 'DELETE') return new Response(null, { status: 204 });
      return new Response('{"jsonrpc":"2.0","id":1,"result":{}}', {
        status: request.headers.get('authorization') === 'Bearer wrong' ? 401 : 200,
        headers: {
          'content-type': 'application/json',
          'mcp-session-id': 'abc',
          'www-authenticate': 'Bearer resource_metadata="x"',
          'set-cookie': 'svc_session=taken',
          location: 'http://evil.example/',
        },
      });
    },
  });
});
afterEach(async () => {
  await host.stop(true);
  await s.stop();
});

/** A host that is there, at an address of its own choice. */
function connect(id: string, url: string | null): () => void {
  const { hosts } = s.server.app;
  const leave = hosts.connect(id, () => undefined);
  hosts.acknowledge(id, { boot_id: 'b', version: 1, checksum: 'c', load_ms: 1, url, error: null, request_id: null });
  return leave;
}

const MESSAGE = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const send = (options: { query?: string; method?: string; headers?: Record<string, string> } = {}) =>
  fetch(`${s.url}/api/v1/playground/mcp${options.query ?? ''}`, {
    method: options.method ?? 'POST',
    headers: { cookie, 'content-type': 'application/json', ...options.headers },
    ...(options.method === 'DELETE' ? {} : { body: MESSAGE }),
  });

test('only a signed-in administrator on a page of this server reaches a host', async () => {
  connect('h1', `http://127.0.0.1:${host.port}`);
  const token = await s.call('agent_tokens.create', { name: 'a', duration_minutes: 15 });
  const refused: [number, Record<string, string>][] = [
    [401, { cookie: '' }],
    [403, { cookie: '', authorization: `Bearer ${token.token}` }],
    [401, { cookie: '', authorization: 'Bearer svc_mcp_of-somebody-else' }],
    [401, { cookie: '', 'x-service-token': s.service_token }],
    [403, { origin: 'https://evil.example' }],
    [403, { origin: 'http://localhost:5173' }],
    [403, { 'sec-fetch-site': 'cross-site' }],
  ];
  for (const [status, headers] of refused) {
    const answer = await send({ headers });
    expect([status, headers, answer.status]).toEqual([status, headers, status]);
    expect(isErrorBody(await answer.json())).toBe(true);
  }
  expect(seen).toEqual([]);
  expect((await send()).status).toBe(200);
});

test('the message goes to the host as it is, without what is the browser’s own', async () => {
  connect('h1', `http://127.0.0.1:${host.port}`);
  const answer = await send({
    query: '?host=h1&url=http://evil.example/',
    headers: {
      authorization: 'Bearer svc_mcp_x',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
      'mcp-param-region': 'north',
      'x-client-address': '203.0.113.9',
      'x-forwarded-for': '203.0.113.9',
      origin: s.url,
    },
  });
  const [{ method, path, headers, body } = { method: '', path: '', headers: {}, body: '' }] = seen;
  expect([method, path, body]).toEqual(['POST', '/mcp', MESSAGE]);
  expect(headers).toMatchObject({
    authorization: 'Bearer svc_mcp_x',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/list',
    'mcp-param-region': 'north',
    'x-client-address': '127.0.0.1',
  });
  for (const name of ['cookie', 'origin', 'referer', 'x-forwarded-for', 'sec-fetch-site']) expect(headers[name]).toBeUndefined();
  expect(answer.headers.get('x-sluice-host')).toBe('h1');
  expect(answer.headers.get('mcp-session-id')).toBe('abc');
  expect([answer.headers.get('set-cookie'), answer.headers.get('location')]).toEqual([null, null]);
});

test('a signed-in administrator needs no access token, holds none, and is out with the session', async () => {
  connect('h1', `http://127.0.0.1:${host.port}`);
  const answer = await send();
  const [, token = ''] = /^Bearer (.+)$/.exec(seen[0]?.headers['authorization'] ?? '') ?? [];
  const claims = await verifyPlaygroundToken(s.server.app.env.SVC_ENCRYPTION_KEY, token, new Date());
  expect(claims).toMatchObject({ username: 'ada' });
  expect((claims?.ends ?? 0) - Date.now()).toBeLessThanOrEqual(15 * 60_000);
  expect(JSON.stringify([...answer.headers]) + (await answer.text())).not.toContain(token);
  expect(await s.call('mcp_tokens.list', {})).toMatchObject({ items: [], total: 0 });
  await s.call('auth.logout', {});
  expect([(await send()).status, seen.length]).toEqual([401, 1]);
});

test('it calls as the person, or as whom the person pretends to be; an access token says itself who calls', async () => {
  connect('h1', `http://127.0.0.1:${host.port}`);
  const claimsOf = async (headers: Record<string, string>) => {
    const answer = await send({ headers });
    if (answer.status !== 200) return { status: answer.status, body: await answer.json() };
    const token = (seen.at(-1)?.headers['authorization'] ?? '').slice('Bearer '.length);
    expect(seen.at(-1)?.headers['x-sluice-caller']).toBeUndefined();
    return (await verifyPlaygroundToken(s.server.app.env.SVC_ENCRYPTION_KEY, token, new Date()))?.caller;
  };
  const { id } = (await s.call('people.list', {})).items[0] ?? { id: '' };
  expect(await claimsOf({})).toMatchObject({ identity: { sub: id, name: 'ada', groups: [], token: null }, claims: {} });
  const caller = encodeURIComponent(JSON.stringify({ sub: 'u1', name: 'Grâce', groups: ['a'], claims: { tenant: 'x' } }));
  expect(await claimsOf({ 'x-sluice-caller': caller })).toMatchObject({
    identity: { sub: 'u1', name: 'Grâce', groups: ['a'] },
    claims: { tenant: 'x' },
    toolsets: BY_GROUPS,
  });
  for (const toolsets of [null, [], ['desk']]) {
    const shown = encodeURIComponent(JSON.stringify({ sub: 'u1', toolsets }));
    expect(await claimsOf({ 'x-sluice-caller': shown })).toMatchObject({ toolsets });
  }
  for (const wrong of [
    '{',
    '[]',
    encodeURIComponent('{"role":"owner"}'),
    encodeURIComponent('{"toolsets":["No name"]}'),
    `{"sub":"${'x'.repeat(9_000)}"}`,
  ]) {
    expect(await claimsOf({ 'x-sluice-caller': wrong })).toMatchObject({ status: 422 });
  }
  expect(await claimsOf({ 'x-sluice-caller': caller, authorization: 'Bearer svc_mcp_x' })).toMatchObject({ status: 422 });
});

test('what the host refuses is told apart from what this server refuses, and a session ends where it began', async () => {
  connect('h0', null);
  connect('h1', `http://127.0.0.1:${host.port}`);
  const refused = await send({ headers: { authorization: 'Bearer wrong' } });
  expect([refused.status, refused.headers.get('x-sluice-host')]).toEqual([401, 'h1']);
  const ended = await send({ method: 'DELETE', query: '?host=h1', headers: { 'mcp-session-id': 'abc' } });
  expect([ended.status, seen.at(-1)?.method, seen.at(-1)?.headers['mcp-session-id']]).toEqual([204, 'DELETE', 'abc']);
  for (const method of ['GET', 'PUT']) {
    const answer = await fetch(`${s.url}/api/v1/playground/mcp`, { method, headers: { cookie } });
    expect([method, answer.status]).toEqual([method, 404]);
  }
});

test('a host that is not there is named as the reason', async () => {
  const nobody = await send();
  expect([nobody.status, nobody.headers.get('x-sluice-host')]).toEqual([503, null]);
  expect(((await nobody.json()) as { detail: string }).detail).toContain('No host is connected');
  connect('h1', 'not an address');
  connect('h2', `http://127.0.0.1:${host.port}`)();
  expect((await send({ query: '?host=h2' })).status).toBe(404);
  expect((await send({ query: '?host=http://127.0.0.1:1' })).status).toBe(404);
  await host.stop(true);
  connect('h3', `http://127.0.0.1:${host.port}`);
  const silent = await send();
  expect(silent.status).toBe(503);
  expect(((await silent.json()) as { detail: string }).detail).toContain('SVC_FASTMCP_HOST');
  expect(seen).toEqual([]);
});
