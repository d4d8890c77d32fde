import { Database } from 'bun:sqlite';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DbType } from '#core/contract/definitions/connections.ts';
import type { Input } from '#core/contract/index.ts';
import { dialectOf } from '#ui/src/features/builder/sql/scan.ts';
import { findLabels } from '#ui/src/features/builder/sql/table-labels.ts';
import { offersOf } from '#ui/src/features/builder/sql/table-offers.ts';
import { offersFor, type TableDraft } from '#ui/src/features/builder/sql/tables.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type ClickhouseServer, hasClickhouse, startClickhouse } from '#test/support/clickhouse-server.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { type SqldServer, startSqld } from '#test/support/sqld-server.ts';

/** Amounts that binary fractions cannot hold, an order without a date, one without a customer, customers of the same name. */
const ROWS = [
  "(1, 1, 'paid', '2026-01-31', 0.10, 3)",
  "(2, 1, 'paid', '2026-01-01', 0.20, 1)",
  "(3, 2, 'open', '2026-02-28', 1234567.89, 2)",
  "(4, 3, 'paid', null, 5.00, 1)",
  "(5, null, 'open', '2026-02-01', null, 4)",
].join(', ');
const CUSTOMERS = "insert into customers values (1, 'Ada'), (2, 'Björn'), (3, 'Ada')";
const ORDERS = `insert into orders values ${ROWS}`;
/** Keys of two columns, of which one alone finds several rows. */
const PARTS = ["insert into prices values (1, 'EUR', 'one'), (1, 'USD', 'two')", "insert into sales values (1, 1, 'EUR')"];
const orders = (types: { date: string; money: string; status?: string; keys?: string }): string =>
  `create table orders (id int primary key, customer_id int ${types.keys ?? 'references customers (id)'}, status ${types.status ?? "varchar(9) check (status in ('open', 'paid'))"}, ordered_at ${types.date}, total ${types.money}, quantity int)`;
const customers = (text = 'varchar(20)') => `create table customers (id int primary key, name ${text})`;
const parts = [
  'create table prices (item int, currency varchar(3), name varchar(9), primary key (item, currency))',
  'create table sales (id int primary key, item int, currency varchar(3), foreign key (item, currency) references prices (item, currency))',
];
const POSTGRESQL = [customers(), orders({ date: 'timestamptz', money: 'numeric(12, 2)' }), ...parts];
const MARIADB = [
  customers(),
  `${orders({ date: 'datetime', money: 'decimal(12, 2)', status: "enum('open', 'paid')", keys: '' }).slice(0, -1)}, foreign key (customer_id) references customers (id))`,
  ...parts,
];
const SQLITE = [customers('text'), orders({ date: 'text', money: 'decimal(12, 2)' }), ...parts];
const DUCKDB = [customers(), orders({ date: 'timestamp', money: 'decimal(12, 2)' }), ...parts];
const CLICKHOUSE = [
  `create table default.orders (id Int32, customer_id Nullable(Int32), status Enum8('open' = 1, 'paid' = 2), ordered_at Nullable(Date), total Nullable(Decimal(12, 2)), quantity Int32) engine = MergeTree() order by id`,
  `insert into default.orders values ${ROWS}`,
];

type Engine = 'postgresql' | 'mariadb' | 'sqlite' | 'libsql' | 'duckdb' | 'clickhouse';
const THERE: Readonly<Record<Engine, boolean>> = {
  postgresql: reachable.postgres,
  mariadb: reachable.mysql,
  sqlite: true,
  libsql: true,
  duckdb: true,
  clickhouse: hasClickhouse,
};
const ENGINES = Object.keys(THERE) as Engine[];

let t: TestApp;
let clickhouse: ClickhouseServer | undefined;
let sqld: SqldServer | undefined;
const databases: TestDatabase[] = [];
const connections: Partial<Record<DbType, string>> = {};

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  const add = async (db_type: DbType, body: { database: string } & Partial<Input<'connections.create'>>) => {
    connections[db_type] = (await t.call('connections.create', { name: db_type, db_type, ...body })).id;
  };
  mkdirSync(join(t.directory, 'databases'), { recursive: true });
  const file = new Database(join(t.directory, 'databases/sums.db'));
  for (const text of [...SQLITE, CUSTOMERS, ORDERS, ...PARTS]) file.run(text);
  file.close();
  await add('sqlite', { database: 'sums.db' });
  const duckdb = await DuckDBInstance.create(join(t.directory, 'databases/sums.duckdb'));
  const session = await duckdb.connect();
  await session.run([...DUCKDB, CUSTOMERS, ORDERS, ...PARTS].join(';'));
  session.closeSync();
  duckdb.closeSync();
  await add('duckdb', { database: 'sums.duckdb' });
  for (const [db_type, kind, script] of [
    ['postgresql', 'postgresql', POSTGRESQL],
    ['mariadb', 'mysql', MARIADB],
  ] as const) {
    if (!THERE[db_type]) continue;
    const database = await testDatabase(kind);
    databases.push(database);
    for (const text of [...script, CUSTOMERS, ORDERS, ...PARTS]) await database.run(text);
    const { host, port, database: name, username } = database.settings;
    await add(db_type, { host, port, database: name, username, ssl_mode: 'disable' });
  }
  sqld = await startSqld();
  for (const text of [...SQLITE, CUSTOMERS, ORDERS, ...PARTS]) await sqld.run(text);
  const local = { host: '127.0.0.1', ssl_mode: 'disable' } as const;
  await add('libsql', { ...local, port: sqld.port, database: 'default', password: await sqld.token('rw') });
  if (!THERE.clickhouse) return;
  clickhouse = await startClickhouse();
  for (const text of CLICKHOUSE) await clickhouse.run(text);
  await add('clickhouse', { ...local, port: clickhouse.port, database: 'default' });
}, 120_000);
afterAll(async () => {
  await t.close();
  await clickhouse?.stop();
  await sqld?.stop();
  for (const database of databases) await database.drop();
});

type Row = Readonly<Record<string, unknown>>;

async function toolsOf(db_type: Engine, name: string) {
  const connection_id = connections[db_type] ?? '';
  const { items } = await t.call('schema.tables', { connection_id });
  const table = items.find((one) => one.name === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  const columnsOf = async (of: { schema: string | null; name: string }) => {
    const within = of.schema === null ? {} : { schema: of.schema };
    return (await t.call('schema.columns', { connection_id, table: of.name, ...within })).items;
  };
  const columns = await columnsOf(table);
  const source = { table, columns, dialect: dialectOf(db_type) };
  const runs = async (sql_query: string) => (await t.send('preview.execute', { connection_id, sql_query })).status === 200;
  const labels = await findLabels(source, columnsOf, runs);
  // This ClickHouse takes no parameters, so that nothing is offered there; its statements run without their optional parts.
  const is_old = db_type === 'clickhouse';
  const check = (draft: TableDraft) => t.call('preview.tool', { connection_id, ...draft });
  const offers = is_old ? offersFor(source) : await offersOf({ ...source, labels }, check);
  const run = async (recipe: string, parameters: Readonly<Record<string, string | number>> = {}) => {
    const draft = offers.find((offer) => offer.recipe === recipe)?.draft;
    if (draft === undefined) throw new Error(`no ${recipe}: ${offers.map((offer) => offer.recipe).join()}`);
    const { sql_query, parameters: definitions } = draft;
    const plain = sql_query.replaceAll(/ *\[\[.*?\]\]\n?/g, '').replace(':limit', '20');
    const sent = is_old ? { sql_query: plain } : { sql_query, definitions, parameters };
    const { status, body } = await t.send('preview.execute', { connection_id, ...sent });
    if (status !== 200) throw new Error(`${recipe}: ${body.detail}\n${sql_query}`);
    return body.rows as Row[];
  };
  return { offers, labels, run };
}

/** Decimals arrive as texts where a number would change them. */
const money = (value: unknown): string | null => (value === null ? null : Number(value).toFixed(2));
const sums = (rows: readonly Row[]) =>
  rows.map(({ row_count, sum_total, sum_quantity }) => `${Number(row_count)} ${money(sum_total)} ${Number(sum_quantity)}`);
const valuesOf = (rows: readonly Row[], name: string) => rows.map((row) => row[name]);

describe.each(ENGINES)('sums of a table on %s', (db_type) => {
  const there = THERE[db_type];

  test.skipIf(!there)('by month: with a null month, all decimals, and the months that are asked for', async () => {
    const { run } = await toolsOf(db_type, 'orders');
    const rows = await run('month');
    const byMonth = rows.map((row, n) => [row['month'], sums(rows)[n]]);
    expect(byMonth.toSorted((a, b) => String(a[0]).localeCompare(String(b[0])))).toEqual([
      ['2026-01', '2 0.30 4'],
      ['2026-02', '2 1234567.89 6'],
      [null, '1 5.00 1'],
    ]);
    if (db_type === 'clickhouse') return;
    if (db_type === 'sqlite') expect(valuesOf(rows, 'sum_total')).toContain(0.3);
    const some = await run('month', { from_date: '2026-01-31', before_date: '2026-02-28' });
    expect([valuesOf(some, 'month'), sums(some)]).toEqual([
      ['2026-01', '2026-02'],
      ['1 0.10 3', '1 null 4'],
    ]);
    expect(valuesOf(await run('month', { status: 'open' }), 'month')).toEqual(['2026-02']);
  });

  test.skipIf(!there)('by group: customers of the same name apart, and no order twice', async () => {
    const { run, offers } = await toolsOf(db_type, 'orders');
    const { draft } = offers.find(({ recipe }) => recipe === 'month') ?? {};
    expect(draft?.parameters.find(({ name }) => name === 'status')?.enum).toEqual(['open', 'paid']);
    if (db_type === 'clickhouse') {
      expect(sums(await run('by_status'))).toEqual(['3 5.30 5', '2 1234567.89 6']);
      return;
    }
    const rows = await run('by_customer_id', { limit: 10 });
    expect(sums(rows).slice(0, 1)).toEqual(['2 0.30 4']);
    expect(sums(rows).toSorted()).toEqual(['1 1234567.89 2', '1 5.00 1', '1 null 4', '2 0.30 4']);
    const names = new Map(rows.map((row) => [row['customer_id'], row['customer_name']]));
    expect([1, 2, 3, null].map((id) => names.get(id))).toEqual(['Ada', 'Björn', 'Ada', null]);
    const states = await run('by_status', { from_date: '2026-01-31' });
    expect(valuesOf(states, 'status')).toEqual(['open', 'paid']);
    expect(sums(states)).toEqual(['2 1234567.89 6', '1 0.10 3']);
  });

  if (db_type === 'clickhouse') return;
  test.skipIf(!there)('lists show the label of a foreign key once for each row', async () => {
    const { run } = await toolsOf(db_type, 'orders');
    const rows = await run('list', { limit: 10 });
    expect([valuesOf(rows, 'id'), valuesOf(rows, 'customer_name')]).toEqual([
      [1, 2, 3, 4, 5],
      ['Ada', 'Ada', 'Björn', 'Ada', null],
    ]);
    expect(valuesOf(await run('list', { status: 'open' }), 'id')).toEqual([3, 5]);
    expect(await run('read', { id: 3 })).toMatchObject([{ id: 3, customer_name: 'Björn', status: 'open' }]);
    if (db_type !== 'mariadb') expect(valuesOf(await run('search', { text: 'pai', limit: 2 }), 'id')).toEqual([1, 2]);
    const composite = await toolsOf(db_type, 'sales');
    expect(composite.labels).toEqual([]);
    expect(await composite.run('list')).toHaveLength(1);
  });
});

test.skipIf(!THERE.mariadb)('on mariadb a key that refers to a column with repeated values is not joined', async () => {
  const database = databases.find(({ settings }) => settings.db_type === 'mysql');
  await database?.run('create table codes (id int primary key, code int, name varchar(9), key (code))');
  await database?.run("insert into codes values (1, 7, 'a'), (2, 7, 'b')");
  await database?.run('create table uses (id int primary key, code int, foreign key (code) references codes (code))');
  await database?.run('insert into uses values (1, 7)');
  const { labels, run } = await toolsOf('mariadb', 'uses');
  expect(labels).toEqual([]);
  expect(await run('list')).toEqual([{ id: 1, code: 7 }]);
});

test.skipIf(!THERE.postgresql)(
  'on postgresql an account that cannot read the other table gets the tools without it',
  async () => {
    const database = databases.find(({ settings }) => settings.db_type === 'postgresql');
    const role = `sluice_sums_${crypto.randomUUID().slice(0, 8)}`;
    await database?.run(`create role ${role} login; grant select on orders to ${role}`);
    const { host, port, database: name = '' } = database?.settings ?? {};
    const added = await t.call('connections.create', {
      name: 'narrow',
      db_type: 'postgresql',
      host: host ?? '',
      port: port ?? 0,
      database: name,
      username: role,
      ssl_mode: 'disable',
    });
    const before = connections.postgresql;
    connections.postgresql = added.id;
    const { labels, run } = await toolsOf('postgresql', 'orders');
    connections.postgresql = before ?? '';
    expect(labels).toEqual([]);
    expect(valuesOf(await run('list', { limit: 10 }), 'customer_name')).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    await database?.run(`drop owned by ${role}; drop role ${role}`);
  },
);
