import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, openPage } from '#test/support/browser.ts';
import { untilWithin } from '#test/support/until.ts';
import { close, LIMIT_MS, startUi, toast, pageTab } from '#test/support/ui.ts';

const ui = startUi();

type Tool = { id: string; name: string; sql_query: string };
async function named(name: string): Promise<Tool> {
  const { items } = await ui.programs.api<{ items: Tool[] }>('GET', '/tools');
  const tool = items.find((item) => item.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}.`);
  return tool;
}
const version = async () => (await ui.programs.api('GET', '/deploy/status'))['snapshot_version'];

browserTest(
  'a result saved as a test blocks a deploy until the statement is right or a person gives a reason',
  async () => {
    const tool = await named('sales_by_category');
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/${tool.id}`);
    const side = page.getByRole('complementary', { name: 'What it does' });
    await side.getByRole('button', { name: /^Run/ }).click();
    await side.getByRole('button', { name: 'Keep as test' }).click();
    const drawer = page.getByRole('dialog', { name: 'New test' });
    expect(await drawer.getByLabel(/^Columns/).inputValue()).toContain('category');
    expect(await drawer.getByLabel(/^Minimum rows/).inputValue()).toBe('1');
    expect(await drawer.getByLabel('Result equals').inputValue()).toBe('');
    await expectAccessible(page, 'a new test');
    await drawer.getByRole('button', { name: 'Compare with the whole result' }).click();
    expect(await drawer.getByLabel('Result equals').inputValue()).toContain('"category"');
    await drawer.getByLabel('Name').fill('categories as today');
    await drawer.getByRole('button', { name: 'Create test' }).click();
    await toast(page, 'Test created.').waitFor();
    await side.getByRole('tab', { name: 'Tests' }).click();
    await side.getByText('categories as today').waitFor();
    await side.getByText('Not run yet').waitFor();
    await side.getByRole('button', { name: 'Run tests' }).click();
    await side.getByText('Passed').waitFor();
    await expectAccessible(page, 'tests of a tool');

    await ui.programs.api('PATCH', `/tools/${tool.id}`, { sql_query: `select * from (${tool.sql_query}) as sales limit 1` });
    const before = await version();
    await page.goto(`${ui.programs.url}/deploy`);
    const findings = page.getByRole('region', { name: 'Tests' });
    // What was blocked is what the button below the findings repeats.
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await findings.getByText('Tool sales_by_category, test "categories as today"').waitFor();
    await page.getByText('A deploy would be blocked').waitFor();
    expect(await page.getByLabel('Reason').count()).toBe(0);
    await page.getByRole('button', { name: 'Dry run anyway' }).click();
    await page.getByText('A deploy would succeed').waitFor();
    expect(await version()).toBe(before);
    const deploy = page.getByRole('button', { name: /^Deploy/ }).last();
    await deploy.click();
    await findings.getByText('Tool sales_by_category, test "categories as today"').waitFor();
    expect(await version()).toBe(before);
    await expectAccessible(page, 'a blocked deploy');
    await page.getByLabel('Reason').fill('The report is meant to be short');
    await page.getByRole('button', { name: 'Deploy anyway' }).first().click();
    await page.getByText(/Version \d+ is live/).waitFor();
    expect(await version()).toBe(Number(before) + 1);
    await pageTab(page, 'Versions').click();
    await page.getByText('The report is meant to be short').waitFor();

    await ui.programs.api('PATCH', `/tools/${tool.id}`, { sql_query: `${tool.sql_query} limit 2` });
    await page.goto(`${ui.programs.url}/deploy`);
    await deploy.click();
    await findings.getByText('items instead of').waitFor();
    await ui.programs.api('PATCH', `/tools/${tool.id}`, { sql_query: tool.sql_query });
    await page.goto(`${ui.programs.url}/deploy`);
    await deploy.click();
    await page.getByText(/Version \d+ is live/).waitFor();

    await page.goto(`${ui.programs.url}/tests`);
    const all = page.getByRole('list', { name: 'Tests' });
    await all.getByText('categories as today').waitFor();
    await all.getByText('Passed').waitFor();
    await all.getByRole('button', { name: 'More for the test categories as today' }).click();
    await page.getByRole('menuitem', { name: 'Edit test' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit test' });
    await edit.getByLabel('Result equals').fill('{');
    await edit.getByRole('button', { name: 'Save test' }).click();
    await edit.getByText('This isn’t valid JSON.').waitFor();
    await edit.getByLabel('Result equals').fill('');
    await edit.getByLabel('Minimum rows').fill('1000');
    await edit.getByRole('button', { name: 'Save test' }).click();
    await toast(page, 'Test saved.').waitFor();
    await page.getByRole('button', { name: 'Run tests' }).click();
    await all.getByText(/fewer than 1000/).waitFor();
    await expectAccessible(page, 'all tests');
    await close(opened, [422]);
  },
  LIMIT_MS,
);

browserTest(
  'a call in the playground is kept as a test',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/playground?tool=sales_by_category`);
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByRole('button', { name: 'Keep as test' }).click();
    const drawer = page.getByRole('dialog', { name: 'New test' });
    await drawer.getByLabel('Name').fill('as clients see it');
    await drawer.getByRole('button', { name: 'Create test' }).click();
    await toast(page, 'Test created.').waitFor();
    const run = await ui.programs.api('POST', '/tests/run', { against: 'live' });
    expect(run).toMatchObject({
      results: expect.arrayContaining([expect.objectContaining({ name: 'as clients see it', status: 'passed' })]),
    });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a call of the request log is kept with arguments only if this tab made it',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/playground?tool=sales_by_category`);
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByRole('button', { name: 'Keep as test' }).waitFor();
    const openCall = async () => {
      await page.goto(`${ui.programs.url}/logs?view=requests&name=sales_by_category`);
      await page.getByRole('table').getByText('sales_by_category').first().click();
      await page.getByRole('dialog', { name: 'Call' }).getByRole('button', { name: 'Keep as test' }).click();
    };
    const drawer = page.getByRole('dialog', { name: 'New test' });
    const unknown = drawer.getByText('The arguments of this call are unknown.');
    await untilWithin(60_000, async () => {
      const { items } = await ui.programs.api<{ items: { timestamp: string }[] }>('GET', '/logs?name=sales_by_category');
      const at = await page.evaluate(() => JSON.parse(sessionStorage.getItem('sluice.playground.runs') ?? '[]')[0].at as string);
      return items.some(({ timestamp }) => timestamp >= at);
    });
    await openCall();
    expect(await drawer.getByLabel(/^Columns/).inputValue()).toContain('category');
    expect(await unknown.count()).toBe(0);
    // Another tab, or another caller: nobody knows what was sent.
    await page.evaluate(() => sessionStorage.removeItem('sluice.playground.runs'));
    await openCall();
    await unknown.waitFor();
    expect(await drawer.getByLabel('Arguments').inputValue()).toBe('{}');
    expect(await drawer.getByLabel('Result equals').inputValue()).toBe('');
    await expectAccessible(page, 'a test of a logged call');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a prompt is kept as a test from its preview, and resources and prompts show their tokens',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.setViewportSize({ width: 1680, height: 900 });
    for (const noun of ['resources', 'prompts']) {
      const { items } = await ui.programs.api<{ items: { id: string; tokens: number }[] }>('GET', `/${noun}`);
      expect(items[0]?.tokens).toBeGreaterThan(0);
      await page.goto(`${ui.programs.url}/${noun}`);
      await page.getByRole('columnheader', { name: 'Tokens' }).waitFor();
      await page.goto(`${ui.programs.url}/${noun}/${items[0]?.id}`);
      await page.getByText(`${items[0]?.tokens} tokens`, { exact: true }).waitFor();
    }
    const side = page.getByRole('complementary', { name: 'What it does' });
    await side.getByRole('button', { name: 'Keep as test' }).click();
    const drawer = page.getByRole('dialog', { name: 'New test' });
    expect(await drawer.getByLabel('Result equals').inputValue()).toContain('"role": "user"');
    await drawer.getByLabel('Name').fill('as previewed');
    await drawer.getByRole('button', { name: 'Create test' }).click();
    await toast(page, 'Test created.').waitFor();
    expect(await ui.programs.api('POST', '/tests/run', {})).toMatchObject({
      results: expect.arrayContaining([expect.objectContaining({ name: 'as previewed', status: 'passed' })]),
    });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a viewer of a definition reads its findings and tests, and runs them',
  async () => {
    const tool = await named('sales_by_category');
    await ui.programs.api('PATCH', `/tools/${tool.id}`, { description: 'Sales.' });
    const owner = { kind: 'tool', id: tool.id };
    await ui.programs.api('POST', '/tests', { owner, name: 'seen by viewers', arguments: {}, expect: { rows: { min: 1 } } });
    const { id } = await ui.programs.api<{ id: string }>('POST', '/people', { username: 'vera', role: 'viewer' });
    const { invite_url } = await ui.programs.api<{ invite_url: string }>('POST', `/people/${id}/invite`, {});
    const { pathname, search, hash } = new URL(invite_url);
    const opened = await openPage(ui.browser, { width: 1280, scheme: 'light' });
    const { page } = opened;
    await page.goto(`${ui.programs.url}${pathname}${search}${hash}`);
    await page.getByLabel('Password', { exact: true }).fill('a long enough password');
    await page.getByRole('button', { name: 'Set password and sign in' }).click();
    await page.waitForURL((url) => url.pathname !== '/invite');
    await page.goto(`${ui.programs.url}/tools/${tool.id}`);
    const side = page.getByRole('complementary', { name: 'Checks' });
    await side
      .getByRole('list', { name: 'Lint findings' })
      .getByText(/description/i)
      .first()
      .waitFor();
    expect(await side.getByRole('list', { name: 'Lint findings' }).getByRole('button').count()).toBe(0);
    await expectAccessible(page, 'findings as a viewer sees them');
    await side.getByRole('tab', { name: 'Tests' }).click();
    await side.getByText('seen by viewers').waitFor();
    expect(await side.getByRole('button', { name: 'New test' }).count()).toBe(0);
    await side.getByRole('button', { name: 'Run tests' }).click();
    await side.getByText('Passed').first().waitFor();
    await expectAccessible(page, 'tests as a viewer sees them');
    await close(opened);
  },
  LIMIT_MS,
);
