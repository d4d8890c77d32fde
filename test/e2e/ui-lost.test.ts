import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { startPrograms } from '#test/support/programs.ts';
import { ACCOUNT, close, LIMIT_MS, startUiPrograms } from '#test/support/ui.ts';

const ui = startUiPrograms({ live: true });

const LOST = 'The server did not answer, but it may have applied the change.';
const description = (page: Page) => page.getByLabel('Description', { exact: true });

const total = async (path: string) => (await ui.programs.api<{ total: number }>('GET', path)).total;

/** Where something with a secret, or a person, is made; how often a name may be there is nowhere limited but for people. */
const FORMS = [
  { path: '/access', open: 'New token', list: '/mcp-tokens', press: 'Create token' },
  { path: '/agents', open: 'New token', list: '/agent-tokens', press: 'Create token' },
  { path: '/agents?view=clients', open: 'New client', list: '/oauth-clients', press: 'Create client' },
  { path: '/people', open: 'Invite person', list: '/people', press: 'Create invitation' },
] as const;

browserTest(
  'what was created and not answered is shown by the next press, with its secret, and is there once',
  async () => {
    await ui.programs.api('PATCH', '/server/config', { agent_enabled: true });
    const opened = await ui.signedIn();
    const { page } = opened;
    for (const { path, open, list, press } of FORMS) {
      const before = await total(list);
      await page.goto(`${ui.programs.url}${path}`);
      await page.getByRole('button', { name: open }).first().click();
      const form = page.getByRole('dialog');
      await form
        .getByLabel(/^(Name|Username)/)
        .first()
        .fill('lost');
      if (list === '/mcp-tokens') await form.getByRole('radio', { name: 'Everything' }).check();
      await page.route(
        `**/api/v1${list}`,
        async (route) => {
          await route.fetch();
          await route.abort();
        },
        { times: 1 },
      );
      await form.getByRole('button', { name: press }).click();
      await form.getByText(LOST).waitFor();
      // The list behind the form has it.
      expect(await total(list)).toBe(before + 1);
      await page.locator('td').getByText('lost', { exact: true }).first().waitFor();
      await form.getByRole('button', { name: press }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'I have copied it' }).click();
      expect(await total(list)).toBe(before + 1);
    }
    opened.faults.length = 0;
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a page left for hours reads again what it shows when the person is back, and keeps what was typed',
  async () => {
    const { api, url } = ui.programs;
    const { items } = await api<{ items: { id: string }[] }>('GET', '/tools?search=get_customer');
    const opened = await ui.signedIn();
    const { page } = opened;
    const form = await opened.context.newPage();
    await opened.context.clock.install();
    await page.goto(`${url}/tools`);
    await page.getByRole('main').getByText('get_customer').waitFor();
    await form.goto(`${url}/tools/${items[0]?.id}`);
    await description(form).fill('Typed before I left');
    await api('PATCH', `/tools/${items[0]?.id}`, { name: 'get_client' });
    await opened.context.clock.fastForward('03:00:00');
    for (const tab of [form, page]) {
      await tab.bringToFront();
      await tab.mouse.move(10, 10);
    }
    await page.getByRole('main').getByText('get_client').waitFor();
    expect(await description(form).inputValue()).toBe('Typed before I left');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'signing in again in one tab lets all tabs go on, with what was typed in them',
  async () => {
    const { api, url } = ui.programs;
    const { items } = await api<{ items: { id: string }[] }>('GET', '/tools?search=list_orders');
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${url}/tools/${items[0]?.id}`);
    await description(page).fill('Typed in the first tab');
    const other = await opened.context.newPage();
    await other.goto(`${url}/tools`);
    await other.getByRole('main').getByText('list_orders').waitFor();
    await opened.context.clearCookies();
    await other.keyboard.press('g');
    await other.keyboard.press('h');
    await page.keyboard.press('Control+s');
    const dialogOf = (tab: Page) => tab.getByRole('dialog', { name: 'Your session has ended' });
    for (const tab of [page, other]) await dialogOf(tab).waitFor();
    await dialogOf(other).getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
    await other.keyboard.press('Enter');
    for (const tab of [page, other]) await dialogOf(tab).waitFor({ state: 'detached' });
    // What could not be read when the session had ended is read now.
    await other.locator('.history-action-open').first().waitFor();
    expect(await description(page).inputValue()).toBe('Typed in the first tab');
    await page.keyboard.press('Control+s');
    await page
      .getByRole('status')
      .getByText(/^Saved/)
      .first()
      .waitFor();
    await close(opened, [401]);
  },
  LIMIT_MS,
);

browserTest(
  'a form whose server was killed during a save says so, and saves once the server is back',
  async () => {
    const { api, url } = ui.programs;
    const { items } = await api<{ items: { id: string; version: number }[] }>('GET', '/tools?search=sales_by_category');
    const path = `/tools/${items[0]?.id}`;
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${url}${path}`);
    await description(page).fill('Typed before the server was killed.');
    await page.route(
      `**/api/v1${path}`,
      async (route) => {
        if (route.request().method() !== 'PATCH') return route.fallback();
        await ui.programs.stop('SIGKILL');
        await route.continue();
      },
      { times: 2 },
    );
    const save = page.getByRole('button', { name: /^Save/ }).first();
    await save.click();
    await page.getByText(LOST).waitFor();
    const started = await startPrograms({ again: ui.programs });
    try {
      expect(await description(page).inputValue()).toBe('Typed before the server was killed.');
      await page.unroute(`**/api/v1${path}`);
      await save.click();
      await page
        .getByRole('status')
        .getByText(/^Saved/)
        .first()
        .waitFor();
      expect(await api('GET', path)).toMatchObject({ description: 'Typed before the server was killed.' });
    } finally {
      await started.stop();
    }
    opened.faults.length = 0;
    await close(opened);
  },
  LIMIT_MS,
);
