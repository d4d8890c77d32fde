import { expect } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, inEveryLook, LIMIT_MS, quietOf, startUi, toast } from '#test/support/ui.ts';

const ui = startUi({ role: 'server' });

const editor = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
const side = (page: Page) => page.getByRole('complementary', { name: 'What it does' });
const rows = (page: Page, name: string) =>
  page
    .getByRole('table', { name })
    .getByRole('row')
    .filter({ has: page.getByRole('link') });
const names = (page: Page, noun: string) => rows(page, noun).locator('.mono').allTextContents();
/** Waits until a list holds these names in this order. */
const listed = (page: Page, noun: string, wanted: readonly string[]) =>
  until(
    async () => (await names(page, noun)).join() === wanted.join(),
    () => `${noun}: ${wanted.join()}`,
  );

browserTest(
  'tools are found, sorted, and changed many at once with a way back; the address holds the filters',
  async () => {
    const opened = await ui.signedIn(1680, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools`);
    const all = ['get_customer', 'list_orders', 'sales_by_category', 'search_products', 'spending_per_month'];
    await listed(page, 'Tools', all);
    // A long name is cut, is said in full on hover, and leaves room for the rest of its row.
    const first = page.getByRole('row', { name: 'get_customer' });
    await first
      .getByText('Read a customer')
      .evaluate((title) => (title.textContent = 'A long title of a tool. '.repeat(9).trim()));
    const cut = first.getByText('A long title');
    await cut.hover();
    expect(await cut.getAttribute('title')).toBe('A long title of a tool. '.repeat(9).trim());
    const menu = await first.getByRole('button', { name: /^More/ }).boundingBox();
    expect((menu?.x ?? 0) + (menu?.width ?? 0)).toBeLessThan(1680);
    await page.getByRole('button', { name: 'Parameters' }).click();
    await listed(page, 'Tools', ['sales_by_category', 'get_customer', 'spending_per_month', 'list_orders', 'search_products']);
    await page.getByRole('button', { name: /^Tag/ }).click();
    await page.getByRole('option', { name: 'report' }).click();
    await listed(page, 'Tools', ['sales_by_category']);
    expect(new URL(page.url()).search).toBe('?tag=report');
    await page.reload();
    await listed(page, 'Tools', ['sales_by_category']);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByLabel('Search tools').fill('list_ord');
    await listed(page, 'Tools', ['list_orders']);
    await page.getByLabel('Search tools').fill('nothing of that name');
    await page.getByText('No results').waitFor();
    await page.getByRole('main').getByRole('button', { name: 'Clear filters' }).last().click();
    await listed(page, 'Tools', all);

    await page.getByRole('checkbox', { name: /^Select all/ }).check();
    await page.getByRole('button', { name: 'Disable' }).click();
    await toast(page, '5 tools disabled.').waitFor();
    await until(async () => (await page.getByRole('table').getByText('Disabled', { exact: true }).count()) >= 5);
    await page.getByRole('button', { name: 'Undo' }).click();
    await toast(page, 'Undone for 5 tools.').waitFor();
    await page.getByRole('table').getByText('Disabled', { exact: true }).first().waitFor({ state: 'detached' });

    await page
      .getByRole('checkbox', { name: /^Select (?!all)/ })
      .first()
      .check();
    await page.getByRole('button', { name: 'Add tags' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add tags' });
    await dialog.getByLabel('Tags').fill('people');
    await dialog.getByLabel('Tags').press('Enter');
    await expectAccessible(page, 'adding tags');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await toast(page, '1 tool tagged.').waitFor();
    await rows(page, 'Tools').first().getByText('people').waitFor();

    await page
      .getByRole('checkbox', { name: /^Select (?!all)/ })
      .nth(1)
      .check();
    await page
      .getByRole('checkbox', { name: /^Select (?!all)/ })
      .nth(2)
      .check();
    await page.getByRole('button', { name: 'Delete' }).click();
    const confirm = page.getByRole('alertdialog', { name: 'Delete 2 tools?' });
    await confirm.getByText('list_orders').waitFor();
    await confirm.getByRole('button', { name: 'Delete 2 tools' }).click();
    await listed(page, 'Tools', ['get_customer', 'search_products', 'spending_per_month']);
    await toast(page, '2 tools deleted.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await listed(page, 'Tools', all);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a resource is written from its address, and its body is seen before it is saved',
  async () => {
    const opened = await ui.signedIn(1280, 'dark');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/resources/new`);
    await page.getByLabel('URI', { exact: true }).fill('shop://customers/{country}');
    await page.getByRole('table', { name: 'Parameters' }).getByText(':country').waitFor();
    await page.getByText('unused', { exact: true }).waitFor();
    await editor(page, 'SQL').fill('select name, email from customers where country = :country order by name');
    await page.getByText('unused', { exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'Media type' }).fill('text/csv');
    await page.getByRole('option', { name: /^text\/csv/ }).click();
    const { rows: found } = await ui.programs.api<{ rows: { country: string }[] }>('POST', '/preview/execute', {
      connection_id: (await ui.programs.api<{ items: { id: string }[] }>('GET', '/connections')).items[0]?.id,
      sql_query: 'select country from customers limit 1',
    });
    await side(page)
      .getByLabel('country')
      .fill(found[0]?.country ?? '');
    await editor(page, 'SQL').press('Control+Enter');
    await side(page).getByText('As the model sees it', { exact: true }).click();
    await side(page)
      .getByText(/^name,email/)
      .waitFor();
    await page.getByRole('tab', { name: 'What the model sees' }).click();
    await side(page).getByText('shop://customers/{country}').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('customers');
    await page.getByLabel('Description', { exact: true }).fill('Customers of one country.');
    await page.keyboard.press('Control+s');
    await page.getByRole('heading', { name: 'customers', level: 1 }).waitFor();
    const { items } = await ui.programs.api<{ items: object[] }>('GET', '/resources?search=customers');
    expect(items[0]).toMatchObject({ mime_type: 'text/csv', parameters: [{ name: 'country', type: 'string', required: true }] });

    await page.getByRole('button', { name: 'More for customers' }).click();
    await page.getByRole('menuitem', { name: 'Duplicate' }).click();
    await page.getByRole('heading', { name: 'New resource', level: 1 }).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('customers_copy');
    await page.getByRole('link', { name: 'Resources', exact: true }).first().click();
    await page.getByRole('button', { name: /^Kind/ }).click();
    await page.getByRole('option', { name: 'Template' }).click();
    await listed(page, 'Resources', ['customers', 'order']);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a prompt is written in turns, with its arguments tried',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/prompts/new`);
    await page.getByLabel('Name', { exact: true }).fill('greet');
    await page.getByLabel('Description', { exact: true }).fill('A greeting.');
    await page.keyboard.press('Control+s');
    await page.getByText('Must not be empty.').waitFor();
    expect(await page.getByText('Some fields need attention.').count()).toBe(1);
    await editor(page, 'Message 1').fill('Greet {{ person }} in {{ language }}.');
    await page.getByLabel('Description of person').fill('Who');
    await page.getByRole('checkbox', { name: 'Required of language' }).uncheck();
    await page.getByRole('button', { name: 'Rules of language' }).click();
    await page.getByLabel('Allowed values').fill('French\nGerman');
    await side(page).getByLabel('person').fill('Ada');
    await side(page)
      .getByRole('button', { name: /^language/ })
      .click();
    await page.getByRole('option', { name: 'German' }).click();
    await side(page).getByText('Greet Ada in German.').waitFor();
    await page.getByRole('button', { name: 'Add message' }).click();
    await editor(page, 'Message 2').fill('{{ person | nothing }}');
    await page
      .getByText(/nothing/)
      .nth(1)
      .waitFor();
    await expectAccessible(page, 'a prompt with a fault');
    await editor(page, 'Message 2').fill('With pleasure.');
    await side(page).getByText('With pleasure.').waitFor();
    await page.keyboard.press('Control+s');
    await page.getByRole('heading', { name: 'greet', level: 1 }).waitFor();
    const { items } = await ui.programs.api<{ items: object[] }>('GET', '/prompts?search=greet');
    expect(items[0]).toMatchObject({
      template: null,
      messages: [
        { role: 'user', template: 'Greet {{ person }} in {{ language }}.' },
        { role: 'assistant', template: 'With pleasure.' },
      ],
      arguments: [
        { name: 'person', description: 'Who', required: true },
        { name: 'language', required: false, enum: ['French', 'German'] },
      ],
    });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'lists and builders fit every width and theme, and a missing record leads back',
  async () => {
    const id = async (noun: string) => (await ui.programs.api<{ items: { id: string }[] }>('GET', `/${noun}`)).items[0]?.id;
    const [resource, prompt] = [await id('resources'), await id('prompts')];
    await inEveryLook(ui.signedIn, async (page, { check }) => {
      for (const noun of ['Tools', 'Resources', 'Prompts']) {
        await page.goto(`${ui.programs.url}/${noun.toLowerCase()}`);
        await rows(page, noun).first().waitFor();
        await check(noun.toLowerCase());
      }
      await page.goto(`${ui.programs.url}/resources/${resource}`);
      await editor(page, 'SQL').waitFor();
      await check('resource');
      await page.goto(`${ui.programs.url}/prompts/${prompt}`);
      await side(page).locator('.result-part').first().waitFor();
      await check('prompt');
    });
    const opened = await ui.signedIn(360, 'light');
    await opened.page.goto(`${ui.programs.url}/tools/0190b0c0-0000-7000-8000-000000000000`);
    await opened.page.getByText('Tool not found').waitFor();
    await opened.page.getByRole('link', { name: 'Go to the tools' }).click();
    await rows(opened.page, 'Tools').first().waitFor();
    await close(opened, [404]);
  },
  LIMIT_MS,
);

browserTest(
  'a press right after typing reaches what was pressed, however long it takes',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    // The page's clock stands still, so that the machine's load decides nothing.
    await page.clock.install();
    const quiet = quietOf(page);
    const boxOf = async (target: Locator) => {
      const box = await target.boundingBox();
      if (box === null) throw new Error('Nothing to press.');
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    };
    const typeAndPress = async (field: Locator, text: string, target: Locator) => {
      await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 10_000);
      await field.fill(text);
      await target.scrollIntoViewIfNeeded();
      const { x, y } = await boxOf(target);
      await page.mouse.move(x, y);
      await page.mouse.down();
      // Longer than every pause in typing; then what it asks the server for may come.
      await page.clock.runFor(1_000);
      await quiet();
      await page.mouse.up();
      await page.clock.resume();
    };

    await page.goto(`${ui.programs.url}/tools`);
    const last = page.getByRole('link', { name: 'search_products' });
    await last.waitFor();
    await typeAndPress(page.getByLabel('Search tools'), 'search', last);
    await page.waitForURL(/\/tools\/[\w-]+$/);

    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Commands' });
    const wanted = palette.getByRole('combobox');
    await wanted.fill('list_ord');
    const found = palette.getByRole('option', { name: /list_orders/ }).last();
    await found.waitFor();
    await typeAndPress(wanted, 'list_orde', found);
    await page.getByRole('heading', { name: 'list_orders' }).first().waitFor();

    await page.setViewportSize({ width: 360, height: 900 });
    const [tool] = (await ui.programs.api<{ items: { id: string }[] }>('GET', '/tools?search=list_orders')).items;
    await page.goto(`${ui.programs.url}/tools/${tool?.id}`);
    const tags = page.getByRole('textbox', { name: 'Tags' }).or(page.getByRole('combobox', { name: 'Tags' }));
    await tags.fill('a_rather_long_tag_of_an_order');
    await tags.press('Enter');
    await typeAndPress(tags, 'another_rather_long_tag_of_it', page.getByText('Enabled', { exact: true }));
    await page.getByText('another_rather_long_tag_of_it').waitFor();
    await page.getByRole('button', { name: /^Save/ }).first().click();
    await toast(page, /^Saved/).waitFor();
    expect(await ui.programs.api<object>('GET', `/tools/${tool?.id}`)).toMatchObject({
      enabled: false,
      tags: expect.arrayContaining(['another_rather_long_tag_of_it']),
    });
    await close(opened);
  },
  LIMIT_MS,
);
