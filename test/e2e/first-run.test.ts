import { afterAll, expect } from 'bun:test';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret, TOTP } from 'otpauth';
import type { Browser, Page } from 'playwright-core';
import { browserTest, openBrowser, openPage } from '#test/support/browser.ts';
import { freePort } from '#test/support/free-port.ts';
import { removeFolder, startPrograms } from '#test/support/programs.ts';
import { until, untilWithin } from '#test/support/until.ts';
import { untilPolled } from '#test/support/ui.ts';

const ROOT = join(import.meta.dir, '../..');
const ACCOUNT = { username: 'ada', password: 'correct horse battery' };
const START_MS = 60_000;

interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

/** The whole product as a person starts it, with the demo, on free ports and in a folder of its own. */
async function startApp(): Promise<Running> {
  const data = await mkdtemp(join(tmpdir(), 'sluice-e2e-'));
  const port = freePort();
  const server = Bun.spawn([process.execPath, 'server/main.ts'], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'] ?? '',
      SVC_ENV: 'dev',
      SVC_ROLE: 'all',
      SVC_DEMO: 'true',
      SVC_PORT: String(port),
      SVC_FASTMCP_PORT: String(freePort()),
      SVC_AGENT_MCP_PORT: String(freePort()),
      SVC_DATA_DIR: data,
      SVC_GENERATED_DIR: join(data, 'generated'),
    },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const said = Promise.all([new Response(server.stdout).text(), new Response(server.stderr).text()]);
  const stop = async () => {
    server.kill('SIGTERM');
    await server.exited;
    await rm(data, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  const isUp = () => answers(`${url}/api/health`);
  await untilWithin(START_MS, async () => server.exitCode !== null || (await isUp())).catch(() => undefined);
  if (await isUp()) return { url, stop };
  await stop();
  throw new Error(`The server did not start:\n${(await said).join('\n')}`);
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    (response) => response.ok,
    () => false,
  );

let browser: Browser | undefined;
let app: Running | undefined;
afterAll(async () => {
  await browser?.close();
  await app?.stop();
});

/** The picture goes to the folder `SCREENSHOTS` when that is set; nothing may be cut off or need sideways scrolling. */
async function look(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  const picture = await page.screenshot({
    fullPage: true,
    ...(folder === undefined ? {} : { path: join(folder, `${name}.png`) }),
  });
  expect(picture.byteLength).toBeGreaterThan(5_000);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBe(0);
}

browserTest(
  'a first run goes from the administrator over Home to a deployed change without a fault',
  async () => {
    if (!existsSync(join(ROOT, 'ui/dist/index.html'))) {
      const build = Bun.spawn([process.execPath, '--bun', 'node_modules/vite/bin/vite.js', 'build', 'ui'], { cwd: ROOT });
      expect(await build.exited).toBe(0);
    }
    app = await startApp();
    browser = await openBrowser();
    const { page, faults } = await openPage(browser, { width: 1280, scheme: 'light' });

    await page.clock.install();
    await page.goto(`${app.url}/tools`);
    await page.getByRole('heading', { name: 'Create the owner' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/setup');
    await page.getByLabel('Username').fill(ACCOUNT.username);
    await page.getByLabel('Password', { exact: true }).fill('short');
    await page.getByRole('button', { name: 'Create owner' }).click();
    await page.getByText('Use at least 8 characters.').waitFor();
    await look(page, 'setup-1280-light');
    await page.getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
    await page.getByRole('button', { name: 'Create owner' }).click();

    const live = page.getByRole('region', { name: 'Deployment' });
    await untilPolled(page, live.getByText('Version 1', { exact: true }));

    const tool = await changeATool(page);
    await untilPolled(page, live.getByText('1 change to deploy'));
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('dialog').getByText(tool, { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('d');
    await page.getByRole('dialog', { name: 'Deploy 1 change?' }).getByRole('button', { name: 'Deploy' }).click();
    const receipt = page.getByRole('region', { name: 'Deploy receipt' });
    await receipt.getByText('Version 2 is live').waitFor();
    await live.getByText('No changes').waitFor();
    await look(page, 'home-1280-light');

    const places = page.getByRole('navigation', { name: 'Main' });
    await places.getByRole('link', { name: 'Tools', exact: true }).click();
    await page.getByRole('link', { name: tool }).first().waitFor();
    await places.getByRole('link', { name: 'Databases', exact: true }).click();
    await page.getByRole('button', { name: 'More for demo' }).click();
    await page.getByRole('menuitem', { name: 'Test' }).click();
    await page.getByText(/^demo: connected in /).waitFor();

    await page.getByRole('main').focus();
    await page.keyboard.press('t');
    await page.keyboard.press('t');
    await page.getByText('Theme: Dark').waitFor();
    await page.reload();
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark');

    // What is still being read is given up: a refusal would be a fault in the console.
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(faults).toEqual([]);

    await page.getByLabel('Username').fill(ACCOUNT.username);
    await page.getByLabel('Password', { exact: true }).fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await page.context().close();

    for (const scheme of ['light', 'dark'] as const) await showSmall(app.url, scheme);
    await signInWithSecondFactor(app.url);
  },
  240_000,
);

/** Through the REST API, as an agent would while the page is open; the name of the tool. */
async function changeATool(page: Page): Promise<string> {
  const { status, name } = await page.evaluate(async () => {
    const list = (await (await fetch('/api/v1/tools')).json()) as { items: { id: string; name: string; description: string }[] };
    const tool = list.items[0];
    const response = await fetch(`/api/v1/tools/${tool?.id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ description: `${tool?.description} Changed.` }),
    });
    return { status: response.status, name: tool?.name ?? '' };
  });
  expect(status).toBe(200);
  return name;
}

async function showSmall(url: string, scheme: 'light' | 'dark'): Promise<void> {
  if (browser === undefined) return;
  const { page, context, faults } = await openPage(browser, { width: 360, scheme });
  await page.goto(`${url}/?period=7d`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await look(page, `login-360-${scheme}`);
  await enterPassword(page);
  await page.getByRole('region', { name: 'Deployment' }).getByText('Version 2', { exact: true }).waitFor();
  expect(await page.getByRole('radio', { name: '7d' }).isChecked()).toBe(true);
  await look(page, `home-360-${scheme}`);
  await page.setViewportSize({ width: 1280, height: 900 });
  await look(page, `home-1280-${scheme}`);
  expect(faults).toEqual([]);
  await context.close();
}

async function signInWithSecondFactor(url: string): Promise<void> {
  if (browser === undefined) return;
  const { page, context, faults } = await openPage(browser, { width: 1280, scheme: 'light' });
  await page.goto(url);
  await enterPassword(page);
  await page.getByRole('region', { name: 'Deployment' }).waitFor();
  const post = (path: string, body: object) =>
    page.evaluate(
      async (request) => {
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(request.path, { method: 'POST', headers, body: JSON.stringify(request.body) });
        return (await response.json()) as Record<string, unknown>;
      },
      { path: `/api/v1/auth/2fa/${path}`, body },
    );
  const { secret } = await post('setup', { password: ACCOUNT.password });
  const totp = new TOTP({ secret: Secret.fromBase32(String(secret)) });
  // A step is taken once: the one before confirms the setup, so that this one is left for signing in. Its code is too old when a step ends on the way.
  const verify = () => post('verify-setup', { code: totp.generate({ timestamp: Date.now() - 30_000 }) });
  await until(async () => (await verify())['totp_enabled'] === true);
  await page.getByRole('button', { name: 'Sign out' }).click();

  await enterPassword(page);
  const code = page.getByLabel('Code', { exact: true });
  await code.fill('12345');
  await page.keyboard.press('Enter');
  await page.getByText('Enter the 6 digits of the code.').waitFor();
  await look(page, 'second-factor-1280-light');
  await page.setViewportSize({ width: 360, height: 900 });
  await look(page, 'second-factor-360-light');
  await page.getByRole('button', { name: 'Use a recovery code' }).click();
  await page.getByLabel('Recovery code').waitFor();
  await page.getByRole('button', { name: 'Use the authenticator app' }).click();
  await code.fill(totp.generate());
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Deployment' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
}

async function enterPassword(page: Page): Promise<void> {
  await page.getByLabel('Username').fill(ACCOUNT.username);
  await page.getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

browserTest(
  'the page of the first account asks for the setup token of the server, and says when it is wrong',
  async () => {
    const token = 's7'.repeat(16);
    const programs = await startPrograms({ role: 'server', env: { SVC_SETUP_TOKEN: token, SVC_DEMO: 'false' } });
    const opened = await openBrowser();
    try {
      const { page } = await openPage(opened, { width: 1280, scheme: 'light' });
      await page.goto(`${programs.url}/setup`);
      await page.getByLabel('Username').fill(ACCOUNT.username);
      await page.getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
      const field = page.getByLabel('Setup token', { exact: true });
      await field.fill('guessed');
      await page.getByRole('button', { name: 'Create owner' }).click();
      const refusal = page.getByText('Enter the setup token: the value of SVC_SETUP_TOKEN of the server.');
      await refusal.waitFor();
      expect(await refusal.count()).toBe(1);
      await look(page, 'setup-token-1280-light');
      await field.fill(token);
      await page.getByRole('button', { name: 'Create owner' }).click();
      await field.waitFor({ state: 'detached' });
    } finally {
      await opened.close();
      await programs.stop();
      removeFolder(programs);
    }
  },
  60_000,
);
