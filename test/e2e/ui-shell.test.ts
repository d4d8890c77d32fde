import { expect } from 'bun:test';
import { browserTest } from '#test/support/browser.ts';
import { ACCOUNT, close, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ui = startUi({ live: true });

type Tool = { id: string; name: string; description: string; enabled: boolean };
const first = async (): Promise<Tool> => {
  const { items } = await ui.programs.api<{ items: Tool[] }>('GET', '/tools?limit=1&enabled=true');
  if (items[0] === undefined) throw new Error('There is no tool.');
  return items[0];
};

browserTest(
  'a session that ends under an open form is continued in place, and what was typed is still there',
  async () => {
    const { id } = await first();
    const opened = await ui.signedIn();
    const { page, context } = opened;
    await page.goto(`${ui.programs.url}/tools/${id}`);
    const description = page.getByLabel('Description', { exact: true });
    await description.fill('Typed before the session ended.');
    await context.clearCookies();
    // What the page reads by itself may find the session ended before this does: then the dialog already covers the button.
    await page.getByRole('button', { name: /^Save/, includeHidden: true }).first().dispatchEvent('click');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await description.inputValue()).toBe('Typed before the session ended.');
    await page.getByRole('button', { name: /^Save/ }).first().click();
    await toast(page, /saved/i).waitFor();
    await close(opened, [401]);
  },
  LIMIT_MS,
);

browserTest(
  'a page whose code could not be fetched opens when the server answers again',
  async () => {
    const opened = await ui.signedIn();
    const { page, context } = opened;
    await page.goto(`${ui.programs.url}/tools`);
    await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor();
    await context.setOffline(true);
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.getByRole('heading', { name: 'The server is not responding' }).waitFor();
    await context.setOffline(false);
    await page.getByRole('heading', { name: 'Import and export' }).waitFor();
    // The browser names every request that it could not send.
    opened.faults.length = 0;
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the navigation counts what waits, and a definition says whether it is live, changed or not deployed',
  async () => {
    const tool = await first();
    await ui.programs.api('PATCH', `/tools/${tool.id}`, { description: 'Another description.' });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools`);
    await page.getByRole('row').filter({ hasText: tool.name }).first().getByText('changed', { exact: true }).waitFor();
    await page.getByRole('row').getByText('live', { exact: true }).first().waitFor();
    await page.getByRole('navigation', { name: 'Main' }).getByText('1 change to deploy').waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'two keys go to a page, the palette finds actions, and a toast stays while the pointer is on it',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(ui.programs.url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await page.waitForURL(/\/history/);
    for (const [typed, option] of [
      ['create tool', 'Create tool'],
      ['roll back', 'Roll back a change'],
      ['stop', 'Stop serving MCP clients…'],
    ] as const) {
      await page.keyboard.press('Control+k');
      const palette = page.getByRole('dialog', { name: 'Commands' });
      await palette.getByRole('combobox').fill(typed);
      await palette.getByRole('option', { name: option }).first().waitFor();
      expect(await palette.getByRole('option').first().textContent()).toContain(option);
      await page.keyboard.press('Escape');
      await palette.waitFor({ state: 'detached' });
    }

    // What is typed before the palette has the focus is no shortcut: `t` would change the theme.
    await page.evaluate(() => {
      for (const init of [{ key: 'k', ctrlKey: true }, { key: 't' }])
        window.dispatchEvent(new KeyboardEvent('keydown', { ...init, bubbles: true, cancelable: true }));
    });
    await page.getByRole('dialog', { name: 'Commands' }).waitFor();
    expect(await page.getByText(/^Theme: /).count()).toBe(0);
    await page.keyboard.press('Escape');

    await page.goto(`${ui.programs.url}/tools`);
    await page.clock.install();
    await page
      .getByRole('button', { name: /^More for/ })
      .first()
      .click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    const undo = page.getByRole('button', { name: 'Undo', exact: true });
    await undo.hover();
    await page.clock.runFor(60_000);
    expect(await undo.isVisible()).toBe(true);
    await undo.click();
    await toast(page, /^Undone for/).waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'an opened entry keeps the history that was loaded, and a link to an old entry opens it',
  async () => {
    const tool = await first();
    for (let round = 0; round < 60; round += 1)
      await ui.programs.api('PATCH', `/tools/${tool.id}`, { description: `Description ${round}.` });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/history`);
    await page.getByRole('button', { name: 'Show more' }).click();
    const entries = page.locator('.history-action');
    await page.waitForFunction(() => document.querySelectorAll('.history-action').length > 50);
    const loaded = await entries.count();
    await entries
      .nth(loaded - 2)
      .getByRole('button')
      .click();
    await page.getByRole('dialog').waitFor();
    expect(await entries.count()).toBe(loaded);
    const link = page.url();
    await page.goto('about:blank');
    await page.goto(link);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Roll back/ })
      .or(page.getByRole('dialog').locator('p'))
      .first()
      .waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a long name of a person widens nothing',
  async () => {
    const opened = await ui.signedIn(1360);
    const { page } = opened;
    await page.goto(ui.programs.url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const before = await page.locator('.side-inner').evaluate((element) => element.getBoundingClientRect().width);
    await page.locator('.side-name .truncate').evaluate((element) => {
      element.textContent = 'a.very.long.name.of.a.person.who.administers@example.invalid'.repeat(2);
    });
    const after = await page.locator('.side-inner').evaluate((element) => element.getBoundingClientRect().width);
    expect(after).toBe(before);
    expect(await page.locator('.side-account').evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
    await close(opened);
  },
  LIMIT_MS,
);
