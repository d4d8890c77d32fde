import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const needed = reachable.postgres;
let database: TestDatabase;
const ui = startUi({
  role: 'server',
  env: { SVC_DEMO: 'false' },
  needed,
  async prepare() {
    database = await testDatabase('postgresql');
  },
  async cleanup() {
    if (needed) await database.drop();
  },
});

browserTest(
  'several hosts are entered with their target, tested one by one, and refused at the field',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    const { pathname, port } = new URL(database.url);
    const test = page.getByRole('button', { name: 'Test', exact: true });
    const host = page.getByLabel('Host', { exact: true });
    const target = page.getByLabel('Hosts to read from', { exact: true });
    await page.goto(`${ui.programs.url}/connections/new`);
    await page.getByLabel('Connection string').fill(`postgres://postgres@127.0.0.1:${port}${pathname}`);
    await host.waitFor();
    expect(await target.count()).toBe(0);
    await host.fill(`127.0.0.1:1,127.0.0.1:${port}`);
    await target.waitFor();
    await test.click();
    await page.getByText(`127.0.0.1:${port}: primary`).waitFor();
    await page.getByText('127.0.0.1:1: Nothing accepts connections').waitFor();
    await expectAccessible(page);
    await host.fill('db1.invalid,');
    await test.click();
    await page.locator('.field', { has: host }).locator('.field-error', { hasText: 'Host 2 of the list' }).waitFor();
    await close(opened, [422]);
  },
  LIMIT_MS,
);
