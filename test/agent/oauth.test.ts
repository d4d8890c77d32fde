import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { SPECIFIED_TOOLS } from '#test/support/agent-tools.ts';

interface Grant {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

describe('the token endpoint', () => {
  let a: ListeningAgent;
  let client: { id: string; client_id: string; client_secret: string };
  beforeAll(async () => {
    a = await listeningAgent();
    const body = await a.s.call('oauth_clients.create', {
      name: 'Bot',
      idle_timeout_minutes: 15,
      scopes: ['read', 'write'],
    });
    client = body;
  });
  afterAll(() => a.stop());

  async function grant(form: Record<string, string>, headers: Record<string, string> = {}, base = a.s.url): Promise<Grant> {
    const response = await fetch(`${base}/agent-mcp/oauth/token`, { method: 'POST', body: new URLSearchParams(form), headers });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
  }
  const credentials = () => ({
    grant_type: 'client_credentials',
    client_id: client.client_id,
    client_secret: client.client_secret,
  });
  const rest = (token: unknown, path = '/tools') =>
    fetch(`${a.s.url}/api/v1${path}`, { headers: { authorization: `Bearer ${String(token)}` } });

  test('refuses with the errors of RFC 6749 and a sentence', async () => {
    const cases: [Record<string, string>, number, string][] = [
      [{}, 400, 'invalid_request'],
      [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
      [{ grant_type: 'client_credentials' }, 401, 'invalid_client'],
      [{ ...credentials(), client_secret: `svc_cs_${'a'.repeat(40)}` }, 401, 'invalid_client'],
      [{ ...credentials(), client_id: 'nobody' }, 401, 'invalid_client'],
      [{ ...credentials(), scope: 'read deploy' }, 400, 'invalid_scope'],
      [{ grant_type: 'refresh_token' }, 400, 'invalid_request'],
      [{ grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'invalid_grant'],
    ];
    for (const [form, status, error] of cases) {
      const answer = await grant(form);
      expect([answer.status, answer.body['error']]).toEqual([status, error]);
      expect(String(answer.body['detail'])).toMatch(/\.$/);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      if (status === 401) expect(answer.headers.get('www-authenticate')).toStartWith('Basic');
    }
    const json = await fetch(`${a.s.url}/agent-mcp/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(credentials()),
    });
    expect([json.status, ((await json.json()) as { error: string }).error]).toEqual([400, 'invalid_request']);
    expect((await fetch(`${a.s.url}/agent-mcp/oauth/token`)).status).toBe(405);
    const twice = await fetch(`${a.s.url}/agent-mcp/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials&grant_type=refresh_token',
    });
    expect(twice.status).toBe(400);
  });

  test('gives tokens for the secret in the form or as HTTP Basic, on both ports', async () => {
    const basic = `Basic ${Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64')}`;
    for (const answer of [
      await grant(credentials()),
      await grant({ grant_type: 'client_credentials' }, { authorization: basic }),
      await grant(credentials(), {}, a.url),
    ]) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.body).toEqual({
        access_token: expect.stringMatching(/^svc_at_[A-Za-z0-9]{40}$/),
        token_type: 'Bearer',
        expires_in: 3_600,
        refresh_token: expect.stringMatching(/^svc_rt_[A-Za-z0-9]{40}$/),
        scope: 'read write',
      });
      expect((await rest(answer.body['access_token'])).status).toBe(200);
      expect((await rest(answer.body['refresh_token'])).status).toBe(401);
    }
    const both = await grant(credentials(), { authorization: basic });
    expect(both.status).toBe(400);
    const narrow = await grant({ ...credentials(), scope: 'read' });
    expect(narrow.body['scope']).toBe('read');
    expect((await rest(narrow.body['access_token'], '/export-import/export')).status).toBe(403);
  });

  test('works as a bearer of the MCP endpoint', async () => {
    const { access_token } = (await grant(credentials())).body;
    for (const kind of ['v1', 'v2'] as const) {
      const mcp = await a.client(kind, String(access_token));
      expect(await mcp.tools()).toHaveLength(SPECIFIED_TOOLS.length);
      expect((await mcp.call('deploy_server', {})).content[0]?.text).toBe('This token lacks the scope deploy.');
      await mcp.close();
    }
    const [entry] = (await a.s.call('agent_activity.list', {})).items;
    expect(entry).toMatchObject({
      token_name: 'Bot',
      tool_name: 'deploy_server',
      token_prefix: String(access_token).slice(0, 11),
    });
  });

  test('rotates refresh tokens; a second use ends the whole family', async () => {
    const first = (await grant(credentials())).body;
    const refresh = (refresh_token: unknown) => grant({ grant_type: 'refresh_token', refresh_token: String(refresh_token) });
    const second = await refresh(first['refresh_token']);
    expect([second.status, second.body['scope']]).toEqual([200, 'read write']);
    expect(second.body['refresh_token']).not.toBe(first['refresh_token']);
    expect((await rest(second.body['access_token'])).status).toBe(200);
    const reused = await refresh(first['refresh_token']);
    expect([reused.status, reused.body['error']]).toEqual([400, 'invalid_grant']);
    for (const token of [first['access_token'], second.body['access_token']]) expect((await rest(token)).status).toBe(401);
    expect((await refresh(second.body['refresh_token'])).status).toBe(400);
  });

  test('two uses of one refresh token at the same moment give one new pair at most', async () => {
    const { refresh_token } = (await grant(credentials())).body;
    const answers = await Promise.all(
      [1, 2, 3].map(() => grant({ grant_type: 'refresh_token', refresh_token: String(refresh_token) })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('stops for a revoked client, and so do its live tokens', async () => {
    const made = await a.s.call('oauth_clients.create', { name: 'Gone', idle_timeout_minutes: 60 });
    const form = {
      grant_type: 'client_credentials',
      client_id: made.client_id,
      client_secret: made.client_secret,
    };
    const tokens = (await grant(form)).body;
    expect((await rest(tokens['access_token'])).status).toBe(200);
    expect((await a.s.send('oauth_clients.delete', { id: made.id })).status).toBe(204);
    expect((await rest(tokens['access_token'])).status).toBe(401);
    expect((await grant(form)).status).toBe(401);
    const again = await grant({ grant_type: 'refresh_token', refresh_token: String(tokens['refresh_token']) });
    expect(again.body['error']).toBe('invalid_grant');
  });

  test('nothing that is given out is stored or logged as it is', async () => {
    const tokens = (await grant(credentials())).body;
    const { db, tables } = a.s.server.app.store;
    const stored = JSON.stringify(
      await Promise.all([
        db.select().from(tables.agent_clients),
        db.select().from(tables.agent_grants),
        db.select().from(tables.history),
      ]),
    );
    for (const secret of [client.client_secret, tokens['access_token'], tokens['refresh_token']]) {
      expect(stored).not.toContain(String(secret));
    }
    const shown = JSON.stringify(await a.s.call('oauth_clients.list', {}));
    expect(shown).toContain(client.client_id);
    expect(shown).not.toContain('secret');
  });
});

describe.each(['file', 'postgresql'] as const)('idle time with a metadata database: %s', (kind) => {
  if (kind === 'postgresql' && !reachable.postgres) return test.skip('PostgreSQL is not reachable', () => undefined);
  const MINUTE = 60_000;
  let t: TestApp;
  let database: TestDatabase | null = null;
  beforeAll(async () => {
    if (kind === 'postgresql') database = await testDatabase('postgresql');
    const { host, port, username, database: name } = database?.settings ?? {};
    // What a shared store keeps stands in the key-value store.
    t =
      database === null
        ? await testApp({ SVC_KV: 'redis', REDIS_PASSWORD: 'unused' })
        : await testApp({}, `postgres://${username}@${host}:${port}/${name}`);
    await t.signIn();
  });
  afterAll(async () => {
    await t.close();
    await database?.drop();
  });

  const service = () => ({ 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN });
  const grant = async (form: object) => {
    const body = { client_address: null, ...form };
    const answer = await t.request('POST', '/api/internal/agent/token', { body, headers: service() });
    return answer.body as { status: number; body: Record<string, unknown> };
  };
  const rest = async (token: unknown) =>
    (await t.send('tools.list', {}, { anonymous: true, headers: { authorization: `Bearer ${String(token)}` } })).status;

  test('is between 15 minutes and a day', async () => {
    for (const idle_timeout_minutes of [14, 1_441]) {
      const answer = await t.send('oauth_clients.create', { name: 'x', idle_timeout_minutes });
      expect(answer.status).toBe(422);
    }
  });

  test('slides with every use, ends without one, and an access token lives an hour at most', async () => {
    const { client_id, client_secret } = await t.call('oauth_clients.create', { name: 'Bot', idle_timeout_minutes: 15 });
    const form = { grant_type: 'client_credentials', client_id, client_secret };
    const first = (await grant(form)).body;
    for (let n = 0; n < 4; n++) {
      t.advance(14 * MINUTE);
      expect(await rest(first['access_token'])).toBe(200);
    }
    t.advance(4 * MINUTE);
    expect(await rest(first['access_token'])).toBe(401);
    const second = await grant({ grant_type: 'refresh_token', refresh_token: first['refresh_token'] });
    expect(second.status).toBe(200);
    t.advance(14 * MINUTE);
    expect(await rest(second.body['access_token'])).toBe(200);
    t.advance(15 * MINUTE);
    expect(await rest(second.body['access_token'])).toBe(401);
    const late = await grant({ grant_type: 'refresh_token', refresh_token: second.body['refresh_token'] });
    expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
    const { items, total } = await t.call('agent_activity.list', { limit: 2 });
    expect([(items as object[]).length, total]).toEqual([2, 5]);
    const rows = await t.app.store.db.select().from(t.app.store.tables.agent_activity);
    expect(rows).toHaveLength(5);
    // A new family sweeps away what is long dead.
    t.advance(26 * 60 * MINUTE);
    expect((await grant(form)).status).toBe(200);
    expect(await t.app.store.db.select().from(t.app.store.tables.agent_families)).toHaveLength(1);
    expect(await t.app.store.db.select().from(t.app.store.tables.agent_grants)).toHaveLength(2);
  });
});
