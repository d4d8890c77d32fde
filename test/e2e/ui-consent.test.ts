import { afterAll, expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { browserTest, openPage } from '#test/support/browser.ts';
import { freePort } from '#test/support/free-port.ts';
import { until } from '#test/support/until.ts';
import { asked, toQuery, VERIFIER } from '#test/support/sign-in.ts';
import { ACCOUNT, close, inEveryLook, LIMIT_MS, startUi, type Walk } from '#test/support/ui.ts';

const port = freePort();
const PUBLIC_URL = `http://127.0.0.1:${port}`;
const ui = startUi({ port, env: { SVC_PUBLIC_URL: PUBLIC_URL } });

/** A client on this computer: a page that opens the sign-in in a window, and the address that the answer goes to. */
const answers: URL[] = [];
const client = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const url = new URL(request.url);
    const html = (script: string) =>
      new Response(`<!doctype html><title>client</title><main>Signed in</main><script>${script}</script>`, {
        headers: { 'content-type': 'text/html' },
      });
    if (url.pathname === '/frame') {
      return html(`document.body.innerHTML = '<iframe src="' + decodeURIComponent(location.hash.slice(1)) + '"></iframe>'`);
    }
    if (url.pathname !== '/callback') return html('window.addEventListener("message", ({ data }) => (document.title = data))');
    answers.push(url);
    return html('window.opener?.postMessage("answered by the window", "*")');
  },
});
afterAll(() => client.stop(true));

const redirect_uri = `http://127.0.0.1:${client.port}/callback`;
const sign_in = (more: Record<string, string> = {}) =>
  `${PUBLIC_URL}/oauth/authorize?${toQuery(asked({ redirect_uri, resource: ui.programs.mcp_url, ...more }))}`;

async function enter(page: Page): Promise<void> {
  await page.getByLabel('Username').fill(ACCOUNT.username);
  await page.getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

browserTest(
  'a person signs in on the consent page, allows the client, and ends that in the interface',
  async () => {
    const opened = await openPage(ui.browser, { width: 1280, scheme: 'light' });
    const { page } = opened;
    await page.goto(sign_in());
    await page.getByRole('heading', { name: 'Allow Claude Code to connect?' }).waitFor();
    await page.getByText('A program on this computer', { exact: true }).waitFor();
    await page.getByText('A program on this computer will get this access').waitFor();
    await page.getByText('claude.ai', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0);
    await enter(page);
    await page.getByText('It will act as you, ada.').waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Signed in').waitFor();
    const answer = answers.at(-1);
    expect(answer?.searchParams.get('state')).toBe('some-state');
    expect(answer?.searchParams.get('iss')).toBe(PUBLIC_URL);
    const token = await fetch(`${PUBLIC_URL}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: answer?.searchParams.get('code') ?? '',
        redirect_uri,
        client_id: String(asked()['client_id']),
        code_verifier: VERIFIER,
      }),
    });
    expect(token.status).toBe(200);

    await page.goto(`${PUBLIC_URL}/sign-in`);
    const attempts = page.getByRole('region', { name: 'Sign-in attempts' });
    await attempts.getByText('Consent').first().waitFor();
    const clients = page.getByRole('region', { name: 'Connected clients' });
    await clients.getByRole('button', { name: 'Revoke Claude Code' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    await clients.getByText('No clients yet').waitFor();
    expect((await ui.programs.api<{ total: number }>('GET', '/grants')).total).toBe(0);
    await close(opened, [401]);
  },
  LIMIT_MS,
);

browserTest(
  'a window that a client opened answers its opener, by keyboard alone',
  async () => {
    const opened = await ui.signedIn();
    const { page, context } = opened;
    await page.goto(`http://127.0.0.1:${client.port}/`);
    const waiting = context.waitForEvent('page');
    await page.evaluate((url) => void window.open(url, '_blank', 'width=480,height=640'), sign_in({ state: 'window' }));
    const window_page = await waiting;
    await window_page.getByRole('button', { name: 'Allow' }).focus();
    await window_page.keyboard.press('Enter');
    await until(async () => (await page.title()) === 'answered by the window');
    expect(answers.at(-1)?.searchParams.get('state')).toBe('window');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'denying leads back with the reason, and what is over or began elsewhere says so',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(sign_in());
    const address = page.url();
    const stranger = await openPage(ui.browser, { width: 1280, scheme: 'light' });
    await stranger.page.goto(address);
    await stranger.page.getByRole('heading', { name: 'This sign-in request is no longer open' }).waitFor();
    expect(await stranger.page.getByText('Claude').count()).toBe(0);
    await close(stranger, [404]);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('Signed in').waitFor();
    expect(answers.at(-1)?.searchParams.get('error')).toBe('access_denied');
    await page.goto(address);
    await page.getByRole('heading', { name: 'This sign-in request is no longer open' }).waitFor();
    await close(opened, [404]);
  },
  LIMIT_MS,
);

browserTest(
  'a session that ends before the decision goes on in one dialog',
  async () => {
    const opened = await ui.signedIn();
    const { page, context } = opened;
    await page.goto(sign_in({ state: 'again' }));
    const allow = page.getByRole('button', { name: 'Allow' });
    await allow.waitFor();
    await context.clearCookies({ name: 'svc_session' });
    await allow.click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await page.getByText('It will act as you, ada.').waitFor();
    expect(await page.getByLabel('Username').count()).toBe(1);
    await dialog.getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await allow.click();
    await page.getByText('Signed in').waitFor();
    expect(answers.at(-1)?.searchParams.get('state')).toBe('again');
    await close(opened, [401]);
  },
  LIMIT_MS,
);

browserTest(
  'no page of another origin can frame the consent page',
  async () => {
    const opened = await ui.signedIn();
    const { page, faults } = opened;
    await page.goto(`http://127.0.0.1:${client.port}/frame#${encodeURIComponent(sign_in())}`);
    await until(() => Promise.resolve(faults.some((fault) => fault.includes('frame-ancestors'))));
    for (const frame of page.frames().slice(1)) expect(await frame.getByRole('button').count()).toBe(0);
    await opened.context.close();
  },
  LIMIT_MS,
);

browserTest(
  'permissions of the agent endpoint can be left out one by one',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(sign_in({ resource: `${PUBLIC_URL}/agent-mcp`, scope: 'read write deploy' }));
    await page.getByRole('heading', { name: 'Allow Claude Code to administer this server?' }).waitFor();
    for (const name of ['Write', 'Deploy', 'Read']) await page.getByRole('switch', { name }).click();
    expect(await page.getByRole('button', { name: 'Allow' }).getAttribute('aria-disabled')).toBe('true');
    await page.getByText('Turn on at least one permission.').waitFor();
    await page.getByRole('switch', { name: 'Read' }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Signed in').waitFor();
    const token = await fetch(`${PUBLIC_URL}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: answers.at(-1)?.searchParams.get('code') ?? '',
        redirect_uri,
        client_id: String(asked()['client_id']),
        code_verifier: VERIFIER,
      }),
    });
    expect(await token.json()).toMatchObject({ scope: 'read' });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'an app is made with its secret shown once, changed and deleted',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${PUBLIC_URL}/sign-in`);
    await page.getByRole('button', { name: 'New app' }).first().click();
    const form = page.getByRole('dialog', { name: 'New OAuth app' });
    await form.getByLabel('Name').fill('Reports');
    await form.getByLabel('Redirect addresses').fill('https://reports.example.com/cb\njavascript:alert(1)');
    await form.getByRole('switch', { name: 'Has a secret' }).click();
    await form.getByRole('button', { name: 'Create app' }).click();
    await form
      .getByText(/runs code/)
      .first()
      .waitFor();
    await form.getByLabel('Redirect addresses').fill('https://reports.example.com/cb');
    await form.getByRole('button', { name: 'Create app' }).click();
    const made = page.getByRole('dialog', { name: 'App “Reports”' });
    expect(await made.getByRole('group', { name: 'Client secret' }).textContent()).toContain('svc_as_');
    await made.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'More for Reports' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit Reports' });
    await edit.getByLabel('Name').fill('Weekly reports');
    await edit.getByRole('button', { name: 'Save app' }).click();
    await page.getByRole('button', { name: 'More for Weekly reports' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No apps').waitFor();
    await close(opened, [422]);
  },
  LIMIT_MS,
);

browserTest(
  'the pages fit every window and have nothing that axe finds',
  async () => {
    await inEveryLook(ui.signedIn, async (page, { check }) => {
      await page.goto(sign_in({ resource: `${PUBLIC_URL}/agent-mcp` }));
      await page.getByRole('button', { name: 'Allow' }).waitFor();
      await check('consent');
      await page.goto(`${PUBLIC_URL}/sign-in`);
      await page.getByRole('region', { name: 'Sign-in attempts' }).getByText('Authorization').first().waitFor();
      await check('sign-in');
    });
    const anonymous = async (page: Page, { check }: Walk) => {
      await page.goto(sign_in());
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await check('consent-anonymous');
      await page.goto(`${PUBLIC_URL}/oauth/authorize?client_id=nobody`);
      await page.getByRole('heading', { name: 'This client cannot sign in' }).waitFor();
      await check('refused');
    };
    await inEveryLook((width, scheme) => openPage(ui.browser, { width, scheme }), anonymous, { asked: [400, 401] });
  },
  LIMIT_MS,
);
