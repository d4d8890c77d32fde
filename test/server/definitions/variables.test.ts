import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { OperationName } from '#core/contract/index.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let connection_id: string;
beforeAll(async () => {
  t = await testApp({}, undefined, { metadata: 'sqlite' });
  await t.signIn();
  connection_id = await sqliteConnection(t, 'create table products (id integer, region text)');
  await t.call('config.update', { global_variables: { region: 'north', currency: 'EUR' } });
});
afterAll(() => t.close());

const base = { description: 'Lists products', sql_query: 'select id from products' };
const byRegion = { ...base, sql_query: 'select id from products where region = :region' };
const parameters = (from: string) => [{ name: 'region', type: 'string', description: '', from }];
const REFUSED: readonly (readonly [OperationName, object, string, string])[] = [
  ['tools.create', { ...base, transform_template: '{{ vars.regoin }}' }, 'transform_template', 'Did you mean region?'],
  ['tools.create', { ...byRegion, parameters: parameters('vars.regions') }, 'parameters.0.from', 'Did you mean region?'],
  [
    'resources.create',
    { ...base, uri_template: 'data://a', transform_template: '{{ vars.zzz }}' },
    'transform_template',
    "default('…')",
  ],
  ['prompts.create', { description: 'Asks', template: 'In {{ vars.curency }}' }, 'template', 'Did you mean currency?'],
  [
    'prompts.create',
    { description: 'Asks', messages: [{ role: 'user', template: 'In {{ vars.currencies }}' }] },
    'messages.0.template',
    'Did you mean currency?',
  ],
];

test.each(REFUSED)('%s with %j is refused at its field, with the near name', async (operation, draft, field, said) => {
  const owned = operation === 'prompts.create' ? {} : { connection_id };
  const { status, body } = await t.send(operation, { name: 'unknown_variable', ...owned, ...draft });
  expect([status, body.errors]).toEqual([422, [{ field, message: expect.stringContaining(said) as string }]]);
  expect(body.detail).toStartWith('There is no variable vars.');
});

test('a variable that is there, or for which something else is taken, is read', async () => {
  const texts = ['{{ vars.region }}', '{{ vars.other | default("x") }}', '{% if vars.other %}{{ vars.other }}{% endif %}'];
  for (const [n, transform_template] of texts.entries()) {
    expect((await t.send('tools.create', { connection_id, ...base, name: `reads_${n}`, transform_template })).status).toBe(201);
  }
  expect(
    (await t.send('tools.create', { connection_id, ...byRegion, name: 'filled', parameters: parameters('vars.region') as never }))
      .status,
  ).toBe(201);
});

test('what reads a removed variable can be changed and copied, and an import brings its variables along', async () => {
  const { id } = await t.call('tools.create', {
    connection_id,
    ...base,
    name: 'older',
    transform_template: '{{ vars.currency }}',
  });
  const exported = await t.call('transfer.export', {});
  await t.call('config.update', { global_variables: { region: 'north' } });
  expect((await t.send('tools.update', { id, sql_query: 'select region from products' })).status).toBe(200);
  expect((await t.send('tools.duplicate', { id })).status).toBe(201);
  const worse = await t.send('tools.update', { id, transform_template: '{{ vars.currency }} {{ vars.nothing }}' });
  expect([worse.status, worse.body.detail]).toEqual([422, expect.stringContaining('vars.nothing')]);
  expect(worse.body.detail).not.toContain('vars.currency.');
  await t.call('tools.delete', { id });
  const { status } = await t.send('transfer.import', { ...exported, mode: 'merge' });
  expect(status).toBe(200);
});
