import { afterAll, beforeAll, expect } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look, openPage, sharedBrowser } from '#test/support/browser.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Product } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';
import { startProduct } from '#test/support/products.ts';

const ACCOUNT = { username: 'ada', password: 'correct horse battery' };

let programs: Product;
let browser: Browser;
beforeAll(async () => {
  programs = await startProduct({ env: { SVC_DEMO: 'false' } });
  browser = await sharedBrowser();
}, 90_000);
afterAll(async () => {
  await programs?.stop();
}, 60_000);

browserTest(
  'an empty installation is led from the administrator to the first call of a client',
  async () => {
    const { page, context, faults } = await openPage(browser, { width: 1280, scheme: 'light' });
    await page.goto(programs.url);
    await page.getByRole('heading', { name: 'Create the owner' }).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Username').fill(ACCOUNT.username);
    await page.getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
    await page.getByRole('button', { name: 'Create owner' }).click();

    await current(page, 'Connect a database');
    await look(page, 'welcome-1-1280-light');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Use the sample database' }).click();

    await current(page, 'Create a tool from a table');
    await page.getByRole('link', { name: 'customers' }).click();
    await page.getByRole('button', { name: 'Create tool' }).first().waitFor();
    await page.getByRole('button', { name: 'Create tool' }).first().click();
    await page.waitForURL(/\/tools\/[0-9a-f-]{36}$/);

    await page.getByRole('link', { name: /First steps: 2 of 4/ }).click();
    await current(page, 'Deploy it');
    await page.getByRole('main').getByRole('button', { name: 'Deploy', exact: true }).click();
    await page.getByText('Version 1 is live.').waitFor();

    await current(page, 'Connect your client');
    await page.getByText(`claude mcp add --transport http`).waitFor();
    await page.getByRole('tab', { name: 'Cursor' }).click();
    await page.getByText('mcpServers').waitFor();
    await look(page, 'welcome-4-1280-light');
    await expectAccessible(page);
    await callFirstTool();
    await page.getByText('Everything is set up').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Go to Home' }).click();
    expect(new URL(page.url()).pathname).toBe('/');
    await until(async () => (await page.getByRole('link', { name: /First steps/ }).count()) === 0);
    expect(faults).toEqual([]);
    await context.close();
  },
  180_000,
);

const current = (page: Page, title: string) =>
  page.locator('[aria-current=step]').getByRole('heading', { name: title }).waitFor();

/** As the client of a person would: it lists the tools and calls one. */
async function callFirstTool(): Promise<void> {
  const client = await connectClient('v2', programs.mcp_url);
  const [name = ''] = await client.tools();
  expect(name).not.toBe('');
  const { isError = false, content } = await client.call(name, { id: 1 });
  expect([isError, content[0]?.text]).toEqual([false, expect.any(String)]);
  await client.close();
}
