import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Insight } from '#core/contract/observe/insights.ts';
import { INSIGHT_RULE_NAMES } from '#core/contract/observe/insight-rules.ts';
import type { Actor } from '#core/context/context.ts';
import { run } from '#core/control-plane/run.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

let t: TestApp;
let connection_id = '';
let seq = 0;
const ids: Record<string, string> = {};
const MINUTE = 60_000;

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  connection_id = await sqliteConnection(t, 'create table orders (id integer, state text)');
  const state = { name: 'state', type: 'string', description: 'State of the order', required: true, enum: ['open', 'paid'] };
  await createTool('find_orders', { parameters: [state], sql_query: 'select id from orders where state = :state' });
  await createTool('search_orders', { description: 'Finds orders of a customer by their text' });
  await createTool('list_products', { description: 'Products with price and stock', max_rows: 100 });
  connectHost(t.app);
  expect((await t.send('deploy.run', { note: 'insights' })).status).toBe(200);
}, 60_000);
afterAll(() => t.close());
/** Whatever was called before is too old for every period. */
beforeEach(() => later(40 * 24 * 60 * MINUTE));

async function later(ms: number): Promise<void> {
  t.advance(ms);
  const body = { username: 'ada', password: 'correct horse' };
  expect((await t.send('auth.login', body)).status).toBe(200);
}

async function createTool(name: string, more: object = {}): Promise<void> {
  const own = {
    connection_id,
    name,
    description: 'Finds orders of a customer by their state',
    sql_query: 'select id from orders',
  };
  const { status, body } = await t.send('tools.create', { ...own, ...more });
  expect([status, body.detail]).toEqual([201, undefined]);
  ids[name] = body.id;
}

/** Calls of one session, a second apart, that end now. */
async function report(calls: readonly Partial<Call>[], more: object = {}): Promise<void> {
  const now = t.app.clock().getTime();
  const items = calls.map((call, n) => ({
    kind: 'tool' as const,
    entity_id: ids[call.name ?? ''] ?? null,
    connection_id,
    timestamp: new Date(now - (calls.length - n) * 1_000).toISOString(),
    duration_ms: 5,
    wait_ms: 0,
    rows: 3,
    bytes: 100,
    session: 'a'.repeat(16),
    client: 'claude/1',
    ...call,
  }));
  const answer = await t.request('POST', '/api/internal/hosts/h1/usage', {
    body: { boot_id: 'boot-1', seq: ++seq, ...toBatch(items), ...more },
    headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
  });
  expect(answer.status).toBe(204);
}
const times = (count: number, call: Partial<Call>) => Array.from({ length: count }, () => call);
const ok = (name: string, more: Partial<Call> = {}): Partial<Call> => ({ name, ...more });
const wrong = (name: string, error: string, error_message: string): Partial<Call> => ({ name, error, error_message, rows: 0 });

async function insights(query = ''): Promise<Insight[]> {
  const { status, body } = await t.request('GET', `/api/v1/insights${query}`);
  expect([status, body.detail]).toEqual([200, undefined]);
  return body['items'] as Insight[];
}
const only = async (rule: string): Promise<Insight> => {
  const found = await insights(`?rule=${rule}`);
  expect(found).toHaveLength(1);
  return found[0] as Insight;
};

describe('insights', () => {
  test('say nothing of a server that is used well, or not at all', async () => {
    expect(await insights()).toEqual([]);
    await report([...times(8, ok('find_orders')), ...times(8, ok('search_orders')), ...times(8, ok('list_products'))]);
    expect(await insights()).toEqual([]);
  });

  test('name a wrong argument with a fix that a PATCH takes, and nothing once it is described', async () => {
    const sentence = 'state must be one of "open", "paid".';
    await report([...times(5, ok('find_orders')), ...times(4, wrong('find_orders', 'invalid', sentence))]);
    const found = await only('argument-fails');
    expect(found.message).toContain(sentence);
    expect(found.evidence).toMatchObject({ count: 4, of: 9, share: 0.444 });
    expect(found.calls).toHaveLength(4);
    const { status } = await t.send('logs.get', { call_id: found.calls[0] });
    expect(status).toBe(200);
    const patched = await t.send('tools.update', { id: ids['find_orders'], ...found.fix?.changes });
    expect(patched.status).toBe(200);
    expect(patched.body.parameters).toMatchObject([{ description: 'State of the order. One of: open, paid.' }]);
    // The old one has a version that is not the stored one any more.
    const again = await t.send('tools.update', { id: ids['find_orders'], ...found.fix?.changes });
    expect(again.status).toBe(409);
    expect((await only('argument-fails')).fix).toBeUndefined();
  });

  test('name what a database says again and again, and the caller that repeats itself', async () => {
    const sentence = 'no such column: channel.';
    await report(times(5, wrong('find_orders', 'sql_error', sentence)));
    expect(await only('statement-fails')).toMatchObject({
      severity: 'error',
      entity: { kind: 'tool', name: 'find_orders' },
      message: `find_orders failed 5 times with the same answer of its database: ${sentence}`,
    });
    expect((await only('retry-loop')).message).toContain(
      'claude/1 repeated the same failing call of find_orders 5 times in a row',
    );
  });

  test('take no loop for what different callers meet, or one caller after a pause', async () => {
    const call = wrong('find_orders', 'sql_error', 'no such column: channel.');
    await report(['b', 'c', 'd', 'e'].map((letter) => ({ ...call, session: letter.repeat(16) })));
    for (let n = 0; n < 3; n++) {
      t.advance(5 * MINUTE);
      await report([call]);
    }
    expect(await insights('?rule=retry-loop')).toEqual([]);
    expect(await insights('?rule=statement-fails')).toHaveLength(1);
  });

  test('name a tool that nobody calls while others are called, with a fix', async () => {
    await report([...times(25, ok('find_orders')), ...times(2, ok('search_orders'))]);
    const found = await only('unused-tool');
    expect(found).toMatchObject({ severity: 'info', entity: { name: 'list_products' }, fix: { changes: { enabled: false } } });
    await t.send('tools.update', { id: ids['list_products'], ...found.fix?.changes });
    expect(await insights('?rule=unused-tool')).toEqual([]);
    await t.send('tools.update', { id: ids['list_products'], enabled: true });
  });

  test('do not take a tool for unused that has just got another name, or was deployed a moment ago', async () => {
    await report(times(25, ok('list_products')));
    t.advance(90 * MINUTE);
    const renamed = { name: 'show_products' };
    await t.send('tools.update', { id: ids['list_products'], ...renamed });
    expect((await t.send('deploy.run', { note: 'renamed' })).status).toBe(200);
    t.advance(MINUTE);
    try {
      await report([...times(9, ok('find_orders')), ...times(9, ok('search_orders'))]);
      expect(await insights('?rule=unused-tool')).toEqual([]);
      await report([...times(9, ok('find_orders')), ...times(9, ok('search_orders'))]);
      expect(await insights('?rule=unused-tool')).toEqual([]);
      await later(24 * 60 * MINUTE);
      await report(times(2, ok('find_orders')));
      const found = (await insights('?rule=unused-tool&period=7d'))[0];
      expect(found).toMatchObject({
        entity: { name: 'show_products' },
        advice: expect.stringMatching(/^Say in its description/),
      });
      expect(found?.message).toContain('since it was last changed, while other tools had 38 calls');
    } finally {
      await t.send('tools.update', { id: ids['list_products'], name: 'list_products' });
      await t.call('deploy.run', { note: 'named as before' });
    }
  });

  const NO_COLUMN = 'no such column: channel.';
  const deployed = async (): Promise<number> => (await t.call('deploy.run', { note: 'changed' })).snapshot_version ?? 0;
  const SERIOUS = '?rule=statement-fails';

  test('say nothing of a definition that was repaired since, until it fails again', async () => {
    const before = await deployed();
    await report(times(5, { ...wrong('find_orders', 'sql_error', NO_COLUMN), snapshot_version: before }));
    t.advance(MINUTE);
    expect(await insights()).not.toEqual([]);
    await t.call('tools.update', { id: ids['find_orders'] ?? '', description: 'Finds orders by their state' });
    // What is not deployed repairs nothing.
    expect(await insights(SERIOUS)).toHaveLength(1);
    const after = await deployed();
    expect(await insights()).toEqual([]);
    t.advance(2 * MINUTE);
    // One host is late, and one has a clock that is.
    await report(times(5, { ...wrong('find_orders', 'sql_error', NO_COLUMN), snapshot_version: before }));
    expect(await insights(SERIOUS)).toEqual([]);
    await report(times(3, { ...wrong('find_orders', 'sql_error', NO_COLUMN), snapshot_version: after }));
    expect(await only('statement-fails')).toMatchObject({ evidence: { count: 3 } });
    // Another tool's deploy repairs nothing either.
    await t.call('tools.update', { id: ids['search_orders'] ?? '', description: 'Finds orders of a customer by words' });
    await deployed();
    expect(await only('statement-fails')).toMatchObject({ evidence: { count: 3 } });
    await t.call('snapshots.activate', { version: before, note: null });
    expect(await insights(SERIOUS)).toEqual([]);
    await deployed();
  });

  test('say nothing of a queue, a timeout or a limit that was changed since', async () => {
    await report([
      ...times(5, wrong('find_orders', 'no_free_slot', 'No slot was free.')),
      ...times(5, { ...wrong('search_orders', 'timeout', 'The statement took too long.'), duration_ms: 30_000 }),
      ...times(5, wrong('find_orders', 'cancelled', 'Cancelled.')),
      ...times(10, ok('list_products', { rows: 100, truncated: 1 })),
    ]);
    const rules = async () => new Set((await insights()).map(({ rule }) => rule));
    for (const rule of ['short-queue', 'slow-statement', 'cancelled-calls', 'truncated-results'])
      expect(await rules()).toContain(rule as Insight['rule']);
    const { queue_limit } = await t.call('connections.get', { id: connection_id });
    await t.call('connections.update', { id: connection_id, queue_limit: queue_limit + 1 });
    t.advance(MINUTE);
    await deployed();
    t.advance(MINUTE);
    expect(await insights()).toEqual([]);
  });

  test('say nothing of what is over without a deploy, once enough calls went well', async () => {
    await report([...times(5, wrong('find_orders', 'sql_error', NO_COLUMN)), ...times(2, ok('find_orders'))]);
    expect(await insights(SERIOUS)).toHaveLength(1);
    await report(times(5, ok('search_orders', { session: 'b'.repeat(16) })));
    expect(await insights(SERIOUS)).toHaveLength(1);
    t.advance(MINUTE);
    await report([ok('find_orders')]);
    expect(await insights()).toEqual([]);
    // One call in ten: ten that go well in a row are no surprise.
    for (let n = 0; n < 3; n++)
      await report([...times(9, ok('find_orders')), wrong('find_orders', 'sql_error', 'Division by zero.')]);
    await report(times(10, ok('find_orders')));
    expect(await insights(SERIOUS)).toHaveLength(1);
  });

  test('advise on a loop what its answers do not say', async () => {
    const codes = ['rate_limited', 'timeout', 'forbidden', 'sql_error', 'unavailable', 'invalid'];
    await report(codes.flatMap((code) => times(5, wrong('find_orders', code, `It failed (${code}).`))));
    const loops = await insights('?rule=retry-loop');
    const advice = new Map(loops.map(({ message, advice: said }) => [/\((\w+)\)\.$/.exec(message)?.[1], said]));
    expect(new Set(advice.keys())).toEqual(new Set(codes));
    expect(advice.get('rate_limited')).toContain('Raise the rate limit');
    expect(advice.get('timeout')).toContain('raise the timeout');
    const blaming = [...advice].filter(([, said]) => said.includes('does not tell the model')).map(([code]) => code);
    expect(blaming).toEqual(['invalid']);
  });

  test('take no write that is looked at afterwards for a confusion', async () => {
    const made = await t.send('tools.create', {
      connection_id,
      name: 'change_orders',
      description: 'Changes orders',
      sql_query: 'delete from orders where id = 0',
    });
    expect([made.status, made.body.read_only]).toEqual([201, false]);
    const pair = [ok('change_orders', { rows: 0 }), ok('find_orders')];
    await report(Array.from({ length: 9 }, () => pair).flat());
    expect(await insights('?rule=confused-tools')).toEqual([]);
    await t.call('tools.delete', { id: made.body.id });
  });

  test('name results that nearly always reach a limit', async () => {
    const cut = { rows: 100, truncated: 1 };
    // All rows that there are, and a host that does not say.
    await report(times(10, ok('list_products', { rows: 100, bytes: 900_000_000 })));
    expect(await insights('?rule=truncated-results')).toEqual([]);
    await later(40 * 24 * 60 * MINUTE);
    await report([...times(9, ok('list_products', cut)), ok('list_products', { rows: 40 })]);
    expect(await only('truncated-results')).toMatchObject({
      message: '90% of the last 10 results of list_products reached the limit of 100 rows, so callers see only a part.',
      fix: { label: 'Raise the limit to 500 rows', changes: { max_rows: 500 } },
    });
  });

  test('name the limit of bytes where rows are cut off before theirs', async () => {
    await report(times(6, ok('list_products', { rows: 7, bytes: 100, truncated: 1 })));
    const { message, fix } = await only('truncated-results');
    expect([message.includes(' bytes, so callers'), Object.keys(fix?.changes ?? {})]).toEqual([true, ['version', 'max_bytes']]);
  });

  test('say of all calls what all of them say, however many others failed since', async () => {
    const slow = { ...wrong('find_orders', 'cancelled', 'Cancelled.'), duration_ms: 7_000 };
    await report([...times(120, slow), ...times(60, wrong('find_orders', 'sql_error', 'no such column: channel.'))]);
    const { message } = await only('cancelled-calls');
    expect(message).toBe('120 calls of find_orders were cancelled (67%), half of the last 50 calls within 7.0 s.');
    await later(40 * 24 * 60 * MINUTE);
    const full = wrong('find_orders', 'queue_full', 'The queue is full.');
    await report([...times(20, full), ...times(1_000, wrong('find_orders', 'invalid', 'state is required.'))]);
    const queue = await only('short-queue');
    expect(queue.message).toContain('20 calls on shop got no slot (2%): ');
    expect(queue.message).not.toContain('they waited');
    expect(queue.calls).toHaveLength(10);
  });

  test('of refused requests name the client and the token’s beginning to administrators alone', async () => {
    const reason = 'The access token svc_mcp_wxyz was revoked.';
    const refusal = { kind: 'unauthenticated', status: 401, reason, address: null, client: 'cursor/1', called: null };
    await report([], { refusals: [{ ...refusal, timestamp: t.app.clock().getTime() }], refused: { unauthenticated: 1 } });
    const as = async (actor: Pick<Actor, 'type' | 'scopes' | 'role'>) => {
      const call = { ip: null, user_agent: null, request_id: 'r', actor: { id: 'x', name: 'x', ...actor } };
      return JSON.stringify((await run(t.app, 'insights.list', {}, call)).items);
    };
    expect(await as({ type: 'admin', scopes: [], role: 'admin' })).toContain('svc_mcp_wxyz');
    const others = [
      ...(['viewer', 'editor'] as const).map((role) => ({ type: 'admin', scopes: [], role }) as const),
      { type: 'agent_token', scopes: ['read', 'write', 'deploy'] } as const,
    ];
    for (const actor of others) {
      const told = await as(actor);
      expect(told).toContain('The access token without a name was revoked and was still tried once.');
      for (const kept of ['svc_mcp', 'cursor']) expect([actor.type, told.includes(kept)]).toEqual([actor.type, false]);
    }
  });

  test('name two tools that callers confuse, once for both directions', async () => {
    const pair = [ok('find_orders', { rows: 0 }), ok('search_orders')];
    await report([...pair, ...pair, ...pair, ok('search_orders', { rows: 0 }), ok('find_orders')]);
    const found = await only('confused-tools');
    expect(found).toMatchObject({ entity: { name: 'find_orders' }, other: { name: 'search_orders' }, evidence: { count: 4 } });
    expect(found.message).toContain('3 times, and once the other way round');
  });

  test('name slow statements and those that time out', async () => {
    await report([
      ...times(6, ok('find_orders', { duration_ms: 2_000, database_ms: 1_900 })),
      ...times(20, ok('search_orders', { database_ms: 4 })),
    ]);
    expect((await only('slow-statement')).message).toContain('took up to 1.9 s in the database');
    await report(times(4, { ...wrong('list_products', 'timeout', 'The statement took too long.'), duration_ms: 30_000 }));
    const names = (await insights('?rule=slow-statement')).map(({ entity }) => entity.name);
    expect(names.toSorted()).toEqual(['find_orders', 'list_products']);
  });

  test('name a queue that rejects calls and one in which they wait, with a fix', async () => {
    await report([...times(20, ok('find_orders', { wait_ms: 2_600 }))]);
    expect(await only('short-queue')).toMatchObject({ severity: 'warning', entity: { kind: 'connection', name: 'shop' } });
    await report(times(5, wrong('find_orders', 'no_free_slot', 'No slot was free.')));
    const found = await only('short-queue');
    expect(found).toMatchObject({ severity: 'error', evidence: { count: 5, of: 25 }, logs: { outcome: 'no_slot' } });
    const { status, body } = await t.send('connections.update', { id: connection_id, ...found.fix?.changes });
    expect([status, body.max_concurrency]).toEqual([200, 8]);
  });

  test('name calls that are cancelled and a token that is used after its end', async () => {
    await report([...times(6, ok('find_orders')), ...times(4, wrong('find_orders', 'cancelled', 'Cancelled.'))]);
    expect((await only('cancelled-calls')).message).toContain('4 calls of find_orders were cancelled (40%)');
    const refusal = {
      timestamp: t.app.clock().getTime(),
      kind: 'unauthenticated',
      status: 401,
      reason: 'The access token svc_mcp_abcd was revoked.',
      address: '192.0.2.7',
      client: 'cursor/1',
      called: null,
    };
    await report([], { refusals: [refusal, refusal], refused: { unauthenticated: 2 } });
    const found = await only('revoked-token');
    expect(found.message).toBe('The access token svc_mcp_abcd was revoked and was still tried 2 times by cursor/1.');
    expect(JSON.stringify(found)).not.toContain('192.0.2.7');
  });

  test('forget what is older than their period', async () => {
    await report(times(5, wrong('find_orders', 'sql_error', 'no such column: channel.')));
    await later(30 * 60 * MINUTE);
    expect(await insights('?period=24h')).toEqual([]);
    expect(await insights('?period=7d&rule=statement-fails')).toHaveLength(1);
    expect(await insights('?period=30d&rule=statement-fails')).toHaveLength(1);
  });

  test('come the most serious first, in pages, to nobody without credentials', async () => {
    await report([...times(5, wrong('find_orders', 'sql_error', 'no such column: channel.')), ...times(20, ok('search_orders'))]);
    const all = await insights();
    expect(all.map(({ rule }) => rule)).toEqual(['statement-fails', 'retry-loop', 'unused-tool']);
    expect(await insights('?skip=1&limit=1')).toEqual(all.slice(1, 2));
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    for (const { rule } of all) expect(INSIGHT_RULE_NAMES).toContain(rule);
    const anonymous = await t.request('GET', '/api/v1/insights', { anonymous: true });
    expect([anonymous.status, isErrorBody(anonymous.body)]).toEqual([401, true]);
    const bad = await t.request('GET', '/api/v1/insights?period=1y');
    expect([bad.status, isErrorBody(bad.body)]).toEqual([422, true]);
  });
});
