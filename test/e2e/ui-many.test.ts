import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import type { Programs } from '#test/support/programs.ts';
import { ACCOUNT, close, LIMIT_MS, startUi } from '#test/support/ui.ts';

/** `MANY=1000 npm test -- test/e2e/ui-many` tries more. */
const TOOLS = Number(process.env['MANY'] ?? 300);
const CONNECTIONS = ['orders', 'stock', 'people', 'billing', 'archive'];
const loadNow = (): number => (loadavg()[0] ?? 0) / availableParallelism();
const LOAD_BEFORE = loadNow();
/** A machine that does other things as well is slower, and now and then more than in proportion. */
const mostMs = (): number => 100 * Math.max(1, 1.5 * Math.max(LOAD_BEFORE, loadNow()));

const ui = startUi({ prepare: importMany });

async function importMany(programs: Programs): Promise<void> {
  const connections = CONNECTIONS.map((name) => {
    new Database(join(programs.directory, 'databases', `${name}.sqlite`)).run(
      'create table things (id integer primary key, name text)',
    );
    return { name, db_type: 'sqlite', database: `${name}.sqlite` };
  });
  const tools = Array.from({ length: TOOLS }, (_, number) => ({
    name: `find_thing_${String(number).padStart(4, '0')}`,
    connection: CONNECTIONS[number % CONNECTIONS.length],
    description: `Finds the things whose name contains a text, list number ${number}. Returns at most ten, newest first.`,
    sql_query: 'select id, name from things where name like :text order by id desc limit 10',
    parameters: [{ name: 'text', type: 'string', description: 'A part of the name', required: true }],
    tags: [`team_${number % 7}`],
  }));
  const report = await programs.api<{ created: { tools: number } }>('POST', '/export-import/import', {
    format: 'sluice/1',
    connections,
    tools,
  });
  expect(report.created.tools).toBe(TOOLS);
}

/**
 * The longest that the page kept a person waiting, in milliseconds: from a press or key until what listens to it was done, and in one
 * piece of work, drawing included, during which it would have heard nothing, moves of the pointer neither.
 */
async function delayOf(page: Page, work: () => Promise<unknown>): Promise<number> {
  await page.evaluate(() => {
    const delays: number[] = [];
    const watch = (type: string, read: (entry: PerformanceEventTiming) => number) =>
      new PerformanceObserver((list) => delays.push(...(list.getEntries() as PerformanceEventTiming[]).map(read))).observe({
        type,
        durationThreshold: 16,
      } as PerformanceObserverInit);
    watch('event', ({ startTime, processingEnd }) => processingEnd - startTime);
    watch('longtask', ({ duration }) => duration);
    Object.assign(window, { delays });
  });
  await work();
  await page.waitForTimeout(300);
  return Math.round(Math.max(0, ...(await page.evaluate(() => (window as unknown as { delays: number[] }).delays))));
}

/** The row that has the focus, and whether neither the head of its table nor an edge covers it. */
const focusedRow = (page: Page) =>
  page.evaluate(() => {
    const row = document.activeElement?.closest('tr');
    const box = row?.getBoundingClientRect();
    const scroller = row?.closest('.table-scroll')?.getBoundingClientRect();
    const count = Number(row?.closest('table')?.getAttribute('aria-rowcount'));
    const head = row?.closest('table')?.tHead?.getBoundingClientRect();
    return {
      place: row?.ariaRowIndex === '2' ? 'first' : Number(row?.ariaRowIndex) === count ? 'last' : 'between',
      in_sight: box !== undefined && box.top >= (head?.bottom ?? 0) - 1 && box.bottom <= (scroller?.bottom ?? 0) + 1,
    };
  });

browserTest('the measure sees a handler that takes long, and work that holds up a press', async () => {
  const opened = await ui.signedIn(1440, 'light');
  const { page } = opened;
  await page.goto(`${ui.programs.url}/tools`);
  await page.getByText('find_thing_0000').waitFor();
  const press = () => page.keyboard.press('Shift');
  expect(await delayOf(page, press)).toBeLessThan(mostMs());
  const hold = (event: 'keydown' | 'pointermove') =>
    page.evaluate((name) => {
      const work = () => {
        const ends = performance.now() + 250;
        while (performance.now() < ends);
      };
      window.addEventListener(name, work, { once: true });
    }, event);
  await hold('keydown');
  expect(await delayOf(page, press)).toBeGreaterThanOrEqual(250);
  await hold('pointermove');
  expect(await delayOf(page, () => page.mouse.move(300, 300))).toBeGreaterThanOrEqual(250);
  await close(opened);
});

browserTest(
  `list, flow, review and palette react at once with ${TOOLS} tools on five connections`,
  async () => {
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    const found: Record<string, number> = {};

    await page.goto(`${ui.programs.url}/tools`);
    await page.getByText('find_thing_0000').waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).search));
    found['list: type'] = await delayOf(page, () => page.getByLabel('Search tools').pressSequentially('thing_01', { delay: 60 }));
    await page.getByText('find_thing_0000').waitFor({ state: 'detached' });
    found['list: clear'] = await delayOf(page, () => page.keyboard.press('Escape'));
    await page.getByText('find_thing_0000').waitFor();
    // A search asks for what it shows, not how far the first steps are.
    expect(asked.filter((query) => query.includes('limit=1'))).toEqual([]);
    found['list: select all'] = await delayOf(page, () => page.getByRole('checkbox', { name: /^Select all/ }).click());
    await page.getByRole('row', { name: 'find_thing_0000' }).focus();
    found['list: last row'] = await delayOf(page, () => page.keyboard.press('End'));
    expect(await focusedRow(page)).toEqual({ place: 'last', in_sight: true });
    found['list: first row'] = await delayOf(page, () => page.keyboard.press('Home'));
    expect(await focusedRow(page)).toEqual({ place: 'first', in_sight: true });
    found['list: sort'] = await delayOf(page, () => page.getByRole('button', { name: 'Changed' }).click());

    await page.goto(`${ui.programs.url}/deploy`);
    const changes = page.getByRole('group', { name: 'Changes of the next deploy' });
    await changes.getByText('find_thing_0000').waitFor();
    await page.getByText(new RegExp(`${TOOLS.toLocaleString('en')} tools|${(TOOLS + 5).toLocaleString('en')} tools`)).waitFor();
    await page.getByText(/The tools add about [\d.,]+k? tokens to every conversation/i).waitFor();
    const deploy = page.getByRole('button', { name: 'Deploy', exact: true });
    found['review: more of a group'] = await delayOf(page, () =>
      changes
        .getByRole('button', { name: /^Show \d+ more/ })
        .first()
        .click(),
    );
    found['review: open'] = await delayOf(page, () => changes.getByText('find_thing_0000').click());
    found['review: filter'] = await delayOf(page, () =>
      page.getByLabel('Filter changes by name').pressSequentially('0012', { delay: 60 }),
    );
    await changes.getByText('find_thing_0000').waitFor({ state: 'detached' });
    await page.mouse.wheel(0, 4_000);
    expect(await deploy.isVisible()).toBe(true);
    const box = await deploy.boundingBox();
    expect(box === null || box.y < 0 || box.y > 900).toBe(false);

    await page.goto(`${ui.programs.url}/flow`);
    await page.locator('.flow-node').first().waitFor();
    found['flow: zoom'] = await delayOf(page, () => page.getByRole('button', { name: 'Zoom in' }).click());
    found['flow: expand'] = await delayOf(page, () => page.getByRole('button', { name: 'Expand all groups' }).click());
    found['flow: pan'] = await delayOf(page, async () => {
      await page.mouse.move(700, 500);
      await page.mouse.down();
      for (let step = 0; step < 20; step += 1) await page.mouse.move(700 + step * 10, 500 + step * 4);
      await page.mouse.up();
    });
    found['flow: find'] = await delayOf(page, () =>
      page.getByLabel('Find by name, tag or address').pressSequentially('0123', { delay: 60 }),
    );

    found['palette: open'] = await delayOf(page, () => page.keyboard.press('Control+k'));
    const palette = page.getByRole('dialog', { name: 'Commands' });
    found['palette: type'] = await delayOf(page, () =>
      palette.getByRole('combobox').pressSequentially('thing_0150', { delay: 60 }),
    );
    await palette.getByText('find_thing_0150').waitFor();
    if (process.env['MANY'] !== undefined) process.stdout.write(`${JSON.stringify(found, null, 1)}\n`);
    expect(Object.entries(found).filter(([, ms]) => !(ms < mostMs()))).toEqual([]);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest('numbers have the separators of the reader', async () => {
  const seen: string[] = [];
  for (const locale of ['en-US', 'de-DE']) {
    const context = await ui.browser.newContext({ locale });
    await context.request.post(`${ui.programs.url}/api/v1/auth/login`, { data: ACCOUNT });
    const page = await context.newPage();
    await page.goto(`${ui.programs.url}/deploy`);
    seen.push(await page.getByText(/The tools add about [\d.,]+ tokens/).innerText());
    await context.close();
  }
  const [english = '', german = ''] = seen.map((text) => /about (\S+) tokens/.exec(text)?.[1]);
  expect(english).toMatch(/^\d+,\d{3}$/);
  expect(german).toBe(english.replace(',', '.'));
});
