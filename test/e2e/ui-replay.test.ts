import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { close, inspectAll, LIMIT_MS, startUi, pageTab } from '#test/support/ui.ts';

const ui = startUi({ live: true });

browserTest(
  'recent calls are replayed on a candidate, and rows that differ stand side by side',
  async () => {
    const { programs } = ui;
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${programs.url}/deploy`);
    await page.getByRole('button', { name: 'Try first' }).click();
    await page.getByRole('menuitem', { name: 'Replay recent calls' }).click();
    const drawer = page.getByRole('dialog', { name: 'Replay recent calls' });
    await drawer.getByText('Replay is off').waitFor();
    await expectAccessible(page, 'replay without calls');
    await drawer.getByRole('link', { name: 'Open the setting' }).click();
    await page.getByRole('spinbutton', { name: 'Calls stored for replay' }).fill('50');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').first().waitFor();
    await programs.api('POST', '/deploy', { note: 'Keep calls' });

    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(programs.mcp_url)));
    for (let n = 0; n < 3; n++) await client.callTool({ name: 'sales_by_category', arguments: {} });
    await client.close();
    type Tool = { id: string; name: string; sql_query: string };
    const { items } = await programs.api<{ items: Tool[] }>('GET', '/tools');
    const tool = items.find(({ name }) => name === 'sales_by_category');
    const wrong = tool?.sql_query.replace(/sum\(/i, '2 * sum(') ?? '';
    expect(wrong).not.toBe(tool?.sql_query);
    await programs.api('PATCH', `/tools/${tool?.id}`, { sql_query: wrong });
    await programs.api('POST', '/snapshots/candidate', { note: 'Doubled sums', allow: ['lint', 'breaking'] });

    await page.goto(`${programs.url}/deploy`);
    await page.getByRole('button', { name: 'Try first' }).click();
    await page.getByRole('menuitem', { name: 'Replay recent calls' }).click();
    await drawer.getByRole('button', { name: 'Candidate: Doubled sums' }).waitFor();
    await drawer.getByRole('button', { name: 'Run replay' }).click();
    const result = drawer.getByRole('region', { name: 'Result of the replay' });
    await result.getByText('3 calls: 0 the same, 3 changed').waitFor();
    const first = result.getByRole('list', { name: 'Differences' }).getByRole('listitem');
    await first.getByText('sales_by_category').waitFor();
    expect(await first.getByRole('rowheader', { name: 'Candidate: Doubled sums' }).count()).toBeGreaterThan(0);
    expect(await first.locator('mark').count()).toBeGreaterThan(1);
    await expectAccessible(page, 'differences of a replay');
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'hidden' });

    await pageTab(page, /^Versions/).click();
    await page.getByRole('button', { name: 'More for version 1' }).click();
    await page.getByRole('menuitem', { name: 'Replay recent calls' }).click();
    await drawer.getByRole('button', { name: /Version 1$/ }).waitFor();
    await drawer.getByRole('button', { name: 'Run replay' }).click();
    await result.getByText('3 calls: 3 the same').waitFor();
    await result.getByText('All results are the same.').waitFor();

    await programs.api('PATCH', `/tools/${tool?.id}`, { sql_query: tool?.sql_query });
    const scopes = ['propose'];
    const { token } = await programs.api<{ token: string }>('POST', '/agent-tokens', {
      name: 'Ann',
      duration_minutes: 60,
      scopes,
    });
    const asked = await fetch(`${programs.url}/api/v1/tools/${tool?.id}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sql_query: wrong }),
    });
    const { proposal_id } = (await asked.json()) as { proposal_id: string };
    await page.goto(`${programs.url}/proposals/${proposal_id}`);
    await page.getByRole('button', { name: 'Replay recent calls' }).click();
    await drawer.getByRole('button', { name: 'Run replay' }).click();
    await result.getByText('3 calls: 0 the same, 3 changed').waitFor();
    await first.getByRole('rowheader', { name: 'With the proposal' }).first().waitFor();
    await expectAccessible(page, 'a replay of a proposal');
    await close(opened);
    await inspectAll(ui, [{ name: 'deploy', path: '/deploy', ready: 'What will change' }]);
  },
  LIMIT_MS,
);
