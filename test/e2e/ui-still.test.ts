import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, PATHS, POLL_MS, quietOf, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });

/** A page is there when it has drawn nothing for so long; a busy machine takes several times that for all of them. */
const SETTLE_MS = 4_000;
const MOST_SETTLES = 10;
/** How often each page looks at the server again while it is watched. */
const POLLS = 3;

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

browserTest(
  'a page to which nothing happens keeps its elements, and with them focus, open menus and what was typed',
  async () => {
    const opened = await ui.signedIn();
    await opened.context.clock.install();
    const { items } = await ui.programs.api<{ items: { id: string }[] }>('GET', '/tools');
    const places = await Promise.all(
      [...PATHS, `/tools/${items[0]?.id}`].map(async (path) => {
        const page = await opened.context.newPage();
        const quiet = quietOf(page);
        await page.goto(`${ui.programs.url}${path}`);
        await page.locator('h1').waitFor();
        return { path, page, quiet };
      }),
    );
    const draws = async () =>
      (await Promise.all(places.map(async ({ page }) => unmarked(page)))).some(({ length }) => length > 0);
    for (let turn = 0; turn < MOST_SETTLES && (await draws()); turn++) {
      for (const { page } of places) await mark(page);
      await Bun.sleep(SETTLE_MS);
    }
    for (const { page } of places) await mark(page);
    for (let poll = 0; poll < POLLS; poll++) {
      await opened.context.clock.fastForward(POLL_MS);
      await Promise.all(places.map(({ quiet }) => quiet()));
    }
    const drawn = await Promise.all(places.map(async ({ path, page }) => [path, await unmarked(page)] as const));
    expect(Object.fromEntries(drawn.filter(([, elements]) => elements.length > 0))).toEqual({});
    await close(opened);
  },
  LIMIT_MS,
);
