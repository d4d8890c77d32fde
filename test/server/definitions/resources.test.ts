import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
let connection_id: string;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table products (id integer primary key, name text not null, price real)');
  db.close();
  const created = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  connection_id = created.id;
});
afterEach(() => t.close());

const resource = (over: object = {}) => ({
  connection_id,
  name: 'product',
  description: 'One product',
  uri_template: 'shop://products/{id}',
  sql_query: 'select id, name from products where id = :id',
  ...over,
});
const prompt = (over: object = {}) => ({
  name: 'report',
  description: 'A report',
  template: 'Report on {{ topic }}.',
  arguments: [{ name: 'topic' }],
  ...over,
});

test('a resource is created with the variables of its address as parameters, read, changed and deleted', async () => {
  const created = await t.call('resources.create', resource());
  expect(created).toMatchObject({
    connection_name: 'shop',
    mime_type: 'application/json',
    parameters: [{ name: 'id', type: 'string', required: true }],
    version: 1,
  });
  const path = `/api/v1/resources/${created.id}`;
  const changed = await t.request('PATCH', path, { body: { ...created, mime_type: 'text/csv' } });
  expect(changed.body).toMatchObject({ mime_type: 'text/csv', version: 2 });
  expect((await t.send('resources.update', { id: created.id, version: 1, title: 'x' })).status).toBe(409);
  expect((await t.send('resources.delete', { id: created.id })).status).toBe(204);
  expect((await t.send('resources.get', { id: created.id })).status).toBe(404);
});

describe('a resource is refused at the field that is wrong', () => {
  const cases: readonly [string, object, string][] = [
    ['an address without a scheme', { uri_template: '/products/{id}' }, 'uri_template'],
    ['an operator of a higher level', { uri_template: 'shop://products/{/id*}' }, 'uri_template'],
    ['the same variable twice', { uri_template: 'shop://{id}/{id}' }, 'uri_template'],
    ['variables that touch', { uri_template: 'shop://{id}{name}', sql_query: 'select :id, :name' }, 'uri_template'],
    ['a parameter that the address lacks', { parameters: [{ name: 'other', type: 'string' }] }, 'parameters.0.name'],
    ['a variable that is a list', { parameters: [{ name: 'id', type: 'array', items: 'integer' }] }, 'parameters.0.type'],
    ['a variable of any type', { parameters: [{ name: 'id', type: 'json' }] }, 'parameters.0.type'],
    [
      'a variable that may be missing',
      { parameters: [{ name: 'id', type: 'integer', required: false }] },
      'parameters.0.required',
    ],
    ['a variable with a default', { parameters: [{ name: 'id', type: 'integer', default: 1 }] }, 'parameters.0.default'],
    ['a variable that the statement lacks a value for', { sql_query: 'select :nothing as x' }, 'sql_query'],
    ['a statement that writes', { sql_query: 'delete from products where id = :id' }, 'sql_query'],
    ['a media type that is none', { mime_type: 'json' }, 'mime_type'],
    ['a template that does not parse', { transform_template: '{% if %}' }, 'transform_template'],
  ];
  test.each(cases)('%s', async (_, over, field) => {
    const answer = await t.send('resources.create', resource(over));
    expect(answer.status).toBe(422);
    expect((answer.body.errors as { field: string }[]).map((error) => error.field)).toContain(field);
    expect((await t.call('resources.list', {})).total).toBe(0);
  });

  test('a name or an address that is taken', async () => {
    await t.call('resources.create', resource());
    const named = await t.send('resources.create', resource({ uri_template: 'shop://other/{id}' }));
    expect([named.status, named.body.errors]).toMatchObject([409, [{ field: 'name' }]]);
    const addressed = await t.send('resources.create', resource({ name: 'other' }));
    expect([addressed.status, addressed.body.errors]).toMatchObject([409, [{ field: 'uri_template' }]]);
  });
});

test('a prompt is created with a template or with messages, owned or not, changed and deleted', async () => {
  const created = await t.call('prompts.create', prompt());
  expect(created).toMatchObject({
    connection_id: null,
    connection_name: null,
    arguments: [{ name: 'topic', required: true }],
    version: 1,
  });
  const messages = [
    { role: 'user', template: 'What about {{ topic }}?' },
    { role: 'assistant', template: 'Let me look.' },
  ];
  const changed = await t.send('prompts.update', { id: created.id, template: null, messages, connection_id });
  expect(changed.body).toMatchObject({ template: null, messages, connection_name: 'shop', version: 2 });
  await t.call('connections.delete', { id: connection_id });
  expect((await t.send('prompts.get', { id: created.id })).status).toBe(404);
});

describe('a prompt is refused at the field that is wrong', () => {
  const cases: readonly [string, object, string][] = [
    ['neither a template nor messages', { template: null }, 'template'],
    ['both', { messages: [{ role: 'user', template: 'x' }] }, 'template'],
    ['a template that does not parse', { template: '{% for %}' }, 'template'],
    ['a message that does not parse', { template: null, messages: [{ role: 'user', template: '{{' }] }, 'messages.0.template'],
    ['an argument declared twice', { arguments: [{ name: 'topic' }, { name: 'topic' }] }, 'arguments.1.name'],
    ['an argument that the global variables hide', { arguments: [{ name: 'topic' }, { name: 'vars' }] }, 'arguments.1.name'],
    ['a role that is not known', { template: null, messages: [{ role: 'system', template: 'x' }] }, 'messages.0.role'],
    ['an unknown connection', { connection_id: '0190b0c0-0000-7000-8000-000000000000' }, 'connection_id'],
  ];
  test.each(cases)('%s', async (_, over, field) => {
    const answer = await t.send('prompts.create', prompt(over));
    expect(answer.status).toBe(422);
    expect((answer.body.errors as { field: string }[]).map((error) => error.field)).toContain(field);
    const plain = await t.request('POST', '/api/v1/prompts', { body: prompt(over) });
    expect(isErrorBody(plain.body)).toBe(true);
    expect((await t.call('prompts.list', {})).total).toBe(0);
  });
});

test('resources and prompts are frozen; a resource that no longer prepares refuses the deploy', async () => {
  await t.call('resources.create', resource());
  await t.call('prompts.create', prompt());
  const rehearsed = await t.call('deploy.run', { dry_run: true });
  expect(rehearsed.counts).toEqual({ connections: 1, tools: 0, resources: 1, prompts: 1, toolsets: 0 });
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('drop table products');
  db.close();
  const refused = await t.send('deploy.run', { dry_run: true });
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toContain('Resource product:');
});
