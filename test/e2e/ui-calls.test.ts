import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Product } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';
import { close, inspectAll, LIMIT_MS, startUi, untilPolled, pageTab } from '#test/support/ui.ts';

let database: TestDatabase | undefined;
const needed = reachable.postgres;
const ui = startUi({ live: true, needed, prepare: deploySlow, cleanup: dropDatabase });
const calls = needed ? browserTest : browserTest.skip;

async function dropDatabase(): Promise<void> {
  await database?.drop();
}

/** Tools of which one has lost its column and one takes its time. */
async function deploySlow(programs: Product): Promise<void> {
  database = await testDatabase('postgresql');
  await database.run('create table orders (id int, channel text)');
  const { host, port, database: name, username } = database.settings;
  const place = { db_type: 'postgresql', host, port, database: name, username, ssl_mode: 'disable' };
  const { id } = await programs.api<{ id: string }>('POST', '/connections', { name: 'shop', ...place });
  const tools = { list_channels: 'select channel from orders', wait_long: "select pg_sleep(60)::text || 'x' as slept" };
  for (const [tool, sql_query] of Object.entries(tools)) {
    const description = `Calls ${tool} in the tests of the calls page`;
    await programs.api('POST', '/tools', { connection_id: id, name: tool, description, sql_query, timeout_ms: 60_000 });
  }
  await programs.api('POST', '/deploy', { note: 'calls' });
  await database.run('alter table orders rename column channel to origin');
}

calls(
  'a failed call says what its caller got, a refused one is listed, and one that runs can be cancelled',
  async () => {
    const { url } = ui.programs;
    const client = await connectClient('v1', ui.programs.mcp_url);
    await client.call('list_channels', {});
    await client.call('no_such_tool', {}).catch(() => undefined);
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await until(async () => (await ui.programs.api<{ total: number }>('GET', '/logs?name=list_channels')).total > 0);

    // A newer call comes in above the row that has the focus.
    await page.clock.install();
    await page.goto(`${url}/logs?view=requests&name=list_channels`);
    const rows = page.getByRole('table', { name: 'Calls' }).locator('tr[data-row]');
    await rows.first().focus();
    const focused = await rows.first().elementHandle();
    const before = await rows.count();
    await client.call('list_channels', {});
    await untilPolled(page, rows.nth(before));
    expect(await focused?.evaluate((row) => row === document.activeElement && row.getAttribute('data-row'))).toBe('1');

    await page.goto(`${url}/logs?view=requests&outcome=failed`);
    await page
      .getByRole('table', { name: 'Calls' })
      .getByRole('row', { name: /list_channels/ })
      .first()
      .click();
    const drawer = page.getByRole('dialog', { name: 'Call' });
    await drawer.getByText('column "channel" does not exist').waitFor();
    await drawer.getByText('42703', { exact: true }).waitFor();
    await drawer.getByRole('list', { name: 'Times' }).getByText('Database').waitFor();
    await expectAccessible(page, 'the drawer of a failed call');
    await drawer.getByRole('link', { name: 'Run again in the playground' }).click();
    await page.waitForURL(/\/playground\?tool=list_channels/);

    await page.goto(`${url}/logs`);
    await pageTab(page, 'Refusals').click();
    const refusals = page.getByRole('table', { name: 'Refusals' });
    await refusals.getByRole('row', { name: /Unknown tool.*no_such_tool/ }).waitFor();
    await expectAccessible(page, 'the list of refusals');
    await page.goto(`${url}/logs?view=refusals&refused=too_large`);
    await page.getByText('No refusals').waitFor();

    await pageTab(page, 'Sessions').click();
    const lane = page.getByRole('list', { name: 'Sessions by client' });
    await expectAccessible(page, 'the sessions of clients');
    await lane.getByRole('button', { name: /^test\/1\.0\.0.*2 calls, 2 errors/ }).click();
    const session = page.getByRole('dialog', { name: 'Session' });
    await session.getByRole('list', { name: 'Steps' }).getByText('column "channel" does not exist').first().waitFor();
    await expectAccessible(page, 'the steps of a session');
    await page.goto(`${url}/logs?view=sessions&tool=no_such_tool`);
    await page.getByText('No results').waitFor();

    await page.goto(`${url}/queue`);
    const pending = client.call('wait_long', {});
    const running = page.getByRole('table', { name: 'Running calls' });
    await running.getByRole('row', { name: /wait_long.*Statement running/ }).waitFor();
    await expectAccessible(page, 'the running calls');
    const passed = () => running.getByRole('row', { name: /wait_long/ }).innerText();
    const at_first = await passed();
    await until(async () => (await passed()) !== at_first);
    await running.getByRole('button', { name: 'Cancel wait_long' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel call' }).click();
    const { content } = await pending;
    expect(content[0]?.text).toBe('An administrator cancelled this call.');
    await running.waitFor({ state: 'detached' });
    await client.close();
    await close(opened);
  },
  LIMIT_MS,
);

calls(
  'fifty connections are grouped, sorted by name, and do not move while a person points at them',
  async () => {
    const { url } = ui.programs;
    const place = { db_type: 'postgresql', host: '127.0.0.1', port: 1, database: 'none', username: 'nobody' };
    for (let n = 0; n < 48; n++)
      await ui.programs.api('POST', '/connections', { ...place, name: `zone_${String(n).padStart(2, '0')}` });
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${url}/queue`);
    const closed = page.locator('.queue-group', { hasText: 'Not deployed' });
    await closed.getByText('48', { exact: true }).waitFor();
    expect(await page.getByRole('region', { name: 'zone_00' }).isVisible()).toBe(false);
    await closed.getByText('Not deployed').click();
    const names = () => closed.locator('h2').allTextContents();
    const before = await names();
    expect(before).toEqual(before.toSorted());
    await page.getByRole('region', { name: 'zone_00' }).hover();
    await ui.programs.api('POST', '/connections', { ...place, name: 'aaa_first' });
    await page.reload();
    await closed.getByText('49', { exact: true }).waitFor();
    await closed.getByText('Not deployed').click();
    expect((await names())[0]).toBe('aaa_first');
    await close(opened);
  },
  LIMIT_MS,
);

calls(
  'sessions, refusals and the grouped queue fit a phone and a desk',
  () =>
    inspectAll(ui, [
      { name: 'sessions', path: '/logs?view=sessions', ready: { css: '.session-track button' } },
      { name: 'refusals', path: '/logs?view=refusals', ready: { css: 'tr[data-row]' } },
      { name: 'queue-grouped', path: '/queue', ready: { css: '.queue-group' } },
    ]),
  LIMIT_MS,
);
