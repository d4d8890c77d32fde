import { afterAll, expect } from 'bun:test';
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { browserTest, openPage } from '#test/support/browser.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type OidcProvider, startOidcProvider } from '#test/support/oidc-provider.ts';
import { joinAs } from '#test/support/person-browser.ts';
import { freePort } from '#test/support/free-port.ts';
import { until, untilWithin } from '#test/support/until.ts';
import { asked, exchanged, toQuery } from '#test/support/sign-in.ts';
import { inspect, LIMIT_MS, startUi } from '#test/support/ui.ts';

/** People of every kind let an MCP client in, in a browser: from the authorization request to rows of a tool. */
const port = freePort();
const PUBLIC_URL = `http://127.0.0.1:${port}`;
const PASSWORD = 'a long password';
let provider: OidcProvider;
const ui = startUi({
  port,
  env: { SVC_PUBLIC_URL: PUBLIC_URL },
  live: true,
  prepare: async (programs) => {
    provider = await startOidcProvider(`${PUBLIC_URL}/api/v1/auth/oidc/callback`);
    await programs.api('POST', '/identity-providers', {
      name: 'Company',
      ...provider.client,
      scopes: ['openid', 'profile', 'email', 'groups'],
      groups_claim: 'groups',
      create_people: true,
    });
    const { items } = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools');
    for (const [title, name, groups, tool] of [
      ['Customers', 'customers', ['staff'], 'get_customer'],
      ['Products', 'products', ['staff', 'guests', 'shop'], 'search_products'],
    ] as const) {
      const tool_ids = items.filter((item) => item.name === tool).map(({ id }) => id);
      const include = { tags: [], connection_ids: [], tool_ids, resource_ids: [], prompt_ids: [] };
      await programs.api('POST', '/toolsets', { name, title, description: title, include, groups });
    }
    await programs.api('PATCH', '/server/config', { auth_type: 'oauth' });
    await programs.api('POST', '/deploy', {});
    await untilWithin(60_000, async () => (await fetch(programs.mcp_url, { method: 'POST' })).status === 401);
  },
  cleanup: () => provider.stop(),
});

/** The client's own address, which the browser ends up at. */
const answers: URLSearchParams[] = [];
const client = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/callback') answers.push(searchParams);
    const html = '<!doctype html><title>client</title><main>Signed in</main>';
    return new Response(html, { headers: { 'content-type': 'text/html' } });
  },
});
afterAll(() => client.stop(true));
const redirect_uri = `http://127.0.0.1:${client.port}/callback`;

/** What a client with this code gets to see. */
async function clientOf(): Promise<Awaited<ReturnType<typeof connectClient>>> {
  const answer = answers.at(-1);
  expect(answer?.get('iss')).toBe(PUBLIC_URL);
  const { mcp_url: resource } = ui.programs;
  const form = exchanged(answer?.get('code') ?? '', { redirect_uri, resource });
  const token = await fetch(`${PUBLIC_URL}/oauth/token`, { method: 'POST', body: new URLSearchParams(toQuery(form)) });
  expect(token.status).toBe(200);
  const { access_token } = (await token.json()) as { access_token: string };
  return connectClient('v2', resource, { authorization: `Bearer ${access_token}` });
}
const PRODUCTS = ['search_products', { text: 'candle', limit: 5 }] as const;

const begin = (page: Page, scope?: string) =>
  page.goto(`${PUBLIC_URL}/oauth/authorize?${toQuery(asked({ redirect_uri, resource: ui.programs.mcp_url, scope }))}`);
async function allow(page: Page, username: string): Promise<void> {
  await page.getByText(`It will act as you, ${username}.`).waitFor();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('Signed in').waitFor();
}
const permissions = async (page: Page) =>
  (await page.getByRole('region', { name: 'Permissions' }).getByRole('switch').all()).length;

browserTest(
  'people of an identity provider sign in from the consent page and get the rights of their groups',
  async () => {
    for (const [login, count, tools] of [
      ['grace', 2, ['get_customer', 'search_products']],
      ['alan', 1, ['search_products']],
    ] as const) {
      const { page, context } = await openPage(ui.browser, { width: 1280, scheme: 'light' });
      await begin(page);
      const here = page.url();
      await page.getByRole('link', { name: 'Continue with Company' }).click();
      await page.locator('input[name=login]').fill(login);
      await page.locator('input[name=password]').fill('any');
      await page.getByRole('button', { name: 'Sign-in' }).click();
      await page.waitForURL(here);
      await page.getByText(`It will act as you, ${login}.`).waitFor();
      expect(await permissions(page)).toBe(count);
      await allow(page, login);
      const mcp = await clientOf();
      expect((await mcp.tools()).sort()).toEqual([...tools]);
      expect(JSON.stringify(await mcp.call(...PRODUCTS))).toContain('Candle');
      await mcp.close();
      await context.close();
    }
  },
  LIMIT_MS,
);

browserTest(
  'a person with a second factor gives it on the consent page',
  async () => {
    const account = { username: 'carl', password: PASSWORD };
    await joinAs(ui.programs, { username: account.username, role: 'caller', groups: ['shop'] }, PASSWORD);
    const own = await openPage(ui.browser, { width: 1280, scheme: 'light' });
    const post = async (path: string, data: object) => {
      const answer = await own.context.request.post(`${PUBLIC_URL}/api/v1/auth/${path}`, { data });
      return (await answer.json()) as Record<string, unknown>;
    };
    await post('login', account);
    const { secret } = await post('2fa/setup', { password: PASSWORD });
    const totp = new TOTP({ secret: Secret.fromBase32(String(secret)) });
    // A step is taken once: the one before confirms the setup, so that this one is left for signing in. Its code is too old when a step ends on the way.
    const verify = () => post('2fa/verify-setup', { code: totp.generate({ timestamp: Date.now() - 30_000 }) });
    await until(async () => (await verify())['totp_enabled'] === true);
    await own.context.close();

    const { page, context } = await openPage(ui.browser, { width: 360, scheme: 'dark' });
    await begin(page, 'customers products');
    await page.getByLabel('Username').fill(account.username);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const code = page.getByLabel('Code', { exact: true });
    await code.waitFor();
    // The password alone decides nothing.
    const request = new URL(page.url()).searchParams.get('request') ?? '';
    const decide = await context.request.post(`${PUBLIC_URL}/api/v1/oauth/requests/${request}`, {
      data: { decision: 'approve' },
    });
    expect(decide.status()).toBe(401);
    expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0);
    await code.fill(totp.generate());
    await page.keyboard.press('Enter');
    await page.getByText('It will act as you, carl.').waitFor();
    expect(await permissions(page)).toBe(1);
    // What is not theirs is neither named nor granted.
    await page.getByText('It gets only those listed here.').waitFor();
    expect(await page.getByText('Customers').count()).toBe(0);
    await inspect(page, 'consent-narrowed', { width: 360, scheme: 'dark' });
    await allow(page, 'carl');
    const mcp = await clientOf();
    expect(await mcp.tools()).toEqual(['search_products']);
    expect(JSON.stringify(await mcp.call(...PRODUCTS))).toContain('Candle');
    await mcp.close();
    await context.close();
  },
  LIMIT_MS,
);

browserTest(
  'a person to whom nothing is open is told so, and can only deny',
  async () => {
    await joinAs(ui.programs, { username: 'nora', role: 'caller', groups: [] }, PASSWORD);
    const { page, context } = await openPage(ui.browser, { width: 1280, scheme: 'light' });
    await begin(page);
    await page.getByLabel('Username').fill('nora');
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Ask an administrator for access.').waitFor();
    expect(await page.getByText('get_customer').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Allow' }).getAttribute('aria-disabled')).toBe('true');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('Signed in').waitFor();
    expect(answers.at(-1)?.get('error')).toBe('access_denied');
    await context.close();
  },
  LIMIT_MS,
);
