import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { AgentActivity } from '#core/contract/identity/agent-access.ts';
import { forgetActivity, recordActivity } from '#core/observe/agent-activity.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import { describeOnce } from '#test/support/metadata.ts';
import { listeningServer } from '#test/support/server.ts';

const KEPT = 10_000;
const NOW = Date.parse('2026-03-01T12:00:00.000Z');

/** The n-th call: one a second, the newest with the largest n. */
const entry = (n: number, last: number): AgentActivity => ({
  timestamp: new Date(NOW - (last - n) * 1_000).toISOString(),
  token_prefix: n % 2 === 0 ? 'svc_even' : 'svc_odd0',
  token_name: n % 2 === 0 ? 'Even' : 'Odd',
  tool_name: n % 4 === 0 ? 'list_tools' : 'get_tool',
  client_ip: '8.8.8.8',
  country: n % 10 === 0 ? null : 'US',
  success: n % 5 !== 0,
  duration_ms: 10,
  error: n % 5 === 0 ? 'not_found' : null,
});

/** Where the activity stands: the table of the metadata database, or the list of the key-value store. */
describe.each([
  ['the metadata database', {}],
  ['the key-value store', { SVC_KV: 'redis', REDIS_PASSWORD: 'unused' }],
] as [string, Record<string, string>][])('the activity in %s', (kind, variables) => {
  let t: TestApp;
  const list = async (query = '') =>
    (await t.request('GET', `/api/v1/agent-activity${query}`)).body as { items: AgentActivity[]; total: number };
  const stats = async (query = '') => (await t.request('GET', `/api/v1/agent-activity/stats${query}`)).body;
  beforeAll(async () => {
    t = await testApp(variables);
    await t.signIn();
  });
  afterAll(() => t.close());

  test('is empty at first', async () => {
    expect(await list()).toEqual({ items: [], total: 0 });
    expect<object>(await stats()).toEqual({
      period: '24h',
      calls: 0,
      errors: 0,
      error_rate: 0,
      avg_ms: 0,
      tokens: [],
      tools: [],
      countries: [],
      complete: true,
    });
  });

  test('is paged and filtered, the newest first', async () => {
    for (let n = 1; n <= 40; n++) await recordActivity(t.app, entry(n, 40));
    const { items, total } = await list();
    expect([items.length, total, items[0]?.timestamp]).toEqual([40, 40, new Date(NOW).toISOString()]);
    const pages = [await list('?limit=15'), await list('?skip=15&limit=15'), await list('?skip=30&limit=15')];
    expect(pages.flatMap((page) => page.items)).toEqual(items);
    expect(pages.map((page) => page.total)).toEqual([40, 40, 40]);
    expect((await list('?skip=40')).items).toEqual([]);
    for (const [query, count] of [
      ['?success=false', 8],
      ['?success=true', 32],
      ['?tool_name=list_tools', 10],
      ['?token_prefix=svc_even', 20],
      ['?token_prefix=svc_even&tool_name=get_tool&success=true&limit=3&skip=1', 8],
      ['?tool_name=nothing', 0],
    ] as const) {
      expect([query, (await list(query)).total]).toEqual([query, count]);
    }
    expect((await list('?token_prefix=svc_even&tool_name=get_tool&limit=3&skip=1')).items).toHaveLength(3);
    for (const query of ['?limit=101', '?limit=0', '?skip=-1', '?success=maybe', '?tool_name=', '?color=red']) {
      expect([query, (await t.request('GET', `/api/v1/agent-activity${query}`)).status]).toEqual([query, 422]);
    }
  });

  test('is counted by token, tool and country within a period', async () => {
    expect<object>(await stats()).toEqual({
      period: '24h',
      calls: 40,
      errors: 8,
      error_rate: 0.2,
      avg_ms: 10,
      tokens: [
        { token_prefix: 'svc_even', token_name: 'Even', calls: 20, errors: 4, last_called_at: entry(40, 40).timestamp },
        { token_prefix: 'svc_odd0', token_name: 'Odd', calls: 20, errors: 4, last_called_at: entry(39, 40).timestamp },
      ],
      tools: [
        { tool_name: 'get_tool', calls: 30, errors: 6, avg_ms: 10 },
        { tool_name: 'list_tools', calls: 10, errors: 2, avg_ms: 10 },
      ],
      countries: [
        { country: 'US', calls: 36, errors: 4 },
        { country: null, calls: 4, errors: 4 },
      ],
      complete: true,
    });
    t.advance(2 * 3_600_000);
    expect(await stats('?period=1h')).toMatchObject({ calls: 0, complete: true });
    expect(await stats('?period=6h')).toMatchObject({ calls: 40 });
    expect((await t.send('agent_activity.stats', { period: '1y' })).status).toBe(422);
    expect((await t.send('agent_activity.stats', {}, { anonymous: true })).status).toBe(401);
  });

  test(`keeps ${KEPT} calls, the newest`, async () => {
    const extra = 700;
    if (kind === 'the key-value store') {
      for (let n = 0; n < KEPT; n++) await recordActivity(t.app, entry(n, KEPT));
    } else {
      const rows = Array.from({ length: KEPT }, (_, n) => ({ id: Bun.randomUUIDv7(), entry: entry(n, KEPT) }));
      const { agent_activity } = t.app.store.tables;
      for (let at = 0; at < rows.length; at += 500) {
        await t.app.store.write(async (tx) => void (await tx.insert(agent_activity).values(rows.slice(at, at + 500))));
      }
    }
    for (let n = 0; n < extra; n++) await recordActivity(t.app, { ...entry(n, extra), tool_name: 'newest' });
    const { items, total } = await list();
    expect([items[0]?.tool_name, total]).toEqual(['newest', KEPT]);
    expect((await list('?tool_name=newest')).total).toBe(extra);
    expect((await list(`?skip=${KEPT - 1}&limit=100`)).items).toHaveLength(1);
    expect((await list(`?skip=${KEPT + 5}&limit=100`)).items).toEqual([]);
    expect(await stats('?period=7d')).toMatchObject({ calls: KEPT, complete: false });
    await forgetActivity(t.app);
    const stored = await t.app.store.db
      .select({ id: t.app.store.tables.agent_activity.id })
      .from(t.app.store.tables.agent_activity);
    expect(stored).toHaveLength(KEPT);
  }, 240_000);
});

describeOnce()('a restart', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-activity-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  /** A database of Redis that no other test uses. */
  const REDIS = `${redisUrl}/12`;

  const stores: [string, Record<string, string>, boolean][] = [
    ['the metadata database', {}, true],
    ['Redis', { SVC_KV: 'redis', SVC_REDIS_URL: REDIS }, reachable.redis],
  ];
  test.each(stores.filter(([, , possible]) => possible))('loses nothing of the activity in %s', async (kind, variables) => {
    const redis = kind === 'Redis' ? new Redis(REDIS) : null;
    await redis?.flushdb();
    const url = `file:${join(directory, `${kind.replaceAll(' ', '-')}.sqlite`)}`;
    const first = await listeningServer(url, variables);
    await first.signIn();
    const { token } = await first.call('agent_tokens.create', { name: 'Stays', duration_minutes: 15 });
    const headers = { authorization: `Bearer ${token}` };
    for (const path of ['/tools', '/prompts', '/tools/none']) await fetch(`${first.url}/api/v1${path}`, { headers });
    const before = await first.call('agent_activity.list', {});
    expect(before.total).toBe(3);
    await first.stop();
    const second = await listeningServer(url, variables);
    try {
      await second.signIn();
      expect(await second.call('agent_activity.list', {})).toEqual(before);
    } finally {
      await second.stop();
      await redis?.flushdb();
      redis?.disconnect();
    }
  });
  if (!reachable.redis) test.skip('loses nothing of the activity in Redis: it is not reachable', () => undefined);
});
