import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

let t: TestApp;
let connection_id: string;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  connectHost(t.app);
  mkdirSync(join(t.directory, 'databases'));
  new Database(join(t.directory, 'databases/shop.sqlite')).run('create table orders (id integer primary key, total real)');
  const connection = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  connection_id = connection.id;
});
afterEach(() => t.close());

const DESCRIPTION = 'Orders with their totals in euros, in the order of their numbers.';
const createTool = async (name: string, more: object = {}): Promise<string> => {
  const tool = { connection_id, name, description: DESCRIPTION, sql_query: 'select id from orders order by id', ...more };
  const { body, status } = await t.send('tools.create', tool);
  expect(status).toBe(201);
  return body.id;
};
const deployWith = async (body: object = {}) => {
  const answer = await t.send('deploy.run', body);
  return {
    status: answer.status,
    body: answer.body as { warnings?: string[]; errors?: unknown[]; snapshot_version?: number; findings?: unknown[] },
  };
};
const mode = (lint: string) => t.send('config.update', { deploy_gates: { lint } });
const ALIKE = (name: string, other: string) =>
  `Tool ${name}: The description is 100% the same as that of ${other}. Say when to use which.`;

test('findings of what a deploy adds or changes warn or block, those of what is served do not', async () => {
  await createTool('find_orders');
  const copy = await createTool('list_totals');
  expect((await deployWith()).body.warnings).toEqual([ALIKE('find_orders', 'list_totals'), ALIKE('list_totals', 'find_orders')]);
  // Nothing of it changed.
  await createTool('count_orders', {
    description: 'How many orders there are in all.',
    sql_query: 'select count(*) as n from orders',
  });
  expect((await deployWith()).body.warnings).toEqual([]);

  await mode('block');
  await t.call('tools.update', { id: copy, sql_query: 'select * from orders order by id' });
  const blocked = await deployWith();
  expect(blocked.status).toBe(422);
  expect(blocked.body.errors).toEqual([
    { field: 'tool.list_totals', message: ALIKE('list_totals', 'find_orders'), gate: 'lint', rule: 'description-similar' },
    {
      field: 'tool.list_totals',
      message: 'Tool list_totals: The statement selects every column. Name those that a model needs.',
      gate: 'lint',
      rule: 'select-star',
    },
  ]);
  await t.call('config.update', { lint_off: ['description-similar', 'select-star'] });
  expect((await deployWith({ dry_run: true })).status).toBe(200);
  await t.call('config.update', { lint_off: [] });
  const { snapshot_version, findings } = (await deployWith({ allow: ['lint'] })).body;
  expect(snapshot_version).toBe(3);
  expect(findings).toMatchObject([
    { gate: 'lint', rule: 'description-similar', field: 'tool.list_totals' },
    { gate: 'lint', rule: 'select-star', field: 'tool.list_totals' },
  ]);
});

test('advice alone blocks nothing, and a gate that is off says nothing', async () => {
  await mode('block');
  await createTool('find_orders', { description: 'Lists all orders', sql_query: 'select id from orders' });
  expect(await deployWith()).toMatchObject({ status: 200, body: { warnings: [] } });
  await createTool('star', {
    description: 'Everything known of orders, by number.',
    sql_query: 'select * from orders order by id',
  });
  expect((await deployWith()).status).toBe(422);
  await mode('off');
  expect(await deployWith()).toMatchObject({ status: 200, body: { warnings: [] } });
});

test('a toolset that grows too large is named, whatever made it grow', async () => {
  await t.call('toolsets.create', { name: 'sales', include: { tags: ['sales'] } });
  const long = (n: number) => ({ tags: ['sales'], description: `${`number${n} `.repeat(600).trim()}.` });
  for (const n of [1, 2, 3, 4]) await createTool(`report_${n}`, long(n));
  expect((await deployWith()).body.warnings).toEqual([]);
  for (const n of [5, 6, 7, 8]) await createTool(`report_${n}`, long(n));
  const { warnings = [] } = (await deployWith()).body;
  expect(warnings.map((warning) => warning.replace(/[\d,]{5,}/, 'N'))).toEqual([
    'Toolset sales: The lists of this toolset take about N tokens of every conversation, more than its budget of 8,000. Split it, or shorten descriptions.',
  ]);
});
