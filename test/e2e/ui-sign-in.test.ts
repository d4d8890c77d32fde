import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { browserTest, openPage } from '#test/support/browser.ts';
import { type OidcProvider, startOidcProvider } from '#test/support/oidc-provider.ts';
import { inspect, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

let provider: OidcProvider;
const ui = startUi({
  role: 'server',
  env: { SVC_DEMO: 'false' },
  prepare: async ({ url }) => {
    provider = await startOidcProvider(`${url}/api/v1/auth/oidc/callback`);
  },
  cleanup: () => provider.stop(),
});

/** The provider's own form. */
async function passProvider(page: Page, login: string): Promise<void> {
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
}

browserTest(
  'an administrator rotates the signing keys',
  async () => {
    const { page, context } = await ui.signedIn();
    await page.goto(`${ui.programs.url}/settings/sign_in`);
    const panel = page.getByRole('region', { name: 'Signing keys' });
    await panel.getByText('No signing keys yet').waitFor();
    await panel.getByRole('button', { name: 'Rotate keys' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate keys' }).click();
    await panel.getByText('Current', { exact: true }).waitFor();
    await panel.getByText('Next', { exact: true }).waitFor();
    await inspect(page, 'sign-in-keys', { width: 1280, scheme: 'light' });
    await panel.getByRole('button', { name: 'Rotate keys' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate keys' }).click();
    await page.getByText('Try again in 10 min.').waitFor();
    await context.close();
  },
  LIMIT_MS,
);

browserTest(
  'an administrator adds a provider, links an account, turns passwords off, and people sign in',
  async () => {
    const look = { width: 1280, scheme: 'light' } as const;
    const { page, context, faults } = await ui.signedIn();
    await page.goto(`${ui.programs.url}/settings/sign_in`);
    await page.getByText('No identity providers yet').waitFor();
    await page.getByRole('button', { name: 'Add provider' }).first().click();
    const form = page.getByRole('dialog');
    // What is missing is said at its field.
    await form.getByRole('button', { name: 'Add provider' }).click();
    await form.getByLabel('Issuer').and(page.locator('[aria-invalid]')).waitFor();
    await form.getByLabel('Name').fill('Company');
    await form.getByLabel('Issuer').fill(provider.client.issuer);
    await form.getByLabel('Client ID').fill('sluice');
    await form.getByLabel('Client secret', { exact: true }).fill(provider.client.client_secret);
    await form.getByLabel('Scopes').fill('groups,');
    await form.getByLabel('Create people').check();
    await form.getByLabel('Groups claim').fill('groups');
    await form.getByRole('button', { name: 'Add group' }).click();
    await form.getByLabel('Group', { exact: true }).fill('data');
    await inspect(page, 'sign-in-provider', look);
    await form.getByRole('button', { name: 'Add provider' }).click();
    await page.getByText('The provider is ready for sign-ins').waitFor();
    await inspect(page, 'sign-in-test', look);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('.shell[aria-hidden=true]').waitFor({ state: 'detached' });
    await inspect(page, 'sign-in-settings', look);

    // Nobody could come in without a password yet.
    await page.getByLabel('Sign in with a password').uncheck();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Link an owner’s account first').first().waitFor();
    await page.goto(`${ui.programs.url}/account`);
    // The provider's own page asks for fonts elsewhere.
    expect(faults.filter((fault) => !/status of (401|422)/.test(fault))).toEqual([]);
    await page.getByRole('link', { name: 'Link Company' }).click();
    await passProvider(page, 'ada-at-work');
    await page.waitForURL(`${ui.programs.url}/account`);
    const linked = page.getByRole('list', { name: 'Linked accounts' });
    const unlink = linked.getByRole('button', { name: 'Unlink Company' });
    await unlink.click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Unlink' }).click();
    await unlink.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Link Company' }).click();
    await page.waitForURL(`${ui.programs.url}/account`);
    await unlink.waitFor();
    await inspect(page, 'sign-in-linked', look);
    await page.goto(`${ui.programs.url}/settings/sign_in`);
    await page.getByLabel('Sign in with a password').uncheck();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await toast(page, 'Saved.').waitFor();
    await context.close();

    // Somebody else, in another browser.
    for (const one of [
      { width: 360, scheme: 'dark' },
      { width: 1280, scheme: 'light' },
    ] as const) {
      const other = await openPage(ui.browser, one);
      await other.page.goto(`${ui.programs.url}/tools`);
      await other.page.getByRole('link', { name: 'Continue with Company' }).waitFor();
      expect(await other.page.getByLabel('Password').count()).toBe(0);
      await inspect(other.page, 'sign-in-page', one);
      await other.page.getByRole('link', { name: 'Continue with Company' }).click();
      await passProvider(other.page, 'grace');
      await other.page.waitForURL(`${ui.programs.url}/tools`);
      await other.page.getByRole('main').getByText('Tools').first().waitFor();
      await other.context.close();
    }

    // The owner comes back by the same way.
    const owner = await openPage(ui.browser, look);
    await owner.page.goto(`${ui.programs.url}/login?refused=expired`);
    await owner.page.getByText('This sign-in has expired').waitFor();
    await inspect(owner.page, 'sign-in-refused', look);
    await owner.page.getByRole('link', { name: 'Continue with Company' }).click();
    await passProvider(owner.page, 'ada-at-work');
    await owner.page.waitForURL(`${ui.programs.url}/`);
    const people = await owner.context.request.get(`${ui.programs.url}/api/v1/people`);
    const { items } = (await people.json()) as { items: { username: string; role: string; sign_in: string }[] };
    expect(items.map(({ username, role, sign_in }) => [username, role, sign_in])).toEqual([
      ['ada', 'owner', 'password'],
      ['grace', 'viewer', 'oidc'],
    ]);

    // An invitation needs no password either.
    const api = `${ui.programs.url}/api/v1`;
    const headers = { origin: ui.programs.url };
    const made = await owner.context.request.post(`${api}/people`, { data: { username: 'katherine', role: 'viewer' }, headers });
    const { id } = (await made.json()) as { id: string };
    const invited = await owner.context.request.post(`${api}/people/${id}/invite`, { data: {}, headers });
    const { invite_url } = (await invited.json()) as { invite_url: string };
    const guest = await openPage(ui.browser, { width: 360, scheme: 'light' });
    await guest.page.goto(invite_url);
    await guest.page.getByRole('button', { name: 'Continue with Company' }).waitFor();
    expect(await guest.page.getByLabel('Password').count()).toBe(0);
    await inspect(guest.page, 'sign-in-invited', { width: 360, scheme: 'light' });
    await guest.page.getByRole('button', { name: 'Continue with Company' }).click();
    await passProvider(guest.page, 'katherine-at-work');
    await guest.page.waitForURL(`${ui.programs.url}/`);
    const me = await guest.context.request.get(`${api}/auth/me`);
    expect(((await me.json()) as { username: string }).username).toBe('katherine');
    await guest.context.close();
    await owner.context.close();
  },
  LIMIT_MS,
);
