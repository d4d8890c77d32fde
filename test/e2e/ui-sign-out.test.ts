import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, PATHS, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });

/** Longer than it takes to click, on a slow machine too: what was not given up comes after the end of the session. */
const DELAY_MS = 700;

/** Every request but that of the sign-out itself is on its way for long. */
async function delayRequests(page: Page): Promise<void> {
  await page.route('**/api/v1/**', async (route) => {
    const { pathname } = new URL(route.request().url());
    if (!pathname.includes('/auth/')) await Bun.sleep(DELAY_MS);
    await route.continue().catch(() => undefined);
  });
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  // What was still on its way arrives.
  await Bun.sleep(DELAY_MS + 100);
}

browserTest(
  'no request reaches the server after a sign-out, from any page',
  async () => {
    for (const path of PATHS) {
      const opened = await ui.signedIn();
      const { page } = opened;
      const refused: string[] = [];
      page.on('response', (response) => {
        if (response.status() === 401) refused.push(`${path}: ${response.url()}`);
      });
      // At once, and when the second requests, which follow from the first, are on their way.
      await delayRequests(page);
      await page.goto(`${ui.programs.url}${path}`);
      const leave = page.getByRole('button', { name: 'Sign out' });
      await leave.waitFor();
      await Bun.sleep(PATHS.indexOf(path) % 2 === 0 ? 0 : DELAY_MS);
      await signOut(page);
      expect(refused).toEqual([]);
      await close(opened);
    }
  },
  LIMIT_MS,
);

browserTest(
  'signing out at once still tests no connection without a session, and ends the playground’s session first',
  async () => {
    const connections = await ui.signedIn();
    const tested = connections.page.waitForRequest(/\/connections\/[^/]+\/test$/);
    await delayRequests(connections.page);
    await connections.page.goto(`${ui.programs.url}/connections`);
    await tested;
    await signOut(connections.page);
    await close(connections);

    const playground = await ui.signedIn();
    const { page } = playground;
    await page.goto(`${ui.programs.url}/playground`);
    const session = page.waitForResponse(
      (response) => response.url().includes('/playground/mcp') && response.headers()['mcp-session-id'] !== undefined,
    );
    await page.getByText('2025-11-25', { exact: true }).click();
    await session;
    const ended: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'DELETE' || request.url().endsWith('/auth/logout')) ended.push(request.method());
    });
    await signOut(page);
    expect(ended).toEqual(['DELETE', 'POST']);
    await close(playground);
  },
  LIMIT_MS,
);
