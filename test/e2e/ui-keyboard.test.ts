import { expect } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { browserTest, openPage } from '#test/support/browser.ts';
import { ACCOUNT, close, drawn, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ui = startUi({ live: true });

/** More stops than any page has before what is looked for. */
const MOST_STOPS = 200;

/** Whether the element that has the focus, or what frames it, shows so. */
const focusShows = (page: Page) =>
  page.evaluate(() => {
    const around: Element[] = [];
    for (let at = document.activeElement; at !== null && around.length < 4; at = at.parentElement) around.push(at);
    return around.some((element) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const { width, height } = element.getBoundingClientRect();
      return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0 && width > 0 && height > 0;
    });
  });

/** Tabs to a control. Each stop on the way has to be seen. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let stop = 0; stop < MOST_STOPS; stop += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
    const where = await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 300) ?? '');
    if (!where.startsWith('<body')) expect([where, await focusShows(page)]).toEqual([where, true]);
  }
  throw new Error(`The keyboard does not reach ${target.toString()}.`);
}

const press = async (page: Page, target: Locator, key = 'Enter') => {
  await tabTo(page, target);
  await page.keyboard.press(key);
};

const goTo = async (page: Page, name: string) => {
  await page.keyboard.press('Control+k');
  await page.locator('.palette input:focus').waitFor();
  await page.keyboard.type(name);
  await page.getByRole('dialog', { name: 'Commands' }).getByRole('option').first().getByText(name).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name }).waitFor();
};

browserTest(
  'the keyboard alone signs in, deploys a change, rolls it back and calls a tool, with visible focus',
  async () => {
    const { items } = await ui.programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools');
    const tool = items.find(({ name }) => name === 'list_orders');
    const path = `/tools/${tool?.id}`;
    const before = await ui.programs.api<{ description: string }>('GET', path);
    await ui.programs.api('PATCH', path, { description: 'Orders between two days, newest first.' });

    const opened = await openPage(ui.browser, { width: 1280, scheme: 'light' });
    const { page } = opened;
    await page.addInitScript(() => {
      for (const kind of ['pointerdown', 'mousedown', 'touchstart'])
        window.addEventListener(kind, () => console.error('The pointer was used.'), { capture: true });
    });

    await page.goto(`${ui.programs.url}/deploy`);
    await tabTo(page, page.getByLabel('Username'));
    await page.keyboard.type(ACCOUNT.username);
    await tabTo(page, page.getByLabel('Password', { exact: true }));
    await page.keyboard.type(ACCOUNT.password);
    await page.keyboard.press('Enter');

    const changes = page.getByRole('group', { name: 'Changes of the next deploy' });
    const row = changes.getByRole('listitem').filter({ hasText: 'list_orders' });
    await row.waitFor();
    if (!(await row.getByText('newest first').first().isVisible())) await press(page, row.locator('summary, button').first());
    await row.getByText('newest first').first().waitFor();
    await press(page, page.getByRole('button', { name: 'Deploy', exact: true }));
    await page.getByRole('region', { name: 'Deploy receipt' }).getByText('Version 2 is live').waitFor();

    await goTo(page, 'History');
    await press(page, page.getByRole('button', { name: /list_orders/ }).first());
    await press(page, page.getByRole('button', { name: 'Roll back…' }));
    const question = page.getByRole('dialog', { name: /^Restore the previous state/ });
    await question.locator(':focus').waitFor();
    await question.getByRole('button', { name: 'Roll back', disabled: false }).waitFor();
    await press(page, question.getByRole('button', { name: 'Roll back' }), ' ');
    await toast(page, /^Restored/).waitFor();
    await question.waitFor({ state: 'detached' });
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(false);
    expect(await ui.programs.api<object>('GET', path)).toMatchObject({ description: before.description });

    await goTo(page, 'Playground');
    const tools = page.getByRole('navigation', { name: 'What to call' });
    await tabTo(page, tools.getByRole('button').first());
    const wanted = tools.getByRole('button', { name: /^list_orders/ }).and(page.locator(':focus'));
    while (!(await wanted.isVisible())) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByLabel('from', { exact: true }));
    await page.keyboard.type('2026-01-01');
    await tabTo(page, page.getByLabel('to', { exact: true }));
    await page.keyboard.type('2026-06-01');
    await press(page, page.getByRole('button', { name: 'Call', exact: true }));
    await page
      .getByRole('region', { name: 'Result', exact: true })
      .getByText(/^\d+ rows$/)
      .waitFor();
    await close(opened, [401]);
  },
  LIMIT_MS,
);

browserTest(
  'a key that selects in a menu does not press the dialog it opens, and more changes are read on',
  async () => {
    const { items } = await ui.programs.api<{ items: { connection_id: string }[] }>('GET', '/tools');
    const connection_id = items[0]?.connection_id;
    for (let n = 10; n < 35; n += 1) {
      const description = `Answers the number ${n}, to be reviewed by keyboard.`;
      await ui.programs.api('POST', '/tools', { name: `number_${n}`, description, connection_id, sql_query: `select ${n} as n` });
    }
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/deploy`);
    await page.getByRole('button', { name: /^Show \d+ more$/ }).press('Enter');
    await page.locator('summary:focus').filter({ hasText: 'number_' }).waitFor();

    await page.getByRole('searchbox', { name: 'Filter changes by name' }).focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Home');
    const now = page.locator('summary:focus');
    const first = await now.textContent();
    await page.keyboard.press('ArrowDown');
    expect(await now.textContent()).not.toBe(first);
    const second = await now.textContent();
    await page.keyboard.press('End');
    await page.keyboard.press('Home');
    expect(await now.textContent()).toBe(first);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await page.getByLabel('Note').and(page.locator(':focus')).waitFor({ timeout: 2_000 });
    await page.keyboard.press('Shift+Tab');
    expect(await now.textContent()).toBe(second);
    await page.getByRole('searchbox', { name: 'Filter changes by name' }).fill('number_2');
    await page.locator('.change-row').filter({ hasText: 'number_1' }).first().waitFor({ state: 'detached' });
    await page.keyboard.press('Tab');
    await now.filter({ hasText: 'number_2' }).waitFor();

    await ui.programs.api('POST', '/deploy', {});
    await page.goto(`${ui.programs.url}/deploy?view=versions`);
    const more = page.getByRole('button', { name: 'More for version 1', exact: true });
    const dialog = page.getByRole('dialog', { name: 'Restore version 1?' });
    for (const key of ['Enter', ' ']) {
      await more.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('menuitem', { name: 'Restore this version' }).and(page.locator(':focus')).waitFor();
      await page.keyboard.press(key);
      await dialog.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor();
      await page.evaluate(drawn);
      expect(await dialog.count()).toBe(1);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await more.and(page.locator(':focus')).waitFor();
    }
    await close(opened);
  },
  LIMIT_MS,
);
