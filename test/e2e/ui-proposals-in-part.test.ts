import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { close, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ui = startUi();

browserTest(
  'a reviewer tries a proposed tool, leaves out what they do not want, and the page says what was taken',
  async () => {
    const { programs } = ui;
    const { token } = await programs.api('POST', '/agent-tokens', { name: 'Walker', duration_minutes: 60, scopes: ['propose'] });
    const agent = await connectClient('v2', `${programs.url}/agent-mcp/mcp`, { authorization: `Bearer ${String(token)}` });
    const tool = (name: string, description: string) => ({
      connection_id: 'demo',
      name,
      description,
      sql_query: 'select id, name from customers where id <= :most order by id limit 20',
      parameters: [{ name: 'most', type: 'integer', description: 'Highest number of a customer', examples: [3] }],
    });
    const made = await agent.call(
      'create_tool',
      tool('first_customers', 'Lists the customers with the lowest numbers, by number.'),
    );
    const { proposal_id } = made.structuredContent as { proposal_id: string };
    await agent.call('create_test', {
      owner: { kind: 'tool', id: 'first_customers' },
      name: 'finds somebody',
      arguments: { most: 3 },
      expect: { rows: { min: 1 } },
    });
    await agent.call('create_tool', tool('early_customers', 'Finds people who became customers early, oldest first.'));

    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${programs.url}/proposals/${proposal_id}`);
    await page.getByRole('button', { name: 'Try first_customers' }).click();
    const drawer = page.getByRole('dialog', { name: 'Try first_customers' });
    await drawer.getByRole('button', { name: 'Run', exact: true }).click();
    await drawer.getByText(/^3 rows/).waitFor();
    await expectAccessible(page, 'trying a proposed tool');
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });

    // The test goes with the tool that it needs, and comes back with it.
    const taken = (name: string) => page.getByRole('checkbox', { name });
    await taken('Create tool first_customers').uncheck();
    expect(await taken('Create test finds somebody').isChecked()).toBe(false);
    await taken('Create test finds somebody').check();
    expect(await taken('Create tool first_customers').isChecked()).toBe(true);
    await taken('Create test finds somebody').focus();
    await page.keyboard.press('Space');
    await taken('Create tool early_customers').uncheck();
    await expectAccessible(page, 'a proposal of which some operations are left out');
    await page.getByRole('button', { name: 'Approve 1 of 3' }).click();
    const dialog = page.getByRole('dialog', { name: 'Approve 1 of 3 changes?' });
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await toast(page, 'Approved. The changes are ready to deploy.').waitFor();
    await page.getByText('Approved in part', { exact: true }).waitFor();
    expect(await page.getByText('Left out', { exact: true }).count()).toBe(2);
    const { items } = await programs.api<{ items: { name: string }[] }>('GET', '/tools?limit=500');
    const names = items.map(({ name }) => name);
    expect([names.includes('first_customers'), names.includes('early_customers')]).toEqual([true, false]);
    await agent.close();
    await close(opened);
  },
  LIMIT_MS,
);
