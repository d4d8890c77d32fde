import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Output } from '#core/contract/index.ts';
import { pruneUsage } from '#core/control-plane/control-plane.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { namedStores } from '#test/support/metadata.ts';
import { type Member, peopleOf } from '#test/support/people.ts';
import { removeFolder, startPrograms } from '#test/support/programs.ts';
import { type Call, toBatch } from '#test/support/usage.ts';
import { until } from '#test/support/until.ts';

type Traffic = Output<'flow.traffic'>;
type Span = Traffic['spans'][number];

/** The pairs of a span by their names: calls, p95, waits, longest wait. */
const pairsOf = ({ clients, definitions }: Traffic, { pairs }: Span) =>
  Object.fromEntries(
    Array.from({ length: pairs.length / 6 }, (_, n) => {
      const [client = 0, definition = 0, ...cells] = pairs.slice(6 * n, 6 * n + 6);
      return [`${clients?.[client] ?? 'all'} > ${definitions[definition]?.name ?? ''}`, cells];
    }),
  );
const callsOf = (answer: Traffic, span: Span) =>
  Object.fromEntries(Object.entries(pairsOf(answer, span)).map(([pair, [calls]]) => [pair, calls]));
/** Percentiles are those of buckets. */
const near = (ms: number) => expect.closeTo(ms, -2);
const failuresOf = ({ clients, definitions, outcomes }: Traffic, { failures }: Span) =>
  Array.from({ length: failures.length / 4 }, (_, n) => {
    const [client = 0, definition = 0, outcome = 0, count] = failures.slice(4 * n, 4 * n + 4);
    return [clients?.[client] ?? 'all', definitions[definition]?.name, outcomes[outcome], count];
  });

describe.each([...namedStores])('traffic in %s', (metadata) => {
  let t: TestApp;
  let owner: Member;
  let seq = 0;
  beforeEach(async () => {
    seq = 0;
    t = await testApp({}, undefined, { metadata });
    owner = await peopleOf(t).owner();
  });
  afterEach(() => t.close());

  /** The clock stands at 12:00:00. */
  const at = (time: string) => `2026-03-01T${time}.000Z`;
  const call = (time: string, over: Partial<Call> = {}): Partial<Call> => ({
    kind: 'tool',
    name: 'orders',
    entity_id: 'tool-1',
    connection_id: 'shop',
    client: 'claude/1.0',
    token_prefix: null,
    timestamp: at(time),
    duration_ms: 100,
    wait_ms: 0,
    rows: 1,
    bytes: 10,
    error: null,
    ...over,
  });
  const store = async (calls: readonly Partial<Call>[]) => {
    const body = { boot_id: 'boot', seq: ++seq, ...toBatch(calls) };
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    expect((await t.request('POST', '/api/internal/hosts/h1/usage', { body, headers })).status).toBe(204);
  };
  const read = async (query = '', who = owner) => {
    const { status, body } = await who.ask('GET', `flow/traffic${query}`);
    expect(status).toBe(200);
    return body as Traffic;
  };

  test('is empty without calls, and says when there were some', async () => {
    expect(await read()).toMatchObject({ clients: [], definitions: [], connections: [], spans: [], last_called_at: null });
    await store([call('09:00:00')]);
    const later = await read();
    expect(later).toMatchObject({ spans: [], last_called_at: at('09:00:00'), since: at('11:00:00') });
    expect(later.now).toMatchObject({ timestamp: at('11:59:10'), seconds: 50, pairs: [], p95_ms: 0 });
  });

  test('counts each pair of client and definition in its minute, over batches', async () => {
    await store([
      call('11:30:05'),
      call('11:30:59', { duration_ms: 300, wait_ms: 40, client: 'claude/2.0' }),
      call('11:30:10', { client: 'cursor/1', name: 'stock', connection_id: 'depot', error: 'timeout', duration_ms: 900 }),
      call('11:31:00', { error: 'sql_error' }),
    ]);
    await store([
      call('11:30:30', { wait_ms: 60 }),
      call('11:30:31', { error: 'queue_full', duration_ms: 5_000 }),
      call('11:31:01', { kind: 'prompt', name: 'greet', connection_id: null, client: null }),
    ]);
    const answer = await read();
    expect(answer.clients).toEqual(['claude', 'cursor', '']);
    expect(answer.connections).toEqual(['shop', 'depot']);
    expect(answer.definitions).toEqual([
      { kind: 'tool', name: 'orders', entity_id: 'tool-1', connection: 0 },
      { kind: 'tool', name: 'stock', entity_id: 'tool-1', connection: 1 },
      { kind: 'prompt', name: 'greet', entity_id: 'tool-1', connection: -1 },
    ]);
    const [first, second, ...rest] = answer.spans;
    expect(rest).toEqual([]);
    if (first === undefined || second === undefined) throw new Error('two minutes have calls');
    expect([first.timestamp, second.timestamp]).toEqual([at('11:30:00'), at('11:31:00')]);
    // A call without a slot is in no duration.
    expect(pairsOf(answer, first)).toEqual({
      'claude > orders': [4, near(300), 100, 60],
      'cursor > stock': [1, near(900), 0, 0],
    });
    expect(callsOf(answer, second)).toEqual({ 'claude > orders': 1, ' > greet': 1 });
    expect(failuresOf(answer, first)).toEqual([
      ['claude', 'orders', 'no_slot', 1],
      ['cursor', 'stock', 'timeout', 1],
    ]);
    expect(failuresOf(answer, second)).toEqual([['claude', 'orders', 'tool_error', 1]]);
    expect(first.connections).toEqual([0, near(300), 1, near(900)]);
    expect(first.p95_ms).toEqual(near(900));

    const whole = await read('?interval_seconds=3600');
    expect(whole.spans.map((span) => [span.timestamp, span.seconds, pairsOf(whole, span)])).toEqual([
      [
        at('11:00:00'),
        3_600,
        {
          'claude > orders': [5, near(300), 100, 60],
          'cursor > stock': [1, near(900), 0, 0],
          ' > greet': [1, near(100), 0, 0],
        },
      ],
    ]);
  });

  test('answers for any time of the last hours, and for the last minute to the second', async () => {
    await store([call('09:30:30'), call('11:59:05'), call('11:59:15'), call('11:59:59', { name: 'stock' })]);
    const early = await read(`?since=${at('09:30:00')}&until=${at('09:31:00')}`);
    expect(early.spans.map(({ timestamp }) => timestamp)).toEqual([at('09:30:00')]);
    expect(early.now).toBeNull();
    const live = await read(`?since=${at('11:59:00')}`);
    if (live.now === null) throw new Error('a minute that runs has a now');
    expect(callsOf(live, live.now)).toEqual({ 'claude > orders': 1, 'claude > stock': 1 });
    t.advance(25 * 3_600_000);
    await pruneUsage(t.app);
    expect(await t.app.store.db.$count(t.app.store.tables.traffic)).toBe(0);
    // What a host kept for longer than that is in the log alone.
    await store([call('10:00:00')]);
    expect(await t.app.store.db.$count(t.app.store.tables.traffic)).toBe(0);
  });

  test('takes any number of clients for no more than a hundred', async () => {
    await store(Array.from({ length: 300 }, (_, n) => call('11:59:30', { client: `client-${n}/1` })));
    await store([call('11:59:31', { client: 'late/1' })]);
    const { clients, spans } = await read();
    expect([clients?.length, clients?.includes('*'), clients?.includes('late')]).toEqual([101, true, false]);
    const calls = spans.flatMap(({ pairs }) => pairs.filter((_, n) => n % 6 === 2));
    expect(calls.reduce((sum, count) => sum + count, 0)).toBe(301);
  });

  test('names clients to whoever may read the log, and is refused to others', async () => {
    await store([call('11:59:30'), call('11:59:31', { client: 'cursor/1', error: 'timeout' })]);
    const people = peopleOf(t);
    const viewer = await people.join(owner, { username: 'vera', role: 'viewer' });
    const caller = await people.join(owner, { username: 'carl', role: 'caller' });
    const reads_log = (await viewer.send('logs.list')).status === 200;
    const answer = await read('', viewer);
    expect(answer.clients).toEqual(reads_log ? ['claude', 'cursor'] : null);
    const [span] = answer.spans;
    if (span === undefined) throw new Error('a minute has calls');
    if (!reads_log) {
      expect(callsOf(answer, span)).toEqual({ 'all > orders': 2 });
      expect(failuresOf(answer, span)).toEqual([['all', 'orders', 'timeout', 1]]);
      expect(JSON.stringify(answer)).not.toContain('claude');
    }
    expect((await caller.send('flow.traffic')).status).toBe(403);
    expect((await t.send('flow.traffic', {}, { anonymous: true })).status).toBe(401);
    for (const query of ['?since=yesterday', '?interval_seconds=90', '?interval_seconds=0', '?tool=orders'])
      expect([query, (await owner.ask('GET', `flow/traffic${query}`)).status]).toEqual([query, 422]);
  });

  test('of a client is found in the log by its name, with and without its version', async () => {
    await store([
      call('11:00:00'),
      call('11:00:01', { client: 'claude/2.0' }),
      call('11:00:02', { client: 'claude/code/2.0' }),
      call('11:00:03', { client: 'claude' }),
      call('11:00:04', { client: 'claude_code/1' }),
      call('11:00:05', { client: null }),
    ]);
    const expected = { claude: 3, 'claude/2.0': 1, 'claude/code': 1, 'claude%25': 0, claude_: 0, '': 1 };
    for (const [client, total] of Object.entries(expected))
      expect([client, (await owner.call('logs.list', { client })).total]).toEqual([client, total]);
  });
});

test('calls of a real client on a real database are counted exactly', async () => {
  const programs = await startPrograms();
  try {
    await until(() => programs.output().includes('curl'));
    await programs.signIn();
    const client = await connectClient('v1', programs.mcp_url);
    for (let n = 0; n < 7; n++) await client.call('search_products', { text: 'l', limit: 3 });
    await client.call('get_customer', { customer_id: 'none' });
    const counted = async () => {
      const answer = await programs.api<Traffic>('GET', '/flow/traffic');
      const spans = answer.spans.map((span) => pairsOf(answer, span));
      const calls = (name: string) =>
        spans.flatMap((span) => Object.entries(span).filter(([pair]) => pair.endsWith(`> ${name}`)));
      const sumOf = (name: string) => calls(name).reduce((sum, [, [count = 0]]) => sum + count, 0);
      return { answer, searched: sumOf('search_products'), failed: answer.spans.flatMap((span) => failuresOf(answer, span)) };
    };
    await until(async () => (await counted()).failed.length > 0);
    const { answer, searched, failed } = await counted();
    const { items } = await programs.api<{ items: { client: string }[] }>('GET', '/logs');
    expect(searched).toBe(7);
    expect(failed).toEqual([[items[0]?.client.replace(/\/[^/]*$/, ''), 'get_customer', 'tool_error', 1]]);
    if (answer.now === null) throw new Error('it runs now');
    expect(Object.values(pairsOf(answer, answer.now)).reduce((sum, [count = 0]) => sum + count, 0)).toBe(8);
    await client.close();
  } finally {
    await programs.stop();
    removeFolder(programs);
  }
}, 60_000);
