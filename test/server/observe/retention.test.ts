import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { pruneUsage, startRetention } from '#core/control-plane/control-plane.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';
import { proposingShop } from '../proposals/shop.ts';
import { until } from '#test/support/until.ts';
import { toBatch } from '#test/support/usage.ts';

const DAY = 24 * 3_600_000;

describe.each([...namedStores])('what is old goes by itself (%s)', (metadata) => {
  let t: TestApp;
  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
  });
  afterEach(() => t.close());
  const at = (days: number) => new Date(t.app.clock().getTime() - days * DAY).toISOString();
  const made = async (path: string, body: object) => {
    const answer = await t.request('POST', `/api/v1${path}`, { body });
    expect([path, answer.status]).toEqual([path, 201]);
    return answer.body;
  };

  test('finished deliveries after 30 days or beyond 1,000, also when nothing is sent any more', async () => {
    const { notices, notice_deliveries: table } = t.app.store.tables;
    const urls = ['a', 'b'].map((name) => ({ name, url: `https://example.com/${name}`, events: ['deploy'] }));
    const [a, b] = [await made('/notices', urls[0]!), await made('/notices', urls[1]!)].map(({ id }) => String(id));
    const delivery = (n: number, notice_id: string | undefined, status: 'delivered' | 'failed' | 'waiting', days: number) => ({
      id: String(n).padStart(6, '0'),
      notice_id: notice_id ?? '',
      event: 'deploy',
      body: '{}',
      status,
      attempts: 1,
      response_status: null,
      error: null,
      created_at: at(days),
      last_attempt_at: null,
      next_attempt_at: null,
    });
    const rows = [
      delivery(1, a, 'delivered', 31),
      delivery(2, a, 'failed', 31),
      delivery(3, a, 'waiting', 31),
      delivery(4, a, 'delivered', 29),
      ...Array.from({ length: 1_005 }, (_, n) => delivery(10 + n, b, 'delivered', 1)),
    ];
    for (let n = 0; n < rows.length; n += 200) await t.app.store.db.insert(table).values(rows.slice(n, n + 200));
    expect(await t.app.store.db.$count(notices)).toBe(2);
    await pruneUsage(t.app);
    const left = await t.app.store.db.select({ id: table.id, notice_id: table.notice_id }).from(table).orderBy(table.id);
    expect(left.filter(({ notice_id }) => notice_id === a).map(({ id }) => id)).toEqual(['000003', '000004']);
    expect(left.filter(({ notice_id }) => notice_id === b)).toHaveLength(1_000);
    expect(left.at(-1)?.id).toBe('001014');
  });

  test('ended credentials of agents after 30 days, and the activity beyond 10,000 calls', async () => {
    const token = await made('/agent-tokens', { name: 'short', duration_minutes: 15, scopes: ['read'] });
    const client = await made('/oauth-clients', { name: 'gone', idle_timeout_minutes: 60, scopes: ['read'] });
    await made('/oauth-clients', { name: 'stays', idle_timeout_minutes: 60, scopes: ['read'] });
    expect(typeof token['token']).toBe('string');
    expect((await t.send('oauth_clients.delete', { id: String(client['id']) })).status).toBe(204);
    const { agent_tokens, agent_clients, agent_activity } = t.app.store.tables;
    const names = async () => {
      const tokens = await t.app.store.db.select({ name: agent_tokens.name }).from(agent_tokens);
      const clients = await t.app.store.db.select({ name: agent_clients.name }).from(agent_clients);
      return [...tokens, ...clients].map(({ name }) => name).toSorted();
    };
    const entry = { timestamp: at(0), token_prefix: 'svc_1', token_name: 'one', tool_name: 'list_tools', client_ip: null };
    const call = { ...entry, country: null, success: true, duration_ms: 1, error: null };
    const rows = Array.from({ length: 10_020 }, (_, n) => ({ id: String(n).padStart(6, '0'), entry: call }));
    for (let n = 0; n < rows.length; n += 1_000) await t.app.store.db.insert(agent_activity).values(rows.slice(n, n + 1_000));
    t.advance(29 * DAY);
    await pruneUsage(t.app);
    expect(await names()).toEqual(['gone', 'short', 'stays']);
    const left = await t.app.store.db.select({ id: agent_activity.id }).from(agent_activity).orderBy(agent_activity.id);
    expect([left.length, left[0]?.id]).toEqual([10_000, '000020']);
    t.advance(2 * DAY);
    await pruneUsage(t.app);
    expect(await names()).toEqual(['stays']);
  });

  test('closed proposals after 90 days, open ones not', async () => {
    const shop = await proposingShop({ metadata });
    const propose = async (server_name: string) => {
      const agent = await shop.token();
      const { status, body } = await shop.as(agent).send('config.update', { server_name });
      expect(status).toBe(202);
      return String(body.proposal_id);
    };
    const ids = async () => (await shop.t.call('proposals.list', {})).items.map(({ id }) => id);
    const closed = await propose('Closed');
    await shop.t.call('proposals.reject', { id: closed });
    const open = await propose('Open');
    for (const [days, left] of [
      [89, [open, closed]],
      [2, [open]],
    ] as const) {
      shop.t.advance(days * DAY);
      await shop.t.call('auth.login', { username: 'ada', password: 'correct horse' });
      await pruneUsage(shop.t.app);
      expect(await ids()).toEqual([...left]);
    }
    await shop.t.close();
  });

  test('entries of the history of what is gone after a year, those of what exists not', async () => {
    const { history } = t.app.store.tables;
    const kept = await made('/prompts', { name: 'kept', description: 'A prompt', template: 'Hello' });
    const gone = await made('/prompts', { name: 'gone', description: 'A prompt', template: 'Hello' });
    const token = await made('/agent-tokens', { name: 'short', duration_minutes: 15, scopes: ['read'] });
    expect((await t.send('prompts.delete', { id: String(gone['id']) })).status).toBe(204);
    const deploy = {
      entity_type: 'snapshot',
      entity_name: 'deploy',
      action: 'deploy',
      actor: { type: 'system', id: null, name: 's' },
    };
    const entries = Array.from({ length: 1_100 }, (_, n) => ({
      ...deploy,
      id: `0000-${String(n).padStart(6, '0')}`,
      entity_id: String(n + 1),
      created_at: at(0),
    }));
    for (let n = 0; n < entries.length; n += 200) await t.app.store.db.insert(history).values(entries.slice(n, n + 200));
    const snapshot = {
      checksum: 'c',
      content: '{}',
      note: null,
      counts: { connections: 0, tools: 0, resources: 0, prompts: 0 },
      actor: { type: 'system', id: null, name: 'system' },
      created_at: at(0),
    };
    await t.app.store.db.insert(t.app.store.tables.snapshots).values({ version: 7, ...snapshot });
    const ids = async () => [
      ...new Set((await t.app.store.db.select({ id: history.entity_id }).from(history)).map(({ id }) => id)),
    ];
    t.advance(364 * DAY);
    const before = await ids();
    expect(before).toHaveLength(1_104);
    await pruneUsage(t.app);
    expect(await ids()).toEqual(before);
    t.advance(2 * DAY);
    await t.call('auth.login', { username: 'ada', password: 'correct horse' });
    expect((await t.request('DELETE', `/api/v1/prompts/${String(kept['id'])}x`)).status).toBe(404);
    await pruneUsage(t.app);
    const after = await ids();
    expect(after).toContain('7');
    expect(after).toContain(String(kept['id']));
    for (const id of [gone['id'], token['id'], '8', '1100']) expect(after).not.toContain(String(id));
    // Whoever signed in first.
    expect(after).toHaveLength(3);
  });

  test('nothing of that while the clock of the server is far ahead', async () => {
    await made('/agent-tokens', { name: 'short', duration_minutes: 15, scopes: ['read'] });
    const { agent_tokens, sessions } = t.app.store.tables;
    const counts = () => Promise.all([agent_tokens, sessions].map((table) => t.app.store.db.$count(table)));
    const before = await counts();
    const { meta } = t.app.store.tables;
    const end = startRetention(t.app, 10);
    await until(async () => (await t.app.store.db.select().from(meta)).some(({ key }) => key === 'usage_forgotten_at'));
    t.advance(400 * DAY);
    await until(() => t.log.some(({ message }) => message.startsWith('the clock is far ahead')));
    await Bun.sleep(100);
    expect(await counts()).toEqual(before);
    end();
  });
});

test('the request log is kept for as long, and as many calls, as the environment says', async () => {
  const calls = async (t: TestApp, days: readonly number[]) => {
    await t.signIn();
    const call = {
      kind: 'tool',
      name: 'one',
      entity_id: 't',
      connection_id: 'c',
      duration_ms: 1,
      wait_ms: 0,
      rows: 1,
      bytes: 1,
    } as const;
    const of = { ...call, snapshot_version: 1, client: 'test/1' } as const;
    const times = days.map((day) => new Date(t.app.clock().getTime() - day * DAY).toISOString());
    const body = { boot_id: 'boot-1', seq: 1, ...toBatch(times.map((timestamp) => ({ ...of, timestamp }))) };
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    expect((await t.request('POST', '/api/internal/hosts/h1/usage', { body, headers })).status).toBe(204);
    await pruneUsage(t.app);
    return (await t.call('logs.list', {})).total;
  };
  const days = await testApp({ SVC_REQUEST_LOG_DAYS: '2' });
  const entries = await testApp({ SVC_REQUEST_LOG_ENTRIES: '1000' });
  const plain = await testApp();
  try {
    expect(await calls(days, [1, 1.9, 2.1, 3])).toBe(2);
    const many = Array.from({ length: 1_010 }, (_, n) => n / 10_000);
    expect(await calls(entries, many)).toBe(1_000);
    expect(await calls(plain, [1, 3, 29, 31])).toBe(3);
  } finally {
    for (const t of [days, entries, plain]) await t.close();
  }
});
