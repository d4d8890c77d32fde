import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

interface Shown {
  readonly id: string;
  readonly timestamp: string;
  readonly client: string | null;
  readonly name: string;
  readonly error: string | null;
}

describe.each([...namedStores])('calls of a client in %s', (metadata) => {
  let t: TestApp;
  let seq = 0;
  beforeEach(async () => {
    seq = 0;
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
  });
  afterEach(() => t.close());

  const call = (over: Partial<Call> = {}): Partial<Call> => ({
    kind: 'tool',
    name: 'orders',
    entity_id: null,
    connection_id: 'shop',
    token_prefix: null,
    timestamp: '2026-03-01T11:30:00.000Z',
    duration_ms: 10,
    wait_ms: 1,
    rows: 2,
    bytes: 100,
    error: null,
    ...over,
  });
  const store = async (calls: readonly Partial<Call>[], over: object = {}) => {
    const body = { boot_id: 'boot', seq: ++seq, ...toBatch(calls), ...over };
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    expect((await t.request('POST', '/api/internal/hosts/h1/usage', { body, headers })).status).toBe(204);
  };
  const get = async <T>(path: string) => (await t.request('GET', `/api/v1/${path}`)).body as T;
  const logs = (query: string) => get<{ items: Shown[]; total: number }>(`logs?limit=200${query}`);

  test('without a name are one client, whether the host says nothing, null or an empty name', async () => {
    await store([call({ client: '' }), call({ client: null }), call(), call({ client: 'claude/1' })], {
      lists: [{ client: '', timestamp: Date.parse('2026-03-01T11:30:00.000Z'), method: 'tools/list', duration_ms: 1 }],
    });
    const { items, total } = await logs('&client=');
    expect([items.length, total]).toEqual([3, 3]);
    expect((await logs('&client=&name=orders')).total).toBe(3);
    expect(items.filter(({ client }) => client === null)).toHaveLength(3);
    const found = await get<{ items: { client: string | null; lists: number }[] }>('sessions/mcp?client=');
    expect(found.items.map(({ client, lists }) => `${client}: ${lists}`).toSorted()).toEqual(['null: 1']);
    const { callers } = await get<{ callers: { key: string | null; calls: number }[] }>('metrics/stats?by=client');
    expect(callers.map(({ key, calls }) => [key, calls])).toEqual([
      [null, 3],
      ['claude', 1],
    ]);
    const stats = await get<{ tools: Record<string, { calls: number }> }>('metrics/stats?client=');
    expect(stats.tools['orders']?.calls).toBe(3);
  });

  test('are the newest of all its sessions in every page', async () => {
    let state = 1;
    const whole = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below;
    const pick = <T>(of: readonly T[]): T => of[whole(of.length)] as T;
    const clients = ['claude/1', 'claude/2', 'claude', 'claude/code/1', 'claude0', 'cursor/1', null];
    const calls = Array.from({ length: 1_500 }, () => {
      const timestamp = new Date(Date.parse('2026-02-25T00:00:00.000Z') + whole(4 * 86_400_000)).toISOString();
      const error = whole(10) === 0 ? 'timeout' : null;
      return call({ client: pick(clients), token_prefix: `t${whole(5)}`, timestamp, error, name: pick(['orders', 'stock']) });
    });
    for (let start = 0; start < calls.length; start += 500) await store(calls.slice(start, start + 500));
    const { request_logs } = t.app.store.tables;
    const rows = await t.app.store.db.select().from(request_logs);
    const newest = rows.toSorted((a, b) => (a.timestamp === b.timestamp ? b.id - a.id : a.timestamp < b.timestamp ? 1 : -1));
    const its = newest.filter(({ client }) => client !== null && /^claude(\/[^/]*)?$/.test(client));
    const expected: readonly (readonly [string, (call: (typeof its)[number]) => boolean])[] = [
      ['', () => true],
      ['&success=false', ({ error }) => error !== null],
      ['&name=stock', ({ name }) => name === 'stock'],
      ['&since=2026-02-27T00:00:00Z', ({ timestamp }) => timestamp >= '2026-02-27'],
      ['&until=2026-02-27T00:00:00Z&kind=tool', ({ timestamp }) => timestamp < '2026-02-27'],
      ['&kind=prompt', () => false],
    ];
    for (const [query, isWanted] of expected) {
      const wanted = its.filter(isWanted).map(({ id }) => String(id));
      for (const skip of [0, 37, 190]) {
        const { items, total } = await logs(`&client=claude&skip=${skip}${query}`);
        expect([query, skip, total]).toEqual([query, skip, wanted.length]);
        expect(items.map(({ id }) => id)).toEqual(wanted.slice(skip, skip + 200));
      }
    }
  });
});
