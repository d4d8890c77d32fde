import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, PASSWORD, peopleOf } from '#test/support/people.ts';
import { type Browser, createBrowser, exchanged, post, refreshed, tokens } from '#test/support/sign-in.ts';

let t: TestApp;
let owner: Member;
let carl: Browser;
beforeAll(async () => {
  t = await testApp();
  owner = await peopleOf(t).owner();
  await peopleOf(t).join(owner, { username: 'carl', role: 'caller', groups: ['desk'] });
  await peopleOf(t).join(owner, { username: 'rita', role: 'viewer', groups: ['reader'] });
  carl = createBrowser(t);
  await carl.signIn('carl', PASSWORD);
  mkdirSync(t.app.env.SVC_SQLITE_DIR, { recursive: true });
  new Database(join(t.app.env.SVC_SQLITE_DIR, 'shop.sqlite'), { create: true }).run('create table customers (id integer)');
  const connection = await owner.call('connections.create', {
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
      connection_id: connection.id,
      sql_query: 'select 1 as n',
      tags: [tag],
    };
    expect((await owner.send('tools.create', draft)).status).toBe(201);
  }
  const toolset = async (name: string, tag: string, groups: string[]) =>
    expect((await owner.send('toolsets.create', { name, title: `The ${name}`, include: { tags: [tag] }, groups })).status).toBe(
      201,
    );
  await toolset('sales', 'sales', []);
  await toolset('desk', 'sales', ['desk']);
  await toolset('payroll', 'payroll', ['hr']);
  await toolset('read', 'sales', ['reader']);
  await toolset('email', 'sales', ['reader']);
  expect(await owner.call('deploy.run', {})).toMatchObject({ snapshot_version: 1 });
});
afterAll(() => t.close());

const shown = async (more = {}, browser = carl) => {
  const { request } = await browser.authorize(more);
  const { body } = await browser.send('GET', `/api/v1/oauth/requests/${request}`);
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
  const { items } = await owner.call('grants.list', {});
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

test.each([
  ['more than is open to the person', 'sales payroll', ['sales'], true, 'sales'],
  ['what is not open to the person', 'payroll', ['desk', 'sales'], true, 'desk sales'],
  ['what does not exist', 'nowhere', ['desk', 'sales'], true, 'desk sales'],
  ['exactly what is open', 'desk', ['desk'], false, 'desk'],
  ['what the metadata lists', 'read write deploy offline_access', ['desk', 'sales'], false, ''],
  ['what clients ask for everywhere', 'openid email profile', ['desk', 'sales'], false, ''],
])('a client that asks for %s is offered what applies, and gets that', async (_, scope, names, narrowed, granted) => {
  const { names: offered, body } = await shown({ scope });
  expect([offered, body['narrowed']]).toEqual([names, narrowed]);
  const { access, body: answer } = await tokens(t, carl, { scope });
  expect(scopeOf(access)).toBe(granted);
  // RFC 6749 section 5.1: the client is told what it got.
  expect(answer['scope'] ?? '').toBe(granted);
});

test('a client that sends all listed scopes is not cut to a toolset of that name, one that chose it is', async () => {
  const rita = createBrowser(t);
  await rita.signIn('rita', PASSWORD);
  expect((await shown({ scope: 'read write deploy offline_access' }, rita)).names).toEqual(['email', 'read', 'sales']);
  expect((await shown({ scope: 'openid email profile' }, rita)).names).toEqual(['email', 'read', 'sales']);
  expect((await shown({ scope: 'read' }, rita)).names).toEqual(['read']);
  // What the person leaves on is named in the token, whatever its name.
  const { request } = await rita.authorize();
  const { body } = await rita.decide(request, { decision: 'approve', scopes: ['email'] });
  const code = new URL(String(body['redirect_to'])).searchParams.get('code') ?? '';
  const { body: answer } = await post(t, '/oauth/token', exchanged(code));
  expect(scopeOf(String(answer['access_token']))).toBe('email');
});

test('at the agent endpoint a client gets what the role allows of what it asks for', async () => {
  const rita = createBrowser(t);
  await rita.signIn('rita', PASSWORD);
  const agent = { resource: 'http://localhost:3000/agent-mcp' };
  for (const scope of ['read write deploy', 'deploy']) {
    const { names, body } = await shown({ ...agent, scope }, rita);
    expect([names, body['narrowed']]).toEqual([['read'], true]);
  }
  expect((await shown({ ...agent, scope: 'read offline_access' }, rita)).body).toMatchObject({ narrowed: false });
  const { access } = await tokens(t, rita, { ...agent, scope: 'read write' }, agent);
  expect(scopeOf(access)).toBe('read');
});

test('a refresh may ask for a part of everything, for one token', async () => {
  const { refresh } = await tokens(t, carl);
  const renew = async (token: string, scope?: string) => {
    const { body } = await post(t, '/oauth/token', refreshed(token, { scope }));
    return { token: String(body['refresh_token']), scopes: [scopeOf(String(body['access_token'])), body['scope']] };
  };
  const narrow = await renew(refresh, 'desk');
  expect(narrow.scopes).toEqual(['desk', 'desk']);
  // What is not open to the person is no part of it: the client is told that it got everything.
  const none = await renew(narrow.token, 'payroll');
  expect(none.scopes).toEqual(['', 'mcp']);
  const both = await renew(none.token, 'sales desk nowhere offline_access');
  expect(both.scopes).toEqual(['desk sales', 'desk sales']);
  expect((await renew(both.token)).scopes).toEqual(['', undefined]);
});

test.each(['Finance', 'q4 reports', 'v1.2', 'büro', 'a/b', '100%', 'x'.repeat(64)])(
  'the address of the tag %s can be signed in to, as hosts spell it',
  async (tag) => {
    const resource = `http://localhost:8080/mcp/tag/${encodeURIComponent(tag)}`;
    const { access, status } = await tokens(t, carl, { resource }, { resource });
    expect([status, decodeJwt(access).aud]).toEqual([200, resource]);
  },
);

test.each([
  '/mcp/tag/',
  '/mcp/tag/a/b',
  '/mcp/Sales',
  '/mcp/a/b',
  `/mcp/tag/${'x'.repeat(65)}`,
  '/mcp/tag/%zz',
  '/mcp/candidate/x',
])('what no host serves, such as %s, cannot be signed in to', async (path) => {
  const { status, location } = await carl.authorize({ resource: `http://localhost:8080${path}` });
  expect([status, location.includes('invalid_target')]).toEqual([302, true]);
});
