import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Product } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

let database: TestDatabase | undefined;
const needed = reachable.postgres;
const ui = startUi({ live: true, needed, prepare: callTools, cleanup: async () => database?.drop() });
const calls = needed ? browserTest : browserTest.skip;

/** One call each of a tool that logs its arguments, of one with masks, and of one that logs none. */
async function callTools(programs: Product): Promise<void> {
  database = await testDatabase('postgresql');
  await database.run('create table orders (month text, channel text, email text, total int)');
  await database.run(
    "insert into orders values ('2026-01', 'web', 'ada@example.com', 3), ('2026-02', 'web', 'bob@example.com', 5)",
  );
  const { host, port, database: name, username } = database.settings;
  const place = { db_type: 'postgresql', host, port, database: name, username, ssl_mode: 'disable' };
  const { id } = await programs.api<{ id: string }>('POST', '/connections', { name: 'shop', ...place });
  const text = (parameter: string) => ({ name: parameter, type: 'string', description: parameter, required: true });
  const tools = {
    sales: {
      sql_query: 'select month, total from orders where channel = :channel order by month',
      parameters: [text('channel')],
      view: { kind: 'bar', x: 'month', y: ['total'] },
      log_arguments: true,
    },
    find: {
      sql_query: 'select channel, email from orders where email = :email and channel = :channel',
      parameters: [text('email'), text('channel')],
      masks: [{ column: 'email', mask: 'email', unless_groups: [] }],
      log_arguments: true,
    },
    silent: { sql_query: 'select month from orders where channel = :channel', parameters: [text('channel')] },
  };
  for (const [tool, more] of Object.entries(tools))
    await programs.api('POST', '/tools', { connection_id: id, name: tool, description: `Calls ${tool}`, ...more });
  await programs.api('POST', '/deploy', { note: 'calls' });
  const client = await connectClient('v1', programs.mcp_url);
  await client.call('sales', { channel: 'web' });
  await client.call('find', { email: 'ada@example.com', channel: 'web' });
  await client.call('silent', { channel: 'web' });
  await client.close();
  await until(async () => (await programs.api<{ total: number }>('GET', '/logs')).total >= 3);
}

calls(
  'a call runs again in its drawer with its chart, and becomes a test with its arguments and result',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    const { items } = await ui.programs.api<{ items: { id: string; name: string }[] }>('GET', '/logs?name=sales');
    // The address of a call can be passed on.
    await page.goto(`${ui.programs.url}/logs?view=requests&call=${items[0]?.id}`);
    const drawer = page.getByRole('dialog', { name: 'Call' });
    await drawer.getByRole('region', { name: 'Arguments' }).getByText('"web"').waitFor();
    await drawer.getByRole('button', { name: 'Run again', exact: true }).click();
    const again = drawer.getByRole('region', { name: 'Result of running it again' });
    await again.getByText('2026-02').waitFor();
    await again.getByText('View', { exact: true }).click();
    await again.locator('svg').first().waitFor();
    await expectAccessible(page, 'a call that was run again');
    await drawer.getByRole('button', { name: 'Keep as test' }).click();
    const test = page.getByRole('dialog', { name: 'New test' });
    expect(JSON.parse(await test.getByLabel('Arguments').inputValue())).toEqual({ channel: 'web' });
    await test.getByRole('button', { name: 'Compare with the whole result' }).click();
    expect(await test.getByLabel('Result equals').inputValue()).toContain('2026-02');
    await page.keyboard.press('Escape');
    await close(opened);
  },
  LIMIT_MS,
);

calls(
  'a call goes to the playground with what is known of its arguments, and leads to its session and back',
  async () => {
    const opened = await ui.signedIn(390, 'dark');
    const { page } = opened;
    const open = async (name: string) => {
      const { items } = await ui.programs.api<{ items: { id: string }[] }>('GET', `/logs?name=${name}`);
      await page.goto(`${ui.programs.url}/logs?view=requests&call=${items[0]?.id}`);
      return page.getByRole('dialog', { name: 'Call' });
    };
    const masked = await open('find');
    await masked.getByText('a***@example.com').waitFor();
    expect(await masked.getByRole('button', { name: 'Run again', exact: true }).count()).toBe(0);
    await expectAccessible(page, 'a call with masked arguments');
    await masked.getByRole('link', { name: 'Run again in the playground' }).click();
    await page.getByText('are filled in, without email').waitFor();
    await until(async () => (await page.getByLabel('channel').inputValue()) === 'web');
    expect(await page.getByLabel('email').inputValue()).toBe('');

    const silent = await open('silent');
    await silent.getByText('were not logged').waitFor();
    await silent.getByRole('link', { name: 'Run again in the playground' }).click();
    await page.getByText('The arguments of this call were not logged. Enter the arguments of the new call.').waitFor();

    await (await open('silent')).getByRole('link', { name: 'View session' }).click();
    const steps = page.getByRole('dialog', { name: 'Session' }).getByRole('list', { name: 'Steps' });
    await steps.getByRole('link', { name: 'sales' }).click();
    await page.getByRole('dialog', { name: 'Call' }).getByText('"web"').waitFor();
    await close(opened);
  },
  LIMIT_MS,
);
