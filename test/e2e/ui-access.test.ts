import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { SPECIFIED_TOOLS } from '#test/support/agent-tools.ts';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, inspectAll, LIMIT_MS, quietOf, startUi, toast } from '#test/support/ui.ts';

const ui = startUi();

browserTest(
  'the deployed server asks for a token after a deploy, and a new token opens it until it is revoked',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/access`);
    await page.getByRole('region', { name: 'The server' }).getByText(ui.programs.mcp_url).waitFor();
    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page.getByText(/The server answers with \d+ tools in/).waitFor();

    await ui.programs.api('PATCH', '/server/config', { auth_type: 'bearer' });
    await page.reload();
    await page.getByText('changes at the next deploy').waitFor();
    await ui.programs.api('POST', '/deploy', {});
    await page.reload();
    await page.getByRole('button', { name: 'Copy the text for Claude Code' }).click();
    await toast(page, 'Copied. Replace YOUR_TOKEN before you use it.').waitFor();
    await page.getByRole('tab', { name: 'Cursor' }).click();
    expect(await page.getByRole('link', { name: 'Open Cursor' }).count()).toBe(0);
    await page.getByRole('tab', { name: 'Claude Code' }).click();
    await page.getByRole('textbox', { name: 'Access token for the test' }).fill('svc_mcp_wrong');
    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page.getByText('The server rejects this token.').waitFor();

    await page.getByRole('button', { name: 'New token' }).first().click();
    const form = page.getByRole('dialog', { name: 'New access token' });
    await form.getByRole('button', { name: 'Create token' }).click();
    await form.locator('[aria-invalid=true]').waitFor();
    await form.getByLabel('Name').fill('laptop');
    await form.getByRole('button', { name: 'Create token' }).click();
    await form.getByText('Choose one of the two.').waitFor();
    await form.getByRole('radio', { name: 'Everything' }).check();
    await form.getByRole('button', { name: 'Create token' }).click();
    const made = page.getByRole('dialog', { name: 'Token “laptop”' });
    const token = (await made.getByRole('group', { name: 'Access token' }).textContent()) ?? '';
    expect(token).toMatch(/^svc_mcp_/);
    await made.getByRole('group', { name: 'the text for Claude Code' }).getByText(token).waitFor();
    await expectAccessible(page, 'a token shown once');
    await made.getByRole('button', { name: 'I have copied it' }).click();
    await page.locator('button:focus').getByText('New token').waitFor();

    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page.getByText(/The server answers with \d+ tools in/).waitFor();
    await page.getByRole('group', { name: 'the text for Claude Code' }).getByText(token).waitFor();
    await page.getByRole('tab', { name: 'Cursor' }).click();
    expect(await page.getByRole('link', { name: 'Open Cursor' }).getAttribute('href')).toStartWith('cursor://');

    await page.getByRole('table', { name: 'Access tokens' }).getByRole('columnheader', { name: 'Expires' }).waitFor();
    await page.getByRole('button', { name: 'Rotate laptop' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate' }).click();
    const rotated = page.getByRole('dialog', { name: 'Token “laptop”' });
    const next = (await rotated.getByRole('group', { name: 'Access token' }).textContent()) ?? '';
    expect(next).toMatch(/^svc_mcp_/);
    expect(next).not.toBe(token);
    await rotated.getByRole('button', { name: 'I have copied it' }).click();

    await page.getByRole('button', { name: 'Revoke laptop' }).click();
    await page.getByRole('alertdialog').or(page.getByRole('dialog')).getByRole('button', { name: 'Revoke' }).click();
    await toast(page, 'Revoked “laptop”.').waitFor();
    await page.getByRole('table', { name: 'Access tokens' }).getByText('Revoked').waitFor();
    // Without a choice of toolsets the form was refused.
    await close(opened, [401, 422]);
  },
  LIMIT_MS,
);

browserTest(
  'every page shows the same text for a client, and offers a tool where clients list no templates',
  async () => {
    await ui.programs.api('PATCH', '/server/config', { auth_type: 'bearer' });
    await ui.programs.api('POST', '/deploy', {});
    const opened = await ui.signedIn();
    const { page } = opened;
    const texts: (string | null)[] = [];
    for (const path of ['/access', '/']) {
      await page.goto(`${ui.programs.url}${path}`);
      const text = page.getByRole('group', { name: 'the text for Claude Code' });
      await text.waitFor();
      texts.push(await text.textContent());
      expect(await page.getByRole('tab', { name: 'ChatGPT' }).count()).toBe(0);
    }
    expect(texts[0]).toContain("--header 'Authorization: Bearer YOUR_TOKEN'");
    expect(texts[1]).toBe(texts[0] ?? '');
    await page.getByRole('tab', { name: 'stdio' }).click();
    expect(await page.getByRole('group', { name: 'the text for stdio' }).textContent()).toContain(ui.programs.directory);
    await page.getByRole('tab', { name: 'Claude Code' }).click();
    const template = page.getByRole('link', { name: 'order', exact: true });
    const href = await template.getAttribute('href');
    await template.click();
    await page.waitForURL(`**${href}`);
    await page.getByRole('heading', { name: 'New tool' }).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('order');
    await page.getByText('from orders', { exact: false }).first().waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'an agent gets a token with the scopes that were chosen, and what it did is seen',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/agents`);
    await page.getByRole('button', { name: 'New token' }).first().click();
    const form = page.getByRole('dialog', { name: 'New agent token' });
    await form.getByLabel('Name').fill('Claude');
    expect(
      await Promise.all(['Read', 'Write', 'Deploy'].map((name) => form.getByRole('checkbox', { name }).isChecked())),
    ).toEqual([true, true, false]);
    await expectAccessible(page, 'a new agent token');
    await form.getByRole('button', { name: 'Create token' }).click();
    const made = page.getByRole('dialog', { name: 'Token “Claude”' });
    const token = (await made.getByRole('group', { name: 'Token', exact: true }).textContent()) ?? '';
    const text = await made.getByRole('group', { name: 'the text for Claude Code' }).textContent();
    expect(text).toContain('sluice-admin');
    expect(text).toContain(token);
    await made.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('table', { name: 'Tokens' }).getByText('Claude').waitFor();

    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${ui.programs.url}/api/v1/connections`, { headers })).status).toBe(200);
    expect((await fetch(`${ui.programs.url}/api/v1/deploy`, { method: 'POST', headers, body: '{}' })).status).toBe(403);

    await until(async () => (await ui.programs.api<{ total: number }>('GET', '/agent-activity')).total >= 2);
    await page.getByRole('tab', { name: 'Activity' }).click();
    const activity = page.getByRole('table', { name: 'Activity' });
    await activity.getByText('list_connections').first().waitFor();
    await page.getByRole('region', { name: 'By token' }).getByText('Claude').waitFor();
    await page.goto(`${ui.programs.url}/agents?view=activity&done=no`);
    await activity.getByText('forbidden').or(activity.getByText(/scope/)).first().waitFor();
    await until(async () => (await activity.getByText('list_connections').count()) === 0);

    await page.getByRole('tab', { name: 'OAuth clients' }).click();
    await page.getByRole('button', { name: 'New client' }).first().click();
    const client = page.getByRole('dialog', { name: 'New OAuth client' });
    await client.getByLabel('Name').fill('Pipeline');
    await client.getByRole('checkbox', { name: 'Write' }).uncheck();
    await client.getByRole('checkbox', { name: 'Read' }).uncheck();
    await client.getByRole('button', { name: 'Create client' }).click();
    await client.getByText('Must not be empty.').waitFor();
    await client.getByRole('checkbox', { name: 'Read' }).check();
    await client.getByRole('button', { name: 'Create client' }).click();
    await page.getByRole('dialog', { name: 'Client “Pipeline”' }).getByRole('group', { name: 'Client secret' }).waitFor();
    const exchange = page.getByRole('dialog').getByRole('group', { name: 'the text for OAuth client' });
    expect(await exchange.textContent()).not.toContain('CLIENT_SECRET');
    await page.getByRole('button', { name: 'I have copied it' }).click();

    await page.getByRole('tab', { name: 'Tools', exact: true }).click();
    await page.getByText(`${SPECIFIED_TOOLS.length} MCP tools`).waitFor();
    await page.getByLabel('Search tools').fill('rollback');
    await page.getByRole('list', { name: 'Tools' }).getByText('rollback', { exact: true }).waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a server that anyone may call is named on every page, with the way out, until it asks for a token',
  async () => {
    await ui.programs.api('PATCH', '/server/config', { auth_type: 'none', host: '0.0.0.0' });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/deploy`);
    await page.getByText('This deploy lets anyone call every tool').waitFor();
    await ui.programs.api('POST', '/deploy', {});
    await page.goto(`${ui.programs.url}/tools`);
    const warning = page.getByRole('alert').filter({ hasText: 'Anyone can call every tool' });
    await warning.getByText('listens on 0.0.0.0').waitFor();
    await expectAccessible(page, 'a standing warning');
    await warning.getByRole('link', { name: 'Choose authentication' }).click();
    await page.waitForURL('**/settings/auth');
    await warning.waitFor();
    await ui.programs.api('PATCH', '/server/config', { auth_type: 'bearer', host: '127.0.0.1' });
    await ui.programs.api('POST', '/deploy', {});
    expect((await ui.programs.api<{ warnings: string[] }>('GET', '/deploy/status')).warnings).toEqual([]);
    const quiet = quietOf(page);
    await page.goto(`${ui.programs.url}/access`);
    await page.getByRole('region', { name: 'The server' }).waitFor();
    await quiet();
    expect(await warning.count()).toBe(0);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'access looks right on a phone and on a screen, in light and dark',
  async () => {
    await ui.programs.api('POST', '/oauth-clients', { name: 'Nightly', idle_timeout_minutes: 60, scopes: ['read'] });
    await inspectAll(ui, [
      { path: '/access', name: 'access', ready: 'Claude Desktop' },
      { path: '/agents', name: 'agents', ready: 'Claude Code' },
      { path: '/agents?view=clients', name: 'agents-clients', ready: 'Nightly' },
      { path: '/agents?view=activity', name: 'agents-activity', ready: 'Error' },
      { path: '/agents?view=tools', name: 'agents-tools', ready: 'create_connection' },
    ]);
  },
  LIMIT_MS,
);

browserTest(
  'of more than a hundred access tokens the first hundred are shown, and the others on request',
  async () => {
    const { total } = await ui.programs.api<{ total: number }>('GET', '/mcp-tokens');
    const missing = Array.from({ length: 103 - total }, (_, n) => `client ${n}`);
    await Promise.all(missing.map((name) => ui.programs.api('POST', '/mcp-tokens', { name, all_toolsets: true })));
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/access`);
    const tokens = page.getByRole('region', { name: 'Access tokens' });
    await tokens.getByText('100 of 103').waitFor();
    await tokens.getByRole('button', { name: 'Show more' }).click();
    await tokens.getByText('103 of 103').waitFor();
    await page.getByRole('button', { name: 'New token' }).first().click();
    const form = page.getByRole('dialog', { name: 'New access token' });
    await form.getByLabel('Name').fill('one more');
    await form.getByRole('radio', { name: 'Everything' }).check();
    await form.getByRole('button', { name: 'Create token' }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await tokens.getByText('104 of 104').waitFor();
    await close(opened);
  },
  LIMIT_MS,
);
