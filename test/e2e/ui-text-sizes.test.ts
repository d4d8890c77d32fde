import { expect } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
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

/** What cannot be read or reached: cut off, over something else, or beside the window. */
const crowded = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const found = new Set<string>();
    const called = (element: Element) =>
      `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''} “${(element.textContent ?? '').trim().slice(0, 40)}”`;
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) found.add(`the page is ${root.scrollWidth - root.clientWidth} px too wide`);

    const shown = [...document.querySelectorAll<HTMLElement>('body *')].filter(
      (element) =>
        element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
        element.closest('.visually-hidden, .cm-editor, svg, [aria-hidden=true], .flow-canvas, .skip, .log-fields') === null,
    );
    // The lines of each text, as far as the boxes around it show them.
    const lines = shown.flatMap((element) =>
      [...element.childNodes].flatMap((node) => {
        if (node.nodeType !== Node.TEXT_NODE || (node.textContent ?? '').trim() === '') return [];
        const range = document.createRange();
        range.selectNodeContents(node);
        return [...range.getClientRects()].flatMap((line) => {
          let { left, right, top, bottom } = line;
          for (let box: Element | null = element; box !== null; box = box.parentElement) {
            const { overflowX, overflowY, textOverflow, webkitLineClamp } = getComputedStyle(box);
            const edge = box.getBoundingClientRect();
            const cuts = (axis: string) => axis === 'hidden' || axis === 'clip';
            const beside = cuts(overflowX) && textOverflow !== 'ellipsis' && right > edge.right + 2;
            const below = cuts(overflowY) && webkitLineClamp === 'none' && bottom > edge.bottom + 3;
            if (box !== root && (beside || below)) found.add(`cut: ${called(element)}`);
            if (overflowX !== 'visible') [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
            if (overflowY !== 'visible') [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
          }
          return right - left > 1 && bottom - top > 1 ? [{ element, left, right, top, bottom }] : [];
        });
      }),
    );
    const floats = (element: Element) => {
      for (let box: Element | null = element; box !== null; box = box.parentElement)
        if (['fixed', 'sticky'].includes(getComputedStyle(box).position)) return true;
      return false;
    };
    const still = lines.filter(({ element }) => !floats(element)).toSorted((a, b) => a.top - b.top);
    for (const [n, one] of still.entries()) {
      if (one.right > root.clientWidth + 1) found.add(`beside the window: ${called(one.element)}`);
      for (const other of still.slice(n + 1)) {
        if (other.top > one.bottom - 6) break;
        const over = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        if (
          over > 3 &&
          one.element !== other.element &&
          !one.element.contains(other.element) &&
          !other.element.contains(one.element)
        )
          found.add(`over each other: ${called(one.element)} and ${called(other.element)}`);
      }
    }
    return [...found];
  });

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
