import { expect } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { connectClient } from '#test/support/mcp-clients.ts';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const ui = startUi({ env: { SVC_DEMO: 'false' } });
const csv = (rows: readonly string[]) => Buffer.from(`${rows.join('\n')}\n`);

browserTest(
  'three spreadsheets dropped into a new folder become tables, and a client asks for a sum per month',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    const { programs } = ui;
    await page.goto(`${programs.url}/welcome`);
    await page.getByRole('button', { name: 'Use a folder of files' }).click();
    await page.getByText('No files yet. Drop some above.').waitFor();
    await page.locator('input[type=file]').setInputFiles([
      {
        name: 'orders.csv',
        mimeType: 'text/csv',
        buffer: csv(['day;customer;total', '2026-01-05;1;10,50', '2026-01-20;2;4,50', '2026-02-01;1;7,00']),
      },
      { name: 'customers.csv', mimeType: 'text/csv', buffer: csv(['id,name', '1,Ada', '2,Bob']) },
      { name: 'broken.json', mimeType: 'application/json', buffer: Buffer.from('[{"a":') },
    ]);
    await page.getByRole('row', { name: /orders\.csv.*imported/ }).waitFor();
    await page.getByRole('row', { name: /broken\.json.*can’t be read/ }).waitFor();
    await page.getByRole('row', { name: /customers\.csv.*2.*imported/ }).waitFor();
    await expectAccessible(page, 'the files of a folder');

    await page.getByRole('button', { name: 'Delete broken.json' }).click();
    await page.getByRole('button', { name: 'Delete file' }).click();
    await until(async () => (await page.getByRole('row', { name: /broken\.json/ }).count()) === 0);

    await page.getByRole('button', { name: 'orders.csv', exact: true }).click();
    await page.getByText('main.orders').waitFor();
    await page.getByLabel('Numbers').click();
    await page.getByRole('option', { name: '1.234,50' }).click();
    // What was entered outlives a list that is read again, with another file before this one.
    await page.locator('input[type=file]').setInputFiles([{ name: 'a.csv', mimeType: 'text/csv', buffer: csv(['id', '1']) }]);
    await page.getByRole('row', { name: /a\.csv.*imported/ }).waitFor();
    await page.getByRole('button', { name: 'Save file settings' }).click();
    await page.getByText('Saved. It goes live with the next deploy.').first().waitFor();
    const make = page.getByRole('link', { name: 'Create a tool from this table' });
    expect(await make.getAttribute('href')).toMatch(/^\/tools\/new\?connection=[\w-]+&schema=main&table=orders$/);
    await expectAccessible(page, 'a file and how it is read');

    const prices = csv(['item,price,,notes', '1,"1,234.50",,', '2,12,,']);
    await page.locator('input[type=file]').setInputFiles([{ name: 'prices.csv', mimeType: 'text/csv', buffer: prices }]);
    await page.getByRole('row', { name: /prices\.csv.*2 suggestions/ }).waitFor();
    await page.getByRole('button', { name: 'prices.csv', exact: true }).click();
    await page.getByRole('button', { name: 'Leave out: notes' }).waitFor();
    await expectAccessible(page, 'suggestions for a file');
    await page.getByRole('button', { name: 'Apply 2 suggestions' }).click();
    await until(async () => (await page.getByText('Suggestions', { exact: true }).count()) === 0);
    await page.getByRole('button', { name: /^price.*Numbers such as 1,234\.50/ }).waitFor();

    const { items } = await programs.api<{ items: { id: string }[] }>('GET', '/connections');
    await programs.api('POST', '/tools', {
      name: 'sum_per_month',
      description: 'The sum of all orders for each month',
      connection_id: items[0]!.id,
      sql_query: `select strftime(o.day, '%Y-%m') as month, sum(o.total) as total, count(distinct c.name) as customers
        from orders o join customers c on c.id = o.customer group by 1 order by 1`,
      parameters: [],
    });
    await programs.api('POST', '/deploy', { note: 'files' });
    const client = await connectClient('v2', programs.mcp_url);
    await until(async () => (await client.tools()).includes('sum_per_month'));
    const answer = await client.call('sum_per_month', {});
    expect(answer.structuredContent).toMatchObject({
      rows: [
        { month: '2026-01', total: 15, customers: 2 },
        { month: '2026-02', total: 7, customers: 1 },
      ],
    });
    await client.close();

    await page.locator('input[type=file]').setInputFiles([
      { name: 'stock-1.csv', mimeType: 'text/csv', buffer: csv(['id,n', '1,5']) },
      { name: 'stock-2.csv', mimeType: 'text/csv', buffer: csv(['id,n', '2,6', '3,7']) },
    ]);
    await page.getByRole('row', { name: /stock-2\.csv.*stock_2.*imported/ }).waitFor();
    await page.getByRole('button', { name: 'stock-1.csv', exact: true }).click();
    const pattern = page.getByLabel('Combine files into one table');
    await pattern.fill('stuck-*.csv');
    await page.getByText('The pattern needs a * and has to match stock-1.csv.').waitFor();
    await pattern.fill('STOCK-*.csv');
    await page.getByLabel('Table name').fill('1 stock');
    await page.getByLabel('Date format').fill('day;month');
    await page.getByRole('button', { name: 'Save file settings' }).click();
    await page.getByText('Must be a format such as %d.%m.%Y.').waitFor();
    await page.getByText('Must begin with a letter and hold letters, digits and underscores.').waitFor();
    await until(() => page.getByLabel('Date format').evaluate((field) => field === document.activeElement));
    await page.getByLabel('Date format').fill('');
    await page.getByLabel('Table name').fill('stock');
    await page.getByRole('button', { name: 'Save file settings' }).click();
    await page.getByRole('row', { name: /stock-1\.csv.*stock 3 .*imported/ }).waitFor();
    await page.getByRole('row', { name: /stock-2\.csv.*stock 3 .*imported/ }).waitFor();
    await page.getByText('Part of STOCK-*.csv').waitFor();
    const upload = Promise.withResolvers<void>();
    await page.route(/\/files\b.*late\.csv/, async (route) => {
      await upload.promise;
      await route.continue();
    });
    const leaving = () => page.evaluate(() => !window.dispatchEvent(new Event('beforeunload', { cancelable: true })));
    expect(await leaving()).toBe(false);
    await page.locator('input[type=file]').setInputFiles([{ name: 'late.csv', mimeType: 'text/csv', buffer: csv(['id', '1']) }]);
    await page.getByText('Uploading').waitFor();
    expect(await leaving()).toBe(true);
    upload.resolve();
    await page.getByRole('row', { name: /late\.csv.*imported/ }).waitFor();
    expect(await leaving()).toBe(false);
    await page.goto(`${programs.url}/history?type=file`);
    await page.getByText('stock-2.csv').first().waitFor();
    await expectAccessible(page, 'the history of files');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'an upload that failed is sent again by a press, and those that wait are counted',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    const { id } = await ui.programs.api<{ id: string }>('POST', '/connections/folder', { name: 'Again' });
    await page.goto(`${ui.programs.url}/connections/${id}?tab=files`);
    await page.getByText('No files yet. Drop some above.').waitFor();
    const first = Promise.withResolvers<void>();
    await page.route(/\/files\b.*one\.csv/, async (route) => {
      await first.promise;
      await route.abort();
    });
    const all = ['one', 'two', 'three'].map((name) => ({
      name: `${name}.csv`,
      mimeType: 'text/csv',
      buffer: csv(['id', name]),
    }));
    await page.locator('input[type=file]').setInputFiles(all);
    await page.getByText('2 more files to upload').waitFor();
    first.resolve();
    const failed = page.getByRole('listitem').filter({ hasText: 'one.csv' });
    // What says so goes by itself.
    await Promise.all([
      page.getByText('Uploaded 2 files.').waitFor(),
      page.getByRole('row', { name: /three\.csv.*imported/ }).waitFor(),
    ]);
    expect(await page.getByRole('row', { name: /one\.csv/ }).count()).toBe(0);
    await page.unroute(/\/files\b.*one\.csv/);
    await failed.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('row', { name: /one\.csv.*imported/ }).waitFor();
    expect(await failed.count()).toBe(0);
    opened.faults.length = 0;
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'an empty folder is made from the list of connections, under the name that was typed',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/connections/new`);
    await page.getByText('Folder of files, DuckDB').click();
    expect(await page.getByLabel('Connection string').count()).toBe(0);
    await page.getByLabel('Name', { exact: true }).fill('Exports');
    await page.getByRole('button', { name: 'Create an empty folder' }).click();
    await page.getByText('No files yet. Drop some above.').waitFor();
    await page.getByRole('heading', { name: 'Exports' }).waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the database of a SQLite connection is replaced after a question',
  async () => {
    const { programs } = ui;
    const file = join(programs.directory, 'databases/crm.sqlite');
    mkdirSync(dirname(file), { recursive: true });
    const write = (path: string, value: number) => {
      const database = new DatabaseSync(path);
      database.exec(`CREATE TABLE t AS SELECT ${value} AS a`);
      database.close();
    };
    write(file, 1);
    const { id } = await programs.api<{ id: string }>('POST', '/connections', {
      name: 'crm',
      db_type: 'sqlite',
      database: 'crm.sqlite',
    });
    write(`${file}.next`, 2);
    const opened = await ui.signedIn(1280, 'dark');
    const { page } = opened;
    await page.goto(`${programs.url}/connections/${id}?tab=files`);
    await page.getByRole('row', { name: /crm\.sqlite/ }).waitFor();
    await page
      .locator('input[type=file]')
      .setInputFiles([{ name: 'export (3).db', mimeType: 'application/octet-stream', buffer: readFileSync(`${file}.next`) }]);
    await page.getByText('Replace “crm.sqlite” with “export (3).db”?').waitFor();
    await expectAccessible(page, 'the question before a database is replaced');
    await page.getByRole('button', { name: 'Replace database' }).click();
    await page.getByText('Replaced “crm.sqlite”.').waitFor();
    const { rows } = await programs.api<{ rows: unknown }>('POST', '/preview/execute', {
      connection_id: id,
      sql_query: 'select a from t',
    });
    expect(rows).toEqual([{ a: 2 }]);
    await close(opened);
  },
  LIMIT_MS,
);
