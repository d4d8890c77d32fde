import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, inspectAll, LIMIT_MS, startUi, untilPolled, openTab, pageTab } from '#test/support/ui.ts';
import { reportBusyHour } from '#test/support/usage.ts';

const SERVICE_TOKEN = 'observed-'.repeat(5);

const ui = startUi({
  live: true,
  env: { SVC_AGENT_SERVICE_TOKEN: SERVICE_TOKEN },
  prepare: (programs) => reportBusyHour(programs, SERVICE_TOKEN),
});

const main = (page: Page) => page.getByRole('main');
const address = (page: Page): Record<string, string> => {
  const { pathname, searchParams } = new URL(page.url());
  return { path: pathname, ...Object.fromEntries(searchParams) };
};

browserTest(
  'Home says what runs, what changed and what failed, and each figure leads to what explains it',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.clock.install();
    await page.goto(ui.programs.url);
    await page.getByRole('region', { name: 'Deployment' }).getByText('Version 1', { exact: true }).waitFor();
    const figure = (name: string) =>
      main(page)
        .locator('.stat')
        .filter({ has: page.getByText(name, { exact: true }) });
    await figure('Calls').getByText('300', { exact: true }).waitFor();
    await figure('Errors').getByText('12', { exact: true }).waitFor();
    await figure('Hosts').getByText('1 of 1', { exact: true }).waitFor();
    await figure('Databases').getByText('2 of 2', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Recent changes' }).getByText('deployed').waitFor();

    const { items } = await ui.programs.api<{ items: { id: string; description: string }[] }>(
      'GET',
      '/tools?search=get_customer',
    );
    await ui.programs.api('PATCH', `/tools/${items[0]?.id}`, { description: `${items[0]?.description} Changed.` });
    const waiting = page.getByRole('region', { name: 'Changes to deploy' });
    await untilPolled(page, waiting.getByText('get_customer'));
    await ui.programs.api('PATCH', '/server/config', { server_name: 'Corner shop' });
    await untilPolled(page, waiting.getByText('server configuration changed'));
    await waiting.getByRole('button', { name: 'View all' }).click();
    await page.getByRole('dialog').getByText('get_customer', { exact: true }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('region', { name: 'Deploy receipt' }).getByText('Version 2 is live').waitFor();
    await waiting.waitFor({ state: 'detached' });

    await figure('Errors').getByRole('link').click();
    await openTab(page, 'Calls').waitFor();
    expect(address(page)).toEqual({ path: '/logs', outcome: 'failed', range: '24h' });
    await main(page).getByText('12 of 12').waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'metrics go from everything to one tool, to its failures, and compare',
  async () => {
    const opened = await ui.signedIn(1280, 'dark');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/metrics`);
    const table = page.getByRole('table', { name: 'Tools, resources and prompts' });
    await table.getByRole('row', { name: /search_products.*200/ }).waitFor();
    await table.getByRole('button', { name: 'p95' }).click();
    await page.getByText('1h', { exact: true }).click();
    expect(address(page)).toEqual({ path: '/metrics', period: '1h' });
    await table.getByRole('row', { name: /list_orders.*100/ }).click();
    const panel = page.getByRole('region', { name: 'list_orders', exact: true });
    await panel.getByText('Latest errors').waitFor();
    await panel.getByText('Timed out').first().waitFor();

    const chart = panel.getByRole('group', { name: 'Calls and errors of list_orders, last 1 hour' });
    await chart.locator('canvas').waitFor();
    await chart.focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Home');
    await panel
      .getByText(/Calls \d+, Errors \d+/)
      .first()
      .waitFor();
    await panel.getByText('Show as table').first().click();
    await panel
      .getByRole('region', { name: /: table$/ })
      .getByRole('row')
      .nth(60)
      .waitFor();
    await page.keyboard.press('Escape');

    for (const name of ['list_orders', 'search_products']) await table.getByRole('row', { name }).getByRole('checkbox').check();
    await page.getByRole('region', { name: 'Compare' }).getByText('p95', { exact: true }).click();
    await page.getByRole('group', { name: 'Compare: p95, last 1 hour' }).locator('canvas').waitFor();
    await table.getByRole('row', { name: 'list_orders' }).getByRole('link').click();
    expect(address(page)).toMatchObject({ path: '/logs', kind: 'tool', name: 'list_orders', outcome: 'failed', range: '1h' });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the live log is followed, paused, searched and cleared; calls are filtered, opened and saved',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/logs?view=live`);
    await page.getByText('Live', { exact: true }).last().waitFor();
    const lines = page.getByRole('region', { name: 'Log lines' });
    await lines.getByText('more calls').first().waitFor();
    const at_end = () => lines.evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight < 2);
    await until(at_end);
    await page.getByRole('button', { name: 'Pause' }).click();
    await ui.programs.api('POST', '/deploy', { note: 'for the log' });
    await page.getByRole('button', { name: /Resume, \d+ new line/ }).click();
    await until(at_end);
    await lines.hover();
    await page.mouse.wheel(0, -2_000);
    await page.getByRole('button', { name: 'Follow', pressed: false }).waitFor();
    await page.getByLabel('Search lines').fill('list_orders failed');
    await page.waitForURL(/[?&]q=list_orders/);
    await lines.getByText('tool list_orders failed').first().click();
    await page.getByRole('dialog', { name: 'Log line' }).getByText('timeout', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Search lines').fill('no such words at all');
    await page.getByText('No results').waitFor();
    await page.getByLabel('Search lines').fill('');
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByText('No log lines yet').waitFor();
    await page.goto(`${ui.programs.url}/logs?view=live&level=ERROR&source=tls`);
    await page.getByText('No log lines yet').waitFor();

    await pageTab(page, 'Calls').click();
    await main(page)
      .getByText(/^100 of 30\d$/)
      .waitFor();
    await page.getByRole('button', { name: /^Outcome/ }).click();
    await page.getByRole('option', { name: 'All failures' }).click();
    await main(page).getByText('12 of 12').waitFor();
    await page
      .getByRole('table', { name: 'Calls' })
      .getByRole('row', { name: /Timed out/ })
      .first()
      .click();
    const drawer = page.getByRole('dialog', { name: 'Call' });
    await drawer.getByText('claude-code/2.1').waitFor();
    await drawer.getByRole('link', { name: 'Open definition' }).waitFor();
    await drawer.getByRole('link', { name: 'demo' }).waitFor();
    await expectAccessible(page, 'the drawer of a call');
    await page.keyboard.press('Escape');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByRole('menuitem', { name: /^CSV/ }).click();
    const text = await Bun.file(await (await saved).path()).text();
    expect(text.split('\r\n').filter((line) => line.includes(',timeout,'))).toHaveLength(12);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await main(page)
      .getByText(/^100 of 30\d$/)
      .waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await main(page)
      .getByText(/^200 of 30\d$/)
      .waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the queue shows every connection; the flow is a graph and a list, and both lead on',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/queue`);
    const queue = page.getByRole('region', { name: 'demo' });
    await queue.getByRole('meter', { name: 'Running' }).waitFor();
    await queue.getByText('0 of 4').waitFor();
    expect(await queue.getByRole('link', { name: 'View calls' }).getAttribute('href')).toMatch(/^\/logs\?.*connection=/);

    await opened.context.setOffline(true);
    // The table of running calls says it for itself.
    await page.getByText('Offline: trying again').first().waitFor();
    expect(await queue.getByText('0 of 4').isVisible()).toBe(true);
    await opened.context.setOffline(false);
    await page.getByText('Offline: trying again').first().waitFor({ state: 'detached' });
    // The browser names every request that it could not send.
    opened.faults.length = 0;

    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a long name of a connection widens no page of a phone',
  async () => {
    const { items } = await ui.programs.api<{ items: { id: string; name: string }[] }>('GET', '/connections');
    const [demo] = items;
    const rename = (name: string) => ui.programs.api('PATCH', `/connections/${demo?.id ?? ''}`, { name });
    await rename(`a_connection_of_${'a_very_long_name_'.repeat(5)}`);
    await inspectAll(ui, [
      { path: '/queue', name: 'queue-long', ready: 'Running' },
      { path: '/flow?view=list', name: 'flow-long', ready: { css: '.flow-rows a' } },
      { path: '/connections', name: 'connections-long', ready: 'Connected' },
    ]);
    await rename(demo?.name ?? 'demo');
  },
  LIMIT_MS,
);
