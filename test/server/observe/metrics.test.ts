import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { forgetSeries } from '#core/observe/retention/series-retention.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

const DAY_MS = 86_400_000;

interface Figures {
  readonly calls: number;
  readonly errors: number;
  readonly p95_ms: number;
}
interface Caller extends Figures {
  readonly key: string | null;
  readonly name: string | null;
}
interface Stats {
  readonly since: string;
  readonly until: string;
  readonly tools: Record<string, Figures>;
  readonly prompts: Record<string, Figures>;
  readonly callers?: readonly Caller[];
  readonly previous?: Stats;
}
interface Series {
  readonly period: string | null;
  readonly since: string;
  readonly until: string;
  readonly interval_seconds: number;
  readonly points: readonly (Figures & { readonly timestamp: string })[];
  readonly deploys: readonly object[];
  readonly previous?: Series;
}

describe.each([...namedStores])('metrics in %s', (metadata) => {
  let t: TestApp;
  let seq = 0;
  beforeEach(async () => {
    seq = 0;
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
  }, 60_000);
  afterEach(() => t.close(), 20_000);

  /** @param minutes before now, which is noon of the first of March. */
  const ago = (minutes: number) => new Date(t.app.clock().getTime() - minutes * 60_000).toISOString();
  const call = (minutes: number, over: Partial<Call> = {}): Partial<Call> => ({
    kind: 'tool',
    name: 'orders',
    connection_id: 'shop',
    client: 'claude/1.0',
    token_prefix: 'svc_mcp_1',
    caller: { person: null, token: 't1', client_id: null },
    timestamp: ago(minutes),
    duration_ms: 10,
    wait_ms: 1,
    rows: 2,
    bytes: 100,
    error: null,
    ...over,
  });
  const person = (name: string) => ({ caller: { person: name, token: null, client_id: 'c' }, token_prefix: name });
  const store = async (calls: readonly Partial<Call>[]) => {
    const body = { boot_id: 'boot', seq: ++seq, ...toBatch(calls) };
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    expect((await t.request('POST', '/api/internal/hosts/h1/usage', { body, headers })).status).toBe(204);
  };
  const get = async (path: string): Promise<object> => (await t.request('GET', `/api/v1/metrics/${path}`)).body;
  const stats = async (query: string) => (await get(`stats?${query}`)) as Stats;
  const series = async (query: string) => (await get(`timeseries?${query}`)) as Series;
  const total = ({ points }: Series) => points.reduce((sum, { calls }) => sum + calls, 0);
  const refused = async (path: string) => {
    const answer = await t.request('GET', `/api/v1/metrics/${path}`);
    expect([path, answer.status, isErrorBody(answer.body)]).toEqual([path, 422, true]);
    return answer.body.detail;
  };
  const whole = ({ key, calls, errors }: Caller) => [key, calls, errors];

  test('of a range count what lies in it, in minutes, and answer what was counted', async () => {
    await store([call(200), call(121), call(120), call(90), call(61), call(60), call(59)]);
    const range = `since=${ago(120)}&until=${ago(60)}`;
    const answer = await stats(range);
    expect([answer.since, answer.until, answer.tools['orders']?.calls]).toEqual([ago(120), ago(60), 3]);
    const points = await series(range);
    expect([points.period, points.interval_seconds, points.points.length, total(points)]).toEqual([null, 60, 60, 3]);
    // A range without an end goes on until now.
    expect(total(await series(`since=${ago(120)}`))).toBe(5);
    // Another zone is another text for the same time.
    const zoned = `since=${encodeURIComponent('2026-03-01T15:30:00+05:30')}&until=${encodeURIComponent('2026-03-01T06:00:00-05:00')}`;
    expect((await stats(zoned)).tools['orders']?.calls).toBe(3);
    expect((await series(zoned)).since).toBe(ago(120));
  });

  test('of an id count what it was called before, and what is deleted, but not what took its name', async () => {
    const [id, other] = [t.app.ids(), t.app.ids()];
    await store([
      call(170, { entity_id: id }),
      call(160, { entity_id: id, name: 'all_orders' }),
      call(159, { entity_id: null, name: 'all_orders' }),
    ]);
    await store([call(30, { entity_id: other }), call(20, { entity_id: other })]);
    expect(total(await series(`period=6h&tool=${id}`))).toBe(3);
    expect(total(await series(`period=6h&tool=${id}&client=claude`))).toBe(3);
    expect(total(await series(`period=6h&tool=${other}`))).toBe(2);
    expect(total(await series('period=6h&tool=orders'))).toBe(3);
    expect(total(await series(`period=6h&tool=${id}&kind=prompt`))).toBe(0);
    expect(total(await series(`period=6h&tool=${t.app.ids()}`))).toBe(0);
  });

  test('choose an interval that suits the range, and refuse in words what they cannot answer', async () => {
    const intervals: Record<number, number> = { 60: 60, 300: 300, 1_440: 900, 4_320: 3_600, 10_080: 7_200 };
    for (const [minutes, interval] of Object.entries(intervals)) {
      const { interval_seconds, points } = await series(`since=${ago(Number(minutes))}`);
      expect([minutes, interval_seconds, points.length <= 121]).toEqual([minutes, interval, true]);
    }
    const month = await series(`since=${ago(29 * 1_440)}`);
    expect([month.interval_seconds, month.points.length]).toEqual([21_600, 117]);
    expect(await refused(`stats?since=${ago(31 * 1_440)}`)).toBe('Metrics are kept for 30 days. Choose a later time.');
    expect(await refused(`timeseries?since=${ago(10)}&until=${ago(20)}`)).toBe('until must be later than since.');
    expect(await refused(`stats?since=${ago(-10)}`)).toBe('since is in the future. Choose an earlier time.');
    expect(await refused(`stats?until=${ago(10)}`)).toBe('Give since as well: a range needs its beginning.');
    expect(await refused(`stats?period=1h&since=${ago(10)}`)).toBe('Give either a period, or since and until.');
    expect(await refused(`timeseries?since=${ago(8 * 1_440)}&interval_seconds=60`)).toContain('more than 10080 points');
    expect(await refused(`timeseries?since=${ago(8 * 1_440)}&interval_seconds=900`)).toContain('is kept per hour');
    expect(await refused(`stats?since=${ago(20 * 1_440)}&compare=true`)).toContain('Choose a range of the last 15 days');
    for (const path of ['stats?since=yesterday', 'stats?by=host', 'timeseries?compare=perhaps', 'stats?person='])
      await refused(path);
  });

  test('older than a week are counted per hour, and the range says so', async () => {
    await store([call(10 * 1_440 + 5), call(10 * 1_440 + 70), call(9 * 1_440)]);
    await forgetSeries(t.app);
    const range = `since=${ago(10 * 1_440 + 30)}&until=${ago(10 * 1_440 - 30)}`;
    const answer = await stats(range);
    expect([answer.since, answer.until]).toEqual([ago(10 * 1_440 + 60), ago(10 * 1_440 - 60)]);
    expect(answer.tools['orders']?.calls).toBe(1);
    expect(await series(`${range}&client=claude`)).toMatchObject({
      interval_seconds: 3_600,
      points: [{ calls: 1 }, { calls: 0 }],
    });
    expect((await stats(`since=${ago(29 * 1_440)}&by=client`)).callers?.map(whole)).toEqual([['claude', 3, 0]]);
    expect((await stats(`since=${ago(29 * 1_440)}`)).tools['orders']?.calls).toBe(3);
  });

  test('of one client, person, token or connection are exact, also together', async () => {
    await store([
      call(1),
      call(2, { client: 'claude/2.0', error: 'sql_error', duration_ms: 100 }),
      call(3, { ...person('ada'), client: 'cursor/1' }),
      call(4, { ...person('ada'), client: 'claude/2.0', name: 'stock', connection_id: 'depot' }),
      call(5, { ...person('bob'), client: 'cursor/1', kind: 'prompt', name: 'ask', connection_id: null }),
    ]);
    // Another batch of the same minute adds to the same rows.
    await store([call(1), call(1, { client: null, token_prefix: null, caller: { person: null, token: null, client_id: null } })]);
    const calls = async (query: string) => {
      const [{ tools, prompts }, one] = await Promise.all([stats(query), series(query)]);
      const counted = [...Object.values(tools), ...Object.values(prompts)].reduce((sum, row) => sum + row.calls, 0);
      expect([query, total(one)]).toEqual([query, counted]);
      return counted;
    };
    const expected: Record<string, number> = {
      'period=1h': 7,
      'period=1h&client=claude': 4,
      'period=1h&client=claude/2.0': 2,
      'period=1h&client=claude%25': 0,
      'period=1h&person=ada': 2,
      'period=1h&token=t1': 3,
      'period=1h&token=svc_mcp_1': 3,
      'period=1h&connection_id=shop': 5,
      'period=1h&client=claude&person=ada': 1,
      'period=1h&client=claude&connection_id=depot': 1,
      'period=1h&person=nobody': 0,
    };
    for (const [query, count] of Object.entries(expected)) expect([query, await calls(query)]).toEqual([query, count]);
    expect(total(await series('period=1h&tool=orders&client=claude'))).toBe(3);
    const by = async (key: string) => (await stats(`period=1h&by=${key}`)).callers?.map(whole);
    expect(await by('client')).toEqual([
      ['claude', 4, 1],
      ['cursor', 2, 0],
      [null, 1, 0],
    ]);
    expect(await by('person')).toEqual([
      [null, 4, 1],
      ['ada', 2, 0],
      ['bob', 1, 0],
    ]);
    expect(await by('token')).toEqual([
      [null, 4, 0],
      ['t1', 3, 1],
    ]);
    expect(await by('tool')).toBeUndefined();
    const slow = (await stats('period=1h&by=client')).callers?.[0]?.p95_ms ?? 0;
    expect(Math.abs(slow - 100) / 100).toBeLessThan(0.02);
    // The person who signed in is called ada.
    expect((await stats('period=1h&by=person&person=ada')).callers).toMatchObject([{ key: 'ada', name: 'ada' }]);
  });

  test('stand beside those of the time before', async () => {
    await store([call(10), call(20), call(70), call(130)]);
    const both = await stats('period=1h&compare=true&by=client');
    expect(both.previous?.until).toBe(both.since);
    expect([both.tools['orders']?.calls, both.previous?.tools['orders']?.calls]).toEqual([2, 1]);
    expect([both.callers?.[0]?.calls, both.previous?.callers?.[0]?.calls]).toEqual([2, 1]);
    const points = await series(`since=${ago(60)}&until=${ago(0)}&compare=true`);
    expect([points.previous?.points.length, points.previous?.since, points.previous?.until]).toEqual([60, ago(120), ago(60)]);
    expect([total(points), points.previous === undefined ? 0 : total(points.previous)]).toEqual([2, 1]);
    expect((await series('period=7d&interval_seconds=7200&compare=true')).previous?.points).toHaveLength(84);
    expect((await series('period=1h')).previous).toBeUndefined();
  });

  test('have a mark for each version that was deployed or restored within the range', async () => {
    const deploy = async (note: string) => expect((await t.send('deploy.run', { note })).status).toBe(200);
    await deploy('first');
    t.advance(3_600_000);
    const config = await t.send('config.update', { server_name: 'Shop' });
    expect([config.status, config.body]).toEqual([200, config.body]);
    await deploy('second');
    t.advance(60_000);
    expect((await t.send('snapshots.activate', { version: 1, note: 'back' })).status).toBe(200);
    expect((await series('period=6h')).deploys).toMatchObject([
      { version: 1, from_version: null, note: 'first', by: 'ada', restored: false },
      { version: 2, from_version: 1, note: 'second', restored: false },
      { version: 1, from_version: 2, note: 'back', restored: true },
    ]);
    expect((await series(`since=${ago(30)}`)).deploys).toHaveLength(2);
    expect((await series(`since=${ago(300)}&until=${ago(200)}`)).deploys).toEqual([]);
  });

  test('of very many callers keep the newest minutes, and no hour is lost', async () => {
    await store([call(200), call(199), call(198, { client: 'cursor/1' }), call(5), call(4)]);
    await forgetSeries(t.app, 2);
    const query = `since=${ago(240)}&until=${ago(0)}`;
    expect(total(await series(`${query}&interval_seconds=3600&client=claude`))).toBe(4);
    expect(await refused(`timeseries?${query}&interval_seconds=60&client=claude`)).toContain('is kept per hour');
    expect(total(await series(`since=${ago(30)}&client=claude`))).toBe(2);
    expect(total(await series(`${query}&interval_seconds=60`))).toBe(5);
  });

  test('of callers are for those who may read the request log', async () => {
    const created = await t.call('agent_tokens.create', { name: 'reader', duration_minutes: 60, scopes: ['read'] });
    const headers = { authorization: `Bearer ${created.token}` };
    const bearer = await t.send('metrics.stats', { by: 'person' }, { anonymous: true, headers });
    expect(bearer.status).toBe(200);
    expect((await t.send('metrics.stats', {}, { anonymous: true })).status).toBe(401);
    t.advance(DAY_MS * 40);
    expect((await t.send('metrics.stats', { by: 'person' })).status).toBe(401);
  });
});
