import { afterAll, beforeAll, expect } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look, openBrowser, openPage } from '#test/support/browser.ts';
import { type Programs, removeFolder, startPrograms, until } from '#test/support/programs.ts';

const ACCOUNT = { username: 'ada', password: 'correct horse' };
const LIMIT_MS = 180_000;

let programs: Programs;
let browser: Browser;
beforeAll(async () => {
  programs = await startPrograms({ env: { SVC_DEMO: 'true' } });
  await programs.signIn();
  await until(async () => {
    const { hosts } = await programs.api<{ hosts: { snapshot_version: number | null }[] }>('GET', '/deploy/status');
    return hosts.some(({ snapshot_version }) => snapshot_version === 1);
  }, 30_000);
  browser = await openBrowser();
}, 90_000);
afterAll(async () => {
  await browser?.close();
  await programs?.stop();
  if (programs !== undefined) removeFolder(programs);
}, 60_000);

async function signedIn(width: number, scheme: 'light' | 'dark') {
  const opened = await openPage(browser, { width, scheme });
  const answer = await opened.context.request.post(`${programs.url}/api/v1/auth/login`, { data: ACCOUNT });
  expect(answer.status()).toBe(200);
  return opened;
}

const choose = (page: Page, name: string) =>
  page
    .getByRole('navigation', { name: 'What to call' })
    .getByRole('button', { name: new RegExp(`^${name} `) })
    .click();
const result = (page: Page) => page.getByRole('region', { name: 'Result', exact: true });

browserTest(
  'tools, resources and prompts are called in both eras and looked at from every side',
  async () => {
    const { page, context, faults } = await signedIn(1280, 'light');
    await page.goto(`${programs.url}/playground?tool=list_orders`);
    await page.getByRole('heading', { name: 'List orders' }).waitFor();
    await page.waitForLoadState('networkidle');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('This argument is required.').first().waitFor();
    await expectAccessible(page, 'a form with faults');
    await page.getByLabel('from', { exact: true }).fill('2026-01-01');
    await page.getByLabel('to', { exact: true }).fill('2026-06-01');
    await page.getByRole('button', { name: /status/ }).click();
    await page.getByRole('option', { name: 'shipped' }).click();
    await page.getByRole('listbox').waitFor({ state: 'detached' });
    await page.getByLabel('to', { exact: true }).press('Control+Enter');
    await result(page)
      .getByText(/^\d+ rows$/)
      .waitFor();
    await result(page).getByRole('columnheader', { name: 'customer' }).waitFor();
    await result(page)
      .getByText(/about \d+ tokens/)
      .waitFor();
    await result(page).getByRole('tab', { name: 'JSON' }).click();
    await result(page).getByText('"row_count"').waitFor();
    await result(page).getByRole('tab', { name: 'As the model sees it' }).click();
    await result(page).getByText('"truncated":false').waitFor();
    await result(page)
      .getByRole('tab', { name: /Messages/ })
      .click();
    await result(page)
      .getByText(/mcp-method: tools\/call/)
      .waitFor();
    await result(page)
      .getByText(/^HTTP 200/)
      .waitFor();
    await look(page, 'playground-messages-1280-light');

    await page.getByText('2025-11-25', { exact: true }).click();
    await choose(page, 'sales_by_category');
    await page.getByText('It takes no arguments.').waitFor();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await result(page).getByText('5 rows').waitFor();
    await result(page)
      .getByRole('tab', { name: /Messages/ })
      .click();
    await result(page)
      .getByText(/mcp-session-id: /)
      .last()
      .waitFor();

    await choose(page, 'order');
    await page.getByLabel('id', { exact: true }).fill('3');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await result(page).getByText('# Order 3 of').waitFor();

    await choose(page, 'sales_report');
    await page.getByLabel('from', { exact: true }).fill('2026-01-01');
    await page.getByLabel('to', { exact: true }).fill('2026-02-01');
    await page.getByRole('combobox', { name: /audience/ }).fill('the m');
    await page.getByRole('option', { name: 'the management' }).click();
    await page.getByRole('button', { name: 'Get', exact: true }).click();
    await result(page).getByText('for the management').waitFor();

    await choose(page, 'get_customer');
    await page.getByText('JSON', { exact: true }).first().click();
    await page.getByLabel('Arguments as JSON').fill('{"email": 5}');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await result(page).getByText('The tool answered with an error').waitFor();
    await page.getByLabel('Arguments as JSON').fill('[');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('This is not JSON.').waitFor();

    const history = page.getByRole('region', { name: 'Calls of this visit' });
    expect(await history.getByRole('listitem').count()).toBe(5);
    await history.getByRole('button', { name: /list_orders/ }).click();
    await page.getByRole('heading', { name: 'List orders' }).waitFor();
    expect(await page.getByLabel('to', { exact: true }).inputValue()).toBe('2026-06-01');
    await history.getByRole('button', { name: 'Forget them' }).click();
    await history.getByText('Nothing was called yet.').waitFor();
    await page.goto(`${programs.url}/playground?tool=not_there`);
    await page.getByText('not_there is not deployed').waitFor();
    expect(faults).toEqual([]);
    await context.close();
  },
  LIMIT_MS,
);

browserTest(
  'the page fits a phone and a desk, light and dark, without a fault',
  async () => {
    for (const scheme of ['light', 'dark'] as const) {
      const { page, context, faults } = await signedIn(1280, scheme);
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${programs.url}/playground?tool=search_products`);
        await page.getByRole('button', { name: 'Call', exact: true }).click();
        await result(page).getByText('12 rows').waitFor();
        await look(page, `playground-${width}-${scheme}`);
        for (const tab of ['Table', 'JSON', 'As the model sees it', /Messages/]) {
          await result(page).getByRole('tab', { name: tab }).click();
          await expectAccessible(page, `playground, ${String(tab)}, ${width}, ${scheme}`);
        }
      }
      expect(faults).toEqual([]);
      await context.close();
    }
  },
  LIMIT_MS,
);

browserTest(
  'a server with access tokens asks for one, which no message shows',
  async () => {
    const { page, context, faults } = await signedIn(1280, 'dark');
    await programs.api('PATCH', '/server/config', { auth_type: 'bearer' });
    const { token } = await programs.api<{ token: string }>('POST', '/mcp-tokens', { name: 'playground' });
    await programs.api('POST', '/deploy', {});
    await until(async () => (await fetch(programs.mcp_url, { method: 'POST' })).status === 401, 20_000);
    await page.goto(`${programs.url}/playground?tool=sales_by_category`);
    await page.getByRole('heading', { name: 'This server wants an access token' }).waitFor();
    await expectAccessible(page, 'the access token');
    await page.getByLabel('Access token', { exact: true }).fill('svc_mcp_wrong');
    await page.getByRole('button', { name: 'Use this token' }).click();
    await page.getByText('This access token was not accepted').waitFor();
    await page.getByLabel('Access token', { exact: true }).fill(token);
    await page.getByRole('button', { name: 'Use this token' }).click();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await result(page).getByText('5 rows').waitFor();
    await result(page)
      .getByRole('tab', { name: /Messages/ })
      .click();
    await result(page)
      .getByText(/authorization: Bearer …/)
      .waitFor();
    expect(await page.content()).not.toContain(token);
    // The refusals of the host are what the browser reports; nothing else is.
    expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
    await context.close();
  },
  LIMIT_MS,
);
