import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp({ SVC_AGENT_RATE_LIMIT: '20' });
  await t.signIn();
});
afterEach(() => t.close());

const MINUTE = 60_000;
const createToken = (body: object = {}) => t.send('agent_tokens.create', { name: 'Claude', duration_minutes: 60, ...body });
const as = (token: unknown, method: string, path: string, body?: unknown) =>
  t.request(method, `/api/v1${path}`, {
    anonymous: true,
    headers: { authorization: `Bearer ${String(token)}` },
    ...(body === undefined ? {} : { body }),
  });
const activity = async (query = '') =>
  (await t.request('GET', `/api/v1/agent-activity${query}`)).body as { items: Record<string, unknown>[]; total: number };

describe('temporary tokens', () => {
  test('are refused with a wrong duration or scope, and nothing is stored', async () => {
    for (const body of [
      { duration_minutes: 14 },
      { duration_minutes: 10_081 },
      { scopes: [] },
      { scopes: ['all'] },
      { name: '' },
    ]) {
      const answer = await createToken(body);
      expect([answer.status, isErrorBody(answer.body)]).toEqual([422, true]);
    }
    expect(await t.app.store.db.select().from(t.app.store.tables.agent_tokens)).toEqual([]);
  });

  test('are shown once, stored as a digest and listed the newest first', async () => {
    const { status, body } = await createToken();
    expect(status).toBe(201);
    const { token, ...record } = body;
    expect(token).toMatch(/^svc_[A-Za-z0-9]{40}$/);
    expect(record).toEqual({
      id: expect.any(String),
      name: 'Claude',
      token_prefix: token.slice(0, 8),
      scopes: ['read', 'write', 'deploy'],
      expires_at: '2026-03-01T13:00:00.000Z',
      revoked: false,
      last_used_at: null,
      last_ip: null,
      created_at: '2026-03-01T12:00:00.000Z',
    });
    await createToken({ name: 'second' });
    const list = await t.call('agent_tokens.list', {});
    expect(list.items.map(({ name }) => name)).toEqual(['second', 'Claude']);
    const [row] = await t.app.store.db.select().from(t.app.store.tables.agent_tokens);
    expect(row?.digest).toBe(createHash('sha256').update(token).digest('hex'));
    const everything = JSON.stringify([
      await t.app.store.db.select().from(t.app.store.tables.agent_tokens),
      await t.app.store.db.select().from(t.app.store.tables.history),
      t.log,
    ]);
    expect(everything).not.toContain(token);
    expect((await t.send('agent_tokens.list', { limit: 101 })).status).toBe(422);
  });

  test('work on the REST API until they end or are revoked', async () => {
    const { token, id } = (await createToken()).body;
    expect((await as(token, 'GET', '/tools')).status).toBe(200);
    expect((await t.call('agent_tokens.list', {})).items).toMatchObject([{ last_ip: '192.0.2.1' }]);
    expect((await t.send('agent_tokens.delete', { id })).status).toBe(204);
    const revoked = await as(token, 'GET', '/tools');
    expect([revoked.status, isErrorBody(revoked.body)]).toEqual([401, true]);
    const other = (await createToken()).body.token;
    t.advance(59 * MINUTE);
    expect((await as(other, 'GET', '/tools')).status).toBe(200);
    t.advance(MINUTE);
    expect((await as(other, 'GET', '/tools')).status).toBe(401);
    for (const nonsense of ['svc_x', `svc_${'a'.repeat(40)}`, `svc_at_${'a'.repeat(40)}`, 'x'.repeat(5_000)]) {
      expect((await as(nonsense, 'GET', '/tools')).status).toBe(401);
    }
    const basic = await t.send('tools.list', {}, { anonymous: true, headers: { authorization: 'Basic eDp5' } });
    expect(basic.status).toBe(401);
  });

  test('reach what their scopes name and never what is for administrators', async () => {
    const { token } = (await createToken({ scopes: ['read'] })).body;
    const lacking = await as(token, 'POST', '/deploy', {});
    expect([lacking.status, lacking.body.detail]).toEqual([403, expect.stringContaining('deploy')]);
    expect((await as(token, 'PATCH', '/server/config', { server_name: 'x' })).body.detail).toContain('write');
    for (const [method, path] of [
      ['GET', '/agent-tokens'],
      ['GET', '/oauth-clients'],
      ['GET', '/agent-activity'],
      ['GET', '/mcp-tokens'],
      ['GET', '/logs'],
      ['GET', '/auth/me'],
      ['GET', '/prompt-guard/rules'],
    ] as const) {
      const answer = await as(token, method, path);
      expect([path, answer.status]).toEqual([path, 403]);
    }
    const all = (await createToken()).body.token;
    for (const body of [{ agent_enabled: false }, { cors_origins: [] }, { host: '0.0.0.0' }]) {
      expect((await as(all, 'PATCH', '/server/config', body)).status).toBe(403);
    }
    const named = await as(all, 'PATCH', '/server/config', { server_name: 'Named' });
    expect([named.status, named.body['server_name']]).toEqual([200, 'Named']);
    const entries = (await t.call('history.list', { entity_type: 'server_config' })).items;
    expect(entries).toMatchObject([{ actor: { type: 'agent_token', name: 'Claude' } }]);
  });
});

test('a token may not lower the authentication with an earlier snapshot, and may activate any other', async () => {
  const { token } = (await createToken()).body;
  t.app.hosts.connect('h1', ({ data }) => {
    const said = (typeof data === 'string' ? JSON.parse(data) : data) as Record<string, unknown>;
    const text = (name: string) => (typeof said[name] === 'string' ? said[name] : null);
    const version = typeof said['version'] === 'number' ? said['version'] : null;
    const acknowledged = { boot_id: 'b', version, checksum: text('checksum'), load_ms: 1, url: null, error: null };
    queueMicrotask(() => t.app.hosts.acknowledge('h1', { ...acknowledged, request_id: text('request_id') }));
  });
  const deploy = () => t.send('deploy.run');
  await deploy();
  await t.call('config.update', { auth_type: 'bearer' });
  await deploy();
  await t.call('config.update', { server_name: 'Third' });
  await deploy();
  const refused = await as(token, 'POST', '/snapshots/1/activate', {});
  expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('auth_type')]);
  expect((await t.call('deploy.status', {})).snapshot_version).toBe(3);
  expect((await as(token, 'POST', '/snapshots/2/activate', {})).status).toBe(200);
  expect((await t.send('snapshots.activate', { version: 1 })).status).toBe(200);
});

describe('calls', () => {
  test('are counted for each token and refused beyond the limit of the configuration', async () => {
    const [mine, other] = [(await createToken()).body.token, (await createToken()).body.token];
    await t.call('config.update', { agent_rate_limit: 2 });
    expect((await as(mine, 'GET', '/tools')).status).toBe(200);
    expect((await as(mine, 'GET', '/tools')).status).toBe(200);
    const third = await as(mine, 'GET', '/tools');
    expect([third.status, isErrorBody(third.body)]).toEqual([429, true]);
    expect(Number(third.headers.get('retry-after'))).toBe(60);
    expect((await as(other, 'GET', '/tools')).status).toBe(200);
    t.advance(MINUTE);
    expect((await as(mine, 'GET', '/tools')).status).toBe(200);
  });

  test('stand in the activity, with filters, and stay after a restart', async () => {
    const { token, token_prefix } = (await createToken({ scopes: ['read'] })).body;
    await as(token, 'GET', '/connections');
    await as(token, 'POST', '/deploy', {});
    await as(`svc_${'a'.repeat(40)}`, 'GET', '/tools');
    const { items, total } = await activity();
    expect(total).toBe(2);
    expect(items[1]).toEqual({
      timestamp: '2026-03-01T12:00:00.000Z',
      token_prefix,
      token_name: 'Claude',
      tool_name: 'list_connections',
      client_ip: '192.0.2.1',
      country: null,
      success: true,
      duration_ms: expect.any(Number),
      error: null,
    });
    expect(items[0]).toMatchObject({ tool_name: 'deploy_server', success: false, error: 'insufficient_scope' });
    expect((await activity('?success=false')).total).toBe(1);
    expect((await activity('?tool_name=list_connections&limit=1')).total).toBe(1);
    expect((await activity('?token_prefix=svc_none')).total).toBe(0);
    expect(await t.app.store.db.select().from(t.app.store.tables.agent_activity)).toHaveLength(2);
  });
});
