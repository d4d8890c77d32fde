import { expect } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { browserTest } from '#test/support/browser.ts';
import { CLAUDE_CODE } from '#test/support/sign-in.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';
import { close, inspect, LIMIT_MS, startUi } from '#test/support/ui.ts';

let provider: TestProvider;
const ui = startUi({
  role: 'server',
  env: { SVC_DEMO: 'false' },
  prepare: async () => {
    provider = await openTestProvider();
    provider.person = { sub: 'person-1', preferred_username: 'grace' };
  },
  cleanup: () => provider.close(),
});

async function exchange(): Promise<number> {
  const { issuer, token_endpoint } = (await (
    await fetch(`${ui.programs.url}/.well-known/oauth-authorization-server`)
  ).json()) as Record<string, string>;
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: provider.issuer,
    ...provider.person,
    aud: issuer,
    client_id: CLAUDE_CODE,
    jti: randomUUID(),
    iat: now,
    exp: now + 300,
  };
  const assertion = await provider.sign(claims, { typ: 'oauth-id-jag+jwt' });
  const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  const body = new URLSearchParams({ grant_type, assertion, client_id: CLAUDE_CODE });
  return (await fetch(token_endpoint ?? '', { method: 'POST', body })).status;
}

browserTest(
  'an administrator lets a provider decide over a client, sees its session and revokes it',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/settings/sign_in`);
    await page.getByRole('button', { name: 'Add provider' }).first().click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('Company');
    await form.getByLabel('Issuer').fill(provider.client.issuer);
    await form.getByLabel('Client ID').fill(provider.client.client_id);
    await form.getByLabel('Client secret', { exact: true }).fill(provider.client.client_secret);
    await form.getByLabel('Create people').check();
    await form.getByLabel('Accept identity assertions').check();
    // Without a client every assertion would be refused.
    await form.getByRole('button', { name: 'Add provider' }).click();
    await form.getByLabel('Clients of assertions').and(page.locator('[aria-invalid]')).waitFor();
    await form.getByLabel('Clients of assertions').fill(CLAUDE_CODE);
    await form.getByLabel('Algorithms of assertions').fill('HS256,');
    await form.getByText('Use asymmetric signature algorithms').waitFor();
    await form.getByLabel('Algorithms of assertions').press('Backspace');
    await form.getByLabel('Algorithms of assertions').fill('ES256,');
    await inspect(page, 'assertions-provider', { width: 1280, scheme: 'light' });
    await form.getByRole('button', { name: 'Add provider' }).click();
    await page.getByText('The provider is ready for sign-ins').waitFor();
    await page.getByText('The provider must issue assertions for the audience').waitFor();

    expect(await exchange()).toBe(200);
    await page.goto(`${ui.programs.url}/sign-in`);
    await page.getByRole('region', { name: 'Sign-in attempts' }).getByText('Identity assertion').waitFor();
    const clients = page.getByRole('region', { name: 'Connected clients' });
    await clients.getByText('Identity assertion').waitFor();
    await clients.getByText('grace').waitFor();
    await clients.getByRole('button', { name: 'Revoke Claude Code' }).click();
    const question = page.getByRole('alertdialog');
    await question.getByText('It can connect again while the identity provider allows it.').waitFor();
    await question.getByRole('button', { name: 'Revoke' }).click();
    await clients.getByText('No clients yet').waitFor();
    expect((await ui.programs.api<{ total: number }>('GET', '/grants')).total).toBe(0);
    await close(opened, [422]);
  },
  LIMIT_MS,
);
