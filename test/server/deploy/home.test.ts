import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ROLES } from '#core/contract/roles.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, peopleOf } from '#test/support/people.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let ada: Member;
let carl: Member;
beforeAll(async () => {
  t = await testApp();
  ada = await peopleOf(t).owner();
  carl = await peopleOf(t).join(ada, { username: 'carl', role: 'caller', groups: ['desk'] });
  await t.signIn();
});
afterAll(() => t.close());

const names = (list: readonly { name: string }[]) => list.map(({ name }) => name);
const NOTHING = { toolsets: [], tools: [], resources: [], prompts: [] };

test('a visitor and a token cannot read the home of a person', async () => {
  expect((await t.send('home.get', {}, { anonymous: true })).status).toBe(401);
  const { token } = await ada.call('agent_tokens.create', {
    name: 'reader',
    duration_minutes: 60,
    scopes: ['read', 'write', 'deploy'],
  });
  const headers = { authorization: `Bearer ${token}` };
  const { status, body } = await t.send('home.get', {}, { anonymous: true, headers });
  expect([status, body.code]).toEqual([403, 'admin_only']);
});

test('before the first deploy a caller reads that nothing is deployed, who invited them and whom to ask', async () => {
  expect(await carl.call('home.get', {})).toMatchObject({
    status: 'stopped',
    server: null,
    ...NOTHING,
    invited: { by: 'ada', at: t.app.clock().toISOString() },
    contact: 'ada',
  });
});

test('with sign-in a caller reads what their groups give, as clients list it, and nothing of its making', async () => {
  const connection_id = await sqliteConnection(t, 'create table orders (id integer, total real)');
  const tool = { connection_id, description: 'Reads', sql_query: 'select total as secret_column from orders where id = :id' };
  const parameters = [{ name: 'id', type: 'integer', description: 'Number of the order', required: true }] as const;
  await ada.call('tools.create', { ...tool, parameters: [...parameters], name: 'get_order', title: 'Order', tags: ['sales'] });
  await ada.call('tools.create', { ...tool, parameters: [...parameters], name: 'wages', tags: ['payroll'] });
  await ada.call('tools.create', {
    connection_id,
    name: 'remove_order',
    description: 'Removes',
    sql_query: 'delete from orders where id = :id',
    parameters: [...parameters],
    tags: ['sales'],
  });
  await ada.call('resources.create', {
    connection_id,
    name: 'order',
    description: 'An order',
    uri_template: 'shop://orders/{id}',
    sql_query: 'select total from orders where id = :id',
    parameters: [...parameters],
    tags: ['sales'],
  });
  await ada.call('prompts.create', {
    name: 'summary',
    description: 'Sums up',
    template: 'Sum up {{ topic }}',
    arguments: [{ name: 'topic', description: 'What', required: true }],
    tags: ['sales'],
  });
  await ada.call('config.update', { auth_type: 'oauth' });
  await ada.call('deploy.run', {});
  // While there is no toolset, people have everything.
  expect(names((await carl.call('home.get', {})).tools)).toEqual(['get_order', 'remove_order', 'wages']);

  await ada.call('toolsets.create', { name: 'desk', title: 'Desk', include: { tags: ['sales'] }, groups: ['desk'] });
  await ada.call('toolsets.create', { name: 'payroll', include: { tags: ['payroll'] }, groups: ['hr'] });
  // The working copy changes nothing of what is live.
  expect(names((await carl.call('home.get', {})).tools)).toEqual(['get_order', 'remove_order', 'wages']);
  await ada.call('deploy.run', {});
  const home = await carl.call('home.get', {});
  expect(home).toMatchObject({
    server: { auth_type: 'oauth', mcp_url: 'http://127.0.0.1:8080/mcp' },
    sign_in_problem: null,
    listed_by: 'person',
    toolsets: [{ name: 'desk', title: 'Desk', description: '' }],
    tools: [
      { name: 'get_order', title: 'Order', description: 'Reads', read_only: true },
      { name: 'remove_order', title: null, read_only: false },
    ],
    resources: [{ name: 'order', uri: 'shop://orders/{id}', mime_type: 'application/json' }],
    prompts: [{ name: 'summary', arguments: [{ name: 'topic', description: 'What', required: true }] }],
  });
  expect(home.tools[0]?.input_schema).toMatchObject({ properties: { id: { type: 'integer' } }, required: ['id'] });
  expect(JSON.stringify(home)).not.toMatch(/secret_column|payroll|wages|sqlite|select|hr"/);
});

test.each(ROLES)('a person with the role %s reads what their own groups give', async (role) => {
  const person = await peopleOf(t).join(ada, { username: `someone-${role}`, role, groups: ['hr'] });
  const { tools, toolsets, invited } = await person.call('home.get', {});
  expect([names(tools), names(toolsets), invited?.by]).toEqual([['wages'], ['payroll'], 'ada']);
});

test('somebody whose groups give no toolset has an empty list', async () => {
  const nora = await peopleOf(t).join(ada, { username: 'nora', role: 'caller' });
  expect(await nora.call('home.get', {})).toMatchObject({ listed_by: 'person', ...NOTHING });
});

test('whom to ask is an owner when who invited the person is no administrator any more', async () => {
  const bob = await peopleOf(t).join(ada, { username: 'bob', display_name: 'Bob B.', role: 'admin' });
  const dora = await peopleOf(t).join(bob, { username: 'dora', role: 'caller' });
  expect(await dora.call('home.get', {})).toMatchObject({ invited: { by: 'Bob B.' }, contact: 'Bob B.' });
  await ada.call('people.update', { id: bob.id, role: 'viewer' });
  expect(await dora.call('home.get', {})).toMatchObject({ invited: { by: 'bob' }, contact: 'ada' });
  expect(await ada.call('home.get', {})).toMatchObject({ invited: null });
});

test('administrators to ask are those who can sign in, who invited the person first', async () => {
  const uma = await peopleOf(t).join(ada, { username: 'uma', role: 'admin' });
  const vera = await peopleOf(t).join(uma, { username: 'vera', role: 'viewer' });
  const first = async () => (await vera.call('home.administrators', {})).names.slice(0, 2);
  expect(await first()).toEqual(['uma', 'ada']);
  await ada.call('people.update', { id: uma.id, enabled: false });
  const now = await first();
  expect([now[0], now.includes('uma')]).toEqual(['ada', false]);
});

test('a new invitation by somebody else is the one that is shown', async () => {
  const eve = await peopleOf(t).join(ada, { username: 'eve', display_name: 'Eve', role: 'admin' });
  t.advance(1_000);
  await eve.call('people.invite', { id: carl.id });
  expect((await carl.call('home.get', {})).invited).toEqual({ by: 'Eve', at: t.app.clock().toISOString() });
});

test('where tokens decide, the lists are empty; without credentials everyone sees everything', async () => {
  await ada.call('config.update', { auth_type: 'bearer' });
  await ada.call('deploy.run', {});
  expect(await carl.call('home.get', {})).toMatchObject({ server: { auth_type: 'bearer' }, listed_by: 'token', ...NOTHING });
  await ada.call('config.update', { auth_type: 'none' });
  await ada.call('deploy.run', {});
  const { listed_by, tools, toolsets } = await carl.call('home.get', {});
  expect([listed_by, names(tools), toolsets]).toEqual(['everyone', ['get_order', 'remove_order', 'wages'], []]);
});

test('a stopped server lists nothing', async () => {
  await ada.call('deploy.stop', {});
  expect(await carl.call('home.get', {})).toMatchObject({ status: 'stopped', server: { auth_type: 'none' }, ...NOTHING });
});
