import { describe, expect } from 'bun:test';
import { pagedInput } from '#core/query/page-schemas.ts';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { paced } from '#test/support/paced.ts';
import type { Way } from './view-client.ts';
import { drawnAs, give, startViews, structured } from './with-view.ts';

const { withView } = startViews();

const ORDERS = Array.from({ length: 20 }, (_, n) => ({
  id: n + 1,
  customer: `Customer ${n + 1}`,
  total: (n * 37) % 400,
  paid: n % 3 === 0 ? null : true,
}));
const COUNTRIES = [
  { country: 'Germany', revenue: 1_200_000.5 },
  { country: 'France', revenue: 900_000 },
  { country: 'Kenya', revenue: -45_000 },
  { country: 'Japan', revenue: null },
];
const WAYS: readonly Way[] = ['write', 'srcdoc'];

for (const way of WAYS) {
  for (const theme of ['light', 'dark'] as const) {
    browserTest(`a table by ${way} in ${theme} colours can be read by everybody, and asks for nothing`, () =>
      withView({ way, context: { theme } }, async (shown) => {
        const { page, view } = shown;
        expect(await view.textContent('[role=status]')).toBe('Waiting for the result…');
        await give(shown, structured(ORDERS));
        await view.locator('tbody tr').nth(19).waitFor();
        expect(await view.locator('tbody tr').count()).toBe(20);
        expect(await view.locator('tbody tr').first().locator('td').allTextContents()).toEqual(['1', 'Customer 1', '0', 'null']);
        await expectAccessible(view, `${way} ${theme}`);
        await page.waitForFunction(() => (window.client.sizes.at(-1)?.height ?? 0) > 300);
        await look(page, `view-table-${way}-${theme}`);
      }),
    );
  }
}

browserTest('a result with a file leads to all rows, where the client opens addresses', () =>
  withView({}, async (shown) => {
    const { view, page } = shown;
    const file = { url: 'https://mcp.example.com/f/sealed', format: 'csv', expires_at: '2026-01-01T00:15:00.000Z' };
    const result = structured(ORDERS);
    await give(shown, { ...result, structuredContent: { rows: ORDERS, file } });
    await view.getByRole('button', { name: 'Download all rows' }).click();
    await page.waitForFunction(() => window.client.links.length === 1);
    expect(await page.evaluate(() => window.client.links)).toEqual([file.url]);
    await give(shown, { ...result, structuredContent: { rows: ORDERS, file: { url: 'javascript:alert(1)' } } });
    await view.getByRole('button', { name: 'Download all rows' }).waitFor({ state: 'detached' });
  }),
);

describe('a table', () => {
  browserTest('is sorted, filtered and read by keyboard', () =>
    withView({}, async (shown) => {
      const { view, page } = shown;
      await give(shown, structured(ORDERS));
      const firsts = () => view.locator('tbody tr td:first-child').allTextContents();
      await view.click('th:has-text("total") button');
      expect(await view.getAttribute('th:has-text("total")', 'aria-sort')).toBe('ascending');
      expect((await firsts()).slice(0, 3)).toEqual(['1', '12', '2']);
      await page.keyboard.press('Enter');
      expect(await view.getAttribute('th:has-text("total")', 'aria-sort')).toBe('descending');
      await view.fill('input[type=search]', 'customer 2');
      expect(await firsts()).toEqual(['20', '2']);
      expect(await view.textContent('.sv-grid .sv-soft')).toBe('2 rows');
      await view.focus('tbody td[tabindex="0"]');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('End');
      expect(await view.evaluate(() => document.activeElement?.textContent)).toBe('true');
      await view.fill('input[type=search]', 'nothing like it');
      expect(await view.textContent('.sv-grid .sv-soft')).toBe('No rows match.');
    }),
  );

  browserTest('of 1,000 rows is drawn within 0.3 s, 50 rows a page', () =>
    withView({}, async (shown) => {
      const rows = Array.from({ length: 1_000 }, (_, n) => ({
        id: n,
        name: `Row ${n}`,
        at: '2026-01-02T03:04:05Z',
        n: n / 7,
        text: 'x'.repeat(40),
      }));
      const { page, view } = shown;
      await page.evaluate((given) => window.client.result(given), structured(rows.slice(0, 5)));
      await view.waitForSelector('tbody tr');
      // From handing over the result until the page with its rows has been drawn.
      const took = await page.evaluate(async (given) => {
        const frame = document.querySelector('iframe');
        const before = window.client.sizes.length;
        const began = performance.now();
        await window.client.result(given);
        while (window.client.sizes.length === before) await new Promise((resolve) => setTimeout(resolve, 2));
        return frame === null ? -1 : performance.now() - began;
      }, structured(rows));
      expect(await view.locator('tbody tr').count()).toBe(50);
      expect(await view.textContent('.sv-grid .sv-soft')).toBe('1–50 of 1,000 rows');
      expect(took).toBeLessThanOrEqual(paced(300));
      await view.click('button:has-text("Next")');
      expect(await view.textContent('.sv-grid .sv-soft')).toBe('51–100 of 1,000 rows');
      expect(await view.textContent('tbody tr td')).toBe('50');
    }),
  );

  browserTest('of hostile cells shows them as text', () =>
    withView({}, async (shown) => {
      const { view } = shown;
      const cell = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
      await give(
        shown,
        structured([{ [cell]: cell, 'javascript:alert(1)': '</script><style>*{display:none}</style>' }, { [cell]: '"><b>' }]),
      );
      expect(await view.locator('tbody td').first().textContent()).toBe(cell);
      expect(await view.locator('img, b, main script').count()).toBe(0);
      expect(await view.title()).toBe('Result');
    }),
  );

  browserTest('fits 360 px, with everything that a narrow client cuts off elsewhere', () =>
    withView({ width: 360 }, async (shown) => {
      await give(shown, structured(ORDERS.map((row) => ({ ...row, note: 'a long note '.repeat(12) }))));
      await shown.view.waitForSelector('tbody tr');
      expect(await shown.view.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
      await expectAccessible(shown.view, '360 px');
      await look(shown.page, 'view-table-360');
    }),
  );

  browserTest('is copied and saved as CSV, saved only where the client takes files', async () => {
    await withView({}, async (shown) => {
      await give(shown, structured(COUNTRIES.slice(0, 2), drawnAs({ kind: 'table' })));
      await shown.view.click('button:has-text("Save CSV")');
      await shown.page.waitForFunction(() => window.client.files.length === 1);
      const text = 'country,revenue\r\nGermany,1200000.5\r\nFrance,900000\r\n';
      const resource = { uri: 'file:///result.csv', mimeType: 'text/csv', text };
      expect(await shown.page.evaluate(() => window.client.files)).toEqual([{ contents: [{ type: 'resource', resource }] }]);
      await shown.view.click('button:has-text("Copy CSV")');
      await shown.view.waitForSelector('.sv-said:has-text("Copied.")');
    });
    await withView({ capabilities: {} }, async (shown) => {
      await give(shown, structured(COUNTRIES));
      await shown.view.waitForSelector('button:has-text("Copy CSV")');
      expect(await shown.view.locator('button:has-text("Save CSV")').count()).toBe(0);
    });
  });
});

describe('a result', () => {
  browserTest('without structured content is drawn from the JSON of its text, or shown as text', () =>
    withView({}, async (shown) => {
      const { view } = shown;
      const says = (text: string): Promise<void> => give(shown, { content: [{ type: 'text', text }] });
      await says(JSON.stringify({ rows: ORDERS }));
      await view.waitForSelector('tbody tr');
      await says('Result too large, written to /tmp/result-1.json');
      await view.waitForSelector('pre');
      expect(await view.textContent('pre')).toBe('Result too large, written to /tmp/result-1.json');
      await says('{"rows": [{"cut": "off');
      await view.waitForSelector('pre:has-text("cut")');
    }),
  );

  browserTest('that is an error, none, cancelled or empty says so', () =>
    withView({}, async (shown) => {
      const { view, page } = shown;
      await give(shown, { content: [{ type: 'text', text: 'The database is away.' }], isError: true });
      await view.waitForSelector('[role=alert]:has-text("The database is away.")');
      await give(shown, structured([]));
      await view.waitForSelector('[role=status]:has-text("No rows.")');
      await page.evaluate(() => window.client.cancel('user'));
      await view.waitForSelector('[role=status]:has-text("The call was cancelled.")');
    }),
  );

  browserTest('of one cell is a value, of one row a record, each in the language of the client', () =>
    withView({ context: { locale: 'de-DE', timeZone: 'Asia/Tokyo' } }, async (shown) => {
      const { view } = shown;
      await give(shown, structured([{ total: 1_234_567.5 }], drawnAs({ kind: 'value', format: 'EUR', title: 'Revenue' })));
      await view.waitForSelector('.sv-big');
      expect(await view.textContent('.sv-big')).toBe('1.234.567,50\u00A0€');
      expect(await view.textContent('h2')).toBe('Revenue');
      await give(shown, structured([{ name: 'Ada', at: '2026-03-01T20:00:00Z', gone: null }]));
      await view.waitForSelector('dl');
      expect(await view.locator('dd').allTextContents()).toEqual(['Ada', '02.03.2026, 05:00', 'null']);
    }),
  );

  browserTest('is drawn once more when the client takes another theme, and left in peace when it goes', () =>
    withView({ context: { theme: 'light' } }, async (shown) => {
      const { view, page } = shown;
      await give(shown, structured(ORDERS));
      const ink = () => view.evaluate(() => getComputedStyle(document.querySelector('.sv') ?? document.body).color);
      const light = await ink();
      const styles = { variables: { '--color-text-primary': 'rgb(1, 2, 3)' } } as never;
      await page.evaluate((given) => window.client.context(given), { theme: 'dark' as const });
      await view.waitForSelector('[data-theme=dark]');
      expect(await ink()).not.toBe(light);
      await page.evaluate((given) => window.client.context(given), { theme: 'dark' as const, styles });
      await view.waitForFunction(() => getComputedStyle(document.querySelector('.sv') ?? document.body).color === 'rgb(1, 2, 3)');
      expect(await page.evaluate(() => window.client.teardown())).toEqual({});
    }),
  );
});

const TOOL = {
  name: 'orders_of',
  description: 'Orders',
  annotations: { readOnlyHint: true },
  inputSchema: {
    type: 'object' as const,
    properties: {
      country: { type: 'string', enum: ['DE', 'FR'] },
      least: { type: 'integer' },
      tags: { type: 'array', items: { type: 'string' } },
    },
    required: ['country'],
  },
};

describe('the form', () => {
  // It has pages: other arguments begin at the first one.
  const PAGED = { ...TOOL, inputSchema: { ...TOOL.inputSchema, ...pagedInput(TOOL.inputSchema) } };
  browserTest('runs a tool that reads with other arguments', () =>
    withView({ context: { toolInfo: { tool: PAGED } }, again: structured(COUNTRIES) }, async (shown) => {
      const { view, page } = shown;
      await page.evaluate(() => window.client.input({ country: 'DE', after: 'page 2' }));
      await give(shown, structured(ORDERS));
      await view.click('summary');
      await expectAccessible(view, 'the form');
      await view.fill('label:has-text("tags") input', 'no JSON');
      await view.click('button:has-text("Run again")');
      expect(await view.textContent('form [role=alert]')).toBe('tags must be JSON, such as ["a", "b"].');
      await view.selectOption('label:has-text("country") select', { label: 'FR' });
      await view.fill('label:has-text("least") input', '10');
      await view.fill('label:has-text("tags") input', '["new"]');
      await view.click('button:has-text("Run again")');
      await view.waitForSelector('svg[role=img]');
      expect(await page.evaluate(() => window.client.calls)).toEqual([
        { name: 'orders_of', arguments: { country: 'FR', least: 10, tags: ['new'] } },
      ]);
      await look(page, 'view-form');
    }),
  );

  browserTest('leads on to the next rows of a tool that returns them in parts', () => {
    const inputSchema = { ...TOOL.inputSchema, properties: { ...TOOL.inputSchema.properties, after: { type: 'string' } } };
    const first = { ...structured(ORDERS), structuredContent: { rows: ORDERS, truncated: true, next: 'sealed' } };
    return withView(
      { context: { toolInfo: { tool: { ...TOOL, inputSchema } } }, again: structured(COUNTRIES) },
      async (shown) => {
        const { view, page } = shown;
        await page.evaluate(() => window.client.input({ country: 'DE' }));
        await give(shown, first);
        await view.waitForSelector('p:has-text("Not complete")');
        await view.click('button:has-text("Next rows")');
        await view.waitForSelector('svg[role=img]');
        expect(await view.locator('button:has-text("Next rows")').count()).toBe(0);
        expect(await page.evaluate(() => window.client.calls)).toEqual([
          { name: 'orders_of', arguments: { country: 'DE', after: 'sealed' } },
        ]);
      },
    );
  });

  browserTest('is not there for a tool that writes, nor in a client that calls no tools', async () => {
    const writes = { ...TOOL, annotations: { readOnlyHint: false } };
    for (const options of [
      { context: { toolInfo: { tool: writes } } },
      { context: { toolInfo: { tool: TOOL } }, capabilities: {} },
    ]) {
      await withView(options, async (shown) => {
        await give(shown, structured(ORDERS));
        await shown.view.waitForSelector('tbody tr');
        expect(await shown.view.locator('form').count()).toBe(0);
      });
    }
  });
});
