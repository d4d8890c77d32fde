import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DbType } from '#core/contract/definitions/connections.ts';
import type { Table } from '#core/contract/definitions/schema.ts';
import type { Input } from '#core/contract/index.ts';
import { draftFromTable, recipesFor, type TableRecipe } from '#ui/src/features/builder/sql/tables.ts';
import { dialectOf } from '#ui/src/features/builder/sql/scan.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

/** The same rows lie in `app` and `public`, so that an answer says which table it is from. */
const POSTGRESQL = `
  create schema app; create schema "My.Schema";
  create table public.orders (id int primary key, place text); insert into public.orders values (1, 'public');
  create table app.orders (id int primary key, place text); insert into app.orders values (1, 'app');
  create table public."core.user" (id int primary key, place text); insert into public."core.user" values (1, 'dotted');
  create table "My.Schema"."Odd.table" (id int primary key, place text); insert into "My.Schema"."Odd.table" values (1, 'both');`;
const MARIADB = `
  create table orders (id int primary key, place text); insert into orders values (1, 'first');
  create table \`core.user\` (id int primary key, place text); insert into \`core.user\` values (1, 'dotted');`;
const SQLITE = `
  create table orders (id integer primary key, place text); insert into orders values (1, 'main');
  create table "core.user" (id integer primary key, place text); insert into "core.user" values (1, 'dotted');`;

let t: TestApp;
const databases: TestDatabase[] = [];
const connections: Partial<Record<DbType, string>> = {};

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  const add = async (db_type: DbType, body: Omit<Input<'connections.create'>, 'name' | 'db_type'>) => {
    connections[db_type] = (await t.call('connections.create', { name: db_type, db_type, ...body })).id;
  };
  mkdirSync(join(t.directory, 'databases'), { recursive: true });
  const file = new Database(join(t.directory, 'databases/tables.db'));
  file.run(SQLITE);
  file.close();
  await add('sqlite', { database: 'tables.db' });
  for (const [db_type, kind, script] of [
    ['postgresql', 'postgresql', POSTGRESQL],
    ['mariadb', 'mysql', MARIADB],
  ] as const) {
    if (!reachable[kind === 'mysql' ? kind : 'postgres']) continue;
    const database = await testDatabase(kind);
    databases.push(database);
    await database.run(script);
    const { host, port, database: named, username } = database.settings;
    if (kind === 'postgresql') await database.run(`alter database ${named} set search_path = app, public`);
    await add(db_type, { host, port, database: named, username, ssl_mode: 'disable' });
  }
}, 60_000);
afterAll(async () => {
  await t.close();
  for (const database of databases) await database.drop();
});

async function tableOf(db_type: DbType, name: string, schema?: string): Promise<Table> {
  const within = schema === undefined ? {} : { schema };
  const { items } = await t.call('schema.tables', { connection_id: connections[db_type] ?? '', ...within });
  const found = items.find((table) => table.name === name);
  if (found === undefined) throw new Error(`no table ${name}`);
  return found;
}

/** The draft as the page of a new tool makes it. */
async function draftOf(db_type: DbType, recipe: TableRecipe, table: Table) {
  const connection_id = connections[db_type] ?? '';
  const within = table.schema === null ? {} : { schema: table.schema };
  const { items: columns } = await t.call('schema.columns', { connection_id, table: table.name, ...within });
  const offered = recipesFor(columns).some((one) => one.recipe === recipe);
  return { offered, connection_id, ...draftFromTable(recipe, { table, columns, dialect: dialectOf(db_type) }) };
}

async function firstRow(db_type: DbType, table: Table) {
  const { connection_id, sql_query, parameters } = await draftOf(db_type, 'read', table);
  const { status, body } = await t.send('preview.execute', {
    connection_id,
    sql_query,
    definitions: parameters,
    parameters: { id: 1 },
  });
  return status === 200 ? body.rows?.[0] : body;
}

describe.each(['postgresql', 'mariadb', 'sqlite'] as const)('a tool from a table on %s', (db_type) => {
  const there = db_type === 'sqlite' || reachable[db_type === 'mariadb' ? 'mysql' : 'postgres'];

  test.skipIf(!there)('reads the table that was chosen, whatever its name and the search path', async () => {
    const cases: readonly (readonly [string | undefined, string, string])[] = {
      postgresql: [
        ['public', 'orders', 'public'],
        ['app', 'orders', 'app'],
        ['public', 'core.user', 'dotted'],
        ['My.Schema', 'Odd.table', 'both'],
      ] as const,
      mariadb: [
        [undefined, 'orders', 'first'],
        [undefined, 'core.user', 'dotted'],
      ] as const,
      sqlite: [
        [undefined, 'orders', 'main'],
        [undefined, 'core.user', 'dotted'],
      ] as const,
    }[db_type];
    for (const [schema, name, place] of cases) {
      expect(await firstRow(db_type, await tableOf(db_type, name, schema))).toEqual({ id: 1, place });
    }
  });

  test.skipIf(!there)('is found by its schema and its table apart, and by the short form', async () => {
    const connection_id = connections[db_type] ?? '';
    const shown = async (table: string, schema?: string) =>
      (await t.send('schema.columns', { connection_id, table, ...(schema === undefined ? {} : { schema }) })).status;
    const { schema } = await tableOf(db_type, 'core.user', db_type === 'postgresql' ? 'public' : undefined);
    expect(await shown('core.user', schema ?? '')).toBe(200);
    expect(await shown('core.user')).toBe(200);
    expect(await shown(`${schema}.core.user`)).toBe(200);
    expect(await shown('user', 'core')).toBe(404);
    expect(await shown('core.user', 'nowhere')).toBe(404);
    expect(await shown('core.nothing')).toBe(404);
  });
});

test.skipIf(!reachable.postgres)('the schema is left out only where the name alone reads the table', async () => {
  const statement = async (name: string, schema: string) =>
    (await draftOf('postgresql', 'count', await tableOf('postgresql', name, schema))).sql_query.split('\n')[1];
  expect(await statement('orders', 'app')).toBe('from orders');
  expect(await statement('orders', 'public')).toBe('from public.orders');
  // A table of this name in the first schema would be read in its place.
  expect(await statement('core.user', 'public')).toBe('from public."core.user"');
  expect(await statement('Odd.table', 'My.Schema')).toBe('from "My.Schema"."Odd.table"');
});
