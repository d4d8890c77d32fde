import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { NO_TOKEN } from '#core/contract/observe/refusal-sentences.ts';
import { lookAtCalls } from '#core/observe/notices/watch-calls.ts';
import { run } from '#core/control-plane/run.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';
import { namedStores } from '#test/support/metadata.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

const MINUTE = 60_000;
const SAID = 'value "row-canary" is out of range';

describe.each([...namedStores])('notices of calls in %s', (metadata) => {
  let t: TestApp;
  let connection_id: string;
  let tool_id: string;
  let seq = 0;
  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
    connection_id = await sqliteConnection(t, 'create table orders (id integer)');
    const draft = { connection_id, name: 'find_orders', description: 'Finds orders', sql_query: 'select id from orders' };
    tool_id = (await t.call('tools.create', draft)).id;
    const events = ['tool_failing', 'queue_full', 'sign_ins_refused'] as const;
    await t.call('notices.create', { name: 'chat', url: 'https://hooks.example.com/x', events: [...events], enabled: true });
    connectHost(t.app);
    await t.call('deploy.run', { note: null });
    t.advance(10 * MINUTE);
  }, 30_000);
  afterEach(() => t.close(), 20_000);

  const list = () => t.call('notices.events', {});
  const sent = async () => {
    const rows = await t.app.store.db.select().from(t.app.store.tables.notice_deliveries);
    return rows.map(({ body }) => (JSON.parse(body) as { data: Record<string, unknown> }).data);
  };
  async function report(calls: number, error: string | null, more: object = {}): Promise<void> {
    const call: Partial<Call> = {
      kind: 'tool',
      name: 'find_orders',
      entity_id: tool_id,
      connection_id,
      timestamp: t.app.clock().toISOString(),
      duration_ms: 5,
      wait_ms: 0,
      rows: 0,
      bytes: 0,
      client: 'claude/1',
      ...(error === null ? {} : { error, error_message: SAID }),
    };
    const answer = await t.request('POST', '/api/internal/hosts/h1/usage', {
      body: { boot_id: 'boot-1', seq: ++seq, ...toBatch(Array.from({ length: calls }, () => call)), ...more },
      headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
    });
    expect(answer.status).toBe(204);
  }

  test('a tool that fails most calls is told once, with its page, whichever servers look', async () => {
    await report(4, 'sql_error');
    await report(20, 'invalid');
    await lookAtCalls(t.app);
    expect((await list()).items).toEqual([]);
    await report(4, 'timeout');
    await Promise.all([lookAtCalls(t.app), lookAtCalls(t.app)]);
    await lookAtCalls(t.app);
    const first = await list();
    expect(first).toMatchObject({
      total: 1,
      unread: 1,
      items: [{ event: 'tool_failing', path: `/tools/${tool_id}`, about: tool_id, ended_at: null, unread: true }],
    });
    expect(first.items[0]?.message).toBe('find_orders fails: 8 of its last 8 calls in 5 minutes.');
    expect(await sent()).toMatchObject([{ name: 'find_orders', failed: 8, state: 'open', path: `/tools/${tool_id}` }]);
    expect(JSON.stringify(await sent())).not.toContain('row-canary');

    t.advance(6 * MINUTE);
    await report(6, null);
    await lookAtCalls(t.app);
    const ended_at = t.app.clock().toISOString();
    expect(await list()).toMatchObject({ total: 1, unread: 0, items: [{ ended_at, unread: false }] });
    expect((await sent()).map(({ state }) => state)).toEqual(['open', 'over']);

    // It comes back after a pause: no further notice, and what was sent its end is sent its beginning.
    t.advance(6 * MINUTE);
    await report(6, 'sql_error');
    await lookAtCalls(t.app);
    expect(await list()).toMatchObject({ total: 1, unread: 1, items: [{ ended_at: null }] });
    await lookAtCalls(t.app);
    expect((await sent()).map(({ state }) => state)).toEqual(['open', 'over', 'open']);
  });

  // What follows asks nothing of the store that the first test does not.
  if (metadata !== 'sqlite') return;

  test('a tool that fails few calls, or whose callers are wrong, is not told, nor one that was repaired', async () => {
    await report(5, 'sql_error');
    await report(2, null);
    for (const code of ['cancelled', 'rate_limited', 'forbidden']) await report(9, code);
    await lookAtCalls(t.app);
    expect((await list()).items).toEqual([]);
    await report(20, 'sql_error');
    await lookAtCalls(t.app);
    expect((await list()).unread).toBe(1);
    await t.call('tools.update', { id: tool_id, description: 'Finds all orders' });
    await t.call('deploy.run', { note: null });
    await lookAtCalls(t.app);
    expect(await list()).toMatchObject({ unread: 0, total: 1 });
  });

  test('a full queue is told with its connection, until no call was rejected for five minutes', async () => {
    await report(2, 'queue_full');
    await lookAtCalls(t.app);
    expect((await list()).items).toEqual([]);
    await report(4, 'no_free_slot');
    await lookAtCalls(t.app);
    const { items } = await list();
    expect(items).toMatchObject([{ event: 'queue_full', path: `/connections/${connection_id}` }]);
    expect(items[0]?.message).toStartWith('shop has no free slot: 6 calls rejected in 5 minutes.');
    t.advance(6 * MINUTE);
    await lookAtCalls(t.app);
    expect((await list()).unread).toBe(0);
  });

  test('refused access tokens are told to administrators alone, and requests without one are not', async () => {
    const refusals = (reason: string, count: number) => ({
      refusals: Array.from({ length: count }, () => ({
        timestamp: t.app.clock().getTime(),
        kind: 'unauthenticated',
        status: 401,
        reason,
        address: '192.0.2.7',
        client: null,
        called: null,
      })),
      refused: { unauthenticated: count },
    });
    await report(0, null, refusals(NO_TOKEN, 60));
    await report(0, null, refusals('The access token svc_mcp_abcd was revoked.', 10));
    await lookAtCalls(t.app);
    expect((await list()).items).toEqual([]);
    await report(0, null, refusals('Unauthorized: the access token is not valid, or no longer valid.', 20));
    await lookAtCalls(t.app);
    expect((await list()).items).toMatchObject([
      {
        message: '30 requests with an invalid access token refused in 5 minutes from 192.0.2.7.',
        path: '/logs?view=refusals&refused=unauthenticated',
      },
    ]);
    const actor = { type: 'admin' as const, id: 'x', name: 'x', scopes: [], role: 'editor' as const };
    const seen = await run(t.app, 'notices.events', {}, { actor, ip: null, user_agent: null, request_id: 'r' });
    expect(seen.items.map(({ event }) => event)).toEqual(['deploy']);
    t.advance(6 * MINUTE);
    await lookAtCalls(t.app);
    expect((await list()).unread).toBe(0);
  });

  test('what somebody did is told to all others and to webhooks, not to them', async () => {
    const mine = await list();
    expect(mine).toMatchObject({ total: 0, unread: 0 });
    const others = { type: 'admin' as const, id: 'x', name: 'grace', scopes: [], role: 'viewer' as const };
    const seen = await run(t.app, 'notices.events', {}, { actor: others, ip: null, user_agent: null, request_id: 'r' });
    expect(seen.items.map(({ message }) => message)).toEqual(['ada deployed version 1.']);
    const { token } = await t.call('agent_tokens.create', { name: 'script', duration_minutes: 60, scopes: ['read', 'deploy'] });
    const headers = { authorization: `Bearer ${token}` };
    await t.call('tools.update', { id: tool_id, description: 'Finds all orders' });
    const deployed = await t.request('POST', '/api/v1/deploy', { anonymous: true, headers, body: { note: null } });
    expect(deployed.status).toBe(200);
    expect((await list()).items.map(({ message }) => message)).toEqual(['script deployed version 2.']);
  });
});
