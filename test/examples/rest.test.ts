import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let connection_id: string;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  connection_id = await sqliteConnection(t, 'create table products (id integer, price real)');
});
afterAll(() => t.close());

const draft = { name: 'list_products', description: 'Lists all products', sql_query: 'select id, price from products' };

test('a new tool is read-only when its statement only reads', async () => {
  const tool = await t.call('tools.create', { connection_id, ...draft });
  expect(tool).toMatchObject({ read_only: true, version: 1 });
  expect(await t.call('tools.get', { id: tool.id })).toEqual(tool);
});

test('a tool without a description is refused and not stored', async () => {
  const { total } = await t.call('tools.list', {});
  const { status, body } = await t.send('tools.create', { connection_id, ...draft, name: 'other', description: '' });
  expect(status).toBe(422);
  expect(body.errors).toMatchObject([{ field: 'description' }]);
  expect((await t.call('tools.list', {})).total).toBe(total);
});

test('an update with the version of an earlier read is refused and names who changed the tool', async () => {
  const tool = await t.call('tools.create', { connection_id, ...draft, name: 'two_people' });
  await t.call('tools.update', { id: tool.id, version: 1, description: 'First' });
  const { status, body } = await t.send('tools.update', { id: tool.id, version: 1, description: 'Second' });
  // Codes stand in core/errors.ts; `signIn` is ada.
  expect([status, body.code, body.detail]).toEqual([409, 'conflict', expect.stringContaining('ada changed two_people')]);
  expect((await t.call('tools.get', { id: tool.id })).description).toBe('First');
});

test('a visitor without credentials cannot list tools', async () => {
  expect((await t.send('tools.list', {}, { anonymous: true })).status).toBe(401);
});
