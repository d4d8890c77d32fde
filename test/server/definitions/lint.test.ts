import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';

interface Finding {
  readonly rule: string;
  readonly severity: string;
  readonly entity: { readonly kind: string; readonly id: string; readonly name: string };
  readonly field: string | null;
  readonly message: string;
  readonly fix?: { readonly label: string; readonly changes: Record<string, unknown> };
}

let t: TestApp;
let connection_id = '';
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table orders (id integer primary key, customer integer, total real)');
  db.close();
  const connection = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  connection_id = connection.id;
});
afterAll(() => t.close());

const DESCRIPTION = 'Orders of one customer, newest first, with totals in euros.';
async function createRecord(body: object, noun = 'tools'): Promise<string> {
  const { status, body: created } = await t.request('POST', `/api/v1/${noun}`, { body: { connection_id, ...body } });
  expect([status, created.detail]).toEqual([201, undefined]);
  // Only agents get the findings here.
  expect(created['findings']).toBeUndefined();
  return String(created['id']);
}
async function lint(query = ''): Promise<Finding[]> {
  const { status, body } = await t.request('GET', `/api/v1/lint${query}`);
  expect([status, body.detail]).toEqual([200, undefined]);
  return body['items'] as Finding[];
}
const brief = (found: readonly Finding[]) => found.map(({ rule, entity, field }) => `${rule} ${entity.name} ${field}`);

test('findings of the working copy, of one definition with its fixes, and after the fixes none', async () => {
  const sql_query = 'select * from orders where customer = :customer';
  const parameters = [
    { name: 'customer', type: 'integer', required: false, description: 'Number of the customer', examples: [7] },
  ];
  const id = await createRecord({ name: 'orders', description: DESCRIPTION, sql_query, parameters });
  expect(brief(await lint())).toEqual([
    'select-star orders sql_query',
    'optional-equals orders sql_query',
    'unbounded-rows orders sql_query',
  ]);
  expect(brief(await lint('?severity=warning&limit=1'))).toEqual(['select-star orders sql_query']);
  expect(brief(await lint('?rule=unbounded-rows'))).toEqual(['unbounded-rows orders sql_query']);
  expect((await t.call('lint.list', { limit: 1 })).total).toBe(3);

  for (let applied = 0; applied < 3; applied++) {
    const [first] = await lint(`?owner=tool:${id}`);
    const { status } = await t.request('PATCH', `/api/v1/tools/${id}`, { body: first?.fix?.changes ?? {} });
    expect(status).toBe(200);
  }
  expect(await lint(`?owner=tool:${id}`)).toEqual([]);
  expect((await t.call('tools.get', { id })).sql_query).toBe(
    'select id, customer, total from orders where 1 = 1 [[and customer = :customer]]\norder by 1\nlimit 100',
  );
  expect(await lint()).toEqual([]);

  // A disabled definition is not served, but shows its own findings.
  await t.call('tools.update', { id, description: 'Orders', enabled: false });
  expect(await lint()).toEqual([]);
  expect(brief(await lint(`?owner=tool:${id}`))).toEqual(['description-missing orders description']);
  await t.call('tools.delete', { id });
  expect((await t.request('GET', `/api/v1/lint?owner=tool:${id}`)).status).toBe(404);
  expect((await t.send('lint.list', { owner: 'table:1' })).status).toBe(422);
});

test('resources, prompts and toolsets are linted like tools', async () => {
  const resource = { name: 'all', description: DESCRIPTION, uri_template: 'shop://orders', sql_query: 'select id from orders' };
  const ids = {
    resource: await createRecord(resource, 'resources'),
    prompt: await createRecord({ name: 'greet', description: 'Greet', template: 'Hello' }, 'prompts'),
  };
  const key = `AKIA${'Q7'.repeat(8)}`;
  const toolset = await t.call('toolsets.create', { name: 'sales', instructions: `Use ${key}.` });
  expect(brief(await lint())).toEqual([
    'secret-text sales instructions',
    'description-missing greet description',
    'unbounded-rows all sql_query',
  ]);
  expect(brief(await lint(`?owner=resource:${ids.resource}`))).toEqual(['unbounded-rows all sql_query']);
  expect(brief(await lint(`?owner=prompt:${ids.prompt}`))).toEqual(['description-missing greet description']);
  expect(brief(await lint(`?owner=toolset:${toolset.id}`))).toEqual(['secret-text sales instructions']);
  for (const path of [`resources/${ids.resource}`, `prompts/${ids.prompt}`, `toolsets/${toolset.id}`]) {
    await t.request('DELETE', `/api/v1/${path}`);
  }
});

test('rules that an administrator turned off find nothing, anywhere', async () => {
  const id = await createRecord({ name: 'orders', description: DESCRIPTION, sql_query: 'select * from orders limit 5' });
  expect(brief(await lint())).toEqual(['select-star orders sql_query']);
  const set = (lint_off: unknown) => t.send('config.update', { lint_off });
  expect((await set(['no-such-rule'])).status).toBe(422);
  expect((await set(['select-star'])).status).toBe(200);
  expect([...(await lint()), ...(await lint(`?owner=tool:${id}`))]).toEqual([]);
  const answer = await t.call('lint.rules', {});
  const rules = answer.items as { rule: string; enabled: boolean }[];
  expect(rules.filter(({ enabled }) => !enabled).map(({ rule }) => rule)).toEqual(['select-star']);
  await set([]);
  expect(brief(await lint())).toEqual(['select-star orders sql_query']);
  await t.call('tools.delete', { id });
});

test('a draft is compared with what is stored, but not with what it replaces', async () => {
  const sql_query = 'select id from orders order by id';
  const id = await createRecord({ name: 'orders_of_customer', description: DESCRIPTION, sql_query });
  const preview = async (more: object) => {
    const draft = { connection_id, name: 'recent', description: DESCRIPTION, sql_query, ...more };
    const answer = await t.call('preview.tool', draft);
    return (answer.lint as Finding[]).map(({ rule, message }) => `${rule}: ${message}`);
  };
  expect(await preview({})).toEqual([
    'description-similar: The description is 100% the same as that of orders_of_customer. Say when to use which.',
  ]);
  expect(await preview({ id })).toEqual([]);
  await t.call('tools.delete', { id });
});
