import { expect } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { connectClient, type McpClient } from '#test/support/mcp-clients.ts';
import { until } from '#test/support/until.ts';
import { close, inspect, LIMIT_MS, startUi, toast, pageTab } from '#test/support/ui.ts';

const ui = startUi({ live: true });

async function proposer(name: string): Promise<McpClient> {
  const { token } = await ui.programs.api('POST', '/agent-tokens', { name, duration_minutes: 60, scopes: ['propose'] });
  return connectClient('v2', `${ui.programs.url}/agent-mcp/mcp`, { authorization: `Bearer ${String(token)}` });
}

async function ok<T = Record<string, unknown>>(agent: McpClient, name: string, args: Record<string, unknown>): Promise<T> {
  const answer = await agent.call(name, args);
  if (answer.isError) throw new Error(`${name}: ${answer.content[0]?.text}`);
  return answer.structuredContent as T;
}

browserTest(
  'an agent proposes a tool, a person approves it by keyboard, and connected clients receive it',
  async () => {
    const { programs } = ui;
    const agent = await proposer('Walker');
    const { tables } = await ok<{ tables: { name: string }[] }>(agent, 'list_tables', { connection_id: 'demo' });
    expect(tables.map(({ name }) => name)).toContain('customers');
    const { columns } = await ok<{ columns: { name: string }[] }>(agent, 'list_columns', {
      connection_id: 'demo',
      table: 'customers',
    });
    expect(columns.map(({ name }) => name)).toContain('country');
    const sql_query = 'select id, name from customers where country = :country order by id limit 20';
    await ok(agent, 'preview_sql', { connection_id: 'demo', sql_query, parameters: { country: 'Germany' } });
    const tool = await ok(agent, 'create_tool', {
      connection_id: 'demo',
      name: 'customers_in_country',
      description: 'Lists up to twenty customers who live in one country, by id. Use it before you look at their orders.',
      sql_query,
      parameters: [{ name: 'country', type: 'string', description: 'Country, in English', examples: ['Germany'] }],
      proposal_note: 'Support asks for customers by country.\nToday they export everything.',
    });
    expect(tool).toMatchObject({ proposed: true, findings: [] });
    await ok(agent, 'create_test', {
      owner: { kind: 'tool', id: 'customers_in_country' },
      name: 'nobody lives nowhere',
      arguments: { country: 'Nowhere' },
      expect: { rows: { min: 0, max: 0 } },
    });
    expect(await ok(agent, 'run_tests', { ids: ['nobody lives nowhere'] })).toMatchObject({ passed: 1, failed: 0 });
    expect((await agent.call('deploy_server', {})).isError).toBe(true);
    const names = async () =>
      (await programs.api<{ items: { name: string }[] }>('GET', '/tools?limit=500')).items.map(({ name }) => name);
    expect(await names()).not.toContain('customers_in_country');

    const client = new Client({ name: 'user', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(programs.mcp_url)));
    let heard = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => void (heard += 1));
    const subscription = await client.listen({ toolsListChanged: true });

    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(programs.url);
    const entry = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /^Deploy/ });
    await entry.getByText('1 proposal to review', { exact: false }).first().waitFor();
    await page.getByRole('region', { name: 'Needs you' }).getByRole('link', { name: '1 proposal to review' }).waitFor();
    await entry.click();
    await pageTab(page, /^Proposals/).click();
    await expectAccessible(page, 'the list of proposals');
    await page.getByRole('link', { name: /Support asks for customers by country/ }).click();
    await page.getByRole('heading', { name: 'Support asks for customers by country.' }).waitFor();
    await page.getByText('Today they export everything.').waitFor();
    await page.getByText('Create tool customers_in_country').waitFor();
    await page.getByText('Create test nobody lives nowhere').waitFor();
    await page.getByText('Nothing found.').waitFor();
    const results = page.getByRole('list', { name: 'Test results' });
    await results.getByText('Passed').waitFor();
    await page.getByText('where country = :country').first().waitFor();
    await expectAccessible(page, 'a proposal');

    // The agent adds something that nobody has read yet.
    await ok(agent, 'create_test', {
      owner: { kind: 'tool', id: 'customers_in_country' },
      name: 'nobody lives at sea',
      arguments: { country: 'Sea' },
      expect: { rows: { min: 0, max: 0 } },
    });
    await page.getByRole('textbox', { name: 'Comment' }).fill('Thank you, this is useful.');
    await page.getByRole('button', { name: 'Add comment' }).click();
    await page.getByRole('list', { name: 'Comments' }).getByText('Thank you, this is useful.').waitFor();

    await page.getByText('This proposal changed while you read it').waitFor();
    await page.getByText('Create test nobody lives at sea').waitFor();
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('a');
    await page.getByRole('button', { name: 'I have read it' }).click();
    await page.getByText('This proposal changed while you read it').waitFor({ state: 'detached' });
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('a');
    const dialog = page.getByRole('dialog', { name: 'Approve 3 changes?' });
    await dialog.waitFor();
    await expectAccessible(page, 'approving a proposal');
    expect(await names()).not.toContain('customers_in_country');
    await page.keyboard.press('Enter');
    await toast(page, 'Approved. The changes are ready to deploy.').waitFor();
    expect(await names()).toContain('customers_in_country');
    await page.getByText(/approved by ada/).waitFor();
    expect(heard).toBe(0);

    await page.goto(`${programs.url}/history`);
    await page.getByText('ada, proposed by Walker').first().waitFor();
    await page.goto(`${programs.url}/deploy`);
    await page
      .getByRole('button', { name: /^Deploy/ })
      .last()
      .click();
    await page.getByText(/Version \d+ is live/).waitFor();
    await until(
      () => heard > 0,
      () => 'no list_changed',
    );
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('customers_in_country');
    await subscription.close();
    await client.close();
    await agent.close();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a stale proposal is updated, one that breaks a test shows it, and a rejected one changes nothing',
  async () => {
    const { programs } = ui;
    const agent = await proposer('Changer');
    const { items } = await programs.api<{ items: { id: string; name: string; sql_query: string; version: number }[] }>(
      'GET',
      '/tools?limit=500',
    );
    const tool = items.find(({ name }) => name === 'sales_by_category');
    if (tool === undefined) throw new Error('There is no tool sales_by_category.');
    await programs.api('POST', '/tests', {
      owner: { kind: 'tool', id: tool.id },
      name: 'has more than one category',
      expect: { rows: { min: 2 } },
    });
    const { proposal_id } = await ok(agent, 'update_tool', {
      tool_id: 'sales_by_category',
      sql_query: `select * from (${tool.sql_query}) as sales limit 1`,
      proposal_note: 'One row is enough.',
    });
    await programs.api('PATCH', `/tools/${tool.id}`, { title: 'Sales' });

    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${programs.url}/proposals/${String(proposal_id)}`);
    await page.getByText('This proposal is out of date').waitFor();
    await page.getByText(/Tool sales_by_category is now at version \d+, not \d+\./).waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).getAttribute('aria-disabled')).toBe('true');
    await page.keyboard.press('a');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('list', { name: 'Test results' }).getByText('Failed').waitFor();
    await page.getByRole('list', { name: 'Findings' }).getByText('blocks a deploy').first().waitFor();
    await expectAccessible(page, 'a stale proposal');
    await page.getByRole('button', { name: 'Bring up to date' }).click();
    await toast(page, 'The proposal is up to date. Review it again.').waitFor();
    await page.getByText('This proposal is out of date').waitFor({ state: 'detached' });
    // Words of the statement that are new are marked in their line.
    expect(await page.locator('.text-diff mark').count()).toBeGreaterThan(0);

    for (const scheme of ['light', 'dark'] as const) {
      const narrow = await ui.signedIn(390, scheme);
      await narrow.page.goto(`${programs.url}/proposals/${String(proposal_id)}`);
      await narrow.page.getByText('One row is enough.').first().waitFor();
      await inspect(narrow.page, 'a-proposal', { width: 390, scheme });
      await narrow.page.goto(`${programs.url}/proposals`);
      await narrow.page.getByText('One row is enough.').waitFor();
      await inspect(narrow.page, 'proposals', { width: 390, scheme });
      await close(narrow);
    }

    await page.keyboard.press('r');
    const dialog = page.getByRole('dialog', { name: 'Reject “One row is enough.”?' });
    await dialog.getByLabel('Comment').fill('Reports need all rows.');
    await dialog.getByRole('button', { name: 'Reject' }).click();
    await toast(page, 'Rejected. Nothing was changed.').waitFor();
    await page.getByText(/rejected by ada/).waitFor();
    await page.getByText('Reports need all rows.').waitFor();
    const now = await programs.api<{ sql_query: string }>('GET', `/tools/${tool.id}`);
    expect(now.sql_query).toBe(tool.sql_query);
    await page.goto(`${programs.url}/proposals`);
    await page.getByText('No proposals to review').waitFor();
    await expectAccessible(page, 'no proposals');
    await page.getByRole('link', { name: 'Create agent token' }).waitFor();
    await agent.close();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a change by another person or the author ends a decision with a reason and loses no comment',
  async () => {
    const { programs } = ui;
    const propose = async (name: string) => {
      const agent = await proposer(name);
      const { proposal_id } = await ok(agent, 'create_tool', {
        connection_id: 'demo',
        name,
        description: 'Lists the first five customers by id. Use it to see what a customer looks like.',
        sql_query: 'select id, name from customers order by id limit 5',
        proposal_note: 'Two people read this.',
      });
      return { agent, id: String(proposal_id) };
    };
    const opened = await ui.signedIn();
    const { page } = opened;
    const first = await propose('first_five');
    await page.goto(`${programs.url}/proposals/${first.id}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    const dialog = page.getByRole('dialog', { name: /^Approve \d changes?\?$/ });
    const approve = dialog.getByRole('button', { name: 'Approve' });
    await approve.waitFor();
    await programs.api('POST', `/proposals/${first.id}/reject`, {});
    await approve.click();
    await dialog.getByText('This proposal was rejected by ada in the meantime.').waitFor();
    expect(await approve.getAttribute('aria-disabled')).toBe('true');
    await expectAccessible(page, 'a decision that came too late');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText(/rejected by ada/).waitFor();
    expect(await page.evaluate(() => document.activeElement !== document.body)).toBe(true);

    const second = await propose('five_first');
    await page.goto(`${programs.url}/proposals/${second.id}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await dialog.getByLabel('Comment').fill('c'.repeat(2_001));
    await approve.click();
    await dialog.getByText('Must have at most 2000 characters.').waitFor();
    expect(await dialog.getByRole('alert').count()).toBe(0);
    await dialog.getByLabel('Comment').fill('Five are enough.');
    await ok(second.agent, 'create_test', {
      owner: { kind: 'tool', id: 'five_first' },
      name: 'five',
      arguments: {},
      expect: { rows: { max: 5 } },
    });
    await approve.click();
    await dialog.getByText('This proposal changed while you read it.', { exact: false }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'I have read it' }).click();
    await page.getByRole('button', { name: 'Approve' }).click();
    expect(await dialog.getByLabel('Comment').inputValue()).toBe('Five are enough.');
    await approve.click();
    await toast(page, 'Approved. The changes are ready to deploy.').waitFor();
    await page.getByText(/approved by ada/).waitFor();
    await until(() => page.evaluate(() => document.activeElement !== document.body));

    const text = page.getByRole('textbox', { name: 'Comment' });
    await text.fill('c'.repeat(2_001));
    await page.getByRole('button', { name: 'Add comment' }).click();
    await page.getByText('Must have at most 2000 characters.').waitFor();
    await text.fill('Not added yet');
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Tools', exact: true }).click();
    await page.getByText('Your comment is not added yet.').waitFor();
    await page.keyboard.press('Escape');
    expect(await text.inputValue()).toBe('Not added yet');
    await text.fill('');
    await page.goto(`${programs.url}/proposals/nowhere`);
    await page.getByText('This proposal doesn’t exist').waitFor();
    await page.getByRole('link', { name: 'All proposals' }).click();
    await page.getByText('No proposals to review').waitFor();
    for (const { agent } of [first, second]) await agent.close();
    await close(opened, [404, 409, 422]);
  },
  LIMIT_MS,
);

browserTest(
  'a proposal whose tool was deleted promises no repair, and claims no findings',
  async () => {
    const { programs } = ui;
    const agent = await proposer('Late');
    const { items } = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools?limit=500');
    const tool = items.find(({ name }) => name === 'spending_per_month');
    const { proposal_id } = await ok(agent, 'update_tool', {
      tool_id: 'spending_per_month',
      title: 'Spending',
      proposal_note: 'A title.',
    });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${programs.url}/proposals/${String(proposal_id)}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    const dialog = page.getByRole('dialog', { name: 'Approve 1 change?' });
    await programs.api('DELETE', `/tools/${tool?.id}`);
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await dialog.getByText('This proposal cannot be applied any more. Close this dialog to read why.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Tool spending_per_month was deleted.').waitFor();
    await page.getByText('Reject the proposal, or change the working copy so that it applies again.').waitFor();
    for (const name of ['Bring up to date', 'Replay recent calls'])
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    expect(await page.getByText(/You or the author can bring|Nothing found|stay as they are/).count()).toBe(0);
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await inspect(page, 'a-proposal-of-nothing', { width, scheme: 'light' });
    }
    await programs.api('POST', `/proposals/${String(proposal_id)}/reject`, {});
    await agent.close();
    await close(opened, [409]);
  },
  LIMIT_MS,
);

browserTest(
  'the permission to propose is given to an agent with a plain sentence',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/agents`);
    await page.getByRole('button', { name: 'New token' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New agent token' });
    await dialog.getByLabel('Name').fill('Careful');
    await dialog.getByLabel('Write').uncheck();
    await dialog.getByLabel('Propose').check();
    await dialog.getByText('Read, test and propose changes, which wait for approval.').waitFor();
    await dialog.getByRole('button', { name: 'Create token' }).click();
    await page.getByText('Token “Careful”').first().waitFor();
    const { items } = await ui.programs.api<{ items: { name: string; scopes: string[] }[] }>('GET', '/agent-tokens');
    expect(items.find(({ name }) => name === 'Careful')?.scopes).toEqual(['read', 'propose']);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'tests of a writing tool run only when the person who reviews them starts them',
  async () => {
    const { programs } = ui;
    const { items } = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/connections');
    const demo = items.find(({ name }) => name === 'demo');
    await programs.api('PATCH', `/connections/${String(demo?.id)}`, { read_only: false });
    const agent = await proposer('Scribe');
    const { proposal_id } = await ok(agent, 'create_tool', {
      connection_id: 'demo',
      name: 'rename_customer',
      description: 'Changes the name of the first customer. Use it when a person asks for another name.',
      sql_query: 'update customers set name = :name where id = 1',
      read_only: false,
      parameters: [{ name: 'name', type: 'string', description: 'The new name', examples: ['Ada'] }],
      proposal_note: 'Names change.',
    });
    const owner = { kind: 'tool', id: 'rename_customer' };
    await ok(agent, 'create_test', { owner, name: 'renames one', arguments: { name: 'Ada' }, expect: {} });

    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${programs.url}/proposals/${String(proposal_id)}`);
    const results = page.getByRole('list', { name: 'Test results' });
    await results.getByText('Skipped').waitFor();
    await expectAccessible(page, 'a proposal with a skipped test');
    await page.getByRole('button', { name: 'Run skipped tests' }).click();
    await results.getByText('Passed').waitFor();
    expect(await page.getByRole('button', { name: 'Run skipped tests' }).count()).toBe(0);
    await programs.api('POST', `/proposals/${String(proposal_id)}/reject`, {});
    await agent.close();
    await close(opened);
  },
  LIMIT_MS,
);
