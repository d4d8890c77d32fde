import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { halfSent } from '#test/support/half-sent.ts';
import { isErrorBody } from '#test/support/app.ts';

let a: ListeningAgent;
beforeAll(async () => {
  a = await listeningAgent();
});
afterAll(() => a.stop());

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_deploy_status', arguments: {} } };

async function postMessage(
  base: string,
  token: string | null,
  body: unknown = LIST,
  headers: Record<string, string> = {},
  path = '/agent-mcp/mcp',
) {
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  // An older client that accepts events is answered with one.
  const text = (await response.text()).replace(/^(?:event: message\n)?data: /, '');
  return { status: response.status, headers: response.headers, body: JSON.parse(text || '{}') as Record<string, unknown> };
}
const activity = async () =>
  (await a.s.api('GET', '/agent-activity')).body as { items: Record<string, unknown>[]; total: number };

test('a key that a message has twice is refused by its name', async () => {
  const text = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_deploy_status","name":"run_deploy"}}';
  for (const base of [a.s.url, a.url]) {
    const { status, body } = await postMessage(base, await a.token(), text);
    expect([status, body['detail']]).toEqual([400, 'The body has the key "name" twice in one object. Send each key once.']);
  }
});

describe('nobody', () => {
  test('is told where to get a token, on both ports and paths', async () => {
    for (const base of [a.s.url, a.url]) {
      for (const path of ['/agent-mcp/mcp', '/agent-mcp/']) {
        for (const token of [null, `svc_${'a'.repeat(40)}`, 'nonsense']) {
          const answer = await postMessage(base, token, CALL, {}, path);
          expect([answer.status, isErrorBody(answer.body)]).toEqual([401, true]);
          const challenge = answer.headers.get('www-authenticate') ?? '';
          const [, url = '', error] =
            /^Bearer resource_metadata="([^"]+)", scope="read write deploy"(, error="invalid_token")?$/.exec(challenge) ?? [];
          expect(error === undefined).toBe(token === null);
          const document = (await (await fetch(url)).json()) as { resource: string; authorization_servers: string[] };
          expect(document.resource).toBe(`${base}${path.replace(/\/$/, '')}`);
          expect(document.authorization_servers).toEqual([`${base}/agent-mcp`]);
        }
      }
    }
    expect((await activity()).total).toBe(0);
  });

  test('is refused before the body is there, on both ports', async () => {
    const token = await a.token();
    const json = { 'content-type': 'application/json', 'content-length': '4000000' };
    for (const base of [a.url, a.s.url]) {
      const at = `${base}/agent-mcp/mcp`;
      const nobody = await halfSent(at, json, '{');
      expect([base, await nobody.status()]).toEqual([base, 401]);
      const stranger = await halfSent(at, { ...json, authorization: `Bearer svc_${'a'.repeat(40)}` }, '{');
      expect([base, await stranger.status()]).toEqual([base, 401]);
      const somebody = await halfSent(at, { ...json, authorization: `Bearer ${token}` }, '{');
      await somebody.arrived();
      expect(somebody.text()).toBe('');
      const large = { ...json, 'content-length': '5000000', authorization: `Bearer ${token}` };
      const too_large = await halfSent(at, large, '{');
      expect([base, await too_large.status()]).toEqual([base, 413]);
      for (const request of [nobody, stranger, somebody, too_large]) request.close();
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1000000' };
    const grant = await halfSent(`${a.url}/agent-mcp/oauth/token`, form, 'grant_type=');
    expect(await grant.status()).toBe(413);
    grant.close();
  });

  test('reads the metadata documents and the health', async () => {
    for (const [base, path] of [
      [a.s.url, '/agent-mcp'],
      [a.url, '/agent-mcp'],
      [a.url, ''],
    ]) {
      expect(await (await fetch(`${base}/.well-known/oauth-authorization-server${path}`)).json()).toMatchObject({
        issuer: `${base}/agent-mcp`,
        token_endpoint: `${base}/agent-mcp/oauth/token`,
        grant_types_supported: ['client_credentials', 'refresh_token'],
      });
    }
    const root = await (await fetch(`${a.url}/.well-known/oauth-protected-resource`)).json();
    expect(root).toMatchObject({ resource: `${a.url}/agent-mcp`, scopes_supported: ['read', 'write', 'deploy', 'propose'] });
    for (const base of [a.s.url, a.url]) {
      const refused = await fetch(`${base}/register`, { method: 'POST', body: '{}' });
      const { error, error_description } = (await refused.json()) as Record<string, string>;
      expect([refused.status, error]).toEqual([400, 'invalid_client_metadata']);
      expect(error_description).toContain('send a token as Authorization: Bearer');
      expect(await (await fetch(`${base}/agent-mcp/health`)).json()).toMatchObject({ status: 'ok' });
    }
  });
});

describe('a request', () => {
  test('with a foreign Host or Origin is refused', async () => {
    const token = await a.token();
    for (const base of [a.s.url, a.url]) {
      expect((await postMessage(base, token, LIST, { host: 'evil.example' })).status).toBe(403);
      expect((await postMessage(base, token, LIST, { origin: 'https://evil.example' })).status).toBe(403);
      expect((await postMessage(base, token, LIST, { origin: 'null' })).status).toBe(403);
      expect((await postMessage(base, token)).status).toBe(200);
    }
    // Allowed by the configuration's cors_origins, on the front port.
    expect((await postMessage(a.s.url, token, LIST, { origin: 'http://localhost:5173' })).status).toBe(200);
  });

  test('that is no message, too large or of another type is refused', async () => {
    const token = await a.token();
    expect((await postMessage(a.s.url, token, '{"a":')).status).toBe(400);
    // As many clients write what they leave out, and as proxies copy headers.
    const copied = { 'mcp-protocol-version': '2025-11-25, 2025-11-25' };
    expect((await postMessage(a.s.url, token, { ...LIST, params: null }, copied)).body).toHaveProperty('result');
    const no_arguments = { ...CALL, params: { name: 'get_deploy_status', arguments: null } };
    expect((await postMessage(a.s.url, token, no_arguments, copied)).body).toHaveProperty('result.structuredContent');
    expect((await postMessage(a.s.url, token, LIST, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await postMessage(a.s.url, token, JSON.stringify({ a: 'x'.repeat(4 * 1024 * 1024) }))).status).toBe(413);
    const unknown = await postMessage(a.s.url, token, { ...CALL, params: { name: 'drop_everything' } });
    expect(unknown.body).toMatchObject({ error: { code: -32_602 } });
    expect((await activity()).items[0]).toMatchObject({ tool_name: 'drop_everything', success: false, error: 'not_found' });
    const get = await fetch(`${a.s.url}/agent-mcp/mcp`, { headers: { authorization: `Bearer ${token}` } });
    expect(get.status).toBe(405);
    expect((await postMessage(a.url, token, LIST, {}, '/agent-mcp/elsewhere')).status).toBe(404);
  });
});

describe('a token', () => {
  test('stops at once when it is revoked', async () => {
    const { id, token } = (await a.s.api('POST', '/agent-tokens', { name: 'short', duration_minutes: 15 })).body;
    expect((await postMessage(a.s.url, String(token))).status).toBe(200);
    await a.s.api('DELETE', `/agent-tokens/${String(id)}`);
    for (const body of [LIST, CALL]) expect((await postMessage(a.s.url, String(token), body)).status).toBe(401);
  });

  test('lacks what its scopes do not name', async () => {
    const token = await a.token(['read']);
    const call = (name: string, args: object) =>
      postMessage(a.s.url, token, { ...CALL, params: { name, arguments: args } }).then(({ body }) => body['result']);
    expect(await call('get_deploy_status', {})).not.toHaveProperty('isError');
    for (const [name, args, scope] of [
      ['deploy_server', {}, 'deploy'],
      ['stop_server', {}, 'deploy'],
      ['delete_connection', { connection_id: 'x' }, 'write'],
      ['preview_sql', { connection_id: 'x', sql_query: 'select 1' }, 'write'],
      ['export_config', {}, 'write'],
      ['set_global_variables', { variables: {} }, 'write'],
    ] as const) {
      const text = `This token lacks the scope ${scope}.`;
      expect(await call(name, args)).toMatchObject({ isError: true, content: [{ text }] });
    }
  });

  test('may not do what is for administrators, by any way in', async () => {
    const token = await a.token();
    const call = async (name: string, args: object) =>
      (await postMessage(a.s.url, token, { ...CALL, params: { name, arguments: args } })).body['result'] as {
        isError?: boolean;
        content: { text: string }[];
      };
    const before = (await a.s.api('GET', '/server/config')).body;
    for (const args of [{ agent_enabled: false }, { agent_rate_limit: 1_000_000 }, { cors_origins: ['https://evil.example'] }]) {
      const answer = await call('update_server_config', args);
      expect([answer.isError, answer.content[0]?.text]).toEqual([true, expect.stringContaining('administrator')]);
    }
    const data = { format: 'sluice/1', server_config: { cors_origins: ['https://evil.example'], agent_enabled: false } };
    expect((await call('import_config', { data })).isError).toBeUndefined();
    expect((await a.s.api('GET', '/server/config')).body).toEqual(before);
    // Undoing an administrator's change is a change.
    await a.s.api('PATCH', '/server/config', { cors_origins: [] });
    const entries = (await a.s.api('GET', '/history?entity_type=server_config')).body['items'] as { id: string }[];
    const undone = await call('rollback', { history_id: entries[0]?.id });
    expect([undone.isError, undone.content[0]?.text]).toEqual([true, expect.stringContaining('administrator')]);
    await a.s.api('PATCH', '/server/config', { cors_origins: before['cors_origins'] });
  });

  test('has its calls counted once each and told with the address of the client', async () => {
    const token = await a.token();
    const before = (await activity()).total;
    await postMessage(a.s.url, token, CALL);
    await postMessage(a.s.url, token, LIST);
    const { items, total } = await activity();
    expect(total).toBe(before + 1);
    expect(items[0]).toMatchObject({
      tool_name: 'get_deploy_status',
      token_prefix: token.slice(0, 8),
      token_name: 'Claude',
      client_ip: '127.0.0.1',
      country: null,
      success: true,
    });
    // Nobody but the server is believed about addresses.
    await postMessage(a.url, token, CALL, { 'x-client-address': '203.0.113.9', 'x-forwarded-for': '203.0.113.9' });
    expect((await activity()).items[0]).toMatchObject({ client_ip: '127.0.0.1' });
  });

  test('is refused with 429 beyond its rate, and REST requests count too', async () => {
    const { version } = (await a.s.api('PATCH', '/server/config', { agent_rate_limit: 3 })).body;
    const token = await a.token();
    expect((await postMessage(a.s.url, token, CALL)).status).toBe(200);
    expect((await postMessage(a.url, token, CALL)).status).toBe(200);
    const rest = await fetch(`${a.s.url}/api/v1/tools`, { headers: { authorization: `Bearer ${token}` } });
    expect(rest.status).toBe(200);
    const late = await postMessage(a.s.url, token, CALL);
    expect([late.status, isErrorBody(late.body)]).toEqual([429, true]);
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await activity()).items[0]).toMatchObject({ tool_name: 'get_deploy_status', success: false, error: 'rate_limited' });
    // Lists are no calls.
    expect((await postMessage(a.s.url, token, LIST)).status).toBe(200);
    await a.s.api('PATCH', '/server/config', { agent_rate_limit: 120, version });
  });
});

test('agent_enabled false turns the endpoint off on both ports, and the REST API for the same tokens', async () => {
  const token = await a.token();
  await a.s.api('PATCH', '/server/config', { agent_enabled: false });
  for (const base of [a.s.url, a.url]) {
    const answer = await postMessage(base, token, CALL);
    expect([answer.status, answer.body['detail']]).toEqual([403, expect.stringContaining('agent_enabled')]);
  }
  const rest = async () => {
    const answer = await fetch(`${a.s.url}/api/v1/tools`, { headers: { authorization: `Bearer ${token}` } });
    return [answer.status, await answer.text()];
  };
  expect(await rest()).toEqual([403, expect.stringContaining('agent_enabled')]);
  const form = await fetch(`${a.s.url}/agent-mcp/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'x' }),
  });
  expect(form.status).toBe(403);
  await a.s.api('PATCH', '/server/config', { agent_enabled: true });
  expect((await postMessage(a.s.url, token, CALL)).status).toBe(200);
  expect((await rest())[0]).toBe(200);
});

test('a line of the agent has the id of the request that caused it', async () => {
  const answer = await postMessage(a.url, await a.token(), '{}', { 'x-request-id': 'agent-1' });
  const line = a.s.lines.find(({ message }) => message === 'mcp request refused');
  expect([answer.headers.get('x-request-id'), line?.fields['request_id']]).toEqual(['agent-1', 'agent-1']);
});

test('a service token that differs is said to differ', async () => {
  const other = await listeningAgent({}, 'another-service-token-of-32-characters');
  try {
    const token = await other.token();
    for (const base of [other.s.url, other.url]) {
      const answer = await postMessage(base, token, CALL);
      expect([answer.status, answer.body['detail']]).toEqual([401, expect.stringContaining('SVC_AGENT_SERVICE_TOKEN')]);
    }
  } finally {
    await other.stop();
  }
});

test('an agent that does not run is 503, and one whose server is away says so', async () => {
  const lone = await listeningAgent({ SVC_AGENT_MCP_URL: 'http://127.0.0.1:1' });
  const token = await lone.token();
  expect((await postMessage(lone.s.url, token, CALL)).status).toBe(503);
  await lone.s.stop();
  const answer = await postMessage(lone.url, token, CALL);
  expect([answer.status, answer.body['detail']]).toEqual([503, expect.stringContaining('SVC_SERVER_URL')]);
  await lone.stop().catch(() => undefined);
});
