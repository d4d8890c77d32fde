import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { TableIndex } from '#core/contract/definitions/schema.ts';
import { countQuery, type RowChoice, type RowFilter, rowQuery } from '#ui/src/features/builder/sql/row-query.ts';
import { dialectOf } from '#ui/src/features/builder/sql/scan.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectEvery, type Engine, type EveryDatabase, HERE, typeOf } from '#test/support/every-database.ts';

/** A text with the signs of patterns, an empty one, a missing one, and quotes. */
const ROWS = [
  "(1, 1, 'paid', '2026-01-31', '2026-01-31 10:00:00', 0.10, 3, '100% sure', true)",
  "(2, 1, 'paid', '2026-01-01', '2026-01-01 00:00:00', 0.20, 1, '1000 sure', false)",
  "(3, 2, 'open', '2026-02-28', '2026-02-28 23:59:59', 1234567.89, 2, 'it''s a \"b\" !_', true)",
  "(4, 3, 'paid', null, null, 5.00, 1, '', null)",
  "(5, null, 'open', '2026-02-01', '2026-02-01 08:30:00', null, 4, null, false)",
].join(', ');
const CUSTOMERS = "insert into customers values (1, 'Ada'), (2, 'Björn'), (3, 'Ada')";
const ORDERS = `insert into orders values ${ROWS}`;
const NUMBERS = `insert into numbers values ${Array.from({ length: 120 }, (_, n) => `(${n + 1}, ${(n + 1) % 2})`).join(', ')}`;
const ODD = `insert into "Odd table" values (1, 'x'), (2, 'y')`;

const orders = ({
  status = "varchar(9) check (status in ('open', 'paid'))",
  key = 'references customers (id)',
  date = 'timestamp',
}) =>
  `create table orders (id int primary key, customer_id int ${key}, status ${status}, ordered_on date, seen_at ${date}, total decimal(12, 2), quantity int not null, note varchar(40), active boolean)`;
const customers = 'create table customers (id int primary key, name varchar(20))';
const numbers = 'create table numbers (n int primary key, odd int)';
const odd = 'create table "Odd table" (id int primary key, "a:b ""c"", d" varchar(9))';
const fill = [CUSTOMERS, ORDERS, NUMBERS];

const SCRIPTS: Readonly<Record<Engine, readonly string[]>> = {
  postgresql: [
    customers,
    orders({}),
    numbers,
    odd,
    "create index open_orders on orders (customer_id, ordered_on) where status = 'open'",
    'create unique index notes on orders (lower(note), id) include (total)',
    ...fill,
    ODD,
  ],
  mariadb: [
    customers,
    `${orders({ status: "enum('open', 'paid')", key: '', date: 'datetime' }).slice(0, -1)}, foreign key by_customer (customer_id) references customers (id), unique key notes (note, id))`,
    numbers,
    odd.replaceAll('""', '~').replaceAll('"', '`').replaceAll('~', '"'),
    ...fill,
    ODD.replaceAll('"', '`'),
  ],
  sqlite: [
    customers,
    orders({ date: 'datetime' }),
    numbers,
    odd,
    `create index open_orders on orders (customer_id, lower("note")) where status = 'open'`,
    ...fill,
    ODD,
  ],
  libsql: [customers, orders({ date: 'datetime' }), numbers, odd, 'create unique index notes on orders (note, id)', ...fill, ODD],
  duckdb: [customers, orders({}), numbers, odd, 'create index notes on orders (note, (id + 1))', ...fill, ODD],
  clickhouse: [
    `create table default.orders (id Int32, customer_id Nullable(Int32), status Enum8('open' = 1, 'paid' = 2), ordered_on Nullable(Date), seen_at Nullable(DateTime('UTC')), total Nullable(Decimal(12, 2)), quantity Int32, note Nullable(String), active Nullable(UInt8)) engine = MergeTree() order by (id, status)`,
    'create table default.numbers (n Int32, odd Int32) engine = MergeTree() order by n',
    `insert into default.orders values ${ROWS.replaceAll('true', '1').replaceAll('false', '0').replace("''", "\\'")}`,
    NUMBERS.replace('into ', 'into default.'),
  ],
  chdb: [
    `create table default.orders (id Int32, customer_id Nullable(Int32), status Enum8('open' = 1, 'paid' = 2), ordered_on Nullable(Date), seen_at Nullable(DateTime('UTC')), total Nullable(Decimal(12, 2)), quantity Int32, note Nullable(String), active Nullable(Bool), index notes (note, lower(status::String)) type set(10)) engine = MergeTree() primary key id order by (id, toYYYYMM(assumeNotNull(ordered_on)))`,
    'create table default.numbers (n Int32, odd Int32) engine = MergeTree() order by n',
    `insert into default.orders values ${ROWS}`,
    NUMBERS.replace('into ', 'into default.'),
  ],
};
const ENGINES = Object.keys(HERE) as Engine[];

let t: TestApp;
let every: EveryDatabase;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  every = await connectEvery(t, SCRIPTS);
}, 180_000);
afterAll(async () => {
  await t.close();
  await every?.close();
});

type Choice = Partial<Omit<RowChoice, 'filters'>> & {
  readonly filters?: readonly (readonly [string, RowFilter['operator'], string?])[];
};

async function readerOf(engine: Engine, name: string) {
  const connection_id = every.connections[engine] ?? '';
  const { items } = await t.call('schema.tables', { connection_id });
  const table = items.find((one) => one.name === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  const { items: columns } = await t.call('schema.columns', { connection_id, table: name, schema: table.schema ?? undefined });
  const source = { table, columns, dialect: dialectOf(typeOf(engine)) };
  const run = async (query: ReturnType<typeof rowQuery>) => {
    if (query.fault !== undefined) return query.fault;
    const { sql_query, definitions, values: parameters } = query;
    const sent = definitions.length === 0 ? {} : { definitions, parameters };
    const { status, body } = await t.send('preview.execute', { connection_id, sql_query, limit: 51, ...sent });
    return status === 200 ? (body.rows as Readonly<Record<string, unknown>>[]) : `${body.detail}`;
  };
  const filtersOf = (filters: Choice['filters'] = []) =>
    filters.map(([column, operator, value = '']) => ({ column, operator, value }));
  return {
    columns,
    rows: ({ filters, ...choice }: Choice) => run(rowQuery(source, { page: 1, ...choice, filters: filtersOf(filters) })),
    count: (filters: Choice['filters']) => run(countQuery(source, filtersOf(filters))),
  };
}

const idsOf = (rows: readonly Readonly<Record<string, unknown>>[] | string, name = 'id') =>
  typeof rows === 'string' ? rows : rows.map((row) => row[name]);

const FILTERS: readonly (readonly [Required<Choice>['filters'], readonly number[]])[] = [
  [[['id', 'is', '3']], [3]],
  [[['customer_id', 'is', '1']], [1, 2]],
  [[['customer_id', 'is_not', '1']], [3, 4, 5]],
  [[['customer_id', 'empty']], [5]],
  [[['status', 'is', 'open']], [3, 5]],
  [[['status', 'is_not', 'open']], [1, 2, 4]],
  [[['ordered_on', 'is', '2026-01-31']], [1]],
  [
    [
      ['ordered_on', 'at_least', '2026-01-31'],
      ['ordered_on', 'at_most', '2026-02-01'],
    ],
    [1, 5],
  ],
  [[['ordered_on', 'empty']], [4]],
  [[['total', 'is', '0.1']], [1]],
  [[['total', 'at_least', '5']], [3, 4]],
  [[['total', 'at_most', '0.2']], [1, 2]],
  [
    [
      ['quantity', 'at_least', '2'],
      ['status', 'is', 'open'],
      ['id', 'at_most', '4'],
    ],
    [3],
  ],
  [[['note', 'is', `it's a "b" !_`]], [3]],
  [[['note', 'contains', '100%']], [1]],
  [[['note', 'contains', 'SURE']], [1, 2]],
  [[['note', 'contains', '!_']], [3]],
  [[['note', 'contains', "'s a"]], [3]],
  [[['note', 'empty']], [4, 5]],
  [[['note', 'not_empty']], [1, 2, 3]],
  [[['note', 'is_not', '1000 sure']], [1, 3, 4, 5]],
  [[['active', 'is', 'true']], [1, 3]],
  [[['active', 'is_not', 'true']], [2, 4, 5]],
  [[['id', 'at_least', '99']], []],
];

describe.each(ENGINES.filter((engine) => engine !== 'clickhouse'))('rows of a table on %s', (engine) => {
  const here = HERE[engine];

  test.skipIf(!here)('are those of each filter, whose value is bound', async () => {
    const { rows, count } = await readerOf(engine, 'orders');
    for (const [filters, expected] of FILTERS) {
      expect([filters, idsOf(await rows({ filters }))]).toEqual([filters, [...expected]]);
      const counted = await count(filters);
      expect([filters, typeof counted === 'string' ? counted : Number(Object.values(counted[0] ?? {})[0])]).toEqual([
        filters,
        expected.length,
      ]);
    }
    const since = engine === 'sqlite' || engine === 'libsql' ? '2026-01-31 10:00:00' : '2026-01-31T10:00:00Z';
    expect(idsOf(await rows({ filters: [['seen_at', 'at_least', since]] }))).toEqual([1, 3, 5]);
    expect(idsOf(await rows({ filters: [['seen_at', 'is', since]] }))).toEqual([1]);
  });

  test.skipIf(!here)('a filter that does not fit says so and runs nothing', async () => {
    const { rows } = await readerOf(engine, 'orders');
    for (const [filters, fault] of [
      [[['id', 'is', 'x']], 'id: Enter a whole number.'],
      [[['ordered_on', 'is', '1; drop table orders']], 'ordered_on: Enter a day, such as 2026-03-31.'],
      [[['nothing', 'is', '1']], 'The table has no column nothing.'],
    ] as const) {
      expect(await rows({ filters })).toBe(fault);
    }
    expect(await rows({ filters: [['status', 'is', "x' or '1' = '1"]] })).toContain('status');
  });

  if (engine === 'chdb') return;
  test.skipIf(!here)('names with spaces, quotes and colons are quoted', async () => {
    const { rows } = await readerOf(engine, 'Odd table');
    const column = 'a:b "c", d';
    expect(idsOf(await rows({ filters: [[column, 'is', 'y']], order: { column, down: true } }))).toEqual([2]);
  });
});

describe.each(ENGINES)('pages of a table on %s', (engine) => {
  const here = HERE[engine];

  test.skipIf(!here)('follow each other in the chosen order, with one row more where another page follows', async () => {
    const { rows } = await readerOf(engine, 'numbers');
    const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
    expect(idsOf(await rows({}), 'n')).toEqual(range(1, 51));
    expect(idsOf(await rows({ page: 3 }), 'n')).toEqual(range(101, 120));
    expect(idsOf(await rows({ page: 4 }), 'n')).toEqual([]);
    expect(idsOf(await rows({ order: { column: 'n', down: true } }), 'n').slice(0, 2)).toEqual([120, 119]);
    const odd_first = await rows({ order: { column: 'odd', down: true }, page: 2 });
    expect(idsOf(odd_first, 'n').slice(8, 12)).toEqual([117, 119, 2, 4]);
  });
});

test.skipIf(!HERE.clickhouse)('a server without parameters says that it cannot filter', async () => {
  const { rows } = await readerOf('clickhouse', 'orders');
  expect(idsOf(await rows({ filters: [['customer_id', 'empty']] }))).toEqual([5]);
  expect(await rows({ filters: [['id', 'is', '3']] })).toMatch(/parameters/);
});

const index = (name: string, columns: string[], more: Partial<TableIndex> = {}): TableIndex => ({
  name,
  columns,
  unique: false,
  primary_key: false,
  type: null,
  condition: null,
  ...more,
});
const KEY = { unique: true, primary_key: true };
const INDEXES: Readonly<Record<Engine, readonly TableIndex[]>> = {
  postgresql: [
    index('orders_pkey', ['id'], { ...KEY, type: 'btree' }),
    index('notes', ['lower(note::text)', 'id'], { unique: true, type: 'btree' }),
    index('open_orders', ['customer_id', 'ordered_on'], { type: 'btree', condition: "status::text = 'open'::text" }),
  ],
  mariadb: [
    index('PRIMARY', ['id'], { ...KEY, type: 'btree' }),
    index('by_customer', ['customer_id'], { type: 'btree' }),
    index('notes', ['note', 'id'], { unique: true, type: 'btree' }),
  ],
  sqlite: [
    index('sqlite_autoindex_orders_1', ['id'], KEY),
    index('open_orders', ['customer_id', 'lower("note")'], { condition: "status = 'open'" }),
  ],
  libsql: [index('sqlite_autoindex_orders_1', ['id'], KEY), index('notes', ['note', 'id'], { unique: true })],
  duckdb: [index('orders_id_pkey', ['id'], KEY), index('notes', ['note', 'id + 1'])],
  clickhouse: [index('ORDER BY', ['id', 'status'], { primary_key: true, type: 'sorting key' })],
  chdb: [
    index('PRIMARY KEY', ['id'], { primary_key: true, type: 'primary key' }),
    index('ORDER BY', ['id', 'toYYYYMM(assumeNotNull(ordered_on))'], { type: 'sorting key' }),
    index('notes', ['note', "lower(CAST(status, 'String'))"], { type: 'set' }),
  ],
};

describe.each(ENGINES)('indexes of a table on %s', (engine) => {
  test.skipIf(!HERE[engine])('are listed in the order of their columns, the key first', async () => {
    const connection_id = every.connections[engine] ?? '';
    const { items, total } = await t.call('schema.indexes', { connection_id, table: 'orders' });
    expect(items).toEqual([...INDEXES[engine]]);
    expect(total).toBe(items.length);
    expect((await t.send('schema.indexes', { connection_id, table: "nothing' --" })).status).toBe(404);
    const { items: tables } = await t.call('schema.tables', { connection_id });
    const { schema } = tables.find(({ name }) => name === 'numbers') ?? {};
    expect((await t.call('schema.indexes', { connection_id, table: `${schema}.numbers` })).total).toBe(1);
    expect((await t.send('schema.indexes', { connection_id, table: 'numbers', schema: 'nowhere' })).status).toBe(404);
  });
});
