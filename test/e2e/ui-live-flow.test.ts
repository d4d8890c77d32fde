import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import type { Output } from '#core/contract/index.ts';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Product } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';
import { close, LIMIT_MS, startUi, openTab } from '#test/support/ui.ts';
import { toBatch } from '#test/support/usage.ts';

const SERVICE_TOKEN = 'observed-'.repeat(5);
const MINUTE_MS = 60_000;
const CLIENTS = ['claude-code/2.1', 'cursor/1.4', 'vscode/1.106'];

const ui = startUi({ live: true, env: { SVC_AGENT_SERVICE_TOKEN: SERVICE_TOKEN }, prepare: tellCalls });
/** The minute may end while a test runs. */
const BEGAN = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
const minute = (back: number) => BEGAN - back * MINUTE_MS;

/** Of 300 tools over five databases, and twenty minutes ago a failure of one tool of the demo. */
async function tellCalls(programs: Product): Promise<void> {
  const call = (name: string, connection_id: string, client: string | undefined, at: number, error: string | null = null) => ({
    kind: 'tool' as const,
    name,
    entity_id: null,
    connection_id,
    snapshot_version: 1,
    client: client ?? null,
    token_prefix: null,
    timestamp: new Date(at).toISOString(),
    duration_ms: 12,
    wait_ms: 0,
    rows: 3,
    bytes: 120,
    error,
  });
  const { items } = await programs.api<{ items: { name: string; connection_id: string }[] }>('GET', '/tools?limit=100');
  const demo = items.find(({ name }) => name === 'list_orders')?.connection_id ?? '';
  const records = [
    ...Array.from({ length: 3_000 }, (_, n) =>
      call(`tool_${n % 300}`, n % 5 === 0 ? demo : `db-${n % 5}`, CLIENTS[n % 3], minute(50 - (n % 45)) + (n % 50) * 1_000),
    ),
    ...[1, 2, 3].map((second) => call('list_orders', demo, CLIENTS[0], minute(20) + second * 1_000, 'sql_error')),
  ].toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
  const answer = await fetch(`${programs.url}/api/internal/hosts/busy/usage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-token': SERVICE_TOKEN },
    body: JSON.stringify({ boot_id: 'busy', seq: 1, ...toBatch(records) }),
  });
  expect(answer.status).toBe(204);
}

const box = (page: Page, name: RegExp) => page.getByRole('button', { name });

browserTest(
  'three hundred tools are collapsed by database, and a line opens its calls of the minute shown',
  async () => {
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/flow`);
    await box(page, /^claude-code/).waitFor();
    expect(await page.locator('.live-box[data-kind=group]').count()).toBe(5);
    expect(await page.locator('.live-box[data-kind=leaf]').count()).toBe(0);
    await look(page, 'flow-live-1440-light');
    await expectAccessible(page, 'live flow');

    // The minute with the failures, by the keyboard.
    const slider = page.getByRole('slider', { name: 'Minute of the last hour' });
    await slider.focus();
    await page.keyboard.press('Home');
    expect(await slider.getAttribute('aria-valuenow')).toBe('0');
    await page.goto(`${ui.programs.url}/flow?at=${new Date(minute(20)).toISOString()}`);
    const line = page.locator('.live-edge[aria-label*="claude-code to"][aria-label*="3 failed"]');
    await line.waitFor();
    const text = await line.getAttribute('aria-label');
    const counted = Number(/: (\d+) calls/.exec(text ?? '')?.[1]);
    await box(page, /^claude-code/).focus();
    await page.keyboard.press('ArrowRight');
    // The numbers behind the colon may change meanwhile.
    const [start = ''] = (text ?? '').split(':');
    const isThere = () =>
      page.evaluate((name) => document.activeElement?.getAttribute('aria-label')?.startsWith(`${name}:`), start);
    for (let presses = 0; presses < 60 && !(await isThere()); presses++) await page.keyboard.press('ArrowDown');
    expect(await isThere()).toBe(true);
    await page.keyboard.press('Enter');
    await openTab(page, 'Calls').waitFor();
    await page.getByText('Client: claude-code').waitFor();
    await page.getByText(`${counted} of ${counted}`).waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a new call appears without a reload, nothing moves for whoever wants no motion, and a group opens',
  async () => {
    const opened = await ui.signedIn(1440, 'dark');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/flow`);
    await box(page, /^claude-code/).waitFor();
    const kept = await page.locator('.live-box').first().elementHandle();
    const client = await connectClient('v1', ui.programs.mcp_url);
    await client.call('search_products', { text: 'l', limit: 3 });
    await client.close();
    const traffic = () => ui.programs.api<Output<'flow.traffic'>>('GET', '/flow/traffic');
    await until(async () => ((await traffic()).now?.pairs.length ?? 0) > 0);
    await page.locator('.live-edge:not([data-quiet])').first().waitFor();
    expect(await kept?.evaluate((element) => element.isConnected)).toBe(true);
    const animation = await page
      .locator('.live-dots')
      .first()
      .evaluate((path) => getComputedStyle(path).animationName);
    expect(animation).toBe('none');
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    expect(
      await page
        .locator('.live-dots')
        .first()
        .evaluate((path) => getComputedStyle(path).animationName),
    ).toBe('live-dots');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    const group = page.locator('.live-box[data-kind=group]').first();
    await group.focus();
    await page.keyboard.press('Enter');
    expect(await group.getAttribute('aria-expanded')).toBe('true');
    await look(page, 'flow-live-open-1440-dark');
    expect(await page.locator('.live-box:is([data-kind=leaf], [data-kind=tag])').count()).toBeGreaterThan(1);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'on a phone it is a list of links',
  async () => {
    const opened = await ui.signedIn(390, 'dark');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/flow?at=hour`);
    await page.getByRole('heading', { name: 'Databases' }).waitFor();
    await page.getByRole('link', { name: 'claude-code' }).waitFor();
    await look(page, 'flow-live-390-dark');
    await expectAccessible(page, 'live flow as a list');
    await close(opened);
  },
  LIMIT_MS,
);
