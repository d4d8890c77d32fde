import { expect } from 'bun:test';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

// The three programs with the demo deployed, their administrator and a browser, for all tests of this file.
const ui = startUi();

browserTest(
  'the search on the tools page leaves the tools whose name matches',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools`);
    const table = page.getByRole('table', { name: 'Tools' });
    await table.getByRole('link', { name: 'get_customer' }).waitFor();
    await page.getByLabel('Search tools').fill('list_ord');
    await table.getByRole('link', { name: 'get_customer' }).waitFor({ state: 'detached' });
    expect(await table.getByRole('link', { name: 'list_orders' }).count()).toBe(1);
    // Fails when the console has an error or the page called another machine.
    await close(opened);
  },
  LIMIT_MS,
);
