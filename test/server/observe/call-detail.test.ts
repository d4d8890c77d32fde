import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

interface Detail extends Record<string, unknown> {
  readonly id: string;
  readonly error_message: string | null;
  readonly trace_id: string | null;
}

/** Stands in a masked column, in an argument and nowhere else. */
const HIDDEN = 'hidden-value-5b1e';

describe.skipIf(!reachable.postgres)('a call of a deployed tool', () => {
  let programs: Programs;
  let database: TestDatabase;
  let client: Awaited<ReturnType<typeof connectClient>>;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run('create table orders (id int primary key, channel text, total int, email text)');
    await database.run(`insert into orders values (1, 'web', 0, '${HIDDEN}')`);
    programs = await startPrograms();
    await programs.signIn();
    const { host, port, database: name, username } = database.settings;
    const connection = await programs.api<{ id: string }>('POST', '/connections', {
      name: 'detail',
      db_type: 'postgresql',
      host,
      port,
      database: name,
      username,
      ssl_mode: 'disable',
      max_concurrency: 1,
      queue_limit: 0,
      pool_size: 1,
    });
    const number = { name: 'n', type: 'string', description: 'A number', required: true };
    const tools = {
      channels: { sql_query: 'select channel from orders' },
      numbers: { sql_query: 'select (cast(:n as text))::int as n', parameters: [number] },
      masked: {
        sql_query: 'select email::int as n, email from orders',
        masks: [{ column: 'email', mask: 'text' }],
      },
      searched: {
        sql_query: "select to_tsquery(email || ' x')::text as q, email from orders",
        masks: [{ column: 'email', mask: 'text' }],
      },
      slow: { sql_query: 'select pg_sleep(20)::text as slept' },
      brief: { sql_query: 'select pg_sleep(20)::text as slept', timeout_ms: 100 },
      rare: { sql_query: 'select 1 as n', rate_limit_per_minute: 1 },
      five: { sql_query: 'select n from generate_series(1, 5) as n', max_rows: 5, cache_ttl_seconds: 60 },
      six: { sql_query: 'select n from generate_series(1, 6) as n', max_rows: 5, cache_ttl_seconds: 60 },
    };
    for (const [tool, more] of Object.entries(tools)) {
      const own = { connection_id: connection.id, name: tool, description: `Calls ${tool} of the orders` };
      await programs.api('POST', '/tools', { ...own, ...more });
    }
    await programs.api('POST', '/deploy', { note: 'detail' });
    await database.run('alter table orders rename column channel to origin');
    client = await connectClient('v1', programs.mcp_url);
  }, 60_000);
  afterAll(async () => {
    await client?.close().catch(() => undefined);
    await programs?.stop();
    if (programs) removeFolder(programs);
    await database?.drop();
  });

  const textOf = ({ content }: { content?: unknown }) => (content as { text: string }[] | undefined)?.[0]?.text ?? '';
  const call = async (name: string, args: object = {}) => textOf(await client.call(name, args as Record<string, unknown>));
  const latest = async (name: string, query = ''): Promise<Detail> => {
    const list = () => programs.api<{ items: { id: string }[] }>('GET', `/logs?name=${name}${query}&limit=1`);
    await until(async () => (await list()).items.length > 0);
    const [item] = (await list()).items;
    return programs.api<Detail>('GET', `/logs/${item?.id ?? ''}`);
  };

  test('that fails is kept with the sentence of its caller, the SQLSTATE and where its time went', async () => {
    const told = await call('channels');
    expect(told).toContain('column "channel" does not exist');
    const detail = await latest('channels');
    expect(detail).toMatchObject({
      error: 'sql_error',
      error_message: told,
      sqlstate: '42703',
      outcome: 'tool_error',
      queue_ms: 0,
      tokens: 0,
      person: null,
      token: null,
      client_id: null,
    });
    expect(detail['database_ms']).toBeGreaterThan(0);
    expect(detail['session']).toMatch(/^[0-9a-f]{16}$/);
    const list = await programs.api<{ items: { name: string }[] }>('GET', '/logs?outcome=tool_error');
    expect(list.items.map(({ name }) => name)).toContain('channels');
  }, 60_000);

  test('that succeeds says what its answer costs, and which trace it is part of', async () => {
    await fetch(programs.mcp_url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mcp-protocol-version': '2025-06-18',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'numbers', arguments: { n: '12' } } }),
    });
    const detail = await latest('numbers', '&success=true');
    expect(detail).toMatchObject({
      outcome: 'ok',
      error_message: null,
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      ignored_arguments: [],
      session: null,
    });
    expect(detail['tokens']).toBeWithin(3, 40);
    expect(detail['bytes']).toBeGreaterThan(20);
  }, 60_000);

  test('that was answered without an argument names it to its client and in its detail', async () => {
    const answer = await client.call('five', { status: 'open', wait_for_previous: true });
    expect(textOf({ content: (answer['content'] as unknown[]).slice(-1) })).toBe(
      'Ignored arguments that the tool does not have: status.',
    );
    expect(answer['_meta']).toMatchObject({ 'sluice/ignored': ['status'] });
    expect(await latest('five')).toMatchObject({ ignored_arguments: ['status'], arguments_state: 'not_logged' });
  }, 60_000);

  test('a call whose result was cut off says so, also from the cache, unlike one of exactly as many rows', async () => {
    for (const tool of ['five', 'six', 'six']) await call(tool);
    expect(await latest('five')).toMatchObject({ rows: 5, truncated: false });
    const six = () => programs.api<{ items: { id: string }[] }>('GET', '/logs?name=six');
    await until(async () => (await six()).items.length === 2);
    for (const { id } of (await six()).items)
      expect(await programs.api<Detail>('GET', `/logs/${id}`)).toMatchObject({ rows: 5, truncated: true });
  }, 60_000);

  test('a call logs no value of its arguments and of a masked column, and shows none to the caller', async () => {
    expect(await call('numbers', { n: HIDDEN })).toContain(HIDDEN);
    const failed = await latest('numbers', '&success=false');
    expect(failed).toMatchObject({ sqlstate: '22P02', error_message: 'invalid input syntax for type integer: "…".' });
    const told = await call('masked');
    expect(told).toBe(
      'The database reported an error (SQLSTATE 22P02). Its message can contain masked values, so it is not shown.',
    );
    expect((await latest('masked')).error_message).toBe(told);
    expect(await call('searched')).toBe(told.replace('22P02', '42601'));
  }, 60_000);

  test('that never ran or was stopped has an outcome of its own, and those that never ran are in no duration', async () => {
    await call('rare');
    await call('rare');
    expect(await latest('rare', '&success=false')).toMatchObject({ outcome: 'rate_limited', database_ms: 0 });
    await call('brief');
    expect(await latest('brief')).toMatchObject({ outcome: 'timeout', queue_ms: 0 });
    await call('numbers', {});
    type Counted = { readonly calls: number; readonly ran: number };
    const counted = async () => (await programs.api<{ tools: Record<string, Counted> }>('GET', '/metrics/stats')).tools;
    // Arguments that were refused never ran either.
    await until(async () => (await counted())['numbers']?.calls === 3);
    const tools = await counted();
    expect(tools['numbers']).toMatchObject({ calls: 3, ran: 2, outcomes: { tool_error: 2 } });
    expect(tools['rare']).toMatchObject({ calls: 2, errors: 1, ran: 1, outcomes: { ok: 1, rate_limited: 1 } });
    expect(tools['brief']).toMatchObject({ outcomes: { timeout: 1 } });
  }, 60_000);

  test('a running call is listed on every server and can be cancelled: its caller is told at once', async () => {
    const running = () => programs.api<{ items: Record<string, unknown>[] }>('GET', '/calls/running');
    const pending = call('slow');
    await until(async () => (await running()).items.length > 0);
    expect((await running()).items).toMatchObject([{ name: 'slow', kind: 'tool', state: 'running' }]);
    expect(await call('numbers', { n: '1' })).toContain('busy');
    expect(await latest('numbers', '&outcome=no_slot')).toMatchObject({ outcome: 'no_slot', database_ms: 0 });
    await programs.api('POST', `/calls/${String((await running()).items[0]?.['id'])}/cancel`);
    expect(await pending).toBe('An administrator cancelled this call.');
    expect(await latest('slow')).toMatchObject({ outcome: 'cancelled', error_message: 'An administrator cancelled this call.' });
    await until(async () => (await running()).items.length === 0);
    const gone = await programs.api('POST', '/calls/gone/cancel').catch(String);
    expect(gone).toContain('404');
  }, 60_000);

  test('that was refused before it began is listed as a refusal and counted', async () => {
    await client.call('no_such_tool', {}).catch(() => undefined);
    const post = (headers: Record<string, string>, body: string) =>
      fetch(programs.mcp_url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
    await post({ 'content-type': 'text/plain' }, '{}');
    await post({ origin: 'https://evil.example' }, '{}');
    await post({ 'user-agent': 'a client/1' }, 'no json');
    const json = (method: string, params: object) => post({}, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    await json('no/such', {});
    await json('resources/read', { uri: 'shop://people/alice@corp.com' });
    await json('tools/call', { name: 'slow', arguments: [] });
    const refusals = () =>
      programs.api<{ items: Record<string, unknown>[]; total: number; counts: object }>('GET', '/logs/refusals');
    await until(async () => (await refusals()).total >= 7);
    const { items, counts } = await refusals();
    expect(items.toReversed()).toMatchObject([
      { kind: 'not_found', called: 'no_such_tool', address: '127.0.0.1' },
      { kind: 'protocol', status: 415, reason: 'Content-Type must be application/json.' },
      { kind: 'forbidden', status: 403 },
      { kind: 'protocol', status: 400, client: 'a client/1', reason: 'The body is not valid JSON.' },
      { kind: 'not_found', called: null },
      { kind: 'not_found', called: 'shop://…' },
      { kind: 'protocol', called: 'slow', reason: 'params.arguments must be an object.' },
    ]);
    expect(counts).toEqual({ not_found: 3, protocol: 3, forbidden: 1 });
    const only = await programs.api<{ total: number }>('GET', '/logs/refusals?kind=forbidden');
    expect(only.total).toBe(1);
  }, 60_000);
});
