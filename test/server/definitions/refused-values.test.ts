import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
let connection_id: unknown;
let tool_id: unknown;
const made = async (path: string, body: object) => {
  const answer = await t.request('POST', `/api/v1/${path}`, { body });
  expect([path, answer.status]).toEqual([path, 201]);
  return answer.body['id'];
};
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(t.app.env.SVC_SQLITE_DIR, { recursive: true });
  new Database(join(t.app.env.SVC_SQLITE_DIR, 'shop.sqlite'), { create: true }).run('create table items (id integer)');
  connection_id = await made('connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  tool_id = await made('tools', { name: 'items', connection_id, description: 'Lists items.', sql_query: 'select id from items' });
});
afterAll(() => t.close());

const owner = () => ({ kind: 'tool', id: tool_id });
const LISTS: readonly (readonly [method: string, path: string, field: string, body: () => object])[] = [
  ['PATCH', 'server/config', 'global_variables', () => ({ global_variables: [] })],
  ['PATCH', 'server/config', 'deploy_gates', () => ({ deploy_gates: ['block'] })],
  ['POST', 'mcp-tokens', 'claims', () => ({ name: 'one', claims: ['sub', 'ada'] })],
  ['POST', 'tests', 'arguments', () => ({ name: 'one', owner: owner(), arguments: ['a', 'b'], expect: {} })],
  ['POST', 'tests', 'expect', () => ({ name: 'one', owner: owner(), expect: [] })],
  ['POST', 'toolsets', 'include', () => ({ name: 'sales', include: [] })],
  ['POST', 'connections', 'extra_params', () => ({ name: 'b', db_type: 'sqlite', database: 'b.sqlite', extra_params: [] })],
  ['POST', 'deploy', 'canary', () => ({ canary: [], dry_run: true })],
];

test.each(LISTS)('%s %s refuses a list as %s', async (method, path, field, body) => {
  const { status, body: answer } = await t.request(method, `/api/v1/${path}`, { body: body() });
  expect([status, answer.detail]).toEqual([422, `${field} must be an object.`]);
});

test('a list in the place of an object is refused in an import too', async () => {
  const { status, body } = await t.send('transfer.import', { format: 'sluice/1', toolsets: [{ name: 'sales', include: [] }] });
  expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('include must be an object')]);
});

const BLANK = [' ', '\t\n', '\u200b', '\u3000\u200d'];
test.each<readonly [path: string, field: string, body: () => object]>([
  ['connections', 'name', () => ({ db_type: 'sqlite', database: 'b.sqlite' })],
  ['tests', 'name', () => ({ owner: owner(), expect: {} })],
  ['mcp-tokens', 'name', () => ({})],
  ['notices', 'name', () => ({ url: 'https://example.com/hook', events: ['deploy'] })],
  ['oauth-apps', 'name', () => ({ redirect_uris: ['https://example.com/back'] })],
  ['agent-tokens', 'name', () => ({ duration_minutes: 60, scopes: ['read'] })],
])('%s: a %s that shows nothing is refused', async (path, field, body) => {
  for (const text of BLANK) {
    const { status, body: answer } = await t.request('POST', `/api/v1/${path}`, { body: { ...body(), [field]: text } });
    expect([status, answer.detail]).toEqual([422, expect.stringContaining(`${field} must not be empty.`)]);
  }
});

test('a blank name that an earlier version stored is answered as it is', async () => {
  const { connections } = t.app.store.tables;
  await t.app.store.db.update(connections).set({ name: ' ' });
  expect((await t.call('connections.get', { id: String(connection_id) })).name).toBe(' ');
  await t.app.store.db.update(connections).set({ name: 'shop' });
});

test('a user name that reads as another one is refused', async () => {
  for (const username of [' ada', 'ada ', 'ada\u00a0', '\u200b']) {
    const { status } = await t.send('people.create', { username, role: 'editor' });
    expect([username, status]).toEqual([username, 422]);
  }
});

test('a toolset one of whose members is gone can be duplicated', async () => {
  const gone = await made('tools', {
    name: 'gone',
    connection_id,
    description: 'Lists items.',
    sql_query: 'select id from items',
  });
  const id = await made('toolsets', { name: 'both', include: { tool_ids: [tool_id, gone] } });
  await t.call('tools.delete', { id: String(gone) });
  expect((await t.send('toolsets.duplicate', { id: String(id) })).status).toBe(201);
});

/** Of what is shown to whoever reviews it, and of what is not: a lone carriage return ends a comment for PostgreSQL. */
const DISGUISED: readonly (readonly [method: string, path: string, field: string, body: () => object])[] = [
  ['PATCH', 'tools/:id', 'sql_query', () => ({ sql_query: 'select id from items -- all\rwhere id = 1' })],
  ['PATCH', 'tools/:id', 'sql_query', () => ({ sql_query: `select id from items${'\n'.repeat(5_000)}where id = 1` })],
  ['PATCH', 'tools/:id', 'sql_query', () => ({ sql_query: 'select "\u0456d" from items' })],
  ['PATCH', 'tools/:id', 'sql_query', () => ({ sql_query: 'select "i\u200dd" from items' })],
  ['PATCH', 'tools/:id', 'title', () => ({ title: 'Items \u202egnihtyreve' })],
  ['PATCH', 'tools/:id', 'tags.0', () => ({ tags: ['sal\u200bes'] })],
  ['POST', 'preview/execute', 'sql_query', () => ({ connection_id, sql_query: 'select 1 -- a\rwhere 2' })],
  ['POST', 'deploy', 'note', () => ({ note: 'Words\u2066 only' })],
  ['PATCH', 'server/config', 'server_name', () => ({ server_name: 'Sh\u00adop' })],
];

test.each(DISGUISED)('%s %s refuses what reads as something else in %s', async (method, path, field, body) => {
  const { status, body: answer } = await t.request(method, `/api/v1/${path.replace(':id', String(tool_id))}`, { body: body() });
  expect([status, String(answer.detail)]).toEqual([422, expect.stringMatching(new RegExp(`^${field} |^A name holds`)) as string]);
});

test('what a test sends and expects may hold anything, and so may a file with the line ends of Windows', async () => {
  const values = { name: 'rtl', owner: owner(), arguments: { text: '\u202eabc\r' }, expect: { error: true } };
  expect((await t.request('POST', '/api/v1/tests', { body: values })).status).toBe(201);
  const lines = 'select id\r\nfrom items\r\n-- سفارش‌های باز';
  expect((await t.request('PATCH', `/api/v1/tools/${String(tool_id)}`, { body: { sql_query: lines } })).status).toBe(200);
});
