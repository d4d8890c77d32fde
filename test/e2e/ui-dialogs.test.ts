import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { join } from 'node:path';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const LONG = 'find_the_newest_orders_of_one_customer_with_all_of_lines_001';
const ONE_WORD = 'Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaf';

const ui = startUi({
  role: 'server',
  async prepare({ api, directory }) {
    new Database(join(directory, 'databases', 'long.sqlite')).run('create table things (id integer primary key)');
    await api('POST', '/connections', { name: LONG, db_type: 'sqlite', database: 'long.sqlite' });
    await api('POST', '/mcp-tokens', { name: ONE_WORD, all_toolsets: true });
  },
});

browserTest(
  'on a phone, long names break in lists of choices and in titles, and buttons keep their size',
  async () => {
    const opened = await ui.signedIn(390);
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/new`);
    await page
      .getByRole('button', { name: /^Connection/ })
      .first()
      .click();
    const option = page.getByRole('option', { name: new RegExp(LONG) });
    const cut = await option.evaluate((one) => {
      const range = document.createRange();
      range.selectNodeContents(one);
      return [...range.getClientRects()].filter(({ right }) => right > (one.parentElement?.getBoundingClientRect().right ?? 0));
    });
    expect(cut).toEqual([]);
    await page.keyboard.press('Escape');

    await page.goto(`${ui.programs.url}/settings/sign_in`);
    await page.getByRole('button', { name: 'Add provider' }).first().click();
    const copy = await page.getByRole('button', { name: 'Copy Redirect URI' }).boundingBox();
    expect(Math.min(copy?.width ?? 0, copy?.height ?? 0)).toBeGreaterThanOrEqual(24);

    await page.goto(`${ui.programs.url}/access`);
    await page.getByRole('button', { name: `Edit ${ONE_WORD}` }).click();
    const surface = page.getByRole('dialog', { name: ONE_WORD });
    await surface.waitFor();
    expect(await surface.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a dialog with a form has a button that leaves it, before the one that goes on',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/account`);
    const open = page.getByRole('button', { name: 'Set up…' });
    const dialog = page.getByRole('dialog', { name: 'Set up the second factor' });
    const buttons = dialog.locator('form > .row').getByRole('button');
    await open.click();
    expect(await buttons.allTextContents()).toEqual(['Cancel', 'Continue']);
    await buttons.first().click();
    await dialog.waitFor({ state: 'detached' });
    await open.and(page.locator(':focus')).waitFor();
    await open.click();
    await dialog.getByLabel('Password', { exact: true }).fill('correct horse');
    await page.keyboard.press('Enter');
    await dialog.getByLabel('Code').waitFor();
    expect(await buttons.allTextContents()).toEqual(['Cancel', 'Turn on']);
    await buttons.first().click();
    await dialog.waitFor({ state: 'detached' });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'with a zoom of 400 % all of a dialog and of a list of choices can be reached',
  async () => {
    const { id } = await ui.programs.api<{ id: string }>('POST', '/tools', {
      name: LONG,
      description: 'Reads one row, as the test of the dialog asks.',
      connection_id: (await ui.programs.api<{ items: { id: string }[] }>('GET', '/connections')).items[0]?.id,
      sql_query: 'select 1 as one',
    });
    const opened = await ui.signedIn();
    const { page } = opened;
    // As a window of 1 280 by 1 024 has it.
    await page.setViewportSize({ width: 320, height: 256 });
    const within = (selector: string) =>
      page.locator(selector).evaluate((one) => {
        one.scrollIntoView({ block: 'nearest' });
        const { top, bottom } = one.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      });
    await page.goto(`${ui.programs.url}/tools/${id}`);
    await page.getByRole('button', { name: `More for ${LONG}` }).click();
    await page.getByRole('menuitem', { name: /^Delete/ }).click();
    const dialog = page.getByRole('alertdialog');
    await dialog.waitFor();
    const scrolls = await dialog.evaluate(
      (one) => one.scrollHeight <= one.clientHeight || ['auto', 'scroll'].includes(getComputedStyle(one).overflowY),
    );
    expect(scrolls).toBe(true);
    expect(await within('.dialog-foot')).toBe(true);
    await page.keyboard.press('Escape');
    await page
      .getByRole('button', { name: /^Connection/ })
      .first()
      .click();
    await page.getByRole('option').first().waitFor();
    // Placed in the frame after the one that it opens in.
    await until(() => within('.floating'));
    await close(opened);
  },
  LIMIT_MS,
);
