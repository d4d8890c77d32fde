import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { ACCOUNT, close, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

// The session is made older in the database, so this one is embedded.
const ui = startUi();
const config = () => ui.programs.api<{ deploy_gates: Record<string, string> }>('GET', '/server/config');

const choose = async (page: Page, label: string, option: string) => {
  await page.getByRole('button', { name: label }).click();
  await page.getByRole('option', { name: option }).click();
};

browserTest(
  'a dangerous change of an older session asks for the password, and is saved after it',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const database = new Database(join(ui.programs.directory, 'sluice.sqlite'));
    const hour_ago = new Date(Date.now() - 3_600_000).toISOString();
    database.run('pragma busy_timeout = 5000');
    database.run('update sessions set created_at = ?, proved_at = null', [hour_ago]);
    database.close();
    await page.goto(`${ui.programs.url}/settings/checks`);
    const save = () => page.getByRole('button', { name: 'Save', exact: true }).click();
    await choose(page, 'Tests', 'Off');
    await save();
    const dialog = page.getByRole('alertdialog', { name: 'Confirm that it is you' });
    await dialog.getByText('The deploy gate Tests becomes weaker (deploy_gates.tests).').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await config()).deploy_gates['tests']).toBe('block');
    await save();
    await dialog.getByRole('textbox', { name: 'Password' }).fill('guess');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.locator('[aria-invalid=true]').waitFor();
    await dialog.getByRole('textbox', { name: 'Password' }).fill(ACCOUNT.password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await toast(page, 'Saved.').waitFor();
    expect((await config()).deploy_gates['tests']).toBe('off');
    await close(opened, [403]);
  },
  LIMIT_MS,
);

browserTest(
  'the minimum protocol version shows the clients that it would refuse',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const answer = await fetch(ui.programs.mcp_url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'Claude Code', version: '2.1' } },
      }),
    });
    const session = answer.headers.get('mcp-session-id') ?? '';
    await fetch(ui.programs.mcp_url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-session-id': session },
      body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }),
    });
    await page.goto(`${ui.programs.url}/settings`);
    await page.getByText('No client of the last 90 days would be refused.').waitFor();
    await choose(page, 'Minimum protocol version', '2025-06-18');
    const refused = page.getByRole('group', { name: 'Clients that would be refused' });
    await refused.getByText('Claude Code 2.1, revision 2025-03-26').waitFor();
    expect(await refused.innerText()).toMatch(/last seen .+, would be refused/);
    await close(opened);
  },
  LIMIT_MS,
);
