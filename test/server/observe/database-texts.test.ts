import { afterAll, beforeAll, expect, test } from 'bun:test';
import { operations } from '#core/contract/index.ts';
import type { Insight } from '#core/contract/observe/insights.ts';
import type { Operation } from '#core/contract/operation.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

/** As a database quotes a row of a table in its own words. */
const ROW = 'row-canary-4711';
const SAID = `invalid input syntax for type integer: "${ROW}"`;

let t: TestApp;
let connection_id: string;
let authorization: string;
let call_ids: readonly string[];
let session_id: string;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  connection_id = await sqliteConnection(t, 'create table orders (id integer)');
  const draft = { connection_id, name: 'find_orders', description: 'Finds orders', sql_query: 'select id from orders' };
  const { id } = await t.call('tools.create', draft);
  const url = 'https://hooks.example.com/sluice';
  const events = ['proposal', 'deploy', 'rollback', 'canary_aborted', 'test_failed', 'drift'] as const;
  await t.call('notices.create', { name: 'chat', url, events: [...events], enabled: true });
  connectHost(t.app);
  const { snapshot_version } = await t.call('deploy.run', { note: 'texts' });
  t.advance(60_000);
  const failed = (error: string, sqlstate: string | undefined): Partial<Call> => ({
    kind: 'tool',
    name: 'find_orders',
    entity_id: id,
    connection_id,
    snapshot_version,
    timestamp: t.app.clock().toISOString(),
    duration_ms: 5,
    wait_ms: 0,
    rows: 0,
    bytes: 0,
    session: 'a'.repeat(16),
    client: 'claude/1',
    error,
    error_message: SAID,
    ...(sqlstate === undefined ? {} : { sqlstate }),
  });
  const calls = [...Array.from({ length: 5 }, () => failed('sql_error', '22P02')), failed('not_read_only', undefined)];
  const answer = await t.request('POST', '/api/internal/hosts/h1/usage', {
    body: { boot_id: 'boot-1', seq: 1, ...toBatch(calls) },
    headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
  });
  expect(answer.status).toBe(204);
  call_ids = (await t.call('logs.list', {})).items.map((call) => call.id);
  session_id = (await t.call('mcp_sessions.list', {})).items[0]?.id ?? '';
  // What only proposes is the least; what a token with more rights reads is no more.
  const made = await t.call('agent_tokens.create', { name: 'script', duration_minutes: 60, scopes: ['read', 'write', 'deploy'] });
  authorization = `Bearer ${made.token}`;
}, 60_000);
afterAll(() => t.close());

const asToken = (path: string, body?: unknown) =>
  t.request(body === undefined ? 'GET' : 'POST', `/api/v1${path}`, { anonymous: true, headers: { authorization }, body });

test('a person reads what the database said of a failed call, in the call, its session and the insight', async () => {
  const [call] = call_ids;
  expect((await t.call('logs.get', { call_id: call ?? '' })).error_message).toBe(SAID);
  const session = await t.call('mcp_sessions.get', { id: session_id });
  expect([session.last_error?.error_message, session.events.at(-1)?.error_message]).toEqual([SAID, SAID]);
  const { items } = await t.call('insights.list', {});
  expect(items.find(({ rule }) => rule === 'statement-fails')?.message).toContain(ROW);
});

test('a token learns the code and the SQLSTATE of a failed call, and never what the database said', async () => {
  const calls = await Promise.all(call_ids.map((id) => asToken(`/logs/${id}`)));
  expect(calls.map(({ body }) => [body['error'], body['sqlstate']])).toContainEqual(['sql_error', '22P02']);
  const messages = new Set(calls.map(({ body }) => body['error_message']));
  const why = 'Only signed-in people can read its message.';
  expect(messages).toEqual(
    new Set([`The database reported an error. ${why}`, `The database reported an error (SQLSTATE 22P02). ${why}`]),
  );
  const session = await asToken(`/sessions/mcp/${session_id}`);
  const { body } = await asToken('/insights');
  const insights = body['items'] as Insight[];
  expect(insights.find(({ rule }) => rule === 'statement-fails')?.message).toContain('(SQLSTATE 22P02)');
  expect(JSON.stringify([calls, session, insights])).not.toContain(ROW);
});

test('an insight that a token reads has an id that does not follow from what the database said', async () => {
  const id = async (read: () => Promise<readonly Insight[]>) =>
    (await read()).find(({ rule }) => rule === 'statement-fails')?.id ?? '';
  const of_person = await id(async () => (await t.call('insights.list', {})).items);
  const of_token = await id(async () => (await asToken('/insights')).body['items'] as Insight[]);
  expect([of_token.length, of_token === of_person]).toEqual([of_person.length, false]);
});

test('nothing that a token reads or exports, and nothing that webhooks are sent, says it', async () => {
  const reads = (Object.values(operations) as Operation[]).filter(
    ({ method, path, access }) => method === 'GET' && access === 'read' && !path.includes('{'),
  );
  expect(reads.length).toBeGreaterThan(20);
  for (const { path } of reads) expect([path, JSON.stringify((await asToken(path)).body).includes(ROW)]).toEqual([path, false]);
  const exported = await asToken('/export-import/export');
  expect([exported.status, JSON.stringify(exported.body).includes(ROW)]).toEqual([200, false]);
  const deliveries = await t.app.store.db.select().from(t.app.store.tables.notice_deliveries);
  expect([deliveries.length > 0, JSON.stringify(deliveries).includes(ROW)]).toEqual([true, false]);
});

test('a token learns of a test that failed what the database said of no row', async () => {
  const said = 'integer overflow';
  const draft = {
    connection_id,
    name: 'overflow',
    description: 'Overflows',
    sql_query: 'select abs(-9223372036854775807 - 1) as n',
  };
  const { id: tool_id } = await t.call('tools.create', draft);
  const owner = { kind: 'tool', id: tool_id } as const;
  const { id } = await t.call('tests.create', { owner, name: 'overflows', expect: { error: 'something else' } });
  const run = await t.call('tests.run', { ids: [id] });
  expect(run.results).toMatchObject([{ error: 'sql_error', failures: [expect.stringContaining(said)] }]);
  const { version } = await t.call('config.get', {});
  await t.call('config.update', { deploy_gates: { tests: 'block' }, version });
  expect(JSON.stringify((await t.send('deploy.run', {})).body)).toContain(said);
  const told = 'The call failed: The database reported an error. Only signed-in people can read its message.';
  const kept = { error: 'sql_error', sqlstate: null, failures: [told] };
  expect((await asToken('/tests/run', { ids: [id] })).body['results']).toMatchObject([kept]);
  expect((await asToken(`/tests/${id}`)).body).toMatchObject({ last: kept });
  expect((await asToken(`/tests/${id}/results`)).body['items']).toMatchObject([kept, kept, { failures: [told] }]);
  const file = await t.call('transfer.export', {});
  const changed = { ...file, tools: file.tools.map((tool) => ({ ...tool, description: 'Overflows each time' })) };
  for (const answer of [
    await asToken('/deploy', {}),
    await asToken('/deploy/status'),
    await asToken('/tests'),
    await asToken('/export-import/import?mode=overwrite&dry_run=true&check=true', changed),
  ]) {
    expect([answer.status < 500, JSON.stringify(answer.body)]).toEqual([true, expect.not.stringContaining(said)]);
  }
});
