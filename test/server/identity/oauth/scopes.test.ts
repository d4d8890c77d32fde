import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, PASSWORD, peopleOf } from '#test/support/people.ts';
import { type Browser, createBrowser, tokens } from '#test/support/sign-in.ts';

let t: TestApp;
let owner: Member;
let carl: Browser;
beforeAll(async () => {
  t = await testApp();
  owner = await peopleOf(t).owner();
  await peopleOf(t).join(owner, { username: 'carl', role: 'caller', groups: ['desk'] });
  carl = createBrowser(t);
  await carl.signIn('carl', PASSWORD);
  mkdirSync(t.app.env.SVC_SQLITE_DIR, { recursive: true });
  new Database(join(t.app.env.SVC_SQLITE_DIR, 'shop.sqlite'), { create: true }).run('create table customers (id integer)');
  const { body: connection } = await owner.ask('POST', 'connections', {
    name: 'shop',
    db_type: 'sqlite',
    database: 'shop.sqlite',
  });
  for (const [name, tag] of [
    ['orders', 'sales'],
    ['wages', 'payroll'],
  ]) {
    const draft = {
      name,
      description: `Reads ${name}`,
      connection_id: connection['id'],
      sql_query: 'select 1 as n',
      tags: [tag],
    };
    expect((await owner.ask('POST', 'tools', draft)).status).toBe(201);
  }
  const toolset = async (name: string, tag: string, groups: string[]) =>
    expect((await owner.ask('POST', 'toolsets', { name, title: `The ${name}`, include: { tags: [tag] }, groups })).status).toBe(
      201,
    );
  await toolset('sales', 'sales', []);
  await toolset('desk', 'sales', ['desk']);
  await toolset('payroll', 'payroll', ['hr']);
  expect((await owner.ask('POST', 'deploy', {})).body).toMatchObject({ snapshot_version: 1 });
});
afterAll(() => t.close());

const shown = async (more = {}) => {
  const { request } = await carl.authorize(more);
  const { body } = await carl.send('GET', `/api/v1/oauth/requests/${request}`);
  return { request, body, names: (body['scopes'] as { name: string }[]).map(({ name }) => name) };
};
const scopeOf = (access: string) => decodeJwt(access)['scope'];

test('a person is offered the toolsets that are open to everyone or to a group of theirs, with their tools', async () => {
  const { body, names } = await shown();
  expect(names).toEqual(['desk', 'sales']);
  expect(body['scopes']).toContainEqual({
    name: 'sales',
    title: 'The sales',
    description: '',
    tools: ['orders'],
    tools_total: 1,
    optional: true,
  });
  expect(JSON.stringify(body)).not.toMatch(/payroll|wages/);
});

test('nobody learns of a toolset of others before signing in', async () => {
  const stranger = createBrowser(t);
  const { request } = await stranger.authorize();
  const { body } = await stranger.send('GET', `/api/v1/oauth/requests/${request}`);
  expect(body['scopes']).toMatchObject([{ name: 'sales' }]);
});

test('a client that names scopes gets those of them, and nothing that is not open to the person', async () => {
  expect((await shown({ scope: 'sales payroll read' })).names).toEqual(['sales']);
  const { access } = await tokens(t, carl, { scope: 'sales payroll' });
  expect(scopeOf(access)).toBe('sales');
  const { request } = await shown();
  expect((await carl.decide(request, { decision: 'approve', scopes: ['payroll'] })).status).toBe(422);
});

test('a client that names none gets what the person leaves on, or whatever they may use', async () => {
  expect(scopeOf((await tokens(t, carl)).access)).toBe('');
  const code = await carl.code({}, { decision: 'approve', scopes: ['desk'] });
  expect(code).not.toBe('');
  const { items } = (await owner.ask('GET', 'grants')).body as { items: { scopes: string[] }[] };
  expect(items.map(({ scopes }) => scopes)).toContainEqual([]);
});

test('the endpoint of a toolset offers that toolset alone, to whom it is open', async () => {
  expect((await shown({ resource: 'http://localhost:8080/mcp/desk' })).names).toEqual(['desk']);
  expect((await shown({ resource: 'http://localhost:8080/mcp/readonly' })).names).toEqual(['desk', 'sales']);
  const { body: unknown } = await shown({ resource: 'http://localhost:8080/mcp/nowhere' });
  const { request, body } = await shown({ resource: 'http://localhost:8080/mcp/payroll' });
  expect(unknown).toEqual({ ...body, resource: unknown['resource'], expires_at: unknown['expires_at'] });
  expect(body).toMatchObject({ scopes: [], refused: expect.stringContaining('administrator') });
  expect((await carl.decide(request)).status).toBe(403);
});
