import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { browserTest, openPage } from '#test/support/browser.ts';
import { joinAs } from '#test/support/person-browser.ts';
import { close, inspectAs, LIMIT_MS, type Look, type Opened, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });
const PASSWORD = 'a long password';
const LOOKS: readonly Look[] = [
  { width: 1440, scheme: 'light' },
  { width: 390, scheme: 'dark' },
];
const NOTHING = { tags: [], connection_ids: [], tool_ids: [], resource_ids: [], prompt_ids: [] };

/** A caller in a browser of their own, on the page where they land after signing in. */
async function caller(username: string, groups: readonly string[]): Promise<Opened> {
  await joinAs(ui.programs, { username, role: 'caller', groups: [...groups] }, PASSWORD);
  const opened = await openPage(ui.browser, { width: 1440, scheme: 'light' });
  await opened.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: ui.programs.url });
  const { page } = opened;
  await page.goto(`${ui.programs.url}/`);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Connect a client' }).waitFor();
  return opened;
}

async function configured(auth_type: string): Promise<void> {
  await ui.programs.api('PATCH', '/server/config', { auth_type });
  await ui.programs.api('POST', '/deploy', {});
}

async function inspectBoth(page: Page, name: string): Promise<void> {
  for (const look of LOOKS) await inspectAs(page, name, look);
  await page.setViewportSize({ width: 1440, height: 900 });
}

const panel = (page: Page) => page.getByRole('region', { name: 'What you can call' });

browserTest(
  'a caller has a home with the address, texts for clients, their tools and who invited them',
  async () => {
    const { items } = await ui.programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools?limit=100');
    const tool_ids = items.filter(({ name }) => ['get_customer', 'search_products'].includes(name)).map(({ id }) => id);
    const others = items.filter(({ name }) => name === 'list_orders').map(({ id }) => id);
    const toolset = (draft: object) => ui.programs.api('POST', '/toolsets', draft);
    await toolset({ name: 'desk', title: 'Service desk', include: { ...NOTHING, tool_ids }, groups: ['desk'] });
    await toolset({ name: 'finance', include: { ...NOTHING, tool_ids: others }, groups: ['finance'] });
    await configured('oauth');
    const opened = await caller('carl', ['desk']);
    const { page } = opened;
    await page.getByText(/Invited by ada on .*\d{4}/).waitFor();
    await page.getByText('you sign in as carl and allow the client').waitFor();
    const copy = page.getByRole('button', { name: 'Copy the MCP address' });
    await copy.click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/\/mcp$/);
    await page.getByRole('tab', { name: 'Claude Code' }).waitFor();
    expect(await page.getByRole('tab', { name: 'stdio' }).count()).toBe(0);
    // Only what clients list for them, and no search for so few.
    await panel(page).getByText('From the toolset Service desk.').waitFor();
    expect(await panel(page).locator('.caller-item .mono.long-name').allInnerTexts()).toEqual([
      'get_customer',
      'search_products',
    ]);
    expect(await panel(page).getByRole('searchbox').count()).toBe(0);
    const parameters = panel(page).locator('summary', { hasText: 'of get_customer' });
    await parameters.focus();
    await page.keyboard.press('Enter');
    await panel(page).locator('dl').getByText('string', { exact: true }).waitFor();
    await inspectBoth(page, 'caller-home-sign-in');
    // The navigation has this page alone; the account is in its own place.
    expect(await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts()).toEqual(['Home']);
    await page.getByRole('link', { name: /^carl/ }).click();
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'What you can call' }).waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a caller without a toolset is told whom to ask for one',
  async () => {
    const opened = await caller('nora', []);
    await opened.page.getByText('None of your groups has a toolset. Ask ada to add you to a group.').waitFor();
    await inspectBoth(opened.page, 'caller-home-no-toolset');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'where access tokens decide, a caller is told whom to ask for one, and sees no tools',
  async () => {
    await configured('bearer');
    const opened = await caller('tom', ['desk']);
    const { page } = opened;
    await page.getByText('Clients connect with an access token. Ask ada for one').waitFor();
    await page.getByText('Your token decides what you can call').waitFor();
    expect(await panel(page).getByText('get_customer').count()).toBe(0);
    await inspectBoth(page, 'caller-home-token');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a caller finds a tool of many by a word of its text, and sees at once that the server was stopped',
  async () => {
    const [connection] = (await ui.programs.api<{ items: { id: string }[] }>('GET', '/connections')).items;
    for (let n = 1; n <= 12; n++) {
      await ui.programs.api('POST', '/tools', {
        connection_id: connection?.id,
        name: `extra_${n}`,
        description: n === 7 ? 'Counts the returned parcels' : 'Another one',
        sql_query: 'select 1 as one',
      });
    }
    await configured('none');
    const opened = await caller('mia', []);
    const { page } = opened;
    await page.getByText('No sign-in is needed.').waitFor();
    await inspectBoth(page, 'caller-home-many');
    const search = panel(page).getByRole('searchbox', { name: 'Find by name or text' });
    await search.fill('parcels returned');
    await panel(page).getByText('extra_1', { exact: true }).waitFor({ state: 'detached' });
    expect(await panel(page).locator('.caller-item .mono.long-name').allInnerTexts()).toEqual(['extra_7']);
    await search.fill('nothing has this');
    await panel(page).getByRole('button', { name: 'Clear filters' }).click();
    await panel(page).getByText('extra_1', { exact: true }).waitFor();
    await ui.programs.api('POST', '/deploy/stop', {});
    await page.reload();
    await page.getByText('The MCP server is stopped, so clients can’t connect. Ask ada when it will start again.').waitFor();
    await inspectBoth(page, 'caller-home-stopped');
    await close(opened);
  },
  LIMIT_MS,
);
