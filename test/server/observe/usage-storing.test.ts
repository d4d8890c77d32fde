import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { asc, sql } from 'drizzle-orm';
import { outcomeOf } from '#core/contract/observe/outcomes.ts';
import type { Schema } from '#core/store/schema.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { reachable } from '#test/support/databases.ts';
import { namedStores } from '#test/support/metadata.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

const AT = '2026-03-01T11:30:00.000Z';
const callRecord = (over: Partial<Call> = {}): Partial<Call> => ({
  kind: 'tool',
  name: 'orders',
  entity_id: 'tool-1',
  connection_id: 'c1',
  snapshot_version: 3,
  client: 'c/1',
  token_prefix: null,
  timestamp: AT,
  duration_ms: 10,
  wait_ms: 1,
  rows: 2,
  bytes: 100,
  error: null,
  ...over,
});

if (!reachable.postgres) test.skip('usage stored in PostgreSQL (not reachable)', () => undefined);

describe.each([...namedStores])('usage stored in %s', (metadata) => {
  let t: TestApp;
  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
  });
  afterEach(() => t.close());

  const send = (body: object) =>
    t.request('POST', '/api/internal/hosts/h1/usage', {
      body: { boot_id: 'boot-1', seq: 1, ...body },
      headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
    });
  const store = async (calls: readonly Partial<Call>[], over: object = {}) => {
    expect((await send({ ...toBatch(calls), ...over })).status).toBe(204);
  };
  const logs = async () => {
    const { items } = await t.call('logs.list', { limit: 200 });
    return items;
  };
  const series = () => {
    const { usage_series } = t.app.store.tables;
    const { seconds, start, kind, name } = usage_series;
    return t.app.store.db.select().from(usage_series).orderBy(asc(seconds), asc(start), asc(kind), asc(name));
  };

  test('who is known to a host by an id alone has a name in the request log, sessions and running calls', async () => {
    const [ada] = await t.app.store.db.select().from(t.app.store.tables.people);
    const person = ada?.id ?? '';
    const caller = { person, token: null, client_id: 'c' };
    const who = { token_prefix: person.slice(0, 32), caller };
    const stranger = { token_prefix: 'somebody', caller: { ...caller, person: 'somebody' } };
    const started = { id: 'r1', kind: 'tool', name: 'orders', connection_id: null, client: null };
    const running = { ...started, since: t.app.clock().getTime() - 1_000, state: 'running', ...who };
    // A token of an older release says the name itself.
    await store([callRecord(who), callRecord({ ...who, token_prefix: 'Ada L' }), callRecord(stranger)], { running: [running] });
    expect((await logs()).map(({ token_prefix }) => String(token_prefix)).toSorted()).toEqual(['Ada L', 'ada', 'somebody']);
    const { items } = await t.call('mcp_sessions.list', { person });
    expect(items.map(({ token_prefix }) => String(token_prefix)).toSorted()).toEqual(['Ada L', 'ada']);
    expect((await t.call('calls.running', {})).items).toMatchObject([{ token_prefix: 'ada', person }]);
  });

  test('what is malformed is refused in words, and nothing of it is stored', async () => {
    const { groups, calls } = toBatch([callRecord(), callRecord({ error: 'timeout' })]);
    const numbers = 'must be a list of at most 10000 numbers from 0 to 1000000000000.';
    const faulty: [object, string][] = [
      [{ seq: 0 }, 'seq must be at least 1.'],
      [{ items: [{ name: 'x' }] }, 'items is not a known field'],
      [{ groups: [...groups, { kind: 'other', name: 'x' }] }, 'groups.2.kind must be one of tool, resource, prompt.'],
      [{ groups: [] }, 'calls.group names a group that is not there.'],
      [{ groups: 1 }, 'groups must be a list.'],
      [{ calls: 1 }, 'calls must be an object.'],
      [{ calls: {} }, 'calls.group is required.'],
      [{ calls: { ...calls, rows: [1] } }, 'calls must hold lists of one length.'],
      [{ calls: { ...calls, group: [0, -1] } }, 'calls.group must be a list of at most 10000 whole numbers from 0 to 9999.'],
      [{ calls: { ...calls, group: [0, 2] } }, 'calls.group names a group that is not there.'],
      [{ calls: { ...calls, duration_ms: [1, -1] } }, `calls.duration_ms ${numbers}`],
      [{ calls: { ...calls, duration_ms: [1, '1'] } }, `calls.duration_ms ${numbers}`],
      [{ calls: { ...calls, wait_ms: [1, null] } }, `calls.wait_ms ${numbers}`],
      [{ calls: { ...calls, bytes: { 0: 1 } } }, `calls.bytes ${numbers}`],
      [{ calls: { ...calls, rows: [1, 1.5] } }, 'calls.rows must be a list of at most 10000 whole numbers from 0 to 2147483647.'],
      [
        { calls: { ...calls, timestamp: ['2026-03-01T11:59:58.000Z', 1] } },
        'calls.timestamp must be a list of at most 10000 whole numbers from 0 to 253402300799999.',
      ],
      [{ calls: { ...calls, error: [null, ''] } }, 'calls.error must be a list of at most 10000 error codes or nulls.'],
      [
        { calls: { ...calls, rows: Array(10_001).fill(1) } },
        'calls.rows must be a list of at most 10000 whole numbers from 0 to 2147483647.',
      ],
    ];
    for (const [over, detail] of faulty) {
      const answer = await send({ groups, calls, ...over });
      expect([over, answer.status, isErrorBody(answer.body)]).toEqual([over, 422, true]);
      expect(answer.body.detail).toContain(detail);
    }
    expect([await logs(), await series()]).toEqual([[], []]);
  });

  test('every column of a call is what the host said, whatever is in it', async () => {
    const calls = [
      callRecord({ timestamp: '2026-03-01T11:30:00.001Z', name: 'a "b" \\ {c,d}', client: ' ü 🎈 ', token_prefix: '' }),
      callRecord({
        timestamp: '2026-03-01T11:30:00.010Z',
        kind: 'resource',
        entity_id: null,
        client: null,
        snapshot_version: null,
        canary: null,
      }),
      callRecord({
        timestamp: '2026-03-01T11:30:01.999Z',
        kind: 'prompt',
        connection_id: null,
        error: 'timeout',
        rows: 0,
        canary: { id: 'canary-1', side: 'live' },
      }),
      callRecord({
        timestamp: '2026-03-01T11:31:00.000Z',
        duration_ms: 1_234_567.891,
        wait_ms: 0.001,
        rows: 2 ** 31 - 1,
        confirmation: 'declined',
        canary: { id: 'canary-1', side: 'canary' },
      }),
      callRecord({ timestamp: '1999-12-31T23:59:59.999Z', duration_ms: 0, wait_ms: 0, client: "'; drop table request_logs; --" }),
    ];
    await store(calls);
    const shown = (await logs()).map(({ id, ...one }) => (expect(id).toMatch(/^\d+$/), one));
    const said = calls.map(({ entity_id: _, bytes: __, canary, ...one }) => ({
      confirmation: null,
      token_name: null,
      ...one,
      canary: canary?.side === 'canary' ? canary.id : null,
      success: one.error === null,
      outcome: outcomeOf(one.error ?? null),
    }));
    const newest = (a: { timestamp?: string }, b: { timestamp?: string }) => ((a.timestamp ?? '') < (b.timestamp ?? '') ? 1 : -1);
    expect<object[]>(shown).toEqual(said.toSorted(newest));
  });

  test('a result that was cut off is marked in its detail; a host that does not say leaves it out', async () => {
    await store([callRecord({ rows: 7, truncated: 1 }), callRecord({ rows: 8 })]);
    await store([callRecord({ rows: 9 })], { seq: 2 });
    const ids = new Map((await logs()).map(({ rows, id }) => [rows, id]));
    const truncated = async (rows: number) => (await t.call('logs.get', { call_id: String(ids.get(rows)) })).truncated;
    expect(await Promise.all([7, 8, 9].map(truncated))).toEqual([true, false, false]);
  });

  test('refused requests are counted since a full hour, which the answer names', async () => {
    await store([], { refused: { forbidden: 2 } });
    t.advance(30 * 60_000);
    await store([], { seq: 2, refused: { forbidden: 3 } });
    await t.call('auth.login', { username: 'ada', password: 'correct horse' });
    const body = await t.call('logs.refusals', {});
    expect([body.counts, body.counted_since]).toEqual([{ forbidden: 5 }, '2026-02-28T12:00:00.000Z']);
  });

  test('few notes among many calls stay with their call', async () => {
    const calls = Array.from({ length: 60 }, (_, n) =>
      n % 23 === 5
        ? callRecord({ rows: n, error: 'sql_error', error_message: `é 🎈 ${n}`, sqlstate: '42703' })
        : callRecord({ rows: n }),
    );
    await store(calls);
    const { request_logs } = t.app.store.tables;
    const stored = await t.app.store.db.select().from(request_logs).orderBy(asc(request_logs.id));
    expect(stored.map(({ rows, error_message, sqlstate, bytes }) => [rows, error_message, sqlstate, bytes])).toEqual(
      calls.map(({ rows = 0, error_message = null, sqlstate = null, bytes = 0 }) => [rows, error_message, sqlstate, bytes]),
    );
  });

  test('calls of one moment keep their order, and pages of them neither repeat nor miss one', async () => {
    await store(Array.from({ length: 30 }, (_, n) => callRecord({ rows: n })));
    await store(
      Array.from({ length: 30 }, (_, n) => callRecord({ rows: 30 + n })),
      { seq: 2 },
    );
    const pages = await Promise.all([0, 25, 50].map(async (skip) => (await t.call('logs.list', { limit: 25, skip })).items));
    expect(pages.flat().map(({ rows }) => rows)).toEqual(Array.from({ length: 60 }, (_, n) => 59 - n));
  });

  test('a batch over minutes and an hour is counted where it belongs, and sums agree', async () => {
    const times = ['10:58:59.999', '10:59:00.000', '10:59:59.999', '11:00:00.000', '11:00:30.000', '11:01:00.000'];
    const calls = times.flatMap((time, n) =>
      ['orders', 'stock'].map((name, m) =>
        callRecord({
          name,
          timestamp: `2026-03-01T${time}Z`,
          duration_ms: 1 + n * 10 + m,
          error: n % 3 === m ? 'timeout' : null,
        }),
      ),
    );
    await store([...calls, callRecord({ kind: 'prompt', name: 'orders', timestamp: '2026-03-01T11:00:00.000Z' })]);
    await store(calls.toReversed(), { seq: 2 });
    const rows = await series();
    const minutes = rows.filter(({ seconds, kind }) => seconds === 60 && kind !== 'all');
    const hours = rows.filter(({ seconds }) => seconds === 3_600);
    expect(minutes).toHaveLength(9);
    expect(
      minutes.filter(({ name, kind }) => name === 'orders' && kind === 'tool').map(({ start, calls: count }) => [start, count]),
    ).toEqual([
      ['2026-03-01T10:58:00.000Z', 2],
      ['2026-03-01T10:59:00.000Z', 4],
      ['2026-03-01T11:00:00.000Z', 4],
      ['2026-03-01T11:01:00.000Z', 2],
    ]);
    for (const all of rows.filter(({ kind }) => kind === 'all')) {
      expect(sumOf([all])).toEqual(sumOf(minutes.filter(({ start }) => start === all.start)));
      expect(all.entity_id).toBeNull();
    }
    expect(rows.filter(({ kind }) => kind === 'all')).toHaveLength(4);
    expect(hours).toHaveLength(5);
    for (const hour of hours) {
      const own = minutes.filter(
        ({ start, kind, name }) => start.slice(0, 13) === hour.start.slice(0, 13) && kind === hour.kind && name === hour.name,
      );
      expect(sumOf([hour])).toEqual(sumOf(own));
      expect(hour.entity_id).toBe('tool-1');
    }
    for (const { histogram, calls: count } of rows) expect(Object.values(histogram).reduce((a, b) => a + b, 0)).toBe(count);
  });

  test('the same batch again changes nothing, and a name keeps the id that it had last', async () => {
    await store([callRecord({ entity_id: 'old' }), callRecord({ entity_id: 'new', client: 'c/2' })]);
    const before = [await logs(), await series()];
    await store([callRecord(), callRecord()]);
    expect([await logs(), await series()]).toEqual(before);
    await store([callRecord({ entity_id: null, timestamp: '2026-03-01T11:30:20.000Z' }), callRecord()], {
      seq: 2,
      boot_id: 'boot-2',
    });
    expect(await logs()).toHaveLength(4);
    const [first] = (await series()).filter(({ kind }) => kind === 'tool');
    expect(first).toMatchObject({ calls: 4, entity_id: 'tool-1', last_called_at: '2026-03-01T11:30:20.000Z' });
  });

  test('a caller and a session that are stored take no further number', async () => {
    for (let seq = 1; seq <= 20; seq++) await store([callRecord()], { seq });
    await store([callRecord({ client: 'c/2' })], { seq: 21 });
    const { usage_callers, mcp_sessions } = t.app.store.tables;
    for (const table of [usage_callers, mcp_sessions]) {
      const rows = await t.app.store.db.select({ id: table.id }).from(table).orderBy(asc(table.id));
      expect(rows).toEqual([{ id: 1 }, { id: 2 }]);
    }
  });

  if (metadata === 'postgresql') {
    test('numbers start again before they no longer fit the columns that name them, past those in use', async () => {
      const { usage_callers, mcp_sessions } = t.app.store.tables;
      const { db } = t.app.store;
      const known = { id: 1, key: 'known', last_at: AT };
      await db.insert(usage_callers).values(known);
      const sums = { lists: 0, calls: 0, errors: 0, rows: 0, tokens: 0 };
      await db.insert(mcp_sessions).values({ ...known, started_at: AT, ...sums });
      for (const sequence of ['usage_callers_id_seq', 'mcp_sessions_id_seq'])
        await db.select({ last: sql`setval(${sequence}, ${2 ** 31 - 2})` }).from(usage_callers);
      await store([callRecord()]);
      // A host sends a batch again that was not stored.
      const batch = { ...toBatch([callRecord({ client: 'c/2' })]), seq: 2 };
      let tries = 1;
      while ((await send(batch)).status !== 204) tries++;
      expect(tries).toBe(3);
      expect(new Set((await logs()).map(({ client }) => client))).toEqual(new Set(['c/1', 'c/2']));
      const ids = await db.select({ id: usage_callers.id }).from(usage_callers).orderBy(asc(usage_callers.id));
      expect(ids).toEqual([{ id: 1 }, { id: 2 }, { id: 2 ** 31 - 1 }]);
    });
  }

  test('many names and callers in one batch', async () => {
    const calls = Array.from({ length: 3_000 }, (_, n) =>
      callRecord({ name: `tool_${n % 211}`, client: `client/${n % 13}`, rows: n % 7 }),
    );
    await store(calls);
    const minutes = (await series()).filter(({ seconds, kind }) => seconds === 60 && kind === 'tool');
    expect(minutes).toHaveLength(211);
    for (const { name, calls: count, rows } of minutes) {
      const own = calls.filter((one) => one.name === name);
      expect([name, count, rows]).toEqual([name, own.length, own.reduce((sum, one) => sum + (one.rows ?? 0), 0)]);
    }
    const { total } = await t.call('logs.list', { name: 'tool_7' });
    expect(total).toBe(calls.filter(({ name }) => name === 'tool_7').length);
  });
});

/** What is added up, as one record. */
function sumOf(rows: readonly Schema['usage_series']['$inferSelect'][]) {
  const histogram: Record<string, number> = {};
  const sum = { calls: 0, errors: 0, duration_ms: 0, rows: 0, bytes: 0, last_called_at: '' };
  for (const row of rows) {
    for (const name of ['calls', 'errors', 'duration_ms', 'rows', 'bytes'] as const) sum[name] += row[name];
    if (row.last_called_at > sum.last_called_at) sum.last_called_at = row.last_called_at;
    for (const [bucket, count] of Object.entries(row.histogram)) histogram[bucket] = (histogram[bucket] ?? 0) + count;
  }
  return { ...sum, histogram };
}
