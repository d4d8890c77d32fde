import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { join } from 'node:path';
import type { Plan } from '#core/contract/definitions/explain.ts';
import { CLICKHOUSE_PLANS } from '#core/engines/clickhouse/explain.ts';
import { MYSQL_PLANS } from '#core/engines/mysql/explain.ts';
import { POSTGRESQL_PLANS } from '#core/engines/postgresql/explain.ts';
import type { Row } from '#core/lib/sql/result.ts';
import { SQLITE_PLANS } from '#core/engines/sqlite/explain.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
const databases: TestDatabase[] = [];
const connections: Record<string, string> = {};
/** Stands in rows and in no statement. */
const HIDDEN = 'hidden-value-7c1d';
const ENGINES = ['sqlite', 'duckdb', ...(reachable.postgres ? ['postgresql'] : []), ...(reachable.mysql ? ['mariadb'] : [])];

const rowsOf = (series: string) => [
  'create table orders (id int primary key, state varchar(40) not null, note varchar(60))',
  `insert into orders ${series}`,
];
const RECURSIVE = (head: string) =>
  `with recursive n as (select 1 as i union all select i + 1 from n where i < 3000) ${head} select i, 'open', '${HIDDEN}' from n`;

async function add(name: string, body: object): Promise<void> {
  const { status, body: made } = await t.send('connections.create', { name, ...body });
  expect([status, made.detail]).toEqual([201, undefined]);
  connections[name] = made.id;
}

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  const [table = ''] = rowsOf('');
  connections['sqlite'] = await sqliteConnection(t, table, RECURSIVE('insert into orders'));
  const instance = await DuckDBInstance.create(join(t.directory, 'databases/own.duckdb'));
  const inside = await instance.connect();
  await inside.run(table);
  await inside.run(`insert into orders select i, 'open', '${HIDDEN}' from range(1, 3001) as n(i)`);
  inside.closeSync();
  instance.closeSync();
  await add('duckdb', { db_type: 'duckdb', database: 'own.duckdb' });
  for (const [name, kind] of [
    ['postgresql', 'postgresql'],
    ['mariadb', 'mysql'],
  ] as const) {
    if (!reachable[kind === 'mysql' ? kind : 'postgres']) continue;
    const database = await testDatabase(kind);
    databases.push(database);
    await database.run(table);
    if (kind === 'mysql')
      await database.run(
        `insert into orders with recursive n as (select 1 as i union all select i + 1 from n where i < 999) select a.i * 3 + b.k, 'open', '${HIDDEN}' from n a join (select 0 as k union select 1 union select 2) b`,
      );
    else await database.run(RECURSIVE('insert into orders').replace(/^(.*) (insert into orders) (select.*)$/, '$2 $1 $3'));
    await database.run(kind === 'mysql' ? 'analyze table orders' : 'analyze orders');
    const { host, port, database: named, username } = database.settings;
    await add(name, { db_type: name, host, port, database: named, username, ssl_mode: 'disable' });
  }
}, 60_000);
afterAll(async () => {
  await t.close();
  for (const database of databases) await database.drop();
});

const explainOf = (body: object, options: object = {}) => t.request('POST', '/api/v1/preview/explain', { body, ...options });
async function planOf(engine: string, sql_query: string, parameters: object = {}): Promise<Plan> {
  const { status, body } = await explainOf({ connection_id: connections[engine], sql_query, parameters });
  expect([engine, status, body.detail]).toEqual([engine, 200, undefined]);
  return body as Plan;
}

describe.each(ENGINES)('a plan of %s', (engine) => {
  test('names the table that is read as a whole, with its size where the database knows it', async () => {
    const plan = await planOf(engine, 'select id from orders where note <> :note', { note: 'mine-91' });
    const scan = plan.highlights.find(({ table }) => table === 'orders');
    expect([engine, scan?.severity, scan?.message]).toEqual([engine, 'warning', expect.stringMatching(/^Full scan of orders/)]);
    if (engine !== 'sqlite' && engine !== 'duckdb') expect(scan?.message).toMatch(/\([23](\.\d)? K rows\)/);
    expect(plan.steps.some(({ table, scan: how }) => table === 'orders' && how === 'full')).toBe(true);
    expect(plan.text.length).toBeGreaterThan(5);
  }, 60_000);

  test('says nothing that stands in a row, and runs nothing', async () => {
    const plan = await planOf(engine, 'select note, count(*) from orders group by note having min(id) > 0 order by note');
    expect(JSON.stringify(plan)).not.toContain(HIDDEN);
  }, 60_000);

  test('refuses what writes, several statements and an unknown column', async () => {
    for (const sql_query of ['delete from orders', 'select 1; delete from orders', 'select nothing_there from orders']) {
      const { status, body } = await explainOf({ connection_id: connections[engine], sql_query });
      expect([engine, sql_query, status >= 400 && status < 500, isErrorBody(body)]).toEqual([engine, sql_query, true, true]);
    }
    expect((await planOf(engine, 'select count(*) as n from orders')).steps.length).toBeGreaterThan(0);
  }, 60_000);
});

// DuckDB reads a table of this size as a whole, index or not.
test.each(ENGINES.filter((engine) => engine !== 'duckdb'))(
  'a plan of %s names the index by which rows are found',
  async (engine) => {
    const plan = await planOf(engine, 'select note from orders where id = :id', { id: 7 });
    expect([engine, plan.highlights.filter(({ severity }) => severity === 'warning')]).toEqual([engine, []]);
    expect(plan.steps.some(({ scan }) => scan === 'full')).toBe(false);
  },
  60_000,
);

const messagesOf = async (engine: string, sql_query: string): Promise<string[]> =>
  (await planOf(engine, sql_query)).highlights.map(({ message }) => message);

test.each(ENGINES.filter((engine) => engine !== 'duckdb'))(
  'a plan of %s says that rows are found by an index only where a condition looks in it',
  async (engine) => {
    const found = await messagesOf(engine, "select note from orders where id < 4 and note <> '4711'");
    expect([engine, found]).toEqual([engine, [expect.stringMatching(/^Finds rows of orders by the index /)]]);
    // In the order of the key, but every row is looked at.
    const filtered = await messagesOf(engine, "select id from orders where note <> '4711' order by id");
    expect([engine, filtered.filter((message) => message.startsWith('Finds rows'))]).toEqual([engine, []]);
    expect([engine, filtered]).toEqual([engine, expect.arrayContaining([expect.stringMatching(/^Full scan of orders/)])]);
  },
  30_000,
);

test.each(ENGINES)(
  'a plan of %s mentions a nested loop over millions of rows, and none over a few',
  async (engine) => {
    const loops = async (sql_query: string) =>
      (await messagesOf(engine, sql_query)).filter((message) => message.startsWith('Nested loop'));
    const all = await loops('select count(*) as n from orders a join orders b on a.note || a.id <> b.note || b.id');
    const K = '[23](\\.\\d)? K';
    const said =
      engine === 'sqlite'
        ? ': reads all of b again for each row before it'
        : ` over about [4-9](\\.\\d)? M rows: ${K} times ${K} of (orders|b)`;
    expect([engine, all]).toEqual([engine, [expect.stringMatching(new RegExp(`^Nested loop${said}\\.$`))]]);
    expect([engine, await loops('select b.note from orders a join orders b on b.id = a.id where a.id < 4')]).toEqual([
      engine,
      [],
    ]);
  },
  30_000,
);

const node = (type: string, more: object = {}) => ({ 'Node Type': type, ...more });
const film = { 'Relation Name': 'film', 'Index Name': 'film_pkey', 'Plan Rows': 7 };

test('PostgreSQL’s Index Cond, Order By and limits are told from a filter along an index', () => {
  const read = (plan: object) => POSTGRESQL_PLANS.read([{ plan: [{ Plan: plan }] } as unknown as Row]).nodes[0];
  expect(read(node('Index Scan', { ...film, 'Index Cond': '(id = 1)' }))).toMatchObject({ scan: 'index', filters: false });
  expect(read(node('Index Scan', { ...film, 'Index Cond': '(id = 1)', Filter: '(x)' }))).toMatchObject({
    scan: 'index',
    filters: true,
  });
  expect(read(node('Index Scan', { ...film, Filter: '(id <> 1)' }))).toMatchObject({ scan: 'full', index: 'film_pkey' });
  expect(read(node('Index Only Scan', film))).toMatchObject({ scan: 'full' });
  expect(read(node('Index Scan', { ...film, 'Order By': '(p <-> q)' }))).toMatchObject({ scan: 'index' });
  const limit = (inside: object) => read(node('Limit', { Plans: [inside] }))?.children[0];
  expect(limit(node('Index Scan', film))).toMatchObject({ scan: 'full', limited: true });
  expect(limit(node('Index Scan', { ...film, Filter: '(x)' }))).toMatchObject({ scan: 'full', limited: false });
  expect(limit(node('Sort', { Plans: [node('Seq Scan', film)] }))?.children[0]).toMatchObject({ limited: false });
});

test('a subplan of PostgreSQL repeats for each row unless it is hashed, as the inner side of a loop does', () => {
  const read = (plan: object) => POSTGRESQL_PLANS.read([{ plan: [{ Plan: plan }] } as unknown as Row]).nodes[0];
  const sub = node('Seq Scan', { ...film, 'Parent Relationship': 'SubPlan', 'Subplan Name': 'SubPlan 1' });
  const above = (filter: string) => read(node('Seq Scan', { ...film, Filter: filter, Plans: [sub] }))?.children[0]?.repeats;
  expect([above('(id = (SubPlan 1))'), above('(NOT (hashed SubPlan 1))')]).toEqual(['above', undefined]);
  const sides = ['Outer', 'Inner'].map((side) => node('Seq Scan', { ...film, 'Parent Relationship': side }));
  const join = (type: string) => read(node(type, { Plans: sides }))?.children.map(({ repeats }) => repeats);
  expect([join('Nested Loop'), join('Hash Join')]).toEqual([
    [undefined, 'before'],
    [undefined, undefined],
  ]);
});

test('MariaDB’s and MySQL’s access types, filters and hashed joins are told apart', () => {
  const table = (more: object) => ({ table: { table_name: 'film', rows: 10, filtered: 50, ...more } });
  const read = (...tables: object[]) =>
    MYSQL_PLANS.read([{ plan: { query_block: { nested_loop: tables } } } as unknown as Row]).nodes[0]?.children[0]?.children ??
    [];
  const [ref, index, hashed, looped] = read(
    table({ access_type: 'ref', key: 'k', index_condition: 'a > 1', attached_condition: 'b > 1' }),
    table({ access_type: 'index', key: 'k', attached_condition: 'b > 1' }),
    { 'block-nl-join': { ...table({ access_type: 'ALL' }), join_type: 'BNLH' } },
    table({ access_type: 'ALL' }),
  );
  expect(ref).toMatchObject({ scan: 'index', filters: true, selectivity: 0.5, detail: 'a > 1; b > 1' });
  expect(index).toMatchObject({ scan: 'full', repeats: 'before' });
  expect([hashed?.repeats, looped?.repeats]).toEqual([undefined, 'before']);
});

test('SQLite’s automatic indexes, keys and virtual tables are what they are', () => {
  const read = (detail: string) => SQLITE_PLANS.read([{ id: 1, parent: 0, detail }]).nodes[0];
  expect(read('SEARCH a USING INTEGER PRIMARY KEY (rowid=?)')).toMatchObject({ scan: 'index', index: 'integer primary key' });
  expect(read('SEARCH b USING AUTOMATIC COVERING INDEX (x=?)')).toMatchObject({ scan: 'index', index: undefined });
  expect(read('SCAN c USING COVERING INDEX c_x')).toMatchObject({ scan: 'full', index: 'c_x' });
  expect(read('SCAN json_each VIRTUAL TABLE INDEX 1:')?.scan).toBeUndefined();
});

test('a function that writes is not run where PostgreSQL only plans', async () => {
  if (!reachable.postgres) return;
  const [database] = databases;
  await database?.run(
    'create table made (id int); create function make() returns int language plpgsql volatile as $$ begin insert into made values (1); return 1; end $$',
  );
  await explainOf({ connection_id: connections['postgresql'], sql_query: 'select make() as n' });
  expect(await database?.run('select count(*)::int as n from made')).toEqual([{ n: 0 }]);
});

test('explain refuses nobody’s credentials, and an unknown connection, parameter or field', async () => {
  const body = { connection_id: connections['sqlite'], sql_query: 'select id from orders' };
  expect((await explainOf(body, { anonymous: true })).status).toBe(401);
  expect((await explainOf({ ...body, connection_id: 'nothing' })).status).toBe(422);
  expect((await explainOf({ ...body, parameters: { none: 1 } })).status).toBe(422);
  expect((await explainOf({ ...body, analyze: true })).status).toBe(422);
});

test('ClickHouse plans are read from their lines', () => {
  const lines = [
    'Expression ((Projection + Before ORDER BY))',
    '  ReadFromMergeTree (shop.orders)',
    '  Indexes:',
    '    PrimaryKey',
    '      Condition: true',
    '      Parts: 1/1',
    '      Granules: 3/3',
  ];
  const { nodes } = CLICKHOUSE_PLANS.read(lines.map((explain) => ({ explain })));
  expect(nodes[0]?.children[0]).toMatchObject({ operation: 'ReadFromMergeTree (shop.orders)', table: 'orders', scan: 'full' });
});
