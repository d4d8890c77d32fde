import { describe, expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { close, inEveryLook, LIMIT_MS, startUi } from '#test/support/ui.ts';

let database: TestDatabase;
let id = '';
const ui = startUi({
  role: 'server',
  env: { SVC_DEMO: 'false' },
  needed: reachable.postgres,
  async prepare(programs) {
    database = await testDatabase('postgresql');
    await database.run(`create table customers (id int primary key, name text not null, country text default 'DE');
      create table orders (id int primary key, customer_id int not null references customers, total numeric);
      create index open_orders on orders (customer_id, id) where total > 0;
      insert into customers select n, 'Customer ' || n, case n % 2 when 0 then 'DE' else 'FR' end from generate_series(1, 120) n;
      insert into orders select n, n, n from generate_series(1, 3) n;`);
    const { db_type, host, port, database: name, username } = database.settings;
    const draft = { name: 'rows', db_type, host, port, database: name, username };
    ({ id } = await programs.api<{ id: string }>('POST', '/connections', draft));
  },
  async cleanup() {
    if (reachable.postgres) await database.drop();
  },
});

describe.skipIf(!reachable.postgres)('tables of a database', () => {
  browserTest(
    'rows are filtered, sorted and turned over, and foreign keys lead to their rows and back',
    async () => {
      const opened = await ui.signedIn(1440, 'light');
      const { page } = opened;
      const query = () => new URL(page.url()).searchParams;
      await page.goto(`${ui.programs.url}/connections/${id}?tab=tables&schema=public&table=orders`);
      await page.getByText('PostgreSQL · ').waitFor();
      const indexes = page.getByRole('table', { name: 'Indexes of public.orders' });
      await indexes.getByRole('row', { name: /open_orders.*customer_id, id.*btree.*total > / }).waitFor();
      await indexes.getByRole('row', { name: /orders_pkey key/ }).waitFor();
      expect(await page.getByRole('columnheader', { name: 'Comment' }).count()).toBe(0);
      await expectAccessible(page, 'columns and indexes');
      await page.getByRole('link', { name: 'References public.customers.id' }).click();
      await page.getByRole('heading', { name: 'public.customers' }).waitFor();
      await page.goBack();
      await page.getByRole('heading', { name: 'public.orders' }).waitFor();

      await page.locator('label', { hasText: 'Rows' }).click();
      const key = page.getByRole('gridcell', { name: '2', exact: true }).getByRole('link');
      await key.waitFor();
      // The cell has the focus of the keyboard, and Enter follows its link.
      await page.getByRole('gridcell').first().focus();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      const customers = page.getByRole('grid', { name: 'Rows of public.customers' });
      await customers.getByRole('gridcell', { name: 'Customer 2', exact: true }).waitFor();
      expect([await customers.getByRole('row').count(), query().get('where')]).toEqual([2, 'is:id:2']);
      await expectAccessible(page, 'rows with a filter');
      await page.goBack();
      await key.waitFor();
      await page.goForward();
      await page.getByRole('button', { name: 'Remove filter: id is 2' }).click();
      await page.getByText('Rows 1–50').waitFor();
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByText('Rows 51–100').waitFor();
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByText('Rows 101–120').waitFor();
      await page.getByRole('button', { name: 'Previous' }).click();
      await page.getByText('Rows 51–100').waitFor();
      await page.getByRole('columnheader', { name: /^id/ }).getByRole('button').click();
      await page.getByText('Rows 1–50').waitFor();
      await page.getByRole('columnheader', { name: /^id/ }).getByRole('button').click();
      await page.getByRole('gridcell', { name: 'Customer 120', exact: true }).waitFor();

      await page.getByRole('button', { name: /^Column / }).click();
      await page.getByRole('option', { name: /^id/ }).click();
      await page.getByLabel('Value').fill('many');
      await page.keyboard.press('Enter');
      await page.getByText('Enter a whole number.').waitFor();
      await page.getByRole('button', { name: /^Column / }).click();
      await page.getByRole('option', { name: /^name/ }).click();
      await page.getByRole('button', { name: /^Condition / }).click();
      await page.getByRole('option', { name: 'contains' }).click();
      await page.getByLabel('Value').fill('MER 11');
      await page.keyboard.press('Enter');
      await page.getByText('Rows 1–11').waitFor();
      await page.getByRole('button', { name: 'Count matching rows' }).click();
      await page.getByText('11 matching rows').waitFor();
      await page.reload();
      await page.getByText('name contains MER 11').waitFor();
      await page.getByText('Rows 1–11').waitFor();
      await page.getByLabel('Value').fill('7000');
      await page.getByRole('button', { name: 'Add filter' }).click();
      await page.getByText('No results').waitFor();
      await page.getByRole('main').getByRole('button', { name: 'Clear filters' }).first().click();
      await page.getByText('Rows 1–50').waitFor();
      await close(opened);
    },
    LIMIT_MS,
  );

  browserTest(
    'columns and rows are accessible and fit, in light and dark, wide and narrow',
    async () => {
      await inEveryLook(ui.signedIn, async (page, { check }) => {
        const table = `${ui.programs.url}/connections/${id}?tab=tables&schema=public&table`;
        await page.goto(`${table}=orders`);
        await page.getByRole('row', { name: /open_orders/ }).waitFor();
        await check('indexes');
        await page.goto(`${table}=customers&show=rows&where=is:country:DE`);
        await page.getByText('Rows 1–50').waitFor();
        await check('rows');
      });
    },
    LIMIT_MS,
  );
});
