import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, inspect, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ids = { connection: '', find: '', level: '' };
const ui = startUi({
  role: 'server',
  async prepare(programs) {
    const db = new Database(join(programs.directory, 'databases', 'sales.sqlite'));
    db.run('create table customers (id integer primary key, name text)');
    db.run(
      'create table orders (id integer primary key, customer_id integer references customers (id), status text, level text)',
    );
    db.run("insert into customers values (1, 'Ada'), (2, 'Bob')");
    db.run("insert into orders values (1, 1, 'new', 'a'), (2, 2, 'paid', 'b'), (3, 2, 'paid', 'c')");
    db.close();
    const connection = { name: 'sales', db_type: 'sqlite', database: 'sales.sqlite' };
    ids.connection = String((await programs.api('POST', '/connections', connection))['id']);
    const create = async (name: string, column: string) => {
      const { id } = await programs.api('POST', '/tools', {
        connection_id: ids.connection,
        name,
        description: `Finds the orders that have a certain ${column}.`,
        sql_query: `select id, status from orders where ${column} = :${column} order by id`,
        parameters: [{ name: column, type: 'string', description: 'The whole text' }],
      });
      return String(id);
    };
    ids.find = await create('orders_by_status', 'status');
    ids.level = await create('orders_of_level', 'level');
  },
});
const editor = (page: Page) => page.getByRole('textbox', { name: 'SQL', exact: true });
const side = (page: Page) => page.getByRole('complementary', { name: 'What it does' });
const write = async (page: Page, sql: string) => {
  await editor(page).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type(sql);
  await page.keyboard.press('Escape');
};

browserTest(
  'names and joins of the schema go into the statement, and allowed values come from the data',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/new?connection=${ids.connection}`);
    await write(page, 'select o.id, customers.name from');
    await side(page).getByRole('tab', { name: 'Schema' }).click();
    await side(page).getByRole('button', { name: 'Insert orders' }).click();
    await page.keyboard.type(' o where o.status = :status');
    await page.keyboard.press('Escape');
    await side(page).getByRole('button', { name: 'Columns of orders' }).click();
    await inspect(page, 'schema-beside-editor', { width: 1280, scheme: 'light' });
    await side(page).getByRole('button', { name: 'Insert join along customer_id' }).click();
    await page.getByRole('button', { name: 'Rules of status' }).click();
    await page.getByRole('button', { name: 'Use values of orders.status' }).first().click();
    await until(async () => (await page.getByLabel('Allowed values').inputValue()) === 'new\npaid');
    await page.getByRole('button', { name: 'Add mask' }).click();
    await page
      .getByRole('region', { name: 'Masks' })
      .getByRole('button', { name: /^Column/ })
      .click();
    await page.getByRole('option', { name: 'name', exact: true }).click();
    await editor(page).press('Control+Enter');
    await side(page).getByRole('gridcell', { name: '***' }).first().waitFor();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('order_names');
    await page.getByLabel('Description', { exact: true }).fill('Names of customers by the state of their orders.');
    await page.keyboard.press('Control+s');
    await toast(page, /^Tool created/).waitFor();
    const { items } = await ui.programs.api<{ items: object[] }>('GET', '/tools?search=order_names');
    expect(items).toMatchObject([
      {
        sql_query:
          'select o.id, customers.name from orders o\njoin customers on customers.id = o.customer_id where o.status = :status',
        parameters: [{ name: 'status', enum: ['new', 'paid'] }],
        masks: [{ column: 'name', mask: 'text' }],
      },
    ]);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a tool that only reads is made writable, and a statement that does not fit is saved disabled',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/${ids.find}`);
    await write(page, 'update orders set level = null where status = :status');
    await side(page).getByLabel('status', { exact: true }).fill('paid');
    await editor(page).press('Control+Enter');
    await side(page).getByRole('button', { name: 'Make writable' }).click();
    await side(page).getByText('This statement changes data. Sluice rolls it back.').waitFor();
    await side(page)
      .getByText(/affected, rolled back/)
      .waitFor();
    await write(page, 'select id, colour from orders where status = :status');
    await page.getByRole('button', { name: /^Save tool/ }).click();
    await expectAccessible(page, 'a statement that does not fit');
    await page.getByRole('button', { name: 'Save disabled' }).click();
    await toast(page, /^Saved/).waitFor();
    const stored = await ui.programs.api<{ enabled: boolean; warnings: string[] }>('GET', `/tools/${ids.find}`);
    expect(stored.enabled).toBe(false);
    expect(stored.warnings.join()).toMatch(/^The database refuses the statement: .*colour/);
    await close(opened, [400]);
  },
  LIMIT_MS,
);

browserTest(
  'findings are listed by definition, and an example is taken from the data with one click',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tests`);
    const row = page
      .getByRole('list', { name: 'Findings by definition' })
      .getByRole('listitem')
      .filter({ hasText: 'orders_of_level' });
    await row.getByText('orders_of_level').first().click();
    await inspect(page, 'findings-by-definition', { width: 1280, scheme: 'light' });
    await row.getByRole('button', { name: 'Use values from the data' }).click();
    await toast(page, /^orders_of_level changed/).waitFor();
    await row.waitFor({ state: 'detached' });
    expect(await ui.programs.api('GET', `/tools/${ids.level}`)).toMatchObject({ parameters: [{ examples: ['a', 'b'] }] });
    await close(opened);
  },
  LIMIT_MS,
);
