import { expect } from 'bun:test';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, quietOf, startUi } from '#test/support/ui.ts';
import { until } from '#test/support/until.ts';

/**
 * The main pages beside pictures that a person has looked at (`looks/`, some of them in the README). They are compared small, so
 * that letters and figures may differ and a layout may not. `UPDATE_LOOKS=1 npm test -- test/e2e/ui-looks` makes them anew.
 */
const FOLDER = fileURLToPath(new URL('./looks/', import.meta.url));
const SIZE = { width: 1280, height: 800 };
/** Each picture is compared at a quarter of its size. */
const SHRINK = 4;
/** Difference of a channel, of 255, from which on a point differs, and the share of points that may. */
const POINT = 48;
const SHARE = 0.04;

/** What is there when the page shows what it has. Of the last four the light picture is enough. */
const PAGES = [
  { name: 'home', path: '/', ready: '.stat:has-text("2 of 2")' },
  { name: 'builder', path: '/tools/{tool}', ready: '.cm-content >> text=category', press: 'Run', after: '[role=gridcell]' },
  { name: 'flow', path: '/flow', ready: '.live-box >> nth=8' },
  { name: 'playground', path: '/playground?tool=search_products', ready: 'text=max_price', press: 'Call', after: 'td' },
  { name: 'tools', path: '/tools', ready: 'tr >> text=search_products' },
  { name: 'deploy', path: '/deploy', ready: 'text=Dry run' },
  { name: 'connections', path: '/connections', ready: 'tr >> text=demo' },
  { name: 'settings', path: '/settings', ready: 'text=Listen address' },
] as const;

const ui = startUi({ live: true });

/** Share of the points of two pictures that differ, found by the browser that made them. */
async function difference(page: Page, before: Uint8Array, now: Uint8Array): Promise<number> {
  const pictures = [before, now].map((bytes) => Buffer.from(bytes).toString('base64'));
  return page.evaluate(
    async ({ pictures, width, height, point }) => {
      const points = await Promise.all(
        pictures.map(async (text) => {
          const bytes = Uint8Array.from(atob(text), (letter) => letter.codePointAt(0) ?? 0);
          const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }), {
            resizeWidth: width,
            resizeHeight: height,
            resizeQuality: 'high',
          });
          const context = new OffscreenCanvas(width, height).getContext('2d');
          context?.drawImage(bitmap, 0, 0);
          return context?.getImageData(0, 0, width, height).data ?? new Uint8ClampedArray();
        }),
      );
      const [a = new Uint8ClampedArray(), b = new Uint8ClampedArray()] = points;
      let differing = 0;
      for (let i = 0; i < a.length; i += 4) {
        const far = [0, 1, 2].some((channel) => Math.abs((a[i + channel] ?? 0) - (b[i + channel] ?? 0)) > point);
        if (far) differing += 1;
      }
      return differing / (a.length / 4);
    },
    { pictures, width: SIZE.width / SHRINK, height: SIZE.height / SHRINK, point: POINT },
  );
}

// The flow shows what was called before, so it is compared in one scheme alone.
const IN_DARK = PAGES.slice(0, 4).filter(({ name }) => name !== 'flow');
for (const scheme of ['light', 'dark'] as const) {
  browserTest(
    `the main pages look as they did when somebody looked at them, ${scheme}`,
    async () => {
      const opened = await ui.signedIn(SIZE.width, scheme);
      const { page } = opened;
      await page.setViewportSize(SIZE);
      const quiet = quietOf(page);
      const { items } = await ui.programs.api<{ items: { id: string }[] }>('GET', '/tools?search=search_products');
      // On a busy machine the first check of a database may be too late.
      await until(async () => {
        const { connections } = await ui.programs.api<{ connections: { healthy: boolean }[] }>('GET', '/server/health');
        return connections.length === 2 && connections.every(({ healthy }) => healthy);
      });
      for (const { name, path, ready, ...rest } of scheme === 'light' ? PAGES : IN_DARK) {
        await page.goto(ui.programs.url + path.replace('{tool}', items[0]?.id ?? ''));
        await page.locator(ready).first().waitFor();
        if ('press' in rest) {
          await page.getByRole('button', { name: rest.press, exact: true }).first().click();
          await page.locator(rest.after).first().waitFor();
        }
        await quiet();
        await page.evaluate(() => document.fonts.ready.then(() => undefined));
        const file = `${FOLDER}${name}-${scheme}.png`;
        const picture = await page.screenshot({ animations: 'disabled' });
        if (process.env['UPDATE_LOOKS'] === '1') await Bun.write(file, picture);
        expect({ name, there: existsSync(file) }).toEqual({ name, there: true });
        const share = await difference(page, await Bun.file(file).bytes(), picture);
        expect({ name, alike: share <= SHARE, share }).toMatchObject({ name, alike: true });
      }
      await close(opened);
    },
    LIMIT_MS,
  );
}
