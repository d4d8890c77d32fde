import { expect, test } from 'bun:test';
import { testApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';
import { statementsOf } from '#test/support/statements.ts';

/** With those that find who deploys, and the one that reads connections for their references. */
const MOST_STATEMENTS = 17;

test('a deploy of one change reads state and settings once', async () => {
  const t = await testApp({}, undefined, { metadata: 'sqlite' });
  await t.signIn();
  const connection_id = await sqliteConnection(t, 'create table orders (id integer, name text)');
  const draft = { description: 'All orders of the shop.', sql_query: 'select id, name from orders', connection_id };
  const { id } = await t.call('tools.create', { ...draft, name: 'orders' });
  await t.call('tools.create', { ...draft, name: 'other_orders' });
  await t.call('deploy.run', {});
  await t.call('tools.update', { id, version: 1, description: 'Every order of the shop.' });
  const sent = await statementsOf(t.app.store, () => t.call('deploy.run', {}));
  expect(sent.length).toBeLessThanOrEqual(MOST_STATEMENTS);
  expect(sent.filter(({ text }) => text.startsWith('select') && text.includes('from "deployment"')).length).toBe(3);
  await t.close();
});
