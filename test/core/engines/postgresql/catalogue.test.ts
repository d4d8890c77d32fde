import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { tablesQuestion } from '#core/engines/postgresql/catalogue.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { refusal } from '../shared/suite.ts';

const ALL = { skip: 0, limit: 5_000 };

describe.skipIf(!reachable.postgres)('the catalogue of PostgreSQL', () => {
  let database: TestDatabase;
  let source: Source;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    for (const text of [
      `create schema shop`,
      `create schema "Od'd"`,
      `create table shop.customers (id bigint generated always as identity primary key, email varchar(200) not null unique,
         joined timestamptz not null default now(), tags text[], gone int, "Weird ""name" numeric(10, 2) default 1.5)`,
      `alter table shop.customers drop column gone`,
      `create table shop.orders (customer_id bigint not null references shop.customers, line int, other bigint, part int,
         primary key (customer_id, line), foreign key (other, part) references shop.orders (customer_id, line))`,
      `comment on table shop.customers is 'Who buys'`,
      `comment on column shop.customers.email is 'Where to write to'`,
      `create view shop.recent as select * from shop.customers`,
      `create materialized view shop.counted as select count(*) as n from shop.customers`,
      `create table shop.events (at date) partition by range (at)`,
      `create table shop.events_2024 partition of shop.events for values from ('2024-01-01') to ('2025-01-01')`,
      `create sequence shop.counter`,
      `create table "Od'd"."100%_sure" (x int)`,
      `create table public.customers (only_here int)`,
      `create temporary table hidden (x int)`,
    ]) {
      await database.run(text);
    }
    source = openPostgres(database.settings, localPolicy);
  });

  afterAll(async () => {
    await source.close();
    await database.drop();
  });

  test('lists every kind of table, with comments, and nothing of the system', async () => {
    const { items, total } = await source.tables(ALL);
    expect(items).toEqual([
      { schema: `Od'd`, name: '100%_sure', in_path: false, type: 'table', comment: null },
      { schema: 'public', name: 'customers', in_path: true, type: 'table', comment: null },
      { schema: 'shop', name: 'counted', in_path: false, type: 'materialized view', comment: null },
      { schema: 'shop', name: 'customers', in_path: false, type: 'table', comment: 'Who buys', relations: 1 },
      { schema: 'shop', name: 'events', in_path: false, type: 'partitioned table', comment: null },
      { schema: 'shop', name: 'events_2024', in_path: false, type: 'table', comment: null },
      { schema: 'shop', name: 'orders', in_path: false, type: 'table', comment: null, relations: 2 },
      { schema: 'shop', name: 'recent', in_path: false, type: 'view', comment: null },
    ]);
    expect(total).toBe(8);
  });

  test('a filter, a search and a page keep the exact total', async () => {
    expect(await source.tables({ schema: 'shop', skip: 1, limit: 2 })).toMatchObject({
      items: [{ name: 'customers' }, { name: 'events' }],
      total: 6,
    });
    expect(await source.tables({ search: 'CUST', ...ALL })).toMatchObject({ total: 2 });
    expect(await source.tables({ search: '%_', ...ALL })).toMatchObject({ items: [{ name: '100%_sure' }], total: 1 });
    expect(await source.tables({ schema: `x' or '1'='1`, ...ALL })).toEqual({ items: [], total: 0 });
    expect(await source.tables({ skip: 100, limit: 10 })).toEqual({ items: [], total: 8 });
    expect(await source.tables({ schema: 'pg_catalog', ...ALL })).toMatchObject({ total: 0 });
  });

  test('the keys of all tables are read once, not once for each table', async () => {
    const { text, values } = tablesQuestion(ALL);
    const statement = text.replaceAll(/\$(\d)/g, (_, n: string) => JSON.stringify(values[Number(n) - 1]));
    const plan = await database.run(`explain (analyze, timing off) ${statement}`);
    const scans = plan.map((row) => String(row['QUERY PLAN'])).filter((line) => line.includes('pg_constraint'));
    expect(scans).toHaveLength(1);
    expect(scans[0]).toContain('loops=1)');
  });

  test('columns tell type, default, key, reference and comment, and skip what was dropped', async () => {
    const { items, total } = await source.columns({ schema: 'shop', name: 'customers' }, ALL);
    const plain = { nullable: true, default: null, primary_key: false, comment: null, sortable: true, searchable: false };
    expect(items).toEqual([
      { ...plain, name: 'id', type: 'bigint', parameter: 'integer', nullable: false, primary_key: true },
      {
        ...plain,
        name: 'email',
        type: 'character varying(200)',
        parameter: 'string',
        searchable: true,
        nullable: false,
        comment: 'Where to write to',
      },
      { ...plain, name: 'joined', type: 'timestamp with time zone', parameter: 'datetime', nullable: false, default: 'now()' },
      { ...plain, name: 'tags', type: 'text[]', parameter: null, sortable: false },
      { ...plain, name: 'Weird "name', type: 'numeric(10,2)', parameter: 'number', default: '1.5' },
    ]);
    expect(total).toBe(5);
    const orders = await source.columns({ schema: 'shop', name: 'orders' }, ALL);
    expect(
      orders.items.map(({ name, primary_key, references }) => [name, primary_key, references?.table, references?.column]),
    ).toEqual([
      ['customer_id', true, 'customers', 'id'],
      ['line', true, undefined, undefined],
      ['other', false, 'orders', 'customer_id'],
      ['part', false, 'orders', 'line'],
    ]);
    expect(orders.items[0]!.references!.schema).toBe('shop');
  });

  test('without a schema the search path decides, and what is nowhere is not found', async () => {
    expect((await source.columns({ name: 'customers' }, ALL)).items).toMatchObject([{ name: 'only_here' }]);
    expect((await source.columns({ name: 'orders' }, ALL)).total).toBe(4);
    expect(await source.columns({ schema: 'shop', name: 'orders' }, { search: 'LIN', ...ALL })).toMatchObject({ total: 1 });
    expect(await source.columns({ schema: 'shop', name: 'orders' }, { skip: 9, limit: 1 })).toEqual({ items: [], total: 4 });
    for (const name of ['nothing', `orders'; drop table shop.orders --`, 'hidden']) {
      expect((await refusal(source.columns({ name }, ALL))).code).toBe('not_found');
    }
  });
});
