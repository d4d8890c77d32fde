import { Database } from 'bun:sqlite';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DbType } from '#core/contract/definitions/connections.ts';
import type { Table } from '#core/contract/definitions/schema.ts';
import type { Input } from '#core/contract/index.ts';
import { offersOf } from '#ui/src/features/builder/sql/table-offers.ts';
import { offersFor } from '#ui/src/features/builder/sql/tables.ts';
import { dialectOf } from '#ui/src/features/builder/sql/scan.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

/** The same rows lie in `app` and `public`, so that an answer says which table it is from. */
const POSTGRESQL = `
  create schema app; create schema "My.Schema";
  create table public.orders (id int primary key, place text); insert into public.orders values (1, 'public');
  create table app.orders (id int primary key, place text); insert into app.orders values (1, 'app');
  create table public."core.user" (id int primary key, place text); insert into public."core.user" values (1, 'dotted');
  create table "My.Schema"."Odd.table" (id int primary key, place text); insert into "My.Schema"."Odd.table" values (1, 'both');
  create schema odd; create schema types;
  create type types.sprint_state as enum ('open', 'done'); create type types.date_kind as enum ('fixed', 'moving');
  create type types.money_pair as (a int, b int); create domain types.realm as text; create domain types.inner_realm as types.realm;
  create domain types.point_count as int;
  create table odd.guessed (
    id int primary key, state types.sprint_state, status types.inner_realm, kind types.date_kind, category types.point_count, type name
  );
  insert into odd.guessed values (1, 'open', 'a', 'fixed', 7, 'n');
  create table odd.unsortable (state json, kind xml, status point, type types.money_pair, note text); insert into odd.unsortable (note) values ('x');
  create table odd.only_json (data json); insert into odd.only_json values ('{}');
  create table odd.lists (id int[] primary key, tags text[], country oid, kind "char"); insert into odd.lists values ('{1}', '{a}', 7, 'k');
  create table odd.bytes (id bytea primary key, state bytea); insert into odd.bytes values ('\\x00ff', '\\xff');
  create table odd.oids (id oid primary key, status inet, state interval, type int4range); insert into odd.oids values (1, '::1', '1 day', '[1,2)');
  create table odd.documents (id jsonb primary key, state jsonb, active boolean); insert into odd.documents values ('1', '{}', true);
  create table odd.cased ("Status" text, status text, "STATUS" text, "Id" int, id int, primary key ("Id", id)); insert into odd.cased values ('a', 'b', 'c', 1, 1);
  create table odd."limit" ("limit" int references odd.oids (id), "offset" boolean, "select" text, "user" int primary key, "order" text);
  create table odd."заказы" ("номер" int primary key, "状态" boolean, "🙂" boolean, "имя" text); insert into odd."заказы" values (1, true, true, 'x');
  create table odd."größe_der_Übersicht" ("schlüssel" int primary key, "größe" text, "straße_type" text); insert into odd."größe_der_Übersicht" values (1, 'l', 's');
  create table odd."1st" ("1" int primary key, "2 status" text, "a""b" text, "c:d" text, "e[[f]]" boolean, "g.h" boolean); insert into odd."1st" values (1, 'x', 'y', 'z', true, true);
  create table odd.commented (id int primary key, status text, name types.realm); insert into odd.commented values (1, 'x', 'y');
  comment on table odd.commented is '${'é'.repeat(5_200)}'; comment on column odd.commented.status is '${'x'.repeat(6_000)}';`;
const MARIADB = `
  create table orders (id int primary key, place text); insert into orders values (1, 'first');
  create table \`core.user\` (id int primary key, place text); insert into \`core.user\` values (1, 'dotted');
  create table guessed (
    id int primary key, state enum('open', 'done'), status set('a', 'b'), kind time, category year, type tinyint(1), active bit(1)
  );
  insert into guessed values (1, 'open', 'a,b', '10:00:00', 2020, 1, b'1');
  create table unsortable (status point, state json, kind bit(9), note text); insert into unsortable values (point(1, 2), '{}', 3, 'x');
  create table digits (id tinyint(1) primary key); insert into digits values (7);
  create table only_json (state geometry not null); insert into only_json values (point(1, 2));
  create table documents (id uuid primary key, status inet6, state decimal(30, 10)); insert into documents values (uuid(), '::1', 1.5);
  create table bytes (id binary(16) primary key, state varbinary(9), note blob); insert into bytes values (x'00ff0102030405060708090a0b0c0d00', x'ff', 'c');
  create table \`limit\` (\`limit\` int, foreign key (\`limit\`) references orders (id), \`offset\` boolean, \`select\` text, \`user\` int primary key, \`rank\` boolean, \`order\` text);
  create table \`заказы\` (\`номер\` int primary key, \`状态\` boolean, \`имя\` text); insert into \`заказы\` values (1, true, 'x');
  create table \`größe_der_Übersicht\` (\`schlüssel\` int primary key, \`größe\` text, \`straße_type\` text); insert into \`größe_der_Übersicht\` values (1, 'l', 's');
  create table \`1st\` (\`1\` int primary key, \`2 status\` text, \`a"b\` text, \`c:d\` text, \`e[[f]]\` boolean, \`g.h\` boolean); insert into \`1st\` values (1, 'x', 'y', 'z', true, true);
  create table commented (id int primary key, status text comment '${'é'.repeat(1_000)}') comment '${'é'.repeat(2_000)}'; insert into commented values (1, 'x');`;
const SQLITE = `
  create table orders (id integer primary key, place text); insert into orders values (1, 'main');
  create table "core.user" (id integer primary key, place text); insert into "core.user" values (1, 'dotted');
  create table guessed (id sprint_state primary key, state realm, status date_kind, kind "int[]", category integer, type point, active mint);
  insert into guessed values (1, 'open', 'fixed', 'x', 7, 'p', 'm');
  create table untyped (id primary key, state, note text); insert into untyped values ('a', 'b', 'x');
  create table documents (id integer primary key, state json, status date, kind numeric, type varchar(9)); insert into documents values (1, '{}', '2024-01-01', 1.5, 'v');
  create table bytes (id blob primary key, state blob); insert into bytes values (x'00ff', x'ff');
  create table "limit" ("limit" integer references orders (id), "offset" boolean, "select" text, "user" integer primary key, "index" boolean, "order" text);
  create table "заказы" ("номер" integer primary key, "状态" boolean, "🙂" boolean, "имя" text); insert into "заказы" values (1, 1, 1, 'x');
  create table "größe_der_Übersicht" ("schlüssel" integer primary key, "größe" text, "straße_type" text); insert into "größe_der_Übersicht" values (1, 'l', 's');
  create table "1st" ("1" integer primary key, "2 status" text, "a""b" text, "c:d" text, "e[[f]]" boolean, "g.h" boolean); insert into "1st" values (1, 'x', 'y', 'z', 1, 1);`;

const DUCKDB = `
  create schema "My.Schema"; create table orders (id int primary key, place text); insert into orders values (1, 'main');
  create table "My.Schema"."core.user" (id int primary key, place text); insert into "My.Schema"."core.user" values (1, 'dotted');
  create type sprint_state as enum ('open', 'done'); create type realm as varchar;
  create table guessed (id int primary key, state sprint_state, status realm, kind int[], category varchar(9), type interval);
  insert into guessed values (1, 'open', 'x', [1], 'y', interval 1 day);
  create table unsortable (state struct(a int), status map(int, int), type json, kind bit, note text);
  insert into unsortable values ({'a': 1}, map {1: 2}, '{}', '101', 'x');
  create table bytes (id blob primary key, state blob); insert into bytes values ('\\x00\\xFF'::blob, '\\xFF'::blob);
  create table "limit" ("limit" int, "offset" boolean, "select" text, "user" int primary key, "qualify" boolean, "order" text);
  create table "größe_der_Übersicht" ("schlüssel" int primary key, "größe" text, "straße_type" text); insert into "größe_der_Übersicht" values (1, 'l', 's');
  create table "1st" ("1" int primary key, "2 status" text, "a""b" text, "c:d" text, "e[[f]]" boolean, "g.h" boolean); insert into "1st" values (1, 'x', 'y', 'z', true, true);`;

let t: TestApp;
const databases: TestDatabase[] = [];
const connections: Partial<Record<DbType, string>> = {};

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  const add = async (db_type: DbType, body: { database: string } & Partial<Input<'connections.create'>>) => {
    connections[db_type] = (await t.call('connections.create', { name: db_type, db_type, ...body })).id;
  };
  mkdirSync(join(t.directory, 'databases'), { recursive: true });
  const file = new Database(join(t.directory, 'databases/tables.db'));
  file.run(SQLITE);
  file.close();
  await add('sqlite', { database: 'tables.db' });
  const duckdb = await DuckDBInstance.create(join(t.directory, 'databases/tables.duckdb'));
  const session = await duckdb.connect();
  await session.run(DUCKDB);
  session.closeSync();
  duckdb.closeSync();
  await add('duckdb', { database: 'tables.duckdb' });
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

async function sourceOf(db_type: DbType, table: Table) {
  const within = table.schema === null ? {} : { schema: table.schema };
  const { items } = await t.call('schema.columns', { connection_id: connections[db_type] ?? '', table: table.name, ...within });
  return { table, columns: items, dialect: dialectOf(db_type) };
}

async function draftOf(db_type: DbType, recipe: string, table: Table) {
  const offer = offersFor(await sourceOf(db_type, table)).find((one) => one.recipe === recipe);
  if (offer === undefined) throw new Error(`no tool ${recipe}`);
  return { connection_id: connections[db_type] ?? '', ...offer.draft };
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

type Engine = 'postgresql' | 'mariadb' | 'sqlite' | 'duckdb';
const isThere = (db_type: Engine): boolean =>
  db_type === 'sqlite' || db_type === 'duckdb' || reachable[db_type === 'mariadb' ? 'mysql' : 'postgres'];

describe.each(['postgresql', 'mariadb', 'sqlite', 'duckdb'] as const)('a tool from a table on %s', (db_type) => {
  const there = isThere(db_type);

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
      duckdb: [
        ['main', 'orders', 'main'],
        ['My.Schema', 'core.user', 'dotted'],
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

/** The tables above, and the tools that each gives. */
const ODD: Readonly<Record<Engine, Readonly<Record<string, string>>>> = {
  postgresql: {
    guessed: 'read search list count by_state by_kind',
    unsortable: 'search list count',
    only_json: 'list count',
    lists: 'list count by_country by_kind',
    bytes: 'read list count',
    oids: 'read list count by_status by_state',
    documents: 'list count by_active',
    cased: 'read search list count by_status by_status_2',
    limit: 'read search list count by_limit by_offset',
    заказы: 'read search list count by_column_2 by_column_3',
    größe_der_Übersicht: 'read search list count by_strasse_type',
    '1st': 'read search list count by_e_f by_g_h',
    commented: 'read search list count by_status',
  },
  mariadb: {
    guessed: 'read list count by_state by_status',
    unsortable: 'search list count by_state',
    only_json: 'list count',
    documents: 'read list count by_status by_state',
    digits: 'read list count',
    bytes: 'read list count',
    limit: 'read search list count by_limit by_offset',
    заказы: 'read search list count by_column_2',
    größe_der_Übersicht: 'read search list count by_strasse_type',
    '1st': 'read search list count by_e_f by_g_h',
    commented: 'read search list count by_status',
  },
  sqlite: {
    guessed: 'read list count by_state by_status',
    untyped: 'read search list count by_state',
    documents: 'read search list count month by_status by_kind',
    bytes: 'read list count',
    limit: 'read search list count by_limit by_offset',
    заказы: 'read search list count by_column_2 by_column_3',
    größe_der_Übersicht: 'read search list count by_strasse_type',
    '1st': 'read search list count by_e_f by_g_h',
  },
  duckdb: {
    guessed: 'read search list count by_state by_status',
    unsortable: 'search list count',
    bytes: 'read list count',
    limit: 'read search list count by_offset by_qualify',
    größe_der_Übersicht: 'read search list count by_strasse_type',
    '1st': 'read search list count by_e_f by_g_h',
  },
};

const SAMPLES: Readonly<Record<string, unknown>> = {
  integer: 1,
  number: 1.5,
  boolean: true,
  string: '1',
  date: '2024-01-01',
  datetime: '2024-01-01T00:00:00Z',
  bytes: 'AP8=',
  uuid: '0190b0c0-0000-7000-8000-000000000000',
};

const TYPED: Readonly<Record<string, string>> = {
  inet: '::1',
  inet6: '::1',
  interval: '1 day',
  int4range: '[1,2)',
  time: '10:00:00',
};

for (const [db_type, tables] of Object.entries(ODD) as [Engine, Record<string, string>][]) {
  const there = isThere(db_type);
  test.skipIf(!there).each(Object.entries(tables))(`on ${db_type} the tools from %s are saved and run`, async (name, recipes) => {
    const connection_id = connections[db_type] ?? '';
    const source = await sourceOf(db_type, await tableOf(db_type, name, db_type === 'postgresql' ? 'odd' : undefined));
    expect(
      offersFor(source)
        .map(({ recipe }) => recipe)
        .join(' '),
    ).toBe(recipes);
    const offers = await offersOf(source, (draft) => t.call('preview.tool', { connection_id, ...draft }));
    expect(offers.map(({ recipe }) => recipe).join(' ')).toBe(recipes);
    for (const { recipe, draft } of offers) {
      const saved = await t.send('tools.create', { connection_id, ...draft, name: `${draft.name.slice(0, 40)}_${db_type}` });
      expect([recipe, saved.status, saved.body.detail, saved.body.warnings]).toEqual([recipe, 201, undefined, []]);
      const sampleOf = ({ name: parameter, type, enum: choices, default: standard }: (typeof draft.parameters)[number]) =>
        choices?.[0] ??
        standard ??
        TYPED[source.columns.find((column) => column.name === parameter)?.type ?? ''] ??
        SAMPLES[type];
      const values = draft.parameters.map((one) => [one.name, sampleOf(one)]);
      const { sql_query, parameters: definitions } = draft;
      const ran = await t.send('preview.execute', {
        connection_id,
        sql_query,
        definitions,
        parameters: Object.fromEntries(values),
      });
      expect([recipe, ran.status, ran.body.detail]).toEqual([recipe, 200, undefined]);
    }
  });
}

const BYTES = (['postgresql', 'mariadb', 'sqlite', 'duckdb'] as const).filter(isThere);
test.each(BYTES)('on %s a row is read by the bytes of its key as a list shows them', async (db_type) => {
  const table = await tableOf(db_type, 'bytes', db_type === 'postgresql' ? 'odd' : undefined);
  const run = async (recipe: string, values: object) => {
    const { connection_id, sql_query, parameters: definitions } = await draftOf(db_type, recipe, table);
    return t.send('preview.execute', { connection_id, sql_query, definitions, parameters: { ...values } });
  };
  const row = (await run('list', { limit: 1, offset: 0, state: '/w==' })).body.rows?.[0] ?? {};
  expect(row['id']).toStartWith('AP8');
  expect((await run('read', { id: row['id'] })).body.rows).toEqual([row]);
  expect((await run('read', { id: 'no base64' })).body.detail).toBe('id must be bytes as base64 with its padding.');
});

test('names and texts keep their letters, and parameters have names of their own', async () => {
  const draft = async (recipe: string, table: string) => draftOf('sqlite', recipe, await tableOf('sqlite', table));
  const sized = await draft('list', 'größe_der_Übersicht');
  expect([sized.name, sized.title, sized.tags]).toEqual([
    'list_groesse_der_uebersicht',
    'List größe der übersicht',
    ['größe_der_übersicht'],
  ]);
  expect(sized.parameters.map(({ name }) => name)).toEqual(['strasse_type', 'limit', 'offset']);
  const orders = await draft('list', 'заказы');
  expect([orders.name, orders.title]).toEqual(['list_rows', 'List заказы']);
  expect(orders.parameters.map(({ name }) => name)).toEqual(['column_2', 'column_3', 'limit', 'offset']);
  const words = await draft('list', 'limit');
  expect(words.parameters.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'limit_2 integer',
    'offset_2 boolean',
    'index boolean',
    'limit integer',
    'offset integer',
  ]);
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
