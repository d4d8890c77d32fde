import { describe, expect } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';
import { close, inEveryLook, LIMIT_MS, startUi, toast, type Walk } from '#test/support/ui.ts';

let database: TestDatabase;
const ui = startUi({
  role: 'server',
  env: { SVC_DEMO: 'false' },
  needed: reachable.postgres,
  async prepare() {
    database = await testDatabase('postgresql');
    await database.run(`create table customers (id int primary key, name text not null, country text default 'DE');
      comment on table customers is 'Everybody who ever ordered';
      create table orders (id int primary key, customer_id int not null references customers, total numeric);
      create schema stock; create view stock.shelves as select 1 as id;`);
  },
  async cleanup() {
    if (reachable.postgres) await database.drop();
  },
});

describe.skipIf(!reachable.postgres)('connections', () => {
  browserTest(
    'a second click saves nothing, MariaDB is what it is, and columns are shown where one looks',
    async () => {
      const opened = await ui.signedIn(1280, 'light');
      const { page } = opened;
      const total = async () => (await ui.programs.api<{ total: number }>('GET', '/connections')).total;
      const connect = page.getByRole('button', { name: 'Connect', exact: true });
      await page.goto(`${ui.programs.url}/connections/new`);
      await page.getByLabel('Connection string').fill('postgres://ada@127.0.0.1:1/twice');
      await connect.scrollIntoViewIfNeeded();
      await connect.click();
      // Pressed as soon as it is there: nobody can have read why it failed.
      await page.evaluate(() => {
        const press = () => {
          const button = [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Save anyway');
          if (button === undefined) requestAnimationFrame(press);
          else button.click();
        };
        press();
      });
      await page.getByText('Nothing accepts connections at 127.0.0.1, port 1;').waitFor();
      await page.locator('button:not([aria-disabled=true])', { hasText: 'Save anyway' }).waitFor();
      expect([new URL(page.url()).pathname, await total()]).toEqual(['/connections/new', 0]);
      if (reachable.mysql) {
        await page.getByLabel('Connection string').fill('mysql://root@127.0.0.1:3306/mysql');
        await page.getByRole('button', { name: 'Test', exact: true }).click();
        await page.getByText('The server is MariaDB, so the kind of database is MariaDB now.').waitFor();
        expect(await page.getByRole('radio', { name: 'MariaDB' }).isChecked()).toBe(true);
        expect(await page.getByText('The fields changed since the last test.').count()).toBe(0);
      }

      const tables = Array.from({ length: 45 }, (_, n) => `create table zz_${String(n).padStart(2, '0')} (id int);`);
      await database.run(tables.join(''));
      const { pathname, port, username } = new URL(database.url);
      const { id } = await ui.programs.api<{ id: string }>('POST', '/connections', {
        name: 'long',
        db_type: 'postgresql',
        host: '127.0.0.1',
        port: Number(port),
        database: pathname.slice(1),
        username,
      });
      await page.goto(`${ui.programs.url}/connections/${id}?tab=tables`);
      await page.getByRole('link', { name: 'zz_44' }).click();
      const head = page.getByRole('heading', { name: 'public.zz_44' });
      await head.waitFor();
      await until(async () => {
        const { y = -1 } = (await head.boundingBox()) ?? {};
        return y > 0 && y < 400;
      });
      await ui.programs.api('DELETE', `/connections/${id}`);
      await database.run(Array.from({ length: 45 }, (_, n) => `drop table zz_${String(n).padStart(2, '0')};`).join(''));
      await close(opened);
    },
    LIMIT_MS,
  );

  browserTest(
    'a database is connected from its address, tried, explored, switched off, deleted and brought back',
    async () => {
      const opened = await ui.signedIn(1280, 'light');
      const { page } = opened;
      await page.goto(`${ui.programs.url}/connections`);
      await page.getByText('No connections yet').waitFor();
      await page.getByRole('main').getByRole('link', { name: 'Connect a database' }).first().click();
      await page.getByRole('radio', { name: 'PostgreSQL' }).waitFor({ state: 'attached' });

      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      await page.getByText('Some fields need attention.').waitFor();
      await expectAccessible(page, 'a form with faults');
      const host = page.getByLabel('Host', { exact: true });
      expect(await host.getAttribute('aria-invalid')).toBe('true');
      await page.getByLabel('Database', { exact: true }).fill('shop');
      await page.getByRole('button', { name: 'Test', exact: true }).click();
      await until(async () => host.evaluate((field) => field === document.activeElement));
      // Typed letter by letter it is read when the field is left.
      await page.getByLabel('Connection string').pressSequentially('postgres://typed.example/shop');
      expect(await page.getByLabel('Connection string').inputValue()).toBe('postgres://typed.example/shop');
      await page.keyboard.press('Enter');
      expect(await page.getByLabel('Host', { exact: true }).inputValue()).toBe('typed.example');
      await page.getByLabel('Connection string').fill(database.url.replace(':5432', ':1'));
      expect(await page.getByLabel('Host', { exact: true }).inputValue()).toBe('127.0.0.1');
      expect(await page.getByLabel('Connection string').inputValue()).toBe('');
      await page.getByRole('button', { name: 'Test', exact: true }).click();
      await page.getByText('Nothing accepts connections at 127.0.0.1, port 1;').waitFor();
      await page.getByRole('button', { name: 'Go to Port' }).click();
      await page.keyboard.press('Control+a');
      await page.keyboard.type('5432');
      await page.getByLabel('Name', { exact: true }).fill('shop');
      await page.getByRole('button', { name: 'Test', exact: true }).click();
      await page.getByText(/^Connected in /).waitFor();
      // A test saves nothing, whatever it warns of.
      expect(await page.getByRole('button', { name: 'Save anyway' }).count()).toBe(0);
      await page.getByRole('button', { name: 'Connect', exact: true }).click();

      await page.getByRole('heading', { name: 'shop', exact: true }).waitFor();
      expect(new URL(page.url()).search).toBe('?tab=tables');
      await page.getByRole('link', { name: 'public.customers' }).click();
      await page.getByRole('row', { name: /country.*DE/ }).waitFor();
      const make = page.getByRole('link', { name: 'Create a tool from this table' });
      expect(await make.getAttribute('href')).toMatch(/^\/tools\/new\?connection=[\w-]+&schema=public&table=customers$/);
      await page.keyboard.press('/');
      await page.keyboard.type('shel');
      await page.getByRole('link', { name: 'stock.shelves' }).waitFor();
      await until(async () => (await page.getByRole('link', { name: 'public.orders' }).count()) === 0);
      await page.reload();
      await page.getByRole('link', { name: 'stock.shelves' }).waitFor();
      expect(await page.getByLabel('Search tables').inputValue()).toBe('shel');

      await page.getByRole('link', { name: 'Databases', exact: true }).first().click();
      await page.getByRole('button', { name: 'More for shop' }).click();
      await page.getByRole('menuitem', { name: 'Disable' }).click();
      await toast(page, '1 connection disabled.').waitFor();
      await page.getByRole('button', { name: 'State All' }).click();
      await page.getByRole('option', { name: 'Enabled' }).click();
      await page.getByText('No results').waitFor();
      expect(new URL(page.url()).search).toBe('?state=on');
      await page.getByRole('button', { name: 'Clear filters' }).first().click();

      await page.getByRole('button', { name: 'More for shop' }).click();
      await page.getByRole('menuitem', { name: 'Delete…' }).click();
      await page.getByRole('alertdialog').getByText('The connection shop').waitFor();
      await page.getByRole('button', { name: 'Delete connection' }).click();
      await toast(page, 'Deleted “shop”.').waitFor();
      await page.getByText('No connections yet').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByRole('link', { name: 'shop', exact: true }).waitFor();
      await close(opened);
    },
    LIMIT_MS,
  );

  browserTest(
    'a database that does not answer is saved only on purpose, and a superuser is named first',
    async () => {
      const opened = await ui.signedIn(1280, 'light');
      const { page } = opened;
      const saved = async () =>
        (await ui.programs.api<{ items: { name: string }[] }>('GET', '/connections')).items.map(({ name }) => name);
      await page.goto(`${ui.programs.url}/connections/new?next=welcome`);
      expect(await page.getByRole('switch', { name: 'Read-only' }).isChecked()).toBe(true);
      await page.goto(`${ui.programs.url}/connections/new`);
      const name = page.getByLabel('Name', { exact: true });
      await page.getByLabel('Connection string').fill(database.url.replace(':5432', ':1'));
      await name.fill('dead');
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      await page.getByText('Nothing accepts connections at 127.0.0.1, port 1;').waitFor();
      expect(await saved()).not.toContain('dead');
      await page.getByRole('button', { name: 'Save anyway' }).click();
      await page.getByRole('heading', { name: 'dead', exact: true }).waitFor();
      await page.getByText('Unreachable').waitFor();

      await page.goto(`${ui.programs.url}/connections/new`);
      await page.getByLabel('Connection string').fill(database.url);
      await name.fill('root');
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      await page.getByText('The account is a superuser').waitFor();
      await page.getByText('The connection isn’t saved yet.').waitFor();
      expect(await saved()).not.toContain('root');
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      await page.getByRole('heading', { name: 'root', exact: true }).waitFor();
      expect(await saved()).toContain('root');

      await page.goto(`${ui.programs.url}/connections`);
      await page.getByRole('row', { name: /dead/ }).getByText('Unreachable').waitFor();
      await page
        .getByRole('row', { name: /root\b/ })
        .getByText('Connected, with warnings')
        .waitFor();
      await expectAccessible(page, 'connections and how they are');
      await page.getByRole('link', { name: 'root', exact: true }).click();
      await page.getByRole('spinbutton', { name: 'Port' }).fill('1');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Nothing accepts connections at 127.0.0.1, port 1;').waitFor();
      for (const { id } of (await ui.programs.api<{ items: { id: string }[] }>('GET', '/connections')).items)
        await ui.programs.api('DELETE', `/connections/${id}`);
      // The page of tables asks a database that is not there.
      await close(opened, [502]);
    },
    LIMIT_MS,
  );

  browserTest(
    'a mistake is shown at its field, folded away or found by the server, and says what to change',
    async () => {
      const opened = await ui.signedIn(390, 'dark');
      const { page } = opened;
      const isFocused = (field: Locator) => until(() => field.evaluate((own) => own === document.activeElement));
      const test = page.getByRole('button', { name: 'Test', exact: true });
      const connect = page.getByRole('button', { name: 'Connect', exact: true });
      await page.goto(`${ui.programs.url}/connections/new`);
      await page.getByLabel('Connection string').fill(database.url);
      const limits = page.locator('summary', { hasText: 'Advanced' });
      const timeout = page.getByLabel('Query timeout');
      await limits.click();
      await timeout.fill('30s');
      for (const button of [connect, test]) {
        await limits.click();
        await timeout.waitFor({ state: 'hidden' });
        await button.click();
        await page.getByText('Must be a number.').waitFor();
        await isFocused(timeout);
      }
      await timeout.fill('30000');

      const host = page.getByLabel('Host', { exact: true });
      await host.fill('127.0.0.1:5432');
      await test.click();
      await page
        .getByText(/enter it alone, without scheme, port, path or spaces/)
        .first()
        .waitFor();
      await isFocused(host);
      expect(await host.getAttribute('aria-invalid')).toBe('true');
      await host.fill('127.0.0.1');
      await page.getByText('Certificates', { exact: true }).click();
      await page.getByLabel('Certificate authority').fill('no certificate');
      await page.getByText('Certificates', { exact: true }).click();
      await connect.click();
      await page.getByText(/^Must be one or more certificates in PEM/).waitFor();
      await isFocused(page.getByLabel('Certificate authority'));
      await page.getByLabel('Certificate authority').fill('');
      await page.getByRole('button', { name: 'Use TLS' }).click();
      await page.getByRole('option', { name: 'Always, any certificate' }).click();
      await test.click();
      await page.getByText(/set TLS to “Never”/).waitFor();
      await page.getByRole('button', { name: 'Go to TLS' }).click();
      await isFocused(page.getByRole('button', { name: 'Use TLS' }));

      await page.getByRole('radio', { name: 'SQLite' }).check({ force: true });
      await page.getByLabel('File', { exact: true }).fill('nowhere.sqlite');
      await test.click();
      await page.getByText('There is no SQLite file with this name').first().waitFor();
      await isFocused(page.getByLabel('File', { exact: true }));
      await look(page, 'connection-mistakes-390-dark');
      // What cannot be stored is refused with 422.
      await close(opened, [422]);
    },
    LIMIT_MS,
  );

  browserTest(
    'what somebody else saved meanwhile is a choice, and unsaved changes are not lost by leaving',
    async () => {
      const { id } = await ui.programs.api<{ id: string }>('POST', '/connections', { ...short(), name: 'both' });
      const opened = await ui.signedIn(1280, 'dark');
      const { page } = opened;
      await page.goto(`${ui.programs.url}/connections`);
      await page.getByRole('link', { name: 'both', exact: true }).click();
      const name = page.getByLabel('Name', { exact: true });
      await name.fill('mine');
      const leaving = page.getByRole('alertdialog', { name: 'Leave without saving?' });
      await page.getByRole('link', { name: 'Home' }).first().click();
      await leaving.getByRole('button', { name: 'Stay here' }).click();
      await leaving.waitFor({ state: 'detached' });
      expect(await name.inputValue()).toBe('mine');
      await page.evaluate(() => window.history.back());
      await leaving.getByRole('button', { name: 'Stay here' }).click();
      await leaving.waitFor({ state: 'detached' });
      expect([new URL(page.url()).pathname, await name.inputValue()]).toEqual([`/connections/${id}`, 'mine']);
      await page.getByRole('tab', { name: 'Tables' }).click();
      await leaving.getByRole('button', { name: 'Stay here' }).click();
      await leaving.waitFor({ state: 'detached' });
      expect(await name.inputValue()).toBe('mine');

      await ui.programs.api('PATCH', `/connections/${id}`, { name: 'theirs', read_only: true });
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      const choice = page.getByRole('alertdialog', { name: 'You saved this elsewhere in the meantime' });
      await choice.getByText('1 field changed only by them: Read-only.').waitFor();
      await expectAccessible(page, 'the choice between two versions');
      await look(page, 'conflict-1280-dark');
      await choice.getByText('Theirs', { exact: true }).click();
      await choice.getByText('Mine', { exact: true }).click();
      await choice.getByRole('button', { name: 'Save merged version' }).click();
      await toast(page, 'Saved “mine”.').waitFor();
      expect(await ui.programs.api('GET', `/connections/${id}`)).toMatchObject({ name: 'mine', read_only: true, version: 3 });

      await name.fill('mine again');
      await ui.programs.api('DELETE', `/connections/${id}`);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('You deleted this elsewhere in the meantime.').waitFor();
      expect(await name.inputValue()).toBe('mine again');
      // The refused save is the 409 that the choice came from; what is deleted is the 404.
      await close(opened, [404, 409]);
    },
    LIMIT_MS,
  );

  browserTest(
    'the frame and these pages are accessible and fit, in light and dark, wide and narrow',
    async () => {
      const { id } = await ui.programs.api<{ id: string }>('POST', '/connections', { ...short(), name: 'frame' });
      await inEveryLook(ui.signedIn, (page, looks) => walk(page, id, looks));
    },
    LIMIT_MS,
  );
});

const short = () => {
  const { db_type, host, port, database: name, username } = database.settings;
  return { db_type, host, port, database: name, username };
};

async function walk(page: Page, id: string, { check, width }: Walk): Promise<void> {
  await page.goto(`${ui.programs.url}/connections`);
  await page.getByRole('link', { name: 'frame', exact: true }).waitFor();
  await check('connections');
  if (width < 900) {
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('dialog', { name: 'Menu' }).waitFor();
    await check('navigation');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Menu' }).waitFor({ state: 'detached' });
  }
  await page.keyboard.press('Control+k');
  const find = page.getByRole('combobox', { name: 'Find a command' });
  await find.fill('frame');
  await page.getByRole('option', { name: /^frame/ }).waitFor();
  await check('palette');
  await page.getByRole('option', { name: /^frame/ }).click();
  await page.getByRole('heading', { name: 'frame', exact: true }).waitFor();
  await page.getByLabel('Name', { exact: true }).waitFor();
  await check('connection');
  await page.locator('summary', { hasText: 'Advanced' }).click();
  await page.getByRole('button', { name: 'Use TLS' }).click();
  await page.getByRole('listbox').waitFor();
  await check('select');
  await page.keyboard.press('Escape');
  await page.getByRole('listbox').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'More for this connection' }).click();
  await page.getByRole('menu').waitFor();
  await check('menu');
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
  await page.goto(`${ui.programs.url}/connections/${id}?tab=tables&schema=public&table=orders`);
  await page.getByRole('row', { name: /customer_id/ }).waitFor();
  await check('tables');
  await page.goto(`${ui.programs.url}/connections/${id}?tab=tables&schema=public&table=customers&show=rows&where=is:country:DE`);
  await page.getByText('No results').waitFor();
  await check('rows');
  await page.goto(`${ui.programs.url}/connections/new`);
  await page.getByRole('radio', { name: 'SQLite' }).waitFor({ state: 'attached' });
  await check('connection-new');
  await page.getByRole('main').focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await check('shortcuts');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor({ state: 'detached' });
  await page.goto(`${ui.programs.url}/welcome`);
  await page.getByRole('listitem').filter({ hasText: 'Deploy it' }).waitFor();
  await check('welcome');
  await page.goto(`${ui.programs.url}/nowhere`);
  await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  await check('nowhere');
}
