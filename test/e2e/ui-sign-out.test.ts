import { expect } from 'bun:test';
import type { Page, Response } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { ACCOUNT, close, LIMIT_MS, PATHS, quietOf, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });

interface Held {
  /** A request waits here. */
  first: Promise<void>;
  /** Lets what waits go on, and what comes later wait again. */
  next(): void;
  /** Lets everything go on. */
  release(): void;
}

/** Requests, but those of the session itself, wait until they are let go on. */
async function holdRequests(page: Page, paths = /./): Promise<Held> {
  let gate = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  await page.route('**/api/v1/**', async (route) => {
    const { pathname } = new URL(route.request().url());
    if (!pathname.includes('/auth/') && paths.test(pathname)) {
      first.resolve();
      await gate.promise;
    }
    // One that the page has given up is gone.
    await route.continue().catch(() => undefined);
  });
  return {
    first: first.promise,
    next() {
      gate.resolve();
      gate = Promise.withResolvers();
    },
    release: () => gate.resolve(),
  };
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

browserTest(
  'no request reaches the server after a sign-out, from any page',
  async () => {
    const opened = await ui.signedIn();
    const { page, context } = opened;
    const quiet = quietOf(page);
    const refused: string[] = [];
    for (const [index, path] of PATHS.entries()) {
      if (index > 0) await context.request.post(`${ui.programs.url}/api/v1/auth/login`, { data: ACCOUNT });
      const note = (response: Response) => {
        if (response.status() === 401) refused.push(`${path}: ${response.url()}`);
      };
      // At once, and when the second requests, which follow from the first, are on their way.
      const held = await holdRequests(page);
      await page.goto(`${ui.programs.url}${path}`);
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
      if (index % 2 === 1) {
        const answered = page.waitForResponse(/\/api\/v1\/(?!auth\/)/);
        await held.first;
        held.next();
        await answered;
      }
      page.on('response', note);
      await signOut(page);
      // What was not given up reaches the server only now.
      held.release();
      await quiet();
      page.off('response', note);
      await page.unroute('**/api/v1/**');
    }
    expect(refused).toEqual([]);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'signing out at once tests no connection without a session, and ends the playground’s session first',
  async () => {
    const connections = await ui.signedIn();
    const tested = connections.page.waitForRequest(/\/connections\/[^/]+\/test$/);
    const quiet = quietOf(connections.page);
    const held = await holdRequests(connections.page, /\/test$/);
    await connections.page.goto(`${ui.programs.url}/connections`);
    await tested;
    await signOut(connections.page);
    held.release();
    await quiet();
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
