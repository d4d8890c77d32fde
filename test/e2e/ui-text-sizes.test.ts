import { expect } from 'bun:test';
import { join } from 'node:path';
import { browserTest } from '#test/support/browser.ts';
import { crowded } from '#test/support/crowded.ts';
import { close, LIMIT_MS, PATHS, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });

const PLACES = [
  ...PATHS,
  '/tools/new',
  '/resources/new',
  '/prompts/new',
  '/toolsets',
  '/toolsets/new',
  '/tests',
  '/proposals',
  '/people',
  '/sign-in',
  '/logs?view=requests',
  '/settings/tls',
  '/settings/sign_in',
  '/settings/webhooks',
  '/welcome',
  '/confirm',
  '/invite',
];
/** Twice the size of the texts in a window as it is, and of everything: it has half the width then. */
const SIZES = [
  { name: 'text', width: 1280, text: '200%' },
  { name: 'text on a tablet', width: 900, text: '200%' },
  { name: 'page', width: 640, text: '' },
];

for (const { name, width, text } of SIZES) {
  browserTest(
    `at 200 % nothing is cut off, over something else or out of reach: ${name}`,
    async () => {
      const opened = await ui.signedIn(width);
      const { page } = opened;
      const { items } = await ui.programs.api<{ items: { id: string }[] }>('GET', '/tools');
      const connections = await ui.programs.api<{ items: { id: string }[] }>('GET', '/connections');
      const found: Record<string, string[]> = {};
      for (const path of [...PLACES, `/tools/${items[0]?.id}`, `/connections/${connections.items[0]?.id}`]) {
        await page.goto(`${ui.programs.url}${path}`);
        await page.locator('h1').waitFor();
        await page.evaluate((size) => (document.documentElement.style.fontSize = size), text);
        await page.waitForLoadState('networkidle');
        const folder = process.env['SCREENSHOTS'];
        if (folder !== undefined)
          await page.screenshot({ fullPage: true, path: join(folder, `${name}-${path.replaceAll(/\W+/g, '-')}.png`) });
        const texts = await crowded(page);
        if (texts.length > 0) found[path] = texts;
      }
      expect(found).toEqual({});
      await close(opened, [404]);
    },
    2 * LIMIT_MS,
  );
}
