import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

describe.each([...namedStores])('failed calls in %s', (metadata) => {
  let t: TestApp;
  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
  });
  afterEach(() => t.close());

  const at = (minute: number) => new Date(Date.parse('2026-03-01T08:00:00.000Z') + minute * 60_000).toISOString();
  const call = (minute: number, over: Partial<Call> = {}): Partial<Call> => ({
    kind: 'tool',
    name: 'orders',
    client: 'claude/1',
    token_prefix: null,
    caller: { person: null, token: null, client_id: null },
    timestamp: at(minute),
    duration_ms: 10,
    wait_ms: 1,
    rows: 0,
    bytes: 0,
    error: 'sql_error',
    error_message: 'no such column: channel',
    ...over,
  });
  const store = async (calls: readonly Partial<Call>[]) => {
    const body = { boot_id: 'boot', seq: 1, ...toBatch(calls) };
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    expect((await t.request('POST', '/api/internal/hosts/h1/usage', { body, headers })).status).toBe(204);
  };

  test('are grouped by what was called and its error, with the names of their callers, the latest first', async () => {
    const { id, token_prefix } = await t.call('mcp_tokens.create', { name: 'support-bot', all_toolsets: true });
    const by_bot = { token_prefix, caller: { person: null, token: id, client_id: null } };
    await store([
      call(1, by_bot),
      call(2, { ...by_bot, client: 'cursor/2' }),
      call(3),
      call(4, { error: 'timeout', error_message: 'The statement took longer than 30 s.' }),
      call(5, { error: null, error_message: undefined }),
      call(6, { name: 'stock', client: null }),
      call(7, { ...by_bot, error: 'timeout', error_message: 'The statement took longer than 30 s.' }),
    ]);
    const { items, total } = await t.call('logs.failures', {});
    expect(total).toBe(3);
    expect(items.map(({ name, error, calls, callers, last_at }) => [name, error, calls, callers, last_at])).toEqual([
      ['orders', 'timeout', 2, ['support-bot', 'claude'], at(7)],
      ['stock', 'sql_error', 1, [], at(6)],
      ['orders', 'sql_error', 3, ['claude', 'support-bot'], at(3)],
    ]);
    expect(items[2]).toMatchObject({ error_message: 'no such column: channel', outcome: 'tool_error' });
    const latest = await t.call('logs.get', { call_id: items[0]?.call_id ?? '' });
    expect([latest.timestamp, latest.token_name]).toEqual([at(7), 'support-bot']);

    const recent = await t.call('logs.failures', { since: at(5), limit: 1 });
    expect([recent.total, recent.items.map(({ name }) => name)]).toEqual([2, ['orders']]);
  });

  test('have the name of their access token in the lists of calls and sessions', async () => {
    const { id, token_prefix } = await t.call('mcp_tokens.create', { name: 'support-bot', all_toolsets: true });
    await store([call(1, { token_prefix, caller: { person: null, token: id, client_id: null } }), call(2)]);
    const names = async () => [
      (await t.call('logs.list', {})).items.map(({ token_name }) => token_name),
      (await t.call('mcp_sessions.list', {})).items.map(({ token_name }) => token_name),
    ];
    expect(await names()).toEqual([
      [null, 'support-bot'],
      [null, 'support-bot'],
    ]);
  });
});
