import { afterAll, beforeAll, expect } from 'bun:test';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { browserTest, openBrowser, openPage } from '#test/support/browser.ts';
import { type Programs, removeFolder, startPrograms, until } from '#test/support/programs.ts';

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

const PAGES = [
  { name: 'overview', path: '/', ready: 'h1' },
  { name: 'tools', path: '/tools', ready: 'text=search_products' },
  { name: 'builder', path: '/tools/{tool}', ready: 'text=What the model sees' },
  { name: 'flow', path: '/flow', ready: 'text=search_products' },
  { name: 'deploy', path: '/deploy', ready: 'h1' },
  { name: 'playground', path: '/playground', ready: 'text=search_products' },
  { name: 'connections', path: '/connections', ready: 'text=demo' },
  { name: 'settings', path: '/settings', ready: 'h1' },
] as const;

let browser: Browser;
let programs: Programs;
let tool = '';

beforeAll(async () => {
  browser = await openBrowser();
  programs = await startPrograms();
  await until(
    () => programs.output().includes('curl'),
    30_000,
    () => programs.output(),
  );
  await programs.signIn();
  const { items } = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools');
  tool = items.find(({ name }) => name === 'search_products')?.id ?? '';
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await programs?.stop();
  if (programs) removeFolder(programs);
}, 30_000);

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

for (const scheme of ['light', 'dark'] as const) {
  browserTest(
    `the main pages look as they did when somebody looked at them, ${scheme}`,
    async () => {
      const { page, context, faults } = await openPage(browser, { width: SIZE.width, scheme });
      await page.setViewportSize(SIZE);
      const signed = await context.request.post(`${programs.url}/api/v1/auth/login`, {
        data: { username: 'ada', password: 'correct horse' },
        headers: { origin: programs.url },
      });
      expect(signed.status()).toBe(200);
      for (const { name, path, ready } of PAGES) {
        await page.goto(programs.url + path.replace('{tool}', tool));
        await page.locator(ready).first().waitFor();
        await page.waitForLoadState('networkidle');
        await page.evaluate(() => document.fonts.ready.then(() => undefined));
        const file = `${FOLDER}${name}-${scheme}.png`;
        const picture = await page.screenshot({ animations: 'disabled' });
        if (process.env['UPDATE_LOOKS'] === '1') await Bun.write(file, picture);
        expect({ name, there: existsSync(file) }).toEqual({ name, there: true });
        const share = await difference(page, await Bun.file(file).bytes(), picture);
        expect({ name, alike: share <= SHARE, share }).toMatchObject({ name, alike: true });
      }
      expect(faults).toEqual([]);
      await context.close();
    },
    120_000,
  );
}
