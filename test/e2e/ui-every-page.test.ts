import { expect } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { crowded } from '#test/support/crowded.ts';
import { is_full_layer } from '#test/support/layer.ts';
import { close, inspectAs, LIMIT_MS, type Look, POLL_MS, quietOf, startUi } from '#test/support/ui.ts';
import { reportBusyHour } from '#test/support/usage.ts';

const SERVICE_TOKEN = 'observed-'.repeat(5);

const ui = startUi({ live: true, env: { SVC_AGENT_SERVICE_TOKEN: SERVICE_TOKEN } });

/** A path, and what is there when the page shows what it has. */
type Place = string | readonly [path: string, ready: string];

const PAGES: Readonly<Record<string, readonly Place[]>> = {
  definitions: [
    '/',
    '/connections',
    '/connections/new',
    '/connections/{connection}',
    '/tools',
    '/tools/{tool}',
    '/tools/new',
    '/resources',
    '/resources/new',
    '/prompts',
    '/prompts/new',
    '/toolsets',
    '/toolsets/new',
    '/tests',
  ],
  deploys: ['/deploy', '/deploy?view=versions', '/deploy?view=code', '/history', '/transfer', '/proposals', '/playground'],
  access: ['/access', '/agents', '/people', '/sign-in', '/account', '/welcome', '/confirm', '/invite'],
  settings: [
    ['/settings', 'text=Network'],
    ['/settings/auth', 'text=Browser access'],
    ['/settings/tls', 'text=No request since'],
    ['/settings/variables', 'text=Add variable'],
    ['/settings/guard', 'text=override.ignore_previous'],
    '/settings/sign_in',
    '/settings/webhooks',
    '/settings/audit',
    '/logs?view=audit',
    ['/settings/checks', 'text=Deploy gates'],
    '/settings/api',
  ],
};

const OBSERVATION: readonly Place[] = [
  ['/', '.stat a'],
  '/metrics',
  ['/metrics?of=tool%3Alist_orders', '.chart-canvas canvas'],
  '/insights',
  ['/logs?view=live', '.log-line'],
  ['/logs', 'tr[data-row]'],
  ['/queue', '.queue-bar'],
  ['/flow?view=graph', '.live-box'],
  ['/flow?view=list', '.flow-rows a'],
];

const NARROW = 360;
const WIDE = 1280;
const LOOKS: readonly Look[] = [
  { width: NARROW, scheme: 'light' },
  { width: WIDE, scheme: 'dark' },
  { width: NARROW, scheme: 'dark' },
  { width: WIDE, scheme: 'light' },
];
/** Twice the size of the texts in a window as it is, and of everything: it has half the width then. */
const SIZES = [
  { name: 'text', width: 1280, text: '200%' },
  { name: 'text on a tablet', width: 900, text: '200%' },
  { name: 'page', width: 640, text: '' },
];
/** How often a page looks at the server again while it is watched, and how often it may still have to draw what it has. */
const POLLS = 3;
const MOST_SETTLES = 5;

/** What each page of the daily layer is tried with differs from that of the page before it; the full layer tries everything. */
const turned = <T>(all: readonly T[], index: number, count: number): readonly T[] =>
  is_full_layer
    ? all
    : Array.from({ length: count }, (_, n) => all[(index * count + n) % all.length]).filter((one) => one !== undefined);

/** Elements that were not there when it was marked. */
const mark = (page: Page) =>
  page.evaluate(() => {
    for (const element of document.querySelectorAll('body *')) Object.assign(element, { marked: true });
  });
const unmarked = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('body *')]
      .filter((element) => !('marked' in element))
      .map((element) => `${element.tagName}.${element.getAttribute('class')}`),
  );

/** Elements that a page to which nothing happens has made anew: focus, open menus and what was typed are lost with the old ones. */
async function redrawn(page: Page, quiet: () => Promise<unknown>): Promise<string[]> {
  let found: string[] = [];
  for (let turn = 0; turn < MOST_SETTLES; turn += 1) {
    await mark(page);
    for (let poll = 0; poll < POLLS; poll += 1) {
      await page.clock.fastForward(POLL_MS);
      await quiet();
    }
    found = await unmarked(page);
    if (found.length === 0) break;
  }
  return found;
}

const FRAMES = 60;

/** What is cut off, over something else or out of reach at 200 %. */
async function crowdedAt(page: Page, path: string, { name, width, text }: (typeof SIZES)[number]): Promise<string[]> {
  await page.setViewportSize({ width, height: 900 });
  await page.evaluate((size) => (document.documentElement.style.fontSize = size), text);
  const folder = process.env['SCREENSHOTS'];
  if (folder !== undefined)
    await page.screenshot({ fullPage: true, path: join(folder, `${name}-${path.replaceAll(/\W+/g, '-')}.png`) });
  let found = await crowded(page);
  // What is drawn follows the window a few frames later.
  for (let frames = 0; frames < FRAMES && found.length > 0; frames += 1) {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    found = await crowded(page);
  }
  return found.map((one) => `${name}: ${one}`);
}

interface Probes {
  /** The page is accessible and fits. */
  readonly looks?: boolean;
  /** It keeps its elements. */
  readonly still?: boolean;
}

/** Opens each page and answers what is wrong with it. */
async function walk(pages: readonly Place[], { looks = false, still = false }: Probes): Promise<Record<string, string[]>> {
  const idOf = async (noun: string) => (await ui.programs.api<{ items: { id: string }[] }>('GET', `/${noun}`)).items[0]?.id ?? '';
  const ids = { connection: await idOf('connections'), tool: await idOf('tools') };
  const opened = await ui.signedIn(NARROW);
  const { page } = opened;
  await page.clock.install();
  const quiet = quietOf(page);
  const found: Record<string, string[]> = {};
  for (const [index, place] of pages.entries()) {
    const [pattern, ready] = typeof place === 'string' ? [place, 'h1'] : place;
    const path = pattern.replace('{connection}', ids.connection).replace('{tool}', ids.tool);
    const faults: string[] = [];
    await page.setViewportSize({ width: index % 2 === 0 ? NARROW : WIDE, height: 900 });
    await page.goto(`${ui.programs.url}${path}`);
    await page.locator('h1').waitFor();
    if (looks) await page.locator(ready).first().waitFor();
    await quiet();
    if (looks) for (const look of turned(LOOKS, index, 2)) await inspectAs(page, path, look);
    if (still) faults.push(...(await redrawn(page, quiet)).map((element) => `made anew: ${element}`));
    if (looks) for (const size of turned(SIZES, index, 1)) faults.push(...(await crowdedAt(page, path, size)));
    if (faults.length > 0) found[path] = faults;
  }
  await close(opened, [404]);
  return found;
}

for (const [part, pages] of Object.entries(PAGES)) {
  browserTest(
    `each page is accessible, fits every width, theme and size of text, and keeps its elements: ${part}`,
    async () => expect(await walk(pages, { looks: true, still: true })).toEqual({}),
    2 * LIMIT_MS,
  );
}

browserTest(
  'each page of what is observed stays as it is without calls, is accessible and fits with hundreds',
  async () => {
    expect(await walk(OBSERVATION, { still: true })).toEqual({});
    await reportBusyHour(ui.programs, SERVICE_TOKEN);
    expect(await walk(OBSERVATION, { looks: true })).toEqual({});
  },
  2 * LIMIT_MS,
);
