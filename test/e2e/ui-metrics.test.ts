import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });

browserTest(
  'a chart is zoomed by dragging, marks lead to deployed changes, and the bell counts other tabs',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/metrics?period=1h`);
    const chart = page.getByRole('group', { name: 'Calls and errors of all calls, last 1 hour' });
    const over = chart.locator('.u-over');
    await over.waitFor();
    const box = await over.boundingBox();
    if (box === null) throw new Error('the chart has no size');
    await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 5 });
    await page.mouse.up();
    await page.getByLabel('From').waitFor();
    const { searchParams } = new URL(page.url());
    const minutes = (Date.parse(searchParams.get('until') ?? '') - Date.parse(searchParams.get('from') ?? '')) / 60_000;
    expect(minutes).toBeWithin(13, 19);
    await page.getByText('24h', { exact: true }).click();
    await page.getByRole('switch', { name: 'Compare with the previous period' }).check({ force: true });
    await page.getByText('0 before').first().waitFor();
    await expectAccessible(page);

    await ui.programs.api('PATCH', '/server/config', { server_name: 'Shop' });
    // Nobody gets word of their own deploys.
    const script = { name: 'Script', duration_minutes: 15, scopes: ['read', 'deploy'] };
    const { token } = await ui.programs.api<{ token: string }>('POST', '/agent-tokens', script);
    const deployed = await fetch(`${ui.programs.url}/api/v1/deploy`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ note: 'Renamed' }),
    });
    expect(deployed.status).toBe(200);
    await page.getByRole('button', { name: 'Notices, 1 unread' }).first().waitFor({ timeout: 20_000 });
    await page.getByRole('button', { name: 'Notices, 1 unread' }).first().click();
    await page.getByRole('dialog').getByText('deployed version 2: Renamed').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Mark all as read' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Notices', exact: true }).first().waitFor();
    await page.reload();
    const mark = page.getByRole('link', { name: /Version 2 deployed by .*Renamed/ }).first();
    await mark.click();
    await page.waitForURL(`${ui.programs.url}/deploy?view=versions&from=1&to=2`);
    await close(opened);
  },
  LIMIT_MS,
);
