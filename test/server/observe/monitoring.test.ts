import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { addDuration, type Histogram, mergeInto, quantile } from '#core/lib/histogram.ts';
import { pruneUsage } from '#core/control-plane/control-plane.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { describeOnce, testOnce } from '#test/support/metadata.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { type Call, toBatch } from '#test/support/usage.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const item = (over: Partial<Call> = {}): Partial<Call> => ({
  timestamp: '2026-03-01T11:59:58.000Z',
  kind: 'tool',
  name: 'products',
  entity_id: 'tool-1',
  connection_id: 'connection-1',
  duration_ms: 10,
  wait_ms: 1,
  rows: 2,
  bytes: 100,
  error: null,
  snapshot_version: 1,
  client: 'claude/1',
  ...over,
});

const gauge = (over: object = {}) => ({
  id: 'connection-1',
  name: 'shop',
  limit: 4,
  active: 1,
  waiting: 2,
  completed: 10,
  rejected: 1,
  timed_out: 1,
  longest_wait_ms: 0,
  waits: { count: 2, total_ms: 30, histogram: { '0': 1, '194': 1 } },
  ...over,
});

const usage = ({ items = [], ...body }: { items?: Partial<Call>[]; [field: string]: unknown }, { to = t, id = 'h1' } = {}) =>
  to.request('POST', `/api/internal/hosts/${id}/usage`, {
    body: { boot_id: 'boot-1', seq: 1, ...toBatch(items), ...body },
    headers: { 'x-service-token': to.app.env.SVC_AGENT_SERVICE_TOKEN },
  });
const get = async (path: string) => (await t.request('GET', `/api/v1${path}`)).body;

interface Point {
  readonly timestamp: string;
  readonly calls: number;
  readonly errors: number;
  readonly avg_ms: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  readonly ran?: number;
  readonly outcomes?: Readonly<Record<string, number>>;
}
const points = async (query = '') => (await get(`/metrics/timeseries${query}`))['points'] as Point[];
const callsIn = async (query = '') => (await points(query)).reduce((sum, { calls }) => sum + calls, 0);

describe('a batch of usage', () => {
  test('is refused without the service token, and when it is malformed; nothing is stored', async () => {
    const without = await t.request('POST', '/api/internal/hosts/h1/usage', {
      body: { boot_id: 'b', seq: 1, ...toBatch([item()]) },
    });
    expect([without.status, isErrorBody(without.body)]).toEqual([401, true]);
    const answer = await usage({ seq: 0, items: [item()] });
    expect([answer.status, isErrorBody(answer.body)]).toEqual([422, true]);
    expect(await get('/logs')).toEqual({ items: [], total: 0 });
    expect(await get('/metrics/stats')).toMatchObject({ tools: {}, resources: {}, prompts: {} });
    expect(await callsIn()).toBe(0);
  });

  test('is stored once for each boot and sequence', async () => {
    for (const seq of [1, 1, 2, 2, 1]) expect((await usage({ seq, items: [item(), item()] })).status).toBe(204);
    expect((await get('/logs'))['total']).toBe(4);
    await usage({ boot_id: 'boot-2', seq: 1, items: [item()] });
    expect((await get('/logs'))['total']).toBe(5);
    expect(await get('/metrics/stats')).toMatchObject({ tools: { products: { calls: 5 } } });
    expect(await callsIn()).toBe(5);
  });

  test('of a host whose clock is ahead counts as now', async () => {
    await usage({ items: [item({ timestamp: '2031-01-01T00:00:00.000Z' })] });
    expect((await get('/logs'))['items']).toMatchObject([{ timestamp: '2026-03-01T12:00:00.000Z' }]);
    expect(await callsIn()).toBe(1);
  });
});

test('statistics say for every name what was called within the period', async () => {
  const durations = Array.from({ length: 200 }, (_, n) => n + 1);
  await usage({
    items: [
      ...durations.map((duration_ms) => item({ duration_ms, error: duration_ms > 50 ? null : 'timeout' })),
      item({ kind: 'resource', name: 'orders' }),
      item({ kind: 'prompt', name: 'ask', connection_id: null, timestamp: '2026-02-28T13:00:00.000Z' }),
    ],
  });
  const { tools, resources, prompts } = (await get('/metrics/stats?period=24h')) as Record<string, Record<string, Point>>;
  expect(tools?.['products']).toMatchObject({
    id: 'tool-1',
    calls: 200,
    errors: 50,
    error_rate: 0.25,
    avg_ms: 100.5,
    rows: 400,
    bytes: 20_000,
    last_called_at: '2026-03-01T11:59:58.000Z',
  });
  const products = tools?.['products'] as unknown as Record<string, number>;
  for (const [field, exact] of Object.entries({ p50_ms: 100, p95_ms: 190, p99_ms: 198 })) {
    const measured = products[field] ?? 0;
    expect(Math.abs(measured - exact) / exact).toBeLessThan(0.02);
  }
  expect(resources).toMatchObject({ orders: { calls: 1 } });
  expect(prompts).toMatchObject({ ask: { calls: 1 } });
  expect((await get('/metrics/stats?period=1h'))['prompts']).toEqual({});
  const wrong = await t.request('GET', '/api/v1/metrics/stats?period=2h');
  expect([wrong.status, isErrorBody(wrong.body)]).toEqual([422, true]);
});

test('every period counts each call within it once, whatever minute of the hour it is', async () => {
  const hours = [0.2, 0.9, 1.5, 5.5, 7, 23.5, 30, 160, 170];
  for (const minutes of [0, 1, 29, 30]) {
    t.advance(minutes * 60_000);
    const at = t.app.clock().getTime();
    const name = `tool_${minutes}`;
    const items = hours.map((hour) => item({ name, timestamp: new Date(at - hour * 3_600_000).toISOString() }));
    await usage({ boot_id: name, items });
    for (const [period, calls] of Object.entries({ '1h': 2, '6h': 4, '24h': 6, '7d': 8 })) {
      expect([minutes, period, await callsIn(`?period=${period}&tool=${name}`)]).toEqual([minutes, period, calls]);
      expect(await get(`/metrics/stats?period=${period}`)).toMatchObject({ tools: { [name]: { calls } } });
    }
  }
});

test('the series has a point for every minute, zeros included, and can be of one tool', async () => {
  await usage({
    items: [
      item({ duration_ms: 20 }),
      item({ error: 'timeout' }),
      item({ name: 'other' }),
      item({ kind: 'prompt', name: 'products' }),
    ],
  });
  const all = await points();
  expect(all).toHaveLength(60);
  expect([all[0]?.timestamp, all.at(-1)?.timestamp]).toEqual(['2026-03-01T11:01:00.000Z', '2026-03-01T12:00:00.000Z']);
  const nothing = { calls: 0, errors: 0, ran: 0, avg_ms: 0, p50_ms: 0, p95_ms: 0, p99_ms: 0, outcomes: {} };
  expect(all.at(-1)).toEqual({ timestamp: '2026-03-01T12:00:00.000Z', ...nothing });
  expect(all.at(-2)).toMatchObject({ calls: 4, errors: 1, avg_ms: 12.5 });
  expect((await points('?tool=products')).at(-2)).toMatchObject({ calls: 2, errors: 1, avg_ms: 15 });
  expect(await callsIn('?tool=unknown')).toBe(0);
  expect(await points('?period=7d')).toHaveLength(10_080);
  expect((await points('?tool=products&kind=prompt')).at(-2)).toMatchObject({ calls: 1, errors: 0 });
  expect(await get('/metrics/timeseries?period=6h')).toMatchObject({ period: '6h', interval_seconds: 60 });
});

test('points of longer intervals hold the same calls, their percentiles included', async () => {
  const minutesAgo = (minutes: number) => new Date(t.app.clock().getTime() - minutes * 60_000).toISOString();
  const durations = Array.from({ length: 100 }, (_, n) => n + 1);
  await usage({ items: durations.map((duration_ms) => item({ duration_ms, timestamp: minutesAgo(6 + (duration_ms % 4)) })) });
  const long = await points('?period=6h&interval_seconds=300');
  expect(long).toHaveLength(72);
  expect([long[0]?.timestamp, long.at(-1)?.timestamp]).toEqual(['2026-03-01T06:05:00.000Z', '2026-03-01T12:00:00.000Z']);
  const busy = long.filter(({ calls }) => calls > 0) as unknown as Record<string, number>[];
  expect(busy).toMatchObject([{ timestamp: '2026-03-01T11:50:00.000Z', calls: 100, avg_ms: 50.5 }]);
  for (const [field, exact] of Object.entries({ p50_ms: 50, p95_ms: 95, p99_ms: 99 })) {
    expect(Math.abs((busy[0]?.[field] ?? 0) - exact) / exact).toBeLessThan(0.021);
  }
  for (const seconds of ['59', '90', '0', '86460', 'x']) {
    expect((await t.send('metrics.timeseries', { interval_seconds: seconds })).status).toBe(422);
  }
});

test('the request log is the newest first, filtered, at most 200 a page, and holds no size of answers', async () => {
  await usage({
    items: [
      item({ timestamp: '2026-03-01T11:00:00.000Z' }),
      item({ timestamp: '2026-03-01T11:30:00.000Z', error: 'sql_error' }),
      item({
        timestamp: '2026-03-01T11:45:00.000Z',
        kind: 'prompt',
        name: 'ask',
        connection_id: null,
        token_prefix: 'svc_mcp_AbCd',
      }),
    ],
  });
  const { items } = (await get('/logs')) as { items: Record<string, unknown>[] };
  expect(items.map(({ name, success }) => [name, success])).toEqual([
    ['ask', true],
    ['products', false],
    ['products', true],
  ]);
  expect(Object.keys(items[0] ?? {}).toSorted()).toEqual(
    'canary client confirmation connection_id duration_ms error id kind name outcome rows snapshot_version success timestamp token_name token_prefix wait_ms'.split(
      ' ',
    ),
  );
  const totals: Record<string, number> = {
    'kind=prompt': 1,
    'name=products': 2,
    'success=false': 1,
    'connection_id=connection-1': 2,
    'since=2026-03-01T11:30:00Z': 2,
    'since=2026-03-01T12:30:00%2B01:00&success=true': 1,
    'since=2026-03-01T11:30:00Z&until=2026-03-01T11:45:00Z': 1,
  };
  for (const [query, total] of Object.entries(totals))
    expect([query, (await get(`/logs?${query}`))['total']]).toEqual([query, total]);
  expect((await get('/logs?limit=1&skip=1'))['items']).toMatchObject([{ error: 'sql_error' }]);
  for (const query of ['limit=201', 'kind=other', 'since=2026-02-30T25:00:00Z', 'since=yesterday']) {
    expect((await t.request('GET', `/api/v1/logs?${query}`)).status).toBe(422);
  }
});

test('queues are merged over hosts, and a host that no longer reports is left out', async () => {
  expect(await get('/queue/metrics')).toEqual({ connections: {} });
  await usage({ queues: [gauge({ longest_wait_ms: 900 })] });
  await usage({ boot_id: 'boot-2', queues: [gauge({ active: 3, waiting: 0 })] }, { id: 'h2' });
  const merged = { name: 'shop', active: 4, waiting: 2, limit: 8, completed: 20, rejected: 2, timed_out: 2, avg_wait_ms: 15 };
  const { connections } = (await get('/queue/metrics')) as { connections: Record<string, { p95_wait_ms: number }> };
  expect(connections).toMatchObject({ 'connection-1': { ...merged, longest_wait_ms: 900 } });
  expect(connections['connection-1']?.p95_wait_ms).toBeWithin(19, 21);
  t.advance(15_000);
  await usage({ seq: 2 });
  t.advance(15_000);
  expect(await get('/queue/metrics')).toMatchObject({ connections: { 'connection-1': { active: 1, limit: 4 } } });
});

test('what is older than its time, or beyond what is kept, is forgotten, by one server at a time', async () => {
  const old = [31, 29, 8, 6].map((days) => new Date(t.app.clock().getTime() - days * 86_400_000).toISOString());
  await usage({ items: [...old.map((timestamp) => item({ timestamp })), item(), item()] });
  expect(await pruneUsage(t.app)).toBe(1);
  expect(await pruneUsage(t.app)).toBeNull();
  expect((await get('/logs'))['total']).toBe(5);
  const { usage_series } = t.app.store.tables;
  const rows = await t.app.store.db.select().from(usage_series);
  // Minutes for 7 days, hours for 30 and the day in which the oldest one lies.
  const days = (seconds: number) =>
    rows
      .filter((row) => row.seconds === seconds && row.kind === 'tool')
      .map(({ start }) => Math.round((t.app.clock().getTime() - Date.parse(start)) / 86_400_000))
      .toSorted((a, b) => b - a);
  expect([days(60), days(3_600)]).toEqual([
    [6, 0],
    [31, 29, 8, 6, 0],
  ]);
  t.advance(3_600_000);
  expect(await pruneUsage(t.app, 2)).toBe(3);
  expect((await get('/logs'))['items']).toMatchObject([{ rows: 2 }, { rows: 2 }]);
  expect((await get('/metrics/stats'))['tools']).toMatchObject({ products: { calls: 2 } });
  // The clock was ahead.
  t.advance(-3_600_000);
  expect([await pruneUsage(t.app), await pruneUsage(t.app)]).toEqual([0, null]);
});

test('a histogram keeps every percentile within 2 %, also after merging', () => {
  const all: Histogram = {};
  const values = Array.from({ length: 5_000 }, (_, n) => 0.02 * 1.003 ** n);
  for (const half of [0, 1]) {
    const part: Histogram = {};
    for (const [n, value] of values.entries()) if (n % 2 === half) addDuration(part, value);
    mergeInto(all, JSON.parse(JSON.stringify(part)) as Histogram);
  }
  for (const q of [0.01, 0.5, 0.95, 0.99, 1]) {
    const exact = values[Math.ceil(values.length * q) - 1] ?? 0;
    expect(Math.abs(quantile(all, q) - exact) / exact).toBeLessThan(0.02);
  }
  expect(quantile({}, 0.95)).toBe(0);
});

testOnce(reachable.postgres)('two servers on one PostgreSQL lose no call of the same minute', async () => {
  const database = await testDatabase('postgresql');
  const { host, port, username, database: name } = database.settings;
  const url = `postgres://${username}@${host}:${port}/${name}`;
  const servers = await Promise.all([testApp({}, url), testApp({}, url)]);
  try {
    const batches = Array.from({ length: 20 }, (_, n) => n);
    await Promise.all(
      batches.flatMap((seq) =>
        servers.map((to, server) =>
          // Each batch is sent twice at once, as after a timeout.
          Promise.all([1, 2].map(() => usage({ boot_id: `${server}-${seq}`, items: [item(), item({ name: 'b' })] }, { to }))),
        ),
      ),
    );
    const [first, second] = servers;
    await first.signIn();
    const stats = await first.call('metrics.stats', {});
    expect(stats).toMatchObject({ tools: { products: { calls: 40, rows: 80 }, b: { calls: 40 } } });
    expect((await first.call('logs.list', { success: true, name: 'b' })).total).toBe(40);
    const forgotten = await Promise.all([pruneUsage(first.app, 10), pruneUsage(second.app, 10)]);
    expect(new Set(forgotten)).toEqual(new Set([70, null]));
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    await database.drop();
  }
});

describeOnce()('with the real programs', () => {
  let programs: Programs;
  afterEach(async () => {
    await programs.stop();
    removeFolder(programs);
  });

  test('calls made are calls counted: statistics, series, log and queue', async () => {
    programs = await startPrograms();
    await programs.demo();
    await programs.signIn();
    const clients = await Promise.all([connectClient('v1', programs.mcp_url), connectClient('v2', programs.mcp_url)]);
    for (const client of clients) {
      const calls = Array.from({ length: 20 }, () => client.call('search_products', { text: 'l', limit: 3 }));
      const results = await Promise.all([...calls, client.call('list_orders', { from: 'yesterday', to: 'today' })]);
      expect(results.filter(({ isError }) => isError === true)).toHaveLength(1);
    }
    const stats = () =>
      programs.api<{ tools: Record<string, { calls: number; errors: number; id: string }> }>('GET', '/metrics/stats?period=1h');
    await until(async () => (await stats()).tools['search_products']?.calls === 40);
    const { tools } = await stats();
    expect(tools).toMatchObject({
      search_products: { calls: 40, errors: 0 },
      list_orders: { calls: 2, errors: 2, error_rate: 1 },
    });
    expect(await programs.api('GET', `/tools/${tools['search_products']?.id}`)).toMatchObject({ name: 'search_products' });
    const series = await programs.api<{ points: Point[] }>('GET', '/metrics/timeseries?period=1h');
    expect(series.points.reduce((sum, { calls }) => sum + calls, 0)).toBe(42);
    const failed = await programs.api<{ items: object[]; total: number }>('GET', '/logs?success=false');
    expect(failed).toMatchObject({ total: 2, items: [{ name: 'list_orders', error: 'invalid' }, { name: 'list_orders' }] });
    expect(JSON.stringify(failed)).not.toContain('yesterday');
    const { connections } = await programs.api<{ connections: Record<string, object> }>('GET', '/queue/metrics');
    expect(Object.values(connections)).toEqual([
      expect.objectContaining({ name: 'demo', active: 0, waiting: 0, completed: 40, rejected: 0 }),
      expect.objectContaining({ name: 'spreadsheets', completed: 0 }),
    ]);

    const last = await clients[0].call('search_products', { text: 'l', limit: 3 });
    expect(last.isError).not.toBe(true);
    await programs.stop();
    programs = await startPrograms({ again: programs });
    await programs.signIn();
    // What was called right before the end was counted too.
    expect((await stats()).tools['search_products']?.calls).toBe(41);
    await Promise.all(clients.map((client) => client.close().catch(() => undefined)));
  }, 60_000);

  test('the live log tells what hosts do and what is called', async () => {
    programs = await startPrograms();
    await programs.demo();
    await programs.signIn();
    const client = await connectClient('v2', programs.mcp_url);
    await client.call('search_products', { text: 'canary', limit: 3 });
    await client.close();
    const login = await fetch(`${programs.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'ada', password: 'correct horse' }),
    });
    const stop = new AbortController();
    const response = await fetch(`${programs.url}/api/v1/deploy/logs`, {
      headers: { cookie: login.headers.get('set-cookie')?.split(';')[0] ?? '' },
      signal: stop.signal,
    });
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes('"source":"tool"')) break;
    }
    stop.abort();
    expect(text).toContain('"source":"deploy","message":"deployed"');
    expect(text).toContain('"source":"host","message":"snapshot_loaded"');
    expect(text).toContain('"message":"tool search_products"');
    expect(text).not.toContain('canary');
  }, 60_000);
});

test('sessions that ended more than a day ago are forgotten, live ones are not', async () => {
  const { sessions } = t.app.store.tables;
  const ids = async () => (await t.app.store.db.select({ id: sessions.id }).from(sessions)).map(({ id }) => id);
  const login = () => t.send('auth.login', { username: 'ada', password: 'correct horse' }, { anonymous: true });
  const before = await ids();
  t.advance(49 * 3_600_000);
  expect((await login()).status).toBe(200);
  await pruneUsage(t.app);
  const after = await ids();
  expect([before.length > 0, after.length, after.some((id) => before.includes(id))]).toEqual([true, 1, false]);
});
