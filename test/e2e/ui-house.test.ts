import { expect } from 'bun:test';
import type { Page, WebSocketRoute } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, quietOf, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });

/** What the page asks of the API from now on, without its parameters. */
function requestsOf(page: Page): string[] {
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/api/v1')) asked.push(`${request.method()} ${pathname.slice('/api/v1'.length)}`);
  });
  return asked;
}
/** Sends a ping to the page: its clock runs ahead of the server's, which sends one every 25 seconds. */
async function pingOf(page: Page): Promise<() => void> {
  const sockets = new Set<WebSocketRoute>();
  await page.routeWebSocket(/\/api\/v1\/changes$/, (socket) => {
    socket.connectToServer();
    sockets.add(socket);
  });
  return () => {
    for (const socket of sockets) socket.send('{}');
  };
}
const count = (asked: readonly string[], line: string) => asked.filter((one) => one === line).length;

browserTest(
  'Home compares the configuration once and reads metrics only while it is seen',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.clock.install();
    const asked = requestsOf(page);
    const quiet = quietOf(page);
    const ping = await pingOf(page);
    /** Time passes for the page while its answers come in real time. */
    const metricsAgain = async () => {
      const before = count(asked, 'GET /metrics/stats');
      for (let step = 0; step < 40 && count(asked, 'GET /metrics/stats') === before; step += 1) {
        ping();
        await page.clock.runFor(5_000);
        await quiet();
      }
      expect(count(asked, 'GET /metrics/stats')).toBeGreaterThan(before);
    };
    await page.goto(ui.programs.url);
    await page.getByText('Everything is live.').waitFor();
    await metricsAgain();
    // Once for the page, and once if the server's check after the deploy of the demo ended later than that.
    const [compared, read] = [count(asked, 'GET /deploy/diff'), count(asked, 'GET /history')];
    expect(Math.max(compared, read)).toBeLessThanOrEqual(2);
    await metricsAgain();
    await metricsAgain();
    expect(count(asked, 'GET /deploy/diff')).toBe(compared);
    // Nobody polls what a change makes untrue; the state of the deployment tells of the changes of others.
    expect(count(asked, 'GET /history')).toBe(read);
    await ui.programs.api('PATCH', `/tools/${(await tools())[0]?.id}`, { title: 'By somebody else' });
    await metricsAgain();
    await page
      .getByRole('region', { name: 'Recent changes' })
      .getByText(/changed tool/)
      .first()
      .waitFor();
    expect(count(asked, 'GET /history')).toBe(read + 1);

    const hide = (hidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (value ? 'hidden' : 'visible') });
      }, hidden);
    await hide(true);
    await quiet();
    asked.length = 0;
    await page.clock.runFor(120_000);
    expect(asked).toEqual([]);
    await hide(false);
    await metricsAgain();

    // Nobody has touched anything for long: the session may end by itself.
    await page.clock.fastForward(20 * 60_000);
    await quiet();
    asked.length = 0;
    await page.clock.runFor(120_000);
    expect(asked).toEqual([]);
    await page.mouse.move(200, 200);
    await page.keyboard.press('Shift');
    await metricsAgain();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'an idle page sends at most four requests a minute',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.clock.install();
    const asked = requestsOf(page);
    const quiet = quietOf(page);
    const ping = await pingOf(page);
    for (const [path, ready] of [
      ['/', 'Latest failures'],
      ['/flow', 'Databases'],
      ['/metrics', 'Durations'],
      ['/logs', 'No calls yet'],
    ] as const) {
      await page.goto(`${ui.programs.url}${path}`);
      await page.getByText(ready).first().waitFor();
      await quiet();
      asked.length = 0;
      for (let step = 0; step < 36; step += 1) {
        ping();
        await page.clock.runFor(5_000);
        await quiet();
      }
      expect({ path, asked: asked.length <= 12 ? [] : asked }).toEqual({ path, asked: [] });
    }
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'what was typed into a dialog is not lost by Escape or a press beside it without a question',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const question = page.getByRole('alertdialog', { name: 'Discard what you entered?' });
    await page.goto(`${ui.programs.url}/tools`);
    await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    const open = page.getByRole('button', { name: 'New token' }).first();
    await open.click();
    const form = page.getByRole('dialog', { name: 'New access token' });
    await form.waitFor();
    // Nothing was typed, so nothing is asked.
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    await open.click();
    await form.getByLabel('Name', { exact: true }).fill('desk');
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Keep editing' }).click();
    expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('desk');
    await page.mouse.click(5, 5);
    await question.waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('desk');
    // Nor by going back, and no palette opens above it.
    await page.keyboard.press('Control+k');
    expect(await page.getByRole('combobox', { name: 'Find a command' }).count()).toBe(0);
    await page.goBack();
    const leaving = page.getByRole('alertdialog', { name: 'Leave without saving?' });
    await leaving.getByRole('button', { name: 'Stay here' }).click();
    expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('desk');
    await form.getByRole('button', { name: 'Close' }).click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await form.waitFor({ state: 'detached' });
    await open.click();
    expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('');
    await form.getByLabel('Name', { exact: true }).fill('desk');
    await form.getByRole('radio', { name: 'Everything' }).check();
    await form.getByRole('button', { name: 'Create token' }).click();
    // It was sent: what is shown now is no draft.
    await page.getByRole('dialog', { name: 'Token “desk”' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await close(opened);
  },
  LIMIT_MS,
);

type Tool = { id: string; name: string; sql_query: string; connection_id: string };
const tools = async () => (await ui.programs.api<{ items: Tool[] }>('GET', '/tools?limit=500')).items;
const version = async () => (await ui.programs.api<{ snapshot_version: number }>('GET', '/deploy/status')).snapshot_version;

browserTest(
  'the key for a deploy asks with the list of changes, in full and with what they do to rows',
  async () => {
    const [one] = await tools();
    const before = await version();
    const connection = await ui.programs.api<{ version: number }>('GET', `/connections/${one?.connection_id}`);
    await ui.programs.api('PATCH', `/connections/${one?.connection_id}`, { read_only: false, version: connection.version });
    await ui.programs.api('POST', '/tools', {
      connection_id: one?.connection_id,
      name: 'forget_customer',
      description: 'Deletes a customer.',
      sql_query: 'delete from customers where id = :id',
      parameters: [{ name: 'id', type: 'integer' }],
      read_only: false,
    });
    await ui.programs.api('PATCH', `/tools/${one?.id}`, { sql_query: `${one?.sql_query.trimEnd()}\n-- reviewed` });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(ui.programs.url);
    await page
      .getByRole('region', { name: 'Deployment' })
      .getByText(/changes to deploy/)
      .waitFor();
    await page.keyboard.press('d');
    const question = page.getByRole('dialog', { name: /^Deploy . changes\?/ });
    const added = question.getByRole('listitem').filter({ hasText: 'forget_customer' });
    await added.getByText('deletes rows').waitFor();
    await added.getByText('delete from customers where id = :id').waitFor();
    const changed = question.getByRole('listitem').filter({ hasText: one?.name ?? '' });
    expect(await changed.getByRole('group', { name: 'Changes of Output schema' }).count()).toBe(0);
    expect(await version()).toBe(before);
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    expect(await version()).toBe(before);
    await page.keyboard.press('d');
    await question.getByRole('button', { name: /^Deploy/ }).click();
    await page
      .getByRole('region', { name: 'Deploy receipt' })
      .getByText(`Version ${before + 1} is live`)
      .waitFor();
    await close(opened);
  },
  LIMIT_MS,
);
