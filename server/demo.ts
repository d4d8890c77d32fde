import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { RawInput } from '#core/contract/index.ts';
import { run } from '#core/control-plane/run.ts';
import { systemRequest } from '#core/context/context.ts';
import { newestVersion } from '#core/versions/stored-snapshots.ts';
import { engineOf, FOLDER_TYPE } from '#core/engines/index.ts';
import type { Column } from '#core/lib/sql/result.ts';
import type { Description } from '#core/engines/shared/source.ts';
import { createSampleFiles, SAMPLE_FOLDER } from '#core/sources/sample-files.ts';
import { createShop, SHOP_FILE } from '#core/sources/sample-shop.ts';

const SHOP = 'demo';
const SPREADSHEETS = 'spreadsheets';

/**
 * Creates in an empty dev installation a sample shop in SQLite with four tools, two resources and a prompt, and, if DuckDB is
 * installed, a folder of spreadsheets with one tool. The host listens on loopback only. Returns whether there is a demo that was
 * never deployed.
 */
export async function createDemo(app: ControlPlane): Promise<boolean> {
  const { connections } = app.store.tables;
  const existing = await app.store.db.select({ name: connections.name }).from(connections).limit(3);
  // A demo whose first deploy was refused is deployed at the next start.
  if (existing.length > 0)
    return existing.every(({ name }) => name === SHOP || name === SPREADSHEETS) && (await newestVersion(app)) === 0;
  await run(app, 'config.update', { host: '127.0.0.1' }, systemRequest('demo'));
  await createShopDemo(app);
  await createSpreadsheets(app);
  return true;
}

export const deployDemo = (app: ControlPlane) =>
  run(withSpreadsheetDescription(app), 'deploy.run', { note: 'The demo' }, systemRequest('demo'));

/**
 * The same app with a known description of the spreadsheets, so that DuckDB's program starts with the first call and not with the
 * product.
 */
function withSpreadsheetDescription(app: ControlPlane): ControlPlane {
  const { sources } = app;
  const of: ControlPlane['sources']['of'] = async (row) => {
    const source = await sources.of(row);
    if (row.db_type !== FOLDER_TYPE || row.database !== SAMPLE_FOLDER) return source;
    return { ...source, describeAll: async (statements) => statements.map(({ types }) => describeExpenses(types.length)) };
  };
  return { ...app, sources: { ...sources, of } };
}

async function createShopDemo(app: ControlPlane): Promise<void> {
  createShop(app.env.SVC_SQLITE_DIR);
  const call = systemRequest('demo');
  const { id } = await run(app, 'connections.create', { name: SHOP, db_type: 'sqlite', database: SHOP_FILE }, call);
  for (const tool of SHOP_TOOLS) await run(app, 'tools.create', { ...tool, connection_id: id }, call);
  for (const resource of RESOURCES) await run(app, 'resources.create', { ...resource, connection_id: id }, call);
  await run(app, 'prompts.create', { ...PROMPT, connection_id: id }, call);
}

async function createSpreadsheets(app: ControlPlane): Promise<void> {
  if ((await engineOf(FOLDER_TYPE).isInstalled?.()) === false) return;
  createSampleFiles(app.env.SVC_SQLITE_DIR);
  const call = systemRequest('demo');
  const folder = { name: SPREADSHEETS, db_type: FOLDER_TYPE, database: SAMPLE_FOLDER, read_only: true };
  const { id } = await run(app, 'connections.create', folder, call);
  await run(withSpreadsheetDescription(app), 'tools.create', { ...EXPENSES, connection_id: id }, call);
}

type DemoTool = Omit<RawInput<'tools.create'>, 'connection_id'>;

const EXPENSES: DemoTool = {
  name: 'spending_per_month',
  title: 'Spending per month',
  description: 'What each department spent per month in euros, next to its monthly budget, optionally of one department.',
  sql_query: `select strftime(e.day, '%Y-%m') as month, e.department, round(sum(e.amount), 2) as spent, d.monthly_budget as budget
from expenses e join departments d on d.department = e.department
[[ where e.department = :department ]]
group by all order by month, e.department`,
  parameters: [
    {
      name: 'department',
      type: 'string',
      description: 'Only this department, such as Marketing',
      required: false,
      max_length: 100,
    },
  ],
  tags: ['spreadsheets'],
};

/** DuckDB's type number of VARCHAR, which it infers for the parameter. */
const VARCHAR = 17;

/** The description that DuckDB would return. */
const describeExpenses = (parameters: number): Description => ({
  columns: EXPENSES_COLUMNS,
  reads: Array.from({ length: parameters }, () => ({ apart: VARCHAR })),
});
const EXPENSES_COLUMNS: readonly Column[] = [
  { name: 'month', type: 'VARCHAR', kind: 'string' },
  { name: 'department', type: 'VARCHAR', kind: 'string' },
  { name: 'spent', type: 'DOUBLE', kind: 'number' },
  { name: 'budget', type: 'BIGINT', kind: 'bigint' },
];

const SHOP_TOOLS: readonly DemoTool[] = [
  {
    name: 'search_products',
    title: 'Search products',
    description: 'Find products by a part of their name, optionally in some categories and below a price. Prices are in euros.',
    sql_query: `select id, name, category, price, in_stock from products
where name like '%' || :text || '%'
  [[ and category in (:categories) ]]
  [[ and price <= :max_price ]]
order by name limit :limit`,
    parameters: [
      { name: 'text', type: 'string', description: 'Part of the name; empty for all', required: false, default: '' },
      { name: 'categories', type: 'array', items: 'string', description: 'Only these categories', required: false },
      { name: 'max_price', type: 'number', description: 'Highest price', required: false, minimum: 0 },
      { name: 'limit', type: 'integer', description: 'Most rows', required: false, default: 20, minimum: 1, maximum: 100 },
    ],
    tags: ['shop'],
  },
  {
    name: 'get_customer',
    title: 'Read a customer',
    description: 'One customer by e-mail address, with the number of orders and what they spent in euros.',
    sql_query: `select c.id, c.name, c.email, c.country, count(o.id) as orders, coalesce(sum(o.total), 0) as spent
from customers c left join orders o on o.customer_id = c.id
where c.email = :email group by c.id`,
    parameters: [{ name: 'email', type: 'string', description: 'E-mail address, such as ada@example.com', max_length: 200 }],
    return_type: 'row',
    tags: ['shop'],
  },
  {
    name: 'list_orders',
    title: 'List orders',
    description: 'Orders between two days, the newest first, optionally of one status (open, shipped, cancelled).',
    sql_query: `select o.id, o.ordered_on, o.status, o.total, c.name as customer
from orders o join customers c on c.id = o.customer_id
where o.ordered_on between :from and :to [[ and o.status = :status ]]
order by o.ordered_on desc, o.id desc limit 100`,
    parameters: [
      { name: 'from', type: 'date', description: 'First day' },
      { name: 'to', type: 'date', description: 'Last day' },
      {
        name: 'status',
        type: 'string',
        description: 'Only this status',
        required: false,
        enum: ['open', 'shipped', 'cancelled'],
      },
    ],
    tags: ['shop'],
  },
  {
    name: 'sales_by_category',
    title: 'Sales by category',
    description: 'Number of pieces sold and turnover in euros of every product category.',
    sql_query: `select p.category, sum(i.quantity) as pieces, round(sum(i.quantity * i.price), 2) as turnover
from order_items i join products p on p.id = i.product_id join orders o on o.id = i.order_id
where o.status <> 'cancelled' group by p.category order by turnover desc`,
    tags: ['shop', 'report'],
  },
];

const RESOURCES: readonly Omit<RawInput<'resources.create'>, 'connection_id'>[] = [
  {
    name: 'categories',
    title: 'Product categories',
    description: 'Every category of the shop with the number of its products.',
    uri_template: 'shop://categories',
    sql_query: 'select category, count(*) as products from products group by category order by category',
    tags: ['shop'],
  },
  {
    name: 'order',
    title: 'One order',
    description: 'An order with its customer and items, as text.',
    uri_template: 'shop://orders/{id}',
    sql_query: `select o.id, o.ordered_on, o.status, o.total, c.name as customer, p.name as product, i.quantity, i.price
from orders o join customers c on c.id = o.customer_id
join order_items i on i.order_id = o.id join products p on p.id = i.product_id
where o.id = :id`,
    parameters: [{ name: 'id', type: 'integer', description: 'Number of the order' }],
    mime_type: 'text/markdown',
    transform_template: `{% if rows %}# Order {{ rows[0].id }} of {{ rows[0].ordered_on }}

{{ rows[0].customer }}, {{ rows[0].status }}, {{ rows[0].total }} euros

{% for row in rows %}- {{ row.quantity }} x {{ row.product }} at {{ row.price }}
{% endfor %}{% else %}There is no such order.{% endif %}`,
    tags: ['shop'],
  },
];

const PROMPT: Omit<RawInput<'prompts.create'>, 'connection_id'> = {
  name: 'sales_report',
  title: 'Sales report',
  description: 'A short report on the sales of a period, for some audience.',
  template: `Write a short report on our sales from {{ from }} to {{ to }}{% if audience %} for {{ audience }}{% endif %}.
Use the tools list_orders and sales_by_category, and name the figures that the report rests on.`,
  arguments: [
    { name: 'from', description: 'First day, such as 2026-01-01' },
    { name: 'to', description: 'Last day' },
    { name: 'audience', description: 'Who will read it', required: false, enum: ['the team', 'the management', 'our customers'] },
  ],
  tags: ['shop'],
};
