import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const ui = startUi({ role: 'server' });

const COLUMNS = 60;
const WIDE = `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 1000)
  select ${Array.from({ length: COLUMNS }, (_, at) => (at % 2 === 0 ? `n * ${at + 1} as number_${at}` : `'text ' || n || ' of column ${at}' as text_${at}`)).join(', ')} from numbers`;

browserTest(
  'a large result renders only what is in sight, and all of it is reached by keyboard',
  async () => {
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/new`);
    const sql = page.getByRole('textbox', { name: 'SQL', exact: true });
    await sql.click();
    await page.keyboard.insertText(WIDE);
    await page.getByRole('button', { name: /^Preview row limit/ }).click();
    await page.getByRole('option', { name: '1,000 rows' }).click();
    await sql.press('Control+Enter');
    const grid = page.getByRole('grid', { name: 'Rows' });
    const cells = grid.getByRole('gridcell');
    await cells.first().waitFor();
    const elements = () => page.locator('.result *').count();
    expect(await grid.getAttribute('aria-colcount')).toBe(String(COLUMNS));
    expect(await grid.getAttribute('aria-rowcount')).toBe('1001');
    expect(await grid.getByRole('columnheader').count()).toBeLessThan(COLUMNS / 2);
    expect(await cells.count()).toBeLessThan(700);
    expect(await elements()).toBeLessThan(2_500);

    await cells.first().focus();
    await page.keyboard.press('Control+End');
    const last = grid.locator('[data-cell="999:59"]');
    await last.waitFor();
    expect(await last.evaluate((cell) => document.activeElement === cell)).toBe(true);
    expect(await last.textContent()).toBe('text 1000 of column 59');
    expect(await last.getAttribute('aria-colindex')).toBe('60');
    expect(await cells.count()).toBeLessThan(700);
    expect(await grid.getByRole('columnheader', { name: /^number_0/ }).count()).toBe(0);
    // A heading stands above the cells of its column.
    const beginsAt = (element: Element) => Math.round(element.getBoundingClientRect().left);
    const heading = grid.getByRole('columnheader', { name: /^text_59/ });
    expect(await heading.evaluate(beginsAt)).toBe(await last.evaluate(beginsAt));
    await expectAccessible(page, 'a wide result');
    await look(page, 'wide-result');

    // Whoever scrolls away from the visited cell still reaches one.
    await page.locator('.result-grid').evaluate((scroller) => scroller.scrollTo(0, 0));
    await grid.locator('[data-cell="0:0"]').waitFor();
    await grid.locator('td[tabindex="0"]').waitFor();

    const segment = (name: string) => page.getByRole('tabpanel', { name: 'Preview' }).getByText(name, { exact: true });
    await segment('JSON').click();
    await page.getByRole('group', { name: 'Rows as JSON' }).waitFor();
    expect(await elements()).toBeLessThan(2_500);
    await segment('As the model sees it').click();
    const text = page.getByRole('group', { name: 'content, text/plain' });
    await text.waitFor();
    const shown = (await text.textContent())?.length ?? 0;
    expect(shown).toBeLessThan(100_000);
    await page.getByRole('button', { name: /^Show more \([\d,]+ characters left\)$/ }).click();
    expect((await text.textContent())?.length).toBe(2 * shown);
    await close(opened);
  },
  LIMIT_MS,
);
