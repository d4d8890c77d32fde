import { expect } from 'bun:test';
import type { Locator } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, quietOf, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });

/** The colour that most of a part has, and those of the middle of its left and lower edges: a background, an outline, a border. */
async function painted(part: Locator): Promise<string> {
  const picture = (await part.first().screenshot({ animations: 'disabled' })).toString('base64');
  return part.page().evaluate(async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.codePointAt(0) ?? 0);
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const { width, height } = bitmap;
    const context = new OffscreenCanvas(width, height).getContext('2d');
    context?.drawImage(bitmap, 0, 0);
    const at = (x: number, y: number) => [...(context?.getImageData(x, y, 1, 1).data ?? [])].join();
    const counts = new Map<string, number>();
    for (let x = 0; x < width; x += 1) for (let y = 0; y < height; y += 1) counts.set(at(x, y), (counts.get(at(x, y)) ?? 0) + 1);
    const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
    return [most?.[0], at(5, Math.floor(height / 2)), at(Math.floor(width / 2), height - 1), at(1, Math.floor(height / 2))].join(
      ' ',
    );
  }, picture);
}

browserTest(
  'in a contrast theme states differ in shape: chosen, highlighted, on, and the lines of a chart',
  async () => {
    const { items } = await ui.programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools');
    await ui.programs.api('PATCH', `/tools/${items[0]?.id}`, { title: 'Changed' });
    const opened = await ui.signedIn(1280, 'dark');
    const { page } = opened;
    await page.emulateMedia({ colorScheme: 'dark', forcedColors: 'active' });
    const quiet = quietOf(page);
    const go = async (path: string) => {
      await page.goto(`${ui.programs.url}${path}`);
      await page.locator('h1').waitFor();
      await quiet();
    };
    const alike: string[] = [];
    const differ = async (what: string, one: Locator, other: Locator) => {
      if ((await painted(one)) === (await painted(other))) alike.push(what);
    };

    await go('/metrics');
    const nav = page.getByRole('navigation', { name: 'Main' });
    await differ('page', nav.getByRole('link', { name: 'Monitor' }), nav.getByRole('link', { name: 'Tools' }));
    await differ('choice', page.locator('.segment:has(:checked)'), page.locator('.segment:not(:has(:checked))'));
    const keys = page.locator('.chart-legend .chart-key');
    await differ('keys of lines', keys.nth(0), keys.nth(1));

    await go('/settings/checks');
    await differ('tab', page.locator('.tab[aria-current=page]'), page.locator('.tab:not([aria-current])'));
    const lever = page.getByRole('switch').first();
    const on = await painted(lever);
    await lever.press(' ');
    await page.mouse.click(1, 1);
    if ((await painted(lever)) === on) alike.push('switch');

    await go('/tools');
    await page
      .getByRole('button', { name: /^More for / })
      .first()
      .click();
    const entries = page.getByRole('menuitem');
    await page.keyboard.press('ArrowDown');
    await differ('menu', page.locator('.menu-item[data-highlighted]'), page.locator('.menu-item:not([data-highlighted])'));
    expect(await entries.count()).toBeGreaterThan(2);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    const commands = page.getByRole('dialog', { name: 'Commands' });
    await differ('command', commands.locator('[aria-selected=true]'), commands.locator('[role=option][aria-selected=false]'));
    await page.keyboard.press('Escape');
    await page
      .getByRole('checkbox', { name: /^Select / })
      .nth(1)
      .click();
    await differ('row', page.locator('tr[data-chosen=true]'), page.locator('tbody tr:not([data-chosen])'));

    await go('/connections');
    await differ('dot', page.locator('.status .dot'), page.locator('tbody td').nth(1));
    expect(alike).toEqual([]);
    await close(opened);
  },
  LIMIT_MS,
);
