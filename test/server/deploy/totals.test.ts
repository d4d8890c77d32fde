import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  new Database(join(t.directory, 'databases/shop.sqlite')).run('create table products (id integer)');
});
afterEach(() => t.close());

const totals = async () => (await t.call('deploy.diff', {})).totals;

test('the review says how much the next deploy serves, and what its tools take of a conversation', async () => {
  expect(await totals()).toEqual<object>({ connections: 0, tools: 0, resources: 0, prompts: 0, tool_tokens: 0 });
  const created = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const tool = { connection_id: created.id, sql_query: 'select id from products', description: 'x' };
  await t.call('tools.create', { ...tool, name: 'short' });
  const one = await totals();
  expect(one).toMatchObject({ connections: 1, tools: 1, resources: 0, prompts: 0 });
  expect(one.tool_tokens).toBeGreaterThan(10);
  // Eight hundred words of four letters.
  const long = await t.call('tools.create', { ...tool, name: 'long', description: 'word '.repeat(800).trim() });
  const two = await totals();
  expect(two.tool_tokens - 2 * one.tool_tokens).toBeWithin(790, 850);
  await t.call('tools.update', { id: long.id, enabled: false });
  expect(await totals()).toEqual(one);
});
