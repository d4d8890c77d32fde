import { afterEach, expect, test } from 'bun:test';
import * as v from 'valibot';
import type { AuditEntry } from '#core/contract/observe/audit.ts';
import { UsageBatch } from '#core/contract/observe/usage-batch.ts';
import { storeUsage } from '#core/observe/usage.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { peopleOf } from '#test/support/people.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

let t: TestApp;
afterEach(() => t.close());
const start = async () => {
  t = await testApp();
  await t.signIn();
};
const list = async (filter: Parameters<typeof t.call<'audit.list'>>[1] = {}) => (await t.call('audit.list', filter)).items;
const newest = async (filter: Parameters<typeof list>[0] = {}): Promise<AuditEntry> => {
  const [entry] = await list({ ...filter, limit: 1 });
  if (entry === undefined) throw new Error('there is no entry');
  return entry;
};
let seq = 0;
const report = (calls: readonly Partial<Call>[], more: object = {}) =>
  storeUsage(t.app, 'h1', v.parse(UsageBatch, { boot_id: 'audit', seq: ++seq, ...toBatch(calls), ...more }));
const calledTool = (more: Partial<Call> = {}): Partial<Call> => ({
  kind: 'tool',
  name: 'get_customer',
  entity_id: 'tool-1',
  timestamp: t.app.clock().toISOString(),
  duration_ms: 4,
  wait_ms: 0,
  rows: 1,
  bytes: 10,
  snapshot_version: 3,
  client: 'claude/1',
  token_prefix: 'ada',
  caller: { person: 'person-1', token: null, client_id: 'claude' },
  ...more,
});

test('a change, a setting and a deploy are entered with who made them, and without values', async () => {
  await start();
  const connection_id = await sqliteConnection(t, 'create table products (id integer, price real)');
  const draft = { name: 'list_products', description: 'Lists all products', sql_query: 'select id, price from products' };
  const tool = await t.call('tools.create', { connection_id, ...draft });
  expect(await newest()).toMatchObject({
    kind: 'change',
    actor: { type: 'person', name: 'ada' },
    entity: { type: 'tool', id: tool.id, name: 'list_products' },
    outcome: 'ok',
    ip: '192.0.2.1',
    request_id: expect.any(String),
    detail: { action: 'create', version_after: 1 },
  });
  await t.call('tools.update', { id: tool.id, version: 1, description: 'Lists every product there is' });
  const changed = await newest();
  expect(changed.detail).toEqual({ action: 'update', fields: ['description'], version_before: 1, version_after: 2 });
  expect(JSON.stringify(changed)).not.toContain('every product');
  await t.call('config.update', { server_name: 'Shop' });
  expect(await newest()).toMatchObject({ kind: 'setting', detail: { fields: ['server_name'] } });
  await t.call('deploy.run', { note: 'first' });
  expect(await newest({ kind: 'deploy' })).toMatchObject({
    entity: { type: 'snapshot', id: '1', name: 'v1' },
    detail: { action: 'deploy', note: 'first' },
  });
});

test('calls are entered by caller and outcome, with lifted masks and without arguments', async () => {
  await start();
  const unmasked = ['email', 'phone'];
  const calls = [
    calledTool({ unmasked }),
    calledTool({ unmasked }),
    calledTool({ caller: { person: 'person-2', token: null, client_id: 'claude' }, token_prefix: 'grace' }),
    calledTool({ error: 'timeout', error_message: 'secret text', arguments: 'sealed_arguments' }),
  ];
  await report(calls);
  const entries = await list({ kind: 'call' });
  expect(entries).toHaveLength(3);
  const ok = entries.filter(({ outcome }) => outcome === 'ok');
  expect(ok.map(({ actor }) => actor.name ?? '').toSorted((a, b) => a.localeCompare(b))).toEqual(['ada', 'grace']);
  expect(ok.find(({ actor }) => actor.name === 'ada')).toMatchObject({
    actor: { type: 'person', id: 'person-1', name: 'ada' },
    entity: { type: 'tool', id: 'tool-1', name: 'get_customer' },
    tool: 'get_customer',
    detail: { calls: 2, rows: 2, snapshot_version: 3, client: 'claude/1', unmasked },
  });
  expect(entries.find(({ outcome }) => outcome === 'timeout')?.detail).not.toHaveProperty('unmasked');
  expect(JSON.stringify(entries)).not.toMatch(/secret text|sealed_arguments/);
});

test('calls that are alike become one entry if they ended within ten seconds, also of several reports', async () => {
  await start();
  await report([calledTool(), calledTool({ name: 'other' })]);
  t.advance(4_000);
  const first_at = new Date(t.app.clock().getTime() - 4_000).toISOString();
  await report([calledTool({ rows: 5 })]);
  t.advance(9_000);
  await report([calledTool({ rows: 7 })]);
  const entries = await list({ kind: 'call', tool: 'get_customer' });
  expect(entries.map(({ detail }) => [detail['calls'], detail['rows'], detail['first_at']])).toEqual([
    [1, 7, undefined],
    [2, 6, first_at],
  ]);
  expect(await list({ tool: 'other' })).toHaveLength(1);
});

test('a batch that a host sends twice is entered once', async () => {
  await start();
  const batch = v.parse(UsageBatch, { boot_id: 'twice', seq: 1, ...toBatch([calledTool()]) });
  await storeUsage(t.app, 'h1', batch);
  await storeUsage(t.app, 'h1', batch);
  expect(await list({ kind: 'call' })).toHaveLength(1);
});

test('the log answers who saw an e-mail address unmasked in May', async () => {
  await start();
  const at = (day: string) => ({ timestamp: `2026-0${day}T12:00:00.000Z` });
  t.advance(120 * 24 * 3_600_000);
  // A session ends within a day.
  await t.signIn();
  await report([
    calledTool({ ...at('4-30'), unmasked: ['email'] }),
    calledTool({ ...at('5-02'), unmasked: ['phone', 'email'] }),
    calledTool({ ...at('5-03'), unmasked: ['phone'] }),
    calledTool({ ...at('5-04'), unmasked: ['email_hash'] }),
    calledTool({ ...at('5-05'), unmasked: ['e%mail_'] }),
    calledTool({ ...at('5-06') }),
    calledTool({ ...at('5-07'), unmasked: ['email'], name: 'other_tool' }),
    calledTool({ ...at('6-01'), unmasked: ['email'] }),
  ]);
  const may = { tool: 'get_customer', since: '2026-05-01T00:00:00Z', until: '2026-06-01T00:00:00Z' };
  const days = async (filter: object) => (await list({ ...may, ...filter })).map(({ at: time }) => time.slice(5, 10));
  expect(await days({ unmasked: 'email' })).toEqual(['05-02']);
  expect(await days({ unmasked: 'EMAIL' })).toEqual(['05-02']);
  expect(await days({ unmasked: 'e%mail_' })).toEqual(['05-05']);
  expect((await days({ unmasked: '*' })).toSorted()).toEqual(['05-02', '05-03', '05-04', '05-05']);
  expect(await days({ unmasked: 'email', actor: 'person-1' })).toEqual(['05-02']);
  expect(await days({ unmasked: 'email', actor: 'grace' })).toEqual([]);
});

test('a statement that was run in the interface is a call whose columns had no mask', async () => {
  await start();
  const connection_id = await sqliteConnection(t, `create table customers as select 1 as id, 'ada@example.com' as email`);
  const sql_query = 'select id, email from customers';
  await t.call('preview.execute', { connection_id, sql_query });
  const entry = await newest({ unmasked: 'email' });
  expect(entry).toMatchObject({
    kind: 'call',
    actor: { type: 'person', name: 'ada' },
    detail: { operation: 'preview.execute', connection_id, rows: 1, unmasked: ['*'] },
  });
  expect(JSON.stringify(entry)).not.toMatch(/select|ada@example/);
  const mask = { column: 'email', mask: 'email' as const, unless_groups: ['support'] };
  await t.call('preview.execute', { connection_id, sql_query, masks: [mask] });
  expect((await newest({ kind: 'call' })).detail).not.toHaveProperty('unmasked');
  await t.call('preview.execute', { connection_id, sql_query, masks: [mask], caller: { groups: ['support'] } });
  expect((await newest({ kind: 'call' })).detail).toMatchObject({ unmasked: ['email'] });
});

test('requests that a host refused are entered with their address, equal ones of a report together', async () => {
  await start();
  const refusal = {
    timestamp: t.app.clock().getTime(),
    kind: 'unauthenticated',
    status: 401,
    reason: 'Unauthorized: the token was revoked.',
    address: '198.51.100.7',
    client: 'claude/1',
    called: null,
  };
  const without_token = { ...refusal, reason: 'Unauthorized: this server accepts no calls without a valid access token.' };
  await report([], { refusals: [refusal, refusal, { ...refusal, called: 'get_customer' }, without_token] });
  const entries = await list({ kind: 'refusal' });
  expect(entries.map(({ ip, tool, detail }) => [ip, tool, detail['requests']])).toEqual([
    ['198.51.100.7', 'get_customer', 1],
    ['198.51.100.7', undefined, 2],
  ]);
});

test('sign-ins, failed ones and the end of a session are entered', async () => {
  await start();
  expect(await newest({ kind: 'sign_in' })).toMatchObject({ actor: { name: 'ada' }, outcome: 'ok', detail: { step: 'session' } });
  await t.send('auth.login', { username: 'ada', password: 'wrong password' }, { anonymous: true });
  const failed = await newest({ kind: 'sign_in' });
  expect(failed).toMatchObject({ actor: { name: 'ada' }, outcome: 'refused', detail: { step: 'password' } });
  expect(JSON.stringify(failed)).not.toContain('wrong password');
  await t.call('auth.logout', {});
  await t.signIn();
  expect((await list({ kind: 'sign_in' })).map(({ detail }) => detail['step'])).toEqual([
    'session',
    'sign_out',
    'password',
    'session',
  ]);
});

test('an operation that a person may not run is entered as a refusal, at most thirty times a minute', async () => {
  t = await testApp();
  const people = peopleOf(t);
  const owner = await people.owner();
  const viewer = await people.join(owner, { username: 'vera', role: 'viewer' });
  for (let n = 0; n < 32; n++) expect((await viewer.send('config.update', { server_name: 'Mine' })).status).toBe(403);
  const { items } = await owner.call('audit.list', { kind: 'refusal', limit: 100 });
  expect(items).toHaveLength(30);
  expect(items[0]).toMatchObject({
    actor: { type: 'person', id: viewer.id, name: 'vera' },
    outcome: 'refused',
    detail: { operation: 'config.update', code: 'role_required' },
  });
  expect((await viewer.send('audit.list', {})).status).toBe(403);
  expect((await viewer.ask('GET', 'audit/export')).status).toBe(403);
  expect((await t.request('GET', '/api/v1/audit/export', { anonymous: true })).status).toBe(401);
});

test('an export of the configuration or of the log is entered, and a token can read neither log nor export', async () => {
  await start();
  await t.call('transfer.export', {});
  expect(await newest({ kind: 'export' })).toMatchObject({ actor: { name: 'ada' }, detail: { operation: 'transfer.export' } });
  const { status, headers, body } = await t.request('GET', '/api/v1/audit/export?format=ocsf&kind=export');
  expect([status, headers.get('content-disposition')]).toEqual([200, 'attachment; filename="audit.ocsf.jsonl"']);
  const events = String(body['text']).trimEnd().split('\n');
  expect(events).toHaveLength(2);
  expect(JSON.parse(events[1] ?? '')).toMatchObject({
    class_uid: 6003,
    type_uid: 600302,
    status_id: 1,
    actor: { user: { name: 'ada' } },
    api: { operation: 'audit.export' },
    unmapped: { kind: 'export', detail: { format: 'ocsf', kind: 'export' } },
  });
  for (const query of ['format=csv', 'kind=other', 'colour=red'])
    expect((await t.request('GET', `/api/v1/audit/export?${query}`)).status).toBe(422);
  const { token } = await t.call('agent_tokens.create', { name: 'reader', duration_minutes: 60, scopes: ['read', 'write'] });
  const as_token = { anonymous: true, headers: { authorization: `Bearer ${token}` } };
  expect((await t.request('GET', '/api/v1/audit', as_token)).status).toBe(403);
  expect((await t.request('GET', '/api/v1/audit/export', as_token)).status).toBe(403);
});

test('a reader that follows the log gets each entry once, in order', async () => {
  await start();
  const seen: number[] = [];
  let after = 0;
  for (let n = 0; n < 7; n++) {
    await t.call('config.update', { server_name: `Shop ${n}` });
    const { items, next } = await t.call('audit.list', { after, limit: 2 });
    seen.push(...items.map((entry) => entry.seq));
    after = next ?? after;
  }
  for (;;) {
    const { items, next } = await t.call('audit.list', { after, limit: 2 });
    if (items.length === 0) break;
    seen.push(...items.map((entry) => entry.seq));
    after = next ?? after;
  }
  expect(seen).toEqual(seen.map((_, n) => n + 1));
  const first = await t.call('audit.list', { limit: 3 });
  const second = await t.call('audit.list', { limit: 3, before: first.next ?? 0 });
  expect([...first.items, ...second.items].map((entry) => entry.seq)).toEqual(seen.slice(-6).toReversed());
  expect((await t.send('audit.list', { limit: 501 })).status).toBe(422);
});
