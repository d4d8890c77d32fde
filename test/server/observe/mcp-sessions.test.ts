import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { pruneUsage } from '#core/control-plane/control-plane.ts';
import { forgetSessions } from '#core/observe/retention/session-retention.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { namedStores } from '#test/support/metadata.ts';
import { removeFolder, startPrograms } from '#test/support/programs.ts';
import { type Call, toBatch } from '#test/support/usage.ts';
import { until } from '#test/support/until.ts';

interface Shown extends Record<string, unknown> {
  readonly id: string;
  readonly events: readonly Record<string, unknown>[];
}

describe.each([...namedStores])('sessions of clients in %s', (metadata) => {
  let t: TestApp;
  let seq = 0;
  beforeEach(async () => {
    seq = 0;
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
  });
  afterEach(() => t.close());

  const at = (minute: number, second = 0) => new Date(Date.parse('2026-03-01T08:00:00.000Z') + minute * 60_000 + second * 1_000);
  const call = (minute: number, over: Partial<Call> = {}): Partial<Call> => ({
    kind: 'tool',
    name: 'orders',
    client: 'claude/1',
    token_prefix: 'svc_mcp_1',
    caller: { person: null, token: 't1', client_id: null },
    timestamp: at(minute).toISOString(),
    duration_ms: 10,
    wait_ms: 1,
    rows: 2,
    bytes: 100,
    tokens: 30,
    error: null,
    ...over,
  });
  const list = (minute: number, over: object = {}) => ({
    client: 'claude/1',
    token_prefix: 'svc_mcp_1',
    caller: { token: 't1' },
    timestamp: at(minute).getTime(),
    method: 'tools/list',
    duration_ms: 0.5,
    ...over,
  });
  const store = async (calls: readonly Partial<Call>[], over: object = {}) => {
    const body = { boot_id: 'boot', seq: ++seq, ...toBatch(calls), ...over };
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    expect((await t.request('POST', '/api/internal/hosts/h1/usage', { body, headers })).status).toBe(204);
  };
  const sessions = async (query = '') =>
    (await t.request('GET', `/api/v1/sessions/mcp${query}`)).body as { items: Shown[]; total: number };
  const session = async (id: string, query = '') => (await t.request('GET', `/api/v1/sessions/mcp/${id}${query}`)).body as Shown;

  test('are the calls of one caller and client with no gap of half an hour, over batches and within one', async () => {
    await store([call(1), call(20)], { lists: [list(0)] });
    await store([call(49), call(80), call(81, { client: 'cursor/2' })]);
    await store([call(100, { caller: { person: 'ada', token: null, client_id: 'c' }, token_prefix: 'ada' })]);
    const { items, total } = await sessions();
    expect(total).toBe(4);
    expect(items.map(({ client, calls, lists, person }) => [client, calls, lists, person])).toEqual([
      ['claude/1', 1, 0, 'ada'],
      ['cursor/2', 1, 0, null],
      ['claude/1', 1, 0, null],
      ['claude/1', 3, 1, null],
    ]);
    expect(items[3]).toMatchObject({
      started_at: at(0).toISOString(),
      last_at: at(49).toISOString(),
      rows: 6,
      tokens: 90,
      token: 't1',
    });
  });

  test('of the protocol are one however long they were quiet', async () => {
    await store([call(1, { session: 'aa' }), call(1, { session: 'bb' })]);
    await store([call(200, { session: 'aa' })]);
    const { items } = await sessions();
    expect(items.map(({ session: of, calls }) => [of, calls])).toEqual([
      ['aa', 2],
      ['bb', 1],
    ]);
  });

  test('tell in order what was read and called, with what failed and what was tried again', async () => {
    const failed = { error: 'sql_error', error_message: 'no such column: channel' };
    await store([call(1, failed), call(2, failed), call(3), call(4), call(5, { name: 'stock' })], {
      lists: [list(0), list(4.5)],
    });
    const [first] = (await sessions()).items;
    expect(first).toMatchObject({ errors: 2, last_error: { call_id: '2', name: 'orders', error_message: failed.error_message } });
    const { events } = await session(first?.id ?? '');
    expect(events.map(({ name, outcome, retry }) => [name, outcome, retry])).toEqual([
      ['tools/list', 'ok', false],
      ['orders', 'tool_error', false],
      ['orders', 'tool_error', true],
      ['orders', 'ok', true],
      ['orders', 'ok', false],
      ['tools/list', 'ok', false],
      ['stock', 'ok', false],
    ]);
    const parts = await Promise.all([0, 2, 4, 6].map((skip) => session(first?.id ?? '', `?skip=${skip}&limit=2`)));
    expect(parts.map((part) => part.events.length)).toEqual([2, 2, 2, 1]);
    expect(parts.flatMap((part) => part.events)).toEqual([...events]);
    expect((await t.send('mcp_sessions.get', { id: 999 })).status).toBe(404);
  });

  test('show every list on one page or another, and a retry after the page that it follows on', async () => {
    const lists = Array.from({ length: 12 }, (_, n) => list(0, { timestamp: at(0, n).getTime() }));
    await store([call(1, { error: 'sql_error' }), call(2, { name: 'stock' }), call(3), call(4)], { lists });
    const [first] = (await sessions()).items;
    const pages = await Promise.all([0, 5, 10, 15].map((skip) => session(first?.id ?? '', `?skip=${skip}&limit=5`)));
    const events = pages.flatMap((page) => page.events);
    expect(events.map(({ timestamp }) => timestamp)).toEqual([
      ...lists.map(({ timestamp }) => new Date(timestamp).toISOString()),
      ...[1, 2, 3, 4].map((minute) => at(minute).toISOString()),
    ]);
    const later = await session(first?.id ?? '', '?skip=13&limit=2');
    expect(later.events.map(({ name, retry }) => [name, retry])).toEqual([
      ['stock', false],
      ['orders', true],
    ]);
    expect((await session(first?.id ?? '', '?skip=15&limit=2')).events).toMatchObject([{ name: 'orders', retry: false }]);
  });

  test('keep no more lists than so many, whole moments, and go with them when nothing was called', async () => {
    await store([], { lists: [0, 1, 2, 2, 3].map((minute) => list(minute, { client: `reader/${minute}` })) });
    await store([call(0)], { lists: [list(0)] });
    const { mcp_lists } = t.app.store.tables;
    const left = async () => (await t.app.store.db.select({ at: mcp_lists.timestamp }).from(mcp_lists)).map((row) => row.at);
    await forgetSessions(t.app, at(0).toISOString(), 3);
    expect((await left()).toSorted()).toEqual([2, 2, 3].map((minute) => at(minute).toISOString()));
    expect((await sessions()).items.map(({ client }) => client)).toEqual(['reader/3', 'reader/2', 'claude/1']);
    await forgetSessions(t.app, at(0).toISOString(), 2);
    expect(await left()).toEqual([at(3).toISOString()]);
  });

  test('are forgotten in pages, with their names', async () => {
    const { mcp_lists, mcp_sessions, mcp_session_names } = t.app.store.tables;
    const clients = Array.from({ length: 2_100 }, (_, n) => `client/${n}`);
    await store(
      clients.map((client) => call(0, { client })),
      { lists: clients.map((client) => list(0, { client })) },
    );
    await store([call(50)], { lists: [list(50)] });
    await forgetSessions(t.app, at(40).toISOString());
    const { db } = t.app.store;
    expect(await Promise.all([mcp_sessions, mcp_session_names, mcp_lists].map((table) => db.$count(table)))).toEqual([1, 1, 1]);
  });

  test('are found by person, token, client, tool and whether a call failed, and go with their calls', async () => {
    await store([
      call(1),
      call(2, { client: 'cursor/2', name: 'stock', error: 'timeout' }),
      call(3, { caller: { person: 'ada', token: null, client_id: null }, token_prefix: 'ada' }),
    ]);
    const totals = {
      'person=ada': 1,
      'token=t1': 2,
      'token=svc_mcp_1': 2,
      'client=cursor': 1,
      'client=cursor/2': 1,
      'tool=stock': 1,
    };
    for (const [query, total] of Object.entries({ ...totals, 'failed=true': 1, 'failed=false': 2, 'tool=orders&failed=true': 0 }))
      expect([query, (await sessions(`?${query}`)).total]).toEqual([query, total]);
    t.advance(31 * 86_400_000);
    await pruneUsage(t.app);
    await t.call('auth.login', { username: 'ada', password: 'correct horse' });
    expect((await sessions()).total).toBe(0);
    const { mcp_session_names } = t.app.store.tables;
    expect(await t.app.store.db.$count(mcp_session_names)).toBe(0);
  });
});

test('filters of the log and of sessions read an index of the embedded database, not every call', async () => {
  const t = await testApp({}, undefined, { metadata: 'sqlite' });
  const planOf = async (where: string) => {
    const query = `explain query plan select id from request_logs where ${where} order by timestamp desc limit 100`;
    return JSON.stringify(await t.app.store.db.all(sql.raw(query)));
  };
  const indexes = {
    "timestamp > '2026'": 'request_logs_time',
    "name = 'a'": 'request_logs_name',
    'error is not null': 'request_logs_failed',
    "name = 'a' and error is not null": 'request_logs_failed_name',
    "connection_id = 'c'": 'request_logs_connection',
    "kind = 'prompt' and kind <> 'tool'": 'request_logs_kind',
    'session_id = 1': 'request_logs_session',
  };
  for (const [where, index] of Object.entries(indexes))
    expect([where, await planOf(where)]).toEqual([where, expect.stringContaining(index)]);
  await t.close();
});

test('a real client begins its session with the list that it reads', async () => {
  const programs = await startPrograms();
  try {
    await until(() => programs.output().includes('curl'));
    await programs.signIn();
    const client = await connectClient('v1', programs.mcp_url);
    await client.tools();
    await client.call('search_products', { text: 'l', limit: 3 });
    const read = () => programs.api<{ items: Shown[] }>('GET', '/sessions/mcp?tool=search_products');
    await until(async () => (await read()).items.length > 0);
    const [found] = (await read()).items;
    const { events } = await programs.api<Shown>('GET', `/sessions/mcp/${found?.id ?? ''}`);
    expect(events.map(({ name }) => name)).toEqual(['tools/list', 'search_products']);
    expect(events[1]?.['tokens']).toBeGreaterThan(10);
    await client.close();
  } finally {
    await programs.stop();
    removeFolder(programs);
  }
}, 60_000);
