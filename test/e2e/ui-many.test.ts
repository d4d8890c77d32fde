import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import type { Product } from '#test/support/programs.ts';
import { crowded } from '#test/support/crowded.ts';
import { is_full_layer } from '#test/support/layer.ts';
import { ACCOUNT, close, drawn, LIMIT_MS, quietOf, startUi } from '#test/support/ui.ts';
import { toBatch } from '#test/support/usage.ts';

/** `MANY=1000 npm test -- test/e2e/ui-many` tries more. */
const TOOLS = Number(process.env['MANY'] ?? 300);
const CONNECTIONS = ['orders', 'stock', 'people', 'billing', 'reporting_replica_of_the_european_warehouse_for_nightly_ledgers'];
const LONG_NAMES = 12;
const ALL = TOOLS + LONG_NAMES;
const SERVICE_TOKEN = 'the-service-token-of-many-tools';
/** The full layer opens every page at each width; every day a page that is there is given one after the other. */
const WIDTHS = [390, 768, 1280, 1440];
/** Of 60 characters, which differ at their ends. */
const longName = (number: number): string =>
  `find_the_newest_orders_of_one_customer_with_all_of_lines_${String(number).padStart(3, '0')}`;
const loadNow = (): number => (loadavg()[0] ?? 0) / availableParallelism();
const LOAD_BEFORE = loadNow();
/** A machine that does other things as well is slower, and now and then more than in proportion. */
const mostMs = (): number => 100 * Math.max(1, 1.5 * Math.max(LOAD_BEFORE, loadNow()));

const ui = startUi({ prepare: importMany, env: { SVC_AGENT_SERVICE_TOKEN: SERVICE_TOKEN } });

async function importMany(programs: Product): Promise<void> {
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
  const long = Array.from({ length: LONG_NAMES }, (_, number) => ({
    ...tools[number],
    name: longName(number),
    title: 'The newest orders of a customer',
    tags: ['a_tag_with_a_long_name', 'another_tag_with_a_long_name'],
    connection: CONNECTIONS.at(-1),
  }));
  const resources = long.map(({ parameters: _, tags, title, connection }, number) => ({
    name: longName(number),
    title,
    tags,
    connection,
    description: 'One thing as JSON, by its id.',
    uri_template: `things://thing-of-the-warehouse-${number}/{id}`,
    sql_query: 'select id, name from things where id = :id',
    parameters: [{ name: 'id', type: 'integer', description: 'Id of the thing', required: true }],
  }));
  const prompts = long.slice(0, 2).map(({ description = '' }, number) => ({
    name: longName(number),
    description: description.repeat(3),
    template: 'Write of {{ topic }}.',
    arguments: [{ name: 'topic', description: 'What it is about', required: true }],
  }));
  const report = await programs.api<{ created: { tools: number } }>('POST', '/export-import/import', {
    format: 'sluice/1',
    connections,
    tools: [...tools, ...long],
    resources,
    prompts,
  });
  expect(report.created.tools).toBe(TOOLS + LONG_NAMES);
}

/** Calls that the insights find slow, and some that failed. */
async function callLongNames(): Promise<void> {
  const { items } = await ui.programs.api<{ items: { id: string; name: string; connection_id: string }[] }>(
    'GET',
    '/tools?limit=500&search=find_the_newest',
  );
  const calls = Array.from({ length: 400 }, (_, n) => {
    const tool = items[n % items.length];
    return {
      kind: 'tool' as const,
      name: tool?.name ?? '',
      entity_id: tool?.id ?? null,
      connection_id: tool?.connection_id ?? null,
      timestamp: new Date(Date.now() - n * 1_000).toISOString(),
      duration_ms: 29_000,
      database_ms: 29_000,
      wait_ms: 0,
      rows: 3,
      bytes: 120,
      error: n % 9 === 0 ? 'timeout' : null,
      snapshot_version: 1,
      client: 'an-assistant-of-this-house-with-a-rather-long-name/0.3.1-beta.4+build.2211',
    };
  });
  const answer = await fetch(`${ui.programs.url}/api/internal/hosts/busy/usage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-token': SERVICE_TOKEN },
    body: JSON.stringify({ boot_id: 'busy', seq: 1, ...toBatch(calls) }),
  });
  expect(answer.status).toBe(204);
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
  // What was measured is reported once it is drawn.
  for (let frames = 0; frames < 3; frames += 1) await page.evaluate(drawn);
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
    await page.getByText(new RegExp(`${ALL.toLocaleString('en')} tools|${(ALL + 5).toLocaleString('en')} tools`)).waitFor();
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
    const group = page.locator('.live-box[aria-expanded=false]').first();
    await group.waitFor();
    found['flow: expand'] = await delayOf(page, () => group.click());

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

browserTest(
  'names of 60 characters are told apart at every width, and cut nothing off',
  async () => {
    const { api } = ui.programs;
    const { items } = await api<{ items: { id: string; name: string }[] }>('GET', '/tools?limit=500&search=find_the_newest');
    await api('POST', '/tests', {
      owner: { kind: 'tool', id: items[0]?.id },
      name: 'finds',
      arguments: { text: '%' },
      expect: {},
    });
    await api('POST', '/deploy', {
      note: 'The first version of everything, imported from another installation, as it was there',
    });
    await callLongNames();
    const places = [
      '/',
      '/tools',
      `/tools/${items[0]?.id}`,
      '/tools/new',
      '/resources',
      '/prompts',
      '/flow',
      '/connections',
      '/tests',
      '/insights',
      '/metrics',
      '/logs?view=requests',
      '/logs?view=sessions',
      '/deploy?view=versions',
      '/history',
      '/access',
      '/people',
      '/settings/guard',
      '/settings/checks',
    ];
    const found: Record<string, string[]> = {};
    for (const first of is_full_layer ? WIDTHS : WIDTHS.slice(0, 1)) {
      const opened = await ui.signedIn(first);
      const { page } = opened;
      const quiet = quietOf(page);
      for (const path of places) {
        await page.setViewportSize({ width: first, height: 900 });
        await page.goto(`${ui.programs.url}${path}`);
        await page.locator('h1').waitFor();
        await quiet();
        for (const width of is_full_layer ? [first] : WIDTHS) {
          await page.setViewportSize({ width, height: 900 });
          await page.evaluate(drawn);
          const wrong = [...(await crowded(page)), ...(await misplaced(page))];
          if (wrong.length > 0) found[`${path} at ${width} px`] = wrong;
        }
      }
      await close(opened);
    }
    expect(found).toEqual({});
  },
  LIMIT_MS,
);

/** Columns beside the table or at its edge, names cut short, rows of several heights in a long list, and a page that goes on below its end. */
const misplaced = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const tables = [...document.querySelectorAll<HTMLElement>('.table-scroll')];
    const beside = tables.filter((table) => table.scrollWidth > table.clientWidth + 1);
    const heights = new Set(
      [...document.querySelectorAll<HTMLElement>('[data-virtual=true] tr[data-row]')].map((row) => row.offsetHeight),
    );
    const at_edge = [...document.querySelectorAll<HTMLTableRowElement>('.table tr:not([aria-hidden])')].filter((row) => {
      const last = [...row.cells].findLast((cell) => cell.offsetWidth > 0);
      return last !== undefined && Number.parseFloat(getComputedStyle(last).paddingInlineEnd) < 12;
    });
    const cut = [...document.querySelectorAll<HTMLElement>('.table .mono.long-name')].filter(
      (name) => name.scrollHeight > name.clientHeight + 2,
    );
    const graphs = [...document.querySelectorAll<HTMLElement>('.live-graph')].filter(
      (graph) => graph.scrollWidth > graph.clientWidth + 1,
    );
    const end = (document.querySelector('main')?.getBoundingClientRect().bottom ?? 0) + scrollY;
    return [
      ...beside.map(
        (table) => `${table.scrollWidth - table.clientWidth} px of the table ${table.innerText.slice(0, 20)} are out of sight`,
      ),
      ...at_edge.slice(0, 1).map((row) => `${row.innerText.slice(0, 40)} touches the edge of its table`),
      ...cut.slice(0, 1).map((name) => `${name.innerText} is cut`),
      ...graphs.map((graph) => `${graph.scrollWidth - graph.clientWidth} px of the graph are out of sight`),
      ...[...heights].filter((height) => height !== 44 && height !== 64).map((height) => `a row of ${height} px`),
      ...(document.documentElement.scrollHeight > Math.max(end, innerHeight) + 2 ? ['nothing below the end of the page'] : []),
    ];
  });
