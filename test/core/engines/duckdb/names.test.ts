import { afterAll, expect, test } from 'bun:test';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DUCKDB_FILES } from '#core/engines/duckdb/files/status.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { READ, refusal, sql } from '../shared/suite.ts';
import { children, createDuckdbFolder } from './fixture.ts';
import { until } from '#test/support/until.ts';

const files = createDuckdbFolder();

afterAll(async () => {
  await files.remove();
  expect(children()).toEqual([]);
});

const rows = async (source: Source, text: string) => (await source.query(sql(text), READ)).rows;
const named = async (database: string, extra_params: Record<string, unknown> = {}) =>
  Object.fromEntries((await files.status(database, extra_params)).map(({ key, schema, table }) => [key, table ?? schema]));

test('a table stays with its file when another comes that sorts before it, and when its own goes away', async () => {
  files.write('sales/sales.json', '[{"of":"json"}]');
  const source = files.open('sales');
  expect(await rows(source, 'SELECT * FROM sales')).toEqual([{ of: 'json' }]);
  files.write('sales/sales.csv', 'of\ncsv\n');
  await until(async () => (await source.tables({ skip: 0, limit: 10 })).total === 2);
  expect(await rows(source, 'SELECT (SELECT of FROM sales) AS a, (SELECT of FROM sales_2) AS b')).toEqual([
    { a: 'json', b: 'csv' },
  ]);

  rmSync(join(files.folder, 'sales/sales.json'));
  await until(async () => (await source.tables({ skip: 0, limit: 10 })).total === 1);
  expect(await refusal(source.query(sql('SELECT * FROM sales'), READ))).toMatchObject({ code: 'sql_error' });
  const { items } = await DUCKDB_FILES.status({ database: 'sales', extra_params: {} }, files.policy);
  expect(items.map(({ tables, notes }) => [tables[0]?.name, notes])).toEqual([
    ['sales_2', ['Another file had the table sales, so this one is sales_2. Enter sales as its table name to rename it.']],
  ]);
  files.write('sales/sales.json', '[{"of":"json again"}]');
  await until(async () => (await source.tables({ skip: 0, limit: 10 })).total === 2);
  expect(await rows(source, 'SELECT of FROM sales')).toEqual([{ of: 'json again' }]);
  await source.close();
});

test('tables keep their names under other settings, and after what was read of the folder was deleted', async () => {
  files.write('kept/b.json', '[{"a":1}]');
  await named('kept');
  files.write('kept/b.csv', 'a\n2\n');
  files.write('kept/B.csv', 'a\n3\n');
  const names = { 'B.csv': 'B_2', 'b.csv': 'b_3', 'b.json': 'b' };
  expect(await named('kept')).toEqual(names);
  const settings = (of: unknown) => ({ files: JSON.stringify(of) });
  expect(await named('kept', settings({ 'b.json': { as_text: true } }))).toEqual(names);
  const cache = files.policy.cache_dir ?? '';
  for (const entry of readdirSync(cache, { withFileTypes: true }))
    if (entry.isDirectory()) rmSync(join(cache, entry.name), { recursive: true });
  expect(await named('kept')).toEqual(names);
  // What somebody enters counts, and what was entered before is forgotten with it.
  const entered = { 'b.json': { table: 'first' }, 'b.csv': { table: 'b' } };
  expect(await named('kept', settings(entered))).toEqual({ 'B.csv': 'B_2', 'b.csv': 'b', 'b.json': 'first' });
});

test('a table with an entered name keeps it when a file of that name comes', async () => {
  const extra_params = { files: JSON.stringify({ 'z.csv': { table: 'orders' } }) };
  files.write('entered/z.csv', 'a\n1\n');
  expect(await named('entered', extra_params)).toEqual({ 'z.csv': 'orders' });
  files.write('entered/orders.csv', 'a\n2\n');
  expect(await named('entered', extra_params)).toEqual({ 'orders.csv': 'orders_2', 'z.csv': 'orders' });
});

test('a SQLite file and a folder of the same name have schemas of their own, whichever comes first', async () => {
  const write = (name: string) => {
    const database = new DatabaseSync(files.write(name, ''));
    database.exec('CREATE TABLE IF NOT EXISTS person (name TEXT); INSERT INTO person VALUES (1)');
    database.close();
  };
  files.write('schemas/shop/orders.csv', 'a\n1\n');
  write('schemas/shop.sqlite');
  const source = files.open('schemas');
  expect(await rows(source, 'SELECT (SELECT count(*) FROM shop.orders) AS a, (SELECT count(*) FROM shop_2.person) AS b')).toEqual(
    [{ a: 1, b: 1 }],
  );
  write('schemas/crm.db');
  await until(async () => (await source.tables({ skip: 0, limit: 10 })).total === 3);
  files.write('schemas/crm/people.csv', 'a\n1\n');
  await until(async () => (await source.tables({ skip: 0, limit: 10 })).total === 4);
  expect(await rows(source, 'SELECT (SELECT count(*) FROM crm.person) AS a, (SELECT count(*) FROM crm_2.people) AS b')).toEqual([
    { a: 1, b: 1 },
  ]);
  await source.close();
});
