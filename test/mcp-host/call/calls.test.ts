import { beforeAll, describe, expect, test } from 'bun:test';
import { callTool, connectionOf, ENVELOPE, parameterOf, rpc, snapshotOf, textOf, TOKEN, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('all');
const ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
const narrow = connectionOf({ name: 'narrow', max_concurrency: 1, queue_limit: 1, queue_timeout_ms: 200 });
const wide = connectionOf({ name: 'wide', max_concurrency: 4 });
const absent = connectionOf({ name: 'absent', database: 'absent.sqlite' });
const outside = connectionOf({ name: 'outside', database: '/etc/passwd' });
const sealed = connectionOf({ name: 'sealed', password: { $sealed: 'v1.00000000.x.AAAA' } });

/** The third row has no absolute value. */
const HALFWAY = '(values (1), (2), (-9223372036854775807 - 1), (3))';

beforeAll(async () => {
  const ack = await control.deploy(
    snapshotOf(1, {
      connections: [narrow, wide, absent, outside, sealed],
      tools: [
        toolOf(narrow, 'endless', ENDLESS),
        toolOf(narrow, 'short', ENDLESS, { timeout_ms: 50 }),
        toolOf(narrow, 'quick', 'select 1 as one'),
        toolOf(narrow, 'few', 'select id from customers', { max_rows: 2 }),
        toolOf(narrow, 'rename', 'update customers set name = :name where id >= :id', {
          mode: 'write',
          parameters: [parameterOf('name', 'string'), parameterOf('id', 'integer')],
        }),
        toolOf(wide, 'endless_twice', ENDLESS.replace('select 1 ', 'select :n '), { parameters: [parameterOf('n', 'integer')] }),
        toolOf(narrow, 'halfway', `select abs(column1) as size from ${HALFWAY}`),
        toolOf(narrow, 'halfway_cut', `select abs(column1) as size from ${HALFWAY}`, { max_rows: 1 }),
        toolOf(
          narrow,
          'halfway_returning',
          `insert into customers (id, name) select -column1, abs(column1) from ${HALFWAY} returning name`,
          {
            mode: 'write',
          },
        ),
        toolOf(narrow, 'returning', "insert into customers (id, name) values (-5, 'Zoe') returning name", { mode: 'write' }),
        toolOf(narrow, 'count_zoe', "select count(*) as n from customers where name in ('Zoe', '1')"),
        toolOf(absent, 'absent', 'select 1'),
        toolOf(outside, 'outside', 'select 1'),
        toolOf(sealed, 'sealed', 'select 1'),
        toolOf(narrow, 'faulty_template', 'select 1 as one', {
          transform_template: '{% for r in rows %}{{ 1 // 0 }}{% endfor %}',
        }),
      ],
    }),
  );
  expect(ack.error).toBeNull();
});

const queue = async (of = 'narrow') => (await host.health()).connections.find(({ name }) => name === of)?.queue;
const start = (name: string, signal: AbortSignal) =>
  fetch(host.mcp, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, _meta: ENVELOPE } }),
  }).catch(() => null);

describe('a call', () => {
  test('whose statement fails after its first rows is an error, never a short result', async () => {
    const rowsOf = async (name: string) => (await callTool(host.mcp, name)).body['result'] as Record<string, unknown>;
    expect(await rowsOf('halfway')).toMatchObject({ isError: true });
    // A result that ends at its limit before the fault is complete up to there.
    expect(await rowsOf('halfway_cut')).toMatchObject({ structuredContent: { rows: [{ size: 1 }], truncated: true } });
    expect(await rowsOf('halfway_returning')).toMatchObject({ isError: true });
    expect(await rowsOf('returning')).toMatchObject({ structuredContent: { rows: [{ name: 'Zoe' }] } });
    expect(await rowsOf('count_zoe')).toMatchObject({ structuredContent: { rows: [{ n: 1 }] } });
  });

  test('whose client leaves is cancelled in the database and frees its place', async () => {
    const controller = new AbortController();
    const left = start('endless', controller.signal);
    await until(async () => (await queue())?.active === 1);
    controller.abort();
    await left;
    await until(async () => (await queue())?.active === 0);
    expect((await callTool(host.mcp, 'quick')).body).toMatchObject({ result: { structuredContent: { rows: [{ one: 1 }] } } });
  });

  test('is cancelled by notifications/cancelled of its session, without an answer', async () => {
    const { headers } = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
    const running = rpc(host.mcp, { id: 77, method: 'tools/call', params: { name: 'endless' } }, session);
    await until(async () => (await queue())?.active === 1);
    expect((await rpc(host.mcp, { method: 'notifications/cancelled', params: { requestId: 77 } }, session)).status).toBe(202);
    expect(await running).toMatchObject({ status: 202, body: {} });
    expect(await queue()).toMatchObject({ active: 0, waiting: 0 });
  });

  test.each(['notifications/cancelled', 'DELETE'])('is reached by %s though another one has its id', async (way) => {
    const { headers } = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
    const two = [1, 2].map((n) => {
      const params = { name: 'endless_twice', arguments: { n } };
      return rpc(host.mcp, { id: 77, method: 'tools/call', params }, session);
    });
    await until(async () => (await queue('wide'))?.active === 2);
    if (way === 'DELETE') await fetch(host.mcp, { method: way, headers: session });
    else await rpc(host.mcp, { method: way, params: { requestId: 77 } }, session);
    for (const answer of await Promise.all(two)) expect(answer).toMatchObject({ status: 202, body: {} });
    expect(await queue('wide')).toMatchObject({ active: 0, waiting: 0 });
  });

  test('that runs too long is ended, and says so', async () => {
    const answer = await callTool(host.mcp, 'short');
    expect(answer.body.result).toMatchObject({ isError: true });
    expect(textOf(answer)).toMatch(/50 ms|time/);
  });

  test('waits its turn; a full queue and a long wait are told apart', async () => {
    const before = await queue();
    const controller = new AbortController();
    const running = start('endless', controller.signal);
    await until(async () => (await queue())?.active === 1);
    const waiting = callTool(host.mcp, 'quick');
    await until(async () => (await queue())?.waiting === 1);
    const refused = await callTool(host.mcp, 'quick');
    expect(refused.body.result).toMatchObject({ isError: true });
    expect(textOf(refused)).toMatch(/narrow is busy.*queue_limit/);
    expect(textOf(await waiting)).toContain('within 200 ms');
    controller.abort();
    await running;
    await until(async () => (await queue())?.active === 0);
    const after = await queue();
    expect((after?.rejected ?? 0) - (before?.rejected ?? 0)).toBe(1);
    expect((after?.timed_out ?? 0) - (before?.timed_out ?? 0)).toBe(1);
  });

  test('says that rows are missing', async () => {
    const { result } = (await callTool(host.mcp, 'few')).body;
    expect(result).toMatchObject({ structuredContent: { row_count: 2, truncated: true } });
    expect(result?.['content']).toMatchObject([
      { text: JSON.stringify(result?.['structuredContent']) },
      { text: 'Only the first 2 rows are here: max_rows was reached. Narrow the query to see the rest.' },
    ]);
  });

  test('that changes rows answers how many', async () => {
    const answer = await callTool(host.mcp, 'rename', { name: 'Someone', id: 2 });
    expect(answer.body.result).toMatchObject({ structuredContent: { rows: [], row_count: 0, affected_rows: 2 } });
  });

  test('with bad arguments is told each of them, and never their values', async () => {
    const answer = await callTool(host.mcp, 'rename', { id: 'secret-value', extra: 1 });
    expect(answer.body.result).toMatchObject({ isError: true });
    const text = textOf(answer);
    expect(text).toBe('name is required. id must be an integer. There is no argument extra.');
    expect(text).not.toContain('secret-value');
  });

  test.each(['absent', 'outside', 'sealed'])('on a connection that is %s says nothing of its settings', async (name) => {
    const answer = await callTool(host.mcp, name);
    expect(answer.body.result).toMatchObject({ isError: true });
    expect(textOf(answer)).not.toMatch(/sqlite|00000000|\//i);
    expect(host.log.find(({ message, fields }) => message === 'call_failed' && fields['name'] === name)).toBeDefined();
  });

  test('whose template fails is an error of the tool', async () => {
    const answer = await callTool(host.mcp, 'faulty_template');
    expect(answer.body.result).toMatchObject({ isError: true });
    expect(textOf(answer)).toContain('template');
  });
});

test('/health shows the queues and the line to the server to who has the service token', async () => {
  const response = await fetch(new URL('/health', host.mcp), { headers: { 'x-service-token': TOKEN } });
  expect(await response.json()).toMatchObject({
    status: 'running',
    snapshot_version: 1,
    server_name: 'Shop',
    transport: 'http',
    control: { connected: true },
    connections: [
      { name: 'absent' },
      { name: 'narrow', queue: { active: 0, waiting: 0 } },
      { name: 'outside' },
      { name: 'sealed' },
      { name: 'wide' },
    ],
  });
});

test.each([
  ['nobody', {}],
  ['a wrong service token', { 'x-service-token': `${TOKEN}x` }],
  ['an empty service token', { 'x-service-token': '' }],
])('/health tells %s that the host is well, and no names', async (_who, headers) => {
  const body = (await (await fetch(new URL('/health', host.mcp), { headers })).json()) as object;
  expect(body).toEqual({
    status: 'running',
    snapshot_version: 1,
    server_name: 'Shop',
    transport: 'http',
    uptime_seconds: expect.any(Number),
    access_tokens: expect.any(Object),
  });
});

test('/health answers no page of a foreign origin', async () => {
  const headers = { origin: 'https://evil.example', 'x-service-token': TOKEN };
  const response = await fetch(new URL('/health', host.mcp), { headers });
  expect(response.status).toBe(403);
  expect(await response.text()).not.toContain('Shop');
  expect((await fetch(new URL('/health', host.mcp), { method: 'POST' })).status).toBe(405);
});

test('usage that the server does not take is sent again under the same number', async () => {
  await until(() => control.usage.length > 0);
  await Bun.sleep(350);
  control.fail(500);
  const known = control.usage.length;
  await callTool(host.mcp, 'quick');
  await Bun.sleep(700);
  control.fail(null);
  const sent = await until(() => control.usage.slice(known).find(({ items }) => items.length > 0));
  expect(sent.items).toHaveLength(1);
  expect(control.usage.map(({ seq }) => seq)).toEqual(control.usage.map((_, n) => n + 1));
});
