import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'bun:test';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { connection, controlServer, ENVELOPE, modern, rpc, snapshotOf, sqliteFolder, testHost, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';
import { pythonLines } from '#test/support/python-lines.ts';

const { control, host } = useHost('all');
/** In the order of their letters, as a snapshot lists them. */
const names = Array.from({ length: 2_300 }, (_, n) => `tool_${n}`).toSorted();

beforeAll(async () => {
  const tools = names.map((name) => toolOf(connection, name, 'select 1 as one'));
  await control.deploy(snapshotOf(7, { connections: [connection], tools }));
});

const CALL = { name: 'tool_1', _meta: ENVELOPE };
const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'tool_1' };
const without = (key: string) => Object.fromEntries(Object.entries(ENVELOPE).filter(([name]) => !name.endsWith(key)));
const postModern = (params: Record<string, unknown>, own: Record<string, string>, method = 'tools/call') =>
  rpc(host.mcp, { id: 5, method, params }, own);

describe('the stateless revision', () => {
  test('is discovered with its version and capabilities', async () => {
    const { status, body } = await modern(host.mcp, 'server/discover');
    expect(status).toBe(200);
    expect(body.result).toEqual({
      resultType: 'complete',
      _meta: {
        'io.modelcontextprotocol/serverInfo': {
          name: 'Shop',
          title: 'Shop',
          version: PRODUCT_VERSION,
          icons: [{ src: expect.stringMatching(/^data:image\/png;base64,iVBORw0KGgo/), mimeType: 'image/png', sizes: ['48x48'] }],
        },
        'sluice/snapshot': 7,
      },
      ttlMs: 0,
      cacheScope: 'public',
      supportedVersions: ['2026-07-28'],
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
      },
      instructions: expect.stringMatching(/^Shop has current data from databases\. Look here for: .{300,400} and \d+ more\./),
    });
  });

  test('every result says that it is complete, lists and reads how long they hold', async () => {
    const { body } = await postModern(CALL, headers);
    expect(body).toMatchObject({ id: 5, result: { resultType: 'complete', structuredContent: { rows: [{ one: 1 }] } } });
    expect(body.result?.['_meta']).toEqual({
      'io.modelcontextprotocol/serverInfo': { name: 'Shop', version: PRODUCT_VERSION },
      'sluice/snapshot': 7,
    });
    expect(body.result).not.toHaveProperty('ttlMs');
    expect((await modern(host.mcp, 'prompts/list')).body.result).toMatchObject({
      prompts: [],
      ttlMs: 0,
      cacheScope: 'public',
    });
  });

  test.each([
    ['no version header', CALL, { ...headers, 'mcp-protocol-version': '' }, 400, -32_020],
    ['another version header', CALL, { ...headers, 'mcp-protocol-version': '2025-11-25' }, 400, -32_020],
    ['no method header', CALL, { ...headers, 'mcp-method': '' }, 400, -32_020],
    ['another method header', CALL, { ...headers, 'mcp-method': 'tools/list' }, 400, -32_020],
    ['another case of the method', CALL, { ...headers, 'mcp-method': 'TOOLS/call' }, 400, -32_020],
    ['no name header', CALL, { ...headers, 'mcp-name': '' }, 400, -32_020],
    ['another name header', CALL, { ...headers, 'mcp-name': 'tool_2' }, 400, -32_020],
    ['a name that is no Base64', CALL, { ...headers, 'mcp-name': '=?base64?*?=' }, 400, -32_020],
    ['no envelope', { name: 'tool_1' }, headers, 400, -32_602],
    ['no capabilities', { ...CALL, _meta: without('clientCapabilities') }, headers, 400, -32_602],
    [
      'a version that is no text',
      { ...CALL, _meta: { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': 1 } },
      headers,
      400,
      -32_602,
    ],
    [
      'a client that is no object',
      { ...CALL, _meta: { ...ENVELOPE, 'io.modelcontextprotocol/clientInfo': 'x' } },
      headers,
      400,
      -32_602,
    ],
    ['an unknown tool', { ...CALL, name: 'missing' }, { ...headers, 'mcp-name': 'missing' }, 200, -32_602],
    ['arguments that are no object', { ...CALL, arguments: [1] }, headers, 200, -32_602],
  ])('%s is refused', async (_, params, own, status, code) => {
    const sent = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== ''));
    const answer = await postModern(params, sent);
    expect(answer).toMatchObject({ status, body: { id: 5, error: { code } } });
  });

  test('an unknown version is refused with those that are known', async () => {
    const _meta = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const answer = await postModern({ ...CALL, _meta }, { ...headers, 'mcp-protocol-version': '2099-01-01' });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { code: -32_022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } } },
    });
    expect(await rpc(host.mcp, { id: 1, method: 'tools/list' }, { 'mcp-protocol-version': '1999-01-01' })).toMatchObject({
      status: 400,
    });
  });

  test('an unknown method is 404', async () => {
    for (const method of ['nonsense', 'constructor', 'initialize', 'ping', 'logging/setLevel', 'resources/subscribe']) {
      expect(await modern(host.mcp, method)).toMatchObject({ status: 404, body: { error: { code: -32_601 } } });
    }
  });

  test('a name in Base64 is decoded, values may have spaces around, a session id is ignored', async () => {
    const own = {
      ...headers,
      'mcp-name': `=?base64?${btoa('tool_1')}?=`,
      'mcp-method': ' tools/call ',
      'mcp-session-id': 'stray',
    };
    expect(await postModern(CALL, own)).toMatchObject({ status: 200, body: { result: { resultType: 'complete' } } });
  });

  test('a notification is accepted without a body', async () => {
    const answer = await rpc(
      host.mcp,
      { method: 'notifications/anything', params: { _meta: ENVELOPE } },
      { 'mcp-protocol-version': '2026-07-28' },
    );
    expect(answer).toMatchObject({ status: 202, body: {} });
  });
});

const NESTED: unknown = JSON.parse(`${'['.repeat(8_000)}${']'.repeat(8_000)}`);
const raw = (init: RequestInit) => fetch(host.mcp, { method: 'POST', ...init });

describe('the transport', () => {
  const json = { 'content-type': 'application/json' };

  test.each([
    ['invalid JSON', { body: '{"jsonrpc"', headers: json }, 400, -32_700],
    ['an empty body', { body: '', headers: json }, 400, -32_700],
    ['plain text', { body: '{}', headers: { 'content-type': 'text/plain' } }, 415, -32_000],
    ['no content type', { body: new Blob(['{}']) }, 415, -32_000],
    ['no JSON-RPC', { body: '{"id":1}', headers: json }, 400, -32_600],
    ['an id that is null', { body: '{"jsonrpc":"2.0","id":null,"method":"tools/list"}', headers: json }, 400, -32_600],
    ['an id that is a fraction', { body: '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', headers: json }, 400, -32_600],
    ['params that are a list', { body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', headers: json }, 400, -32_602],
    ['a text', { body: '"x"', headers: json }, 400, -32_600],
    ['an empty batch', { body: '[]', headers: json }, 400, -32_600],
    ['more than 4 MiB', { body: JSON.stringify('x'.repeat(4 * 1024 * 1024)), headers: json }, 413, -32_000],
    ['more than 4 MiB in wide characters', { body: JSON.stringify('é'.repeat(2.2 * 1024 * 1024)), headers: json }, 413, -32_000],
  ])('%s is refused', async (_, init, status, code) => {
    const response = await raw(init);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
  });

  test('a key that an object has twice is refused by its name, and the tool is not called', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_1","arguments":{"id":1,"id":2}}}';
    const response = await raw({ body, headers: json });
    const message = 'The body has the key "id" twice in one object. Send each key once.';
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32_700, message } }]);
  });

  test.each([
    ['text/plain', '415'],
    ['application/json', '413'],
  ])('a large body refused unread (%s) can still be sent, and the line serves on or ends', async (type, status) => {
    const { hostname, port } = new URL(host.mcp);
    const post = (content_type: string, body: string) =>
      `POST /mcp HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: ${content_type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socket = connect(Number(port), hostname);
    socket.write(post(type, 'x'.repeat(8 * 1024 * 1024 - 16)));
    socket.write(post('application/json', JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ping' })));
    let answer = '';
    let ended = false;
    socket.on('data', (chunk) => void (answer += String(chunk)));
    // Who is refused early may find the line closed.
    socket.on('error', () => undefined);
    socket.on('close', () => void (ended = true));
    await until(() => ended || answer.includes('"id":7'));
    socket.destroy();
    expect(answer).toContain(` ${status} `);
  });

  test('nesting of 100,000 levels harms nobody', async () => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    const response = await raw({ body, headers: json });
    expect([200, 400]).toContain(response.status);
    expect((await rpc(host.mcp, { id: 2, method: 'ping' })).status).toBe(200);
  });

  test.each([
    ['completion/complete', { ref: { type: 'ref/resource', uri: NESTED }, argument: { name: 'x', value: '' } }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: NESTED }, argument: { name: 'x', value: '' } }],
    ['tools/call', { name: NESTED, _meta: { progressToken: 1 } }],
  ])('a name that is no text is the fault of the caller, however deep it is: %s', async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await raw({ body, headers: { ...json, accept: 'application/json, text/event-stream' } });
    expect(await response.text()).toContain('-32602');
  });

  test('other methods and paths are refused', async () => {
    expect((await fetch(host.mcp, { method: 'PUT' })).status).toBe(405);
    expect((await fetch(host.mcp)).status).toBe(405);
    expect((await fetch(host.mcp, { method: 'DELETE' })).status).toBe(405);
    expect((await fetch(new URL('/', host.mcp))).status).toBe(404);
    expect((await fetch(new URL('/mcpx', host.mcp))).status).toBe(404);
  });

  test('null counts as left out, and equal copies of the version header as one', async () => {
    const copied = { ...headers, 'mcp-protocol-version': '2026-07-28, 2026-07-28' };
    expect((await postModern({ ...CALL, arguments: null }, copied)).status).toBe(200);
    const other = await postModern(CALL, { ...headers, 'mcp-protocol-version': '2026-07-28, 2025-11-25' });
    expect(other).toMatchObject({ status: 400, body: { error: { code: -32_020 } } });
    const bodies = [
      { method: 'ping', params: null },
      { method: 'tools/list', params: { cursor: null } },
      { method: 'tools/call', params: { name: 'tool_1', arguments: null, _meta: null } },
    ];
    for (const body of bodies) {
      const answer = await rpc(host.mcp, { id: 1, ...body }, { 'mcp-protocol-version': '2025-11-25,2025-11-25' });
      expect([body.method, answer.body]).toEqual([body.method, expect.objectContaining({ result: expect.anything() })]);
    }
  });

  test('a client that reads only events gets its answer as one', async () => {
    const response = await raw({
      body: '{"jsonrpc":"2.0","id":3,"method":"ping"}',
      headers: { ...json, accept: 'text/event-stream' },
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    // Else its connection would count as a stream, which never idles out.
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0);
    expect(await response.text()).toBe('event: message\ndata: {"jsonrpc":"2.0","id":3,"result":{}}\n\n');
  });

  test('an event is one line for every reader of lines, and answers have whole characters', async () => {
    const uri = 'db://a\u2028b\u2029c\u0085d\ud83d';
    const body = JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'resources/read', params: { uri } });
    const expected = { id: 3, error: { data: { uri: uri.toWellFormed() } } };
    const event = await raw({ body, headers: { ...json, accept: 'text/event-stream' } });
    const [, data = '', ...rest] = pythonLines(await event.text());
    expect(rest).toEqual(['', '']);
    expect(JSON.parse(data.replace('data: ', ''))).toMatchObject(expected);
    const text = await (await raw({ body, headers: json })).text();
    expect(text).not.toContain('\\ud83d');
    expect(JSON.parse(text)).toMatchObject(expected);
  });

  test('a foreign Host or Origin is refused, naming what to change', async () => {
    const body = '{"jsonrpc":"2.0","id":3,"method":"ping"}';
    const foreign = await raw({ body, headers: { ...json, host: 'evil.example.com' } });
    expect(foreign.status).toBe(403);
    expect(await foreign.text()).toContain('SVC_ALLOWED_HOSTS');
    expect((await fetch(new URL('/health', host.mcp), { headers: { host: 'evil.example.com' } })).status).toBe(403);
    expect((await raw({ body, headers: { ...json, host: 'mcp.example.com' } })).status).toBe(200);
    const refused = await raw({ body, headers: { ...json, origin: 'https://evil.example.com' } });
    // What it advises is what has an effect.
    expect([refused.status, (await refused.text()).match(/cors_origins|SVC_[A-Z_]+/g)]).toEqual([403, ['cors_origins']]);
    expect((await raw({ body, headers: { ...json, origin: 'null' } })).status).toBe(403);
  });

  test('an allowed origin may ask first and read the answer', async () => {
    const origin = 'http://localhost:5173';
    const asked = await fetch(host.mcp, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type, mcp-param-region, x-other',
      },
    });
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe(origin);
    expect(asked.headers.get('access-control-allow-headers')).toMatch(/Mcp-Method.*mcp-param-region$/);
    const response = await raw({ body: '{"jsonrpc":"2.0","id":3,"method":"ping"}', headers: { ...json, origin } });
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id');
    expect(response.headers.get('vary')).toContain('Origin');
  });
});

describe('long lists', () => {
  test('come in pages whose cursors lead to every item once', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await modern(host.mcp, 'tools/list', cursor === undefined ? {} : { cursor });
      const page = body.result as unknown as { tools: { name: string }[]; nextCursor?: string };
      seen.push(...page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(names);
  });

  test('are the same under every id, in both eras and in a batch', async () => {
    const ids = [1, 2, 1, 0, 'a', '"', 'é€', 3, 4, 5, 6, 1];
    const listed = (body: { id?: unknown; result?: Record<string, unknown> }) => {
      const tools = body.result?.['tools'] as { name: string }[];
      return [body.id, body.result?.['resultType'], tools.map(({ name }) => name).join()];
    };
    const first = names.slice(0, 1_000).join();
    const own = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
    for (const id of ids) {
      const plain = await rpc(host.mcp, { id, method: 'tools/list' });
      expect(listed(plain.body)).toEqual([id, undefined, first]);
      const stateless = await rpc(host.mcp, { id, method: 'tools/list', params: { _meta: ENVELOPE } }, own);
      expect(listed(stateless.body)).toEqual([id, 'complete', first]);
    }
    const few = ids.slice(-3);
    const messages = few.map((id) => ({ jsonrpc: '2.0', id, method: 'tools/list' }));
    const batch = await fetch(host.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2025-03-26' },
      body: JSON.stringify(messages),
    });
    const answers = (await batch.json()) as Parameters<typeof listed>[0][];
    expect(answers.map(listed)).toEqual(few.map((id) => [id, undefined, first]));
  });

  test('a cursor that is not ours is refused, an empty one is the first page', async () => {
    for (const cursor of ['x', 5, Buffer.from('7-00000000.1').toString('base64url')]) {
      expect(await modern(host.mcp, 'tools/list', { cursor })).toMatchObject({ status: 200, body: { error: { code: -32_602 } } });
    }
    expect(await modern(host.mcp, 'tools/list', { cursor: '' })).toMatchObject({ body: { result: { resultType: 'complete' } } });
  });
});

describe('what a caller chooses and hears again', () => {
  const long = 'x'.repeat(1_001);
  const just = long.slice(1);
  const refused = (code: number, member: string) => ({
    status: 400,
    body: { error: { code, message: expect.stringContaining(`${member} must be`) } },
  });

  test('an id of a message has 1,000 characters at most', async () => {
    const listen = { notifications: { toolsListChanged: true }, _meta: ENVELOPE };
    for (const [method, params, own] of [
      ['tools/call', CALL, headers],
      ['subscriptions/listen', listen, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }],
      ['ping', {}, {}],
    ] as const) {
      const answer = await rpc(host.mcp, { id: long, method, params }, own);
      expect(answer).toMatchObject(refused(-32_600, 'id'));
      expect(answer.body.id).toBeNull();
    }
    expect((await rpc(host.mcp, { id: just, method: 'ping' })).body).toEqual({ jsonrpc: '2.0', id: just, result: {} } as object);
    expect((await host.health()).streams).toBe(0);
    const batch = await fetch(host.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2025-03-26' },
      body: JSON.stringify([long, just].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' }))),
    });
    expect(await batch.json()).toMatchObject([
      { id: null, error: { code: -32_600 } },
      { id: just, result: {} },
    ]);
  });

  test('a progress token has 1,000 characters at most', async () => {
    const withToken = (progressToken: string) => ({ ...CALL, _meta: { ...ENVELOPE, progressToken } });
    expect(await postModern(withToken(long), headers)).toMatchObject(refused(-32_602, 'progressToken'));
    expect(await postModern({ name: 'tool_1', _meta: { progressToken: long } }, {})).toMatchObject(
      refused(-32_602, 'progressToken'),
    );
    const followed = await fetch(host.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: withToken(just) }),
    });
    expect(await followed.text()).toContain(`"progressToken":"${just}"`);
  });
});

test('an auth_type that the host cannot check refuses every call', async () => {
  const closed = controlServer();
  const other = sqliteFolder();
  const guarded = await testHost(other.directory, closed.url);
  await until(async () => (await guarded.health()).control.connected);
  await closed.deploy(snapshotOf(1, { server: { auth_type: 'oauth_introspection' } }));
  const statusOf = async (headers: Record<string, string>) =>
    (await rpc(guarded.mcp, { id: 1, method: 'tools/list' }, headers)).status;
  expect([await statusOf({}), await statusOf({ authorization: 'Bearer anything' })]).toEqual([401, 503]);
  await guarded.stop();
  await closed.stop();
  other.remove();
});
