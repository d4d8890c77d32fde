import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import * as v from 'valibot';
import type { TableColumn } from '#core/contract/definitions/schema.ts';
import { ToolDraft } from '#core/contract/definitions/tools.ts';
import { toCsv } from '#core/lib/csv.ts';
import { snippetsOf } from '#ui/src/features/builder/snippets.ts';
import type { Dialect } from '#ui/src/features/builder/sql/scan.ts';
import { findTable } from '#ui/src/features/builder/sql/table-address.ts';
import { singular } from '#ui/src/features/builder/sql/singular.ts';
import type { Source } from '#ui/src/features/builder/sql/table-columns.ts';
import { offersFor, type TableDraft } from '#ui/src/features/builder/sql/tables.ts';
import { article } from '#ui/src/features/builder/sql/table-words.ts';
import { bind, parseSql } from '#test/support/sql.ts';

const column = (name: string, type: 'integer' | 'text' | 'numeric', over: Partial<TableColumn> = {}): TableColumn => ({
  name,
  type,
  parameter: type === 'integer' ? 'integer' : type === 'numeric' ? 'number' : 'string',
  sortable: true,
  searchable: type === 'text',
  nullable: true,
  default: null,
  primary_key: false,
  comment: null,
  ...over,
});
const COLUMNS = [
  column('id', 'integer', { primary_key: true }),
  column('customer_id', 'integer', { references: { schema: null, table: 'customers', column: 'id' } }),
  column('status', 'text'),
  column('Order Note', 'text', { comment: 'What the customer wrote' }),
  column('total', 'numeric'),
];
const table = { schema: 'public', name: 'Customer_orders', in_path: true, comment: 'one row an order' };

const ORDERED = column('ordered_on', 'text', { type: 'date', parameter: 'date', searchable: false });
const LABELS = [{ column: 'customer_id', table: { schema: 'public', name: 'customers' }, key: 'id', text: 'name' }];

function draftFromTable(recipe: string, source: Source): TableDraft {
  const offer = offersFor(source).find((one) => one.recipe === recipe);
  if (offer === undefined) throw new Error(`no tool ${recipe}`);
  return offer.draft;
}

describe('a tool from a table', () => {
  test.each(['read', 'list', 'search', 'count', 'month', 'by_status', 'by_customer_id'])(
    '%s is a tool that the contract takes, in every grammar',
    (recipe) => {
      for (const dialect of ['postgresql', 'mysql', 'sqlite'] as Dialect[]) {
        const made = draftFromTable(recipe, { table, columns: [...COLUMNS, ORDERED], labels: LABELS, dialect });
        expect(v.is(ToolDraft, { connection_id: 'c', ...made })).toBe(true);
        const statement = parseSql(made.sql_query, dialect, made.parameters);
        expect([...statement.names].sort()).toEqual(made.parameters.map(({ name }) => name).sort());
      }
    },
  );

  test('runs as it is', () => {
    const db = new Database(':memory:');
    db.run(
      'create table "Customer_orders" (id integer primary key, customer_id integer, status text, "Order Note" text, total numeric)',
    );
    db.run("insert into Customer_orders values (1, 7, 'open', 'Soon', 5), (2, 8, 'done', 'A Bell', 6)");
    const rows = (recipe: 'read' | 'list' | 'search' | 'count', values: Record<string, string | number>) => {
      const made = draftFromTable(recipe, { table: { ...table, schema: 'main' }, columns: COLUMNS, dialect: 'sqlite' });
      const bound = bind(parseSql(made.sql_query, 'sqlite', made.parameters), values);
      return db.query(bound.text).all(...(bound.values as (string | number)[]));
    };
    expect(rows('read', { id: 2 })).toMatchObject([{ id: 2, total: 6 }]);
    expect(rows('list', { limit: 20, offset: 0, status: 'open' })).toMatchObject([{ id: 1 }]);
    expect(rows('list', { limit: 20, offset: 1 })).toMatchObject([{ id: 2 }]);
    expect(rows('search', { text: 'bell', limit: 5 })).toMatchObject([{ id: 2 }]);
    expect(rows('count', {})).toEqual([{ total: 2 }]);
    db.close();
  });

  test('has a name, a title and a description in words', () => {
    const { name, title, description, tags } = draftFromTable('read', { table, columns: COLUMNS, dialect: 'postgresql' });
    expect([name, title, tags]).toEqual(['get_customer_order', 'Read a customer order', ['customer_orders']]);
    expect(description).toBe('One row of customer orders by id. One row an order.');
    const listed = draftFromTable('list', { table, columns: COLUMNS, dialect: 'postgresql' });
    expect(listed.sql_query).toContain('from "Customer_orders"');
    expect(listed.sql_query).toContain('  [[ and customer_id = :customer_id ]]');
  });

  test('takes what the database says of a column: its comment and the values that it allows', () => {
    const columns = [...COLUMNS, column('state', 'text', { enum: ['open', 'paid'], comment: 'Where the order stands' })];
    const made = draftFromTable('list', { table, columns, dialect: 'postgresql' });
    expect(made.parameters).toContainEqual({
      name: 'state',
      type: 'string',
      description: 'Where the order stands',
      enum: ['open', 'paid'],
      required: false,
    });
    expect(made.description).toEndWith('One row an order.');
  });

  test('offers only what the columns allow', () => {
    const recipes = (columns: readonly TableColumn[]) =>
      offersFor({ table, columns, dialect: 'sqlite' }).map(({ recipe }) => recipe);
    expect(recipes(COLUMNS)).toEqual(['read', 'search', 'list', 'count', 'by_status', 'by_customer_id']);
    expect(recipes([...COLUMNS, ORDERED])).toContain('month');
    expect(recipes([column('n', 'integer')])).toEqual(['list', 'count']);
  });

  test('joins the label of a foreign key', () => {
    const made = draftFromTable('list', { table, columns: COLUMNS.slice(0, 3), labels: LABELS, dialect: 'postgresql' });
    expect(made.sql_query.split('\n').slice(0, 5)).toEqual([
      'select c.id, c.customer_id, c_2.name as customer_name, c.status',
      'from "Customer_orders" c',
      'left join customers c_2 on c_2.id = c.customer_id',
      'where 1 = 1',
      '  [[ and c.customer_id = :customer_id ]]',
    ]);
  });

  test('sums amounts by month and by group, and nothing whose sum means nothing', () => {
    const columns = [
      ...COLUMNS,
      ORDERED,
      ...['unit_price', 'tax_rate', 'latitude', 'line_number'].map((name) => column(name, 'numeric')),
      column('year', 'integer'),
      column('quantity', 'integer'),
    ];
    const source: Source = { table: { ...table, comment: null }, columns, labels: LABELS, dialect: 'postgresql' };
    const month = draftFromTable('month', source);
    expect([month.name, month.title]).toEqual(['sum_customer_orders_by_month', 'Customer orders by month']);
    expect(month.description).toBe(
      'How many customer orders there are in each month of ordered on, with the sums of total and quantity. Month is null for rows without a date.',
    );
    expect(month.sql_query)
      .toBe(`select to_char(ordered_on, 'YYYY-MM') as month, count(*) as row_count, sum(total) as sum_total, sum(quantity) as sum_quantity
from "Customer_orders"
where 1 = 1
  [[ and customer_id = :customer_id ]]
  [[ and status = :status ]]
  [[ and ordered_on >= :from_date ]]
  [[ and ordered_on < :before_date ]]
group by to_char(ordered_on, 'YYYY-MM')
order by to_char(ordered_on, 'YYYY-MM')`);
    const customer = draftFromTable('by_customer_id', source);
    expect([customer.name, customer.title]).toEqual(['sum_customer_orders_by_customer', 'Customer orders by customer']);
    expect(customer.sql_query).toContain('group by c.customer_id, c_2.name\norder by count(*) desc, c.customer_id\nlimit :limit');
  });
});

test.each(
  `categories category, addresses address, statuses status, people person, data data, series series, status status, address address,
   houses house, causes cause, buses bus, boxes box, sizes size, quizzes quiz, heroes hero, shoes shoe, movies movie, ties tie,
   batches batch, caches cache, databases database, expenses expense, analyses analysis, analysis analysis, news news, menus menu, apis api,
   order_items order_item, person person, заказы заказы, größe größe, sms sms`
    .split(',')
    .map((pair) =>
      pair
        .trim()
        .replaceAll('_', ' ~')
        .split(/ (?!~)/),
    )
    .map((pair) => pair.map((words) => words.replaceAll(' ~', ' '))),
)('one of the %s is a %s', (many, one) => {
  expect(singular(many ?? '')).toBe(one ?? '');
});

test('the article follows the sound', () => {
  expect(['order', 'user', 'hour', 'unit', 'uncle', 'data', 'customer'].map(article)).toEqual([
    'an order',
    'a user',
    'an hour',
    'a unit',
    'an uncle',
    'data',
    'a customer',
  ]);
});

test('an address with schema and table in one finds the table, and one of the whole name first', async () => {
  const tables = [
    { schema: 'shop', name: 'orders', in_path: false },
    { schema: 'a.b', name: 'c', in_path: false },
    { schema: 'public', name: 'shop.items', in_path: true },
    { schema: 'shop', name: 'items', in_path: false },
    { schema: 'archive', name: 'orders', in_path: true },
  ];
  const find = (name: string, schema: string | null = null) =>
    findTable(
      ({ schema: within, name: part }) =>
        Promise.resolve(tables.filter((one) => one.name.includes(part) && (within === null || one.schema === within))),
      { schema, name },
    );
  expect(await find('shop.orders')).toBe(tables[0]);
  expect(await find('a.b.c')).toBe(tables[1]);
  expect(await find('shop.items')).toBe(tables[2]);
  expect(await find('items', 'shop')).toBe(tables[3]);
  expect(await find('orders')).toBe(tables[4]);
  expect([await find('shop.nothing'), await find('.orders'), await find('shop.orders', 'shop')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('rows leave as CSV that every program reads', () => {
  expect(
    toCsv(
      ['a', 'b'],
      [
        ['x,"y"', null],
        ['', { c: 1 }],
      ],
    ),
  ).toBe('a,b\r\n"x,""y""",\r\n"","{""c"":1}"\r\n');
});

test('a script is shown for what was saved', () => {
  const { curl, typescript } = snippetsOf('tools.update', 'http://localhost:3000', { id: 'abc', name: "it's" });
  expect(curl).toContain("curl -X PATCH 'http://localhost:3000/api/v1/tools/abc'");
  expect(curl).toContain(`"name": "it'\\''s"`);
  expect(typescript).toContain("method: 'PATCH'");
  expect(snippetsOf('tools.get', 'http://a', { id: 'b' }).curl).not.toContain('-d');
});
