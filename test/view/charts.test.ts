import { describe, expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { drawnAs, give, startViews, structured } from './with-view.ts';

const { withView } = startViews();

const COUNTRIES = [
  { country: 'Germany', revenue: 1_200_000.5 },
  { country: 'France', revenue: 900_000 },
  { country: 'Kenya', revenue: -45_000 },
  { country: 'Japan', revenue: null },
];
const MONTHS = Array.from({ length: 12 }, (_, n) => ({
  month: `2026-${String(n + 1).padStart(2, '0')}-01`,
  orders: 100 + ((n * 53) % 90),
}));
describe('a chart', () => {
  browserTest('of parts of which one is negative is bars, no more of them than anybody reads', () =>
    withView({ width: 700 }, async (shown) => {
      const { view } = shown;
      const rows = Array.from({ length: 2_000 }, (_, n) => ({ account: `Account ${n}`, balance: n - 5 }));
      await give(shown, structured(rows, drawnAs({ kind: 'pie' })));
      await view.waitForSelector('svg[role=img]');
      expect(await view.getAttribute('svg[role=img]', 'aria-label')).toBe('Bar chart of balance by account, 50 values');
      expect(await view.locator('svg rect').count()).toBe(50);
      await view.getByText('1,950 more in the table.').waitFor();
    }),
  );

  browserTest('of series that have rows at other times draws their lines, and no label over another', () =>
    withView({ width: 700 }, async (shown) => {
      const { view, page } = shown;
      const hour = (n: number) => new Date(Date.UTC(2026, 0, 1, n)).toISOString();
      const dense = Array.from({ length: 300 }, (_, n) => ({ at: hour(n), tank: n % 2 === 0 ? 'A' : 'B', level: n % 40 }));
      const alone = [
        { at: hour(2_000), tank: 'A', level: null },
        { at: hour(3_000), tank: 'A', level: 30 },
      ];
      const drawing = { kind: 'line', x: 'at', series: 'tank', y: ['level'] };
      await give(shown, structured([...dense, ...alone], drawnAs(drawing)));
      await view.waitForSelector('svg[role=img]');
      const paths = await view.locator('.sv-line').evaluateAll((all) => all.map((path) => path.getAttribute('d') ?? ''));
      // A has two parts, since a value is missing; its last one is a dot.
      expect(paths.map((d) => [d.split('M').length - 1, d.split('L').length - 1])).toEqual([
        [2, 151],
        [1, 150],
      ]);
      const labels = await view.locator('svg text[y="252"]').evaluateAll((all) => all.map((one) => one.getBoundingClientRect()));
      expect(labels.length).toBeGreaterThan(2);
      labels.slice(1).forEach(({ left }, n) => expect(left).toBeGreaterThan(labels[n]?.right ?? 0));
      await page.waitForFunction(() => window.client.sizes.length > 0);
      await look(page, 'view-series-apart');
    }),
  );

  const EDGES = [
    { name: 'years', rows: [2019, 2020, 2021].map((year) => ({ year, revenue: year * 1e6 })), text: '2020' },
    { name: 'small shares', rows: ['a', 'b'].map((k, n) => ({ k, share: (n + 1) / 1e6 })), text: '0.000002' },
    {
      name: 'seconds',
      rows: Array.from({ length: 50 }, (_, n) => ({ at: new Date(Date.UTC(2026, 0, 1, 8, 0, n)).toISOString(), n })),
      text: '08:00:00 AM',
    },
    { name: 'small numbers over time', rows: MONTHS.map(({ month }, n) => ({ month, n: n / 1e7 })), text: '0.00000025' },
    { name: 'bytes', rows: ['a', 'b'].map((k, n) => ({ k, n: 123_456_789 * (n + 1) })), text: '246.9M' },
  ] as const;
  for (const { name, rows, text } of EDGES) {
    browserTest(`of ${name} writes its numbers so that they can be told apart and seen in full`, () =>
      withView({ width: 360 }, async (shown) => {
        const { view } = shown;
        await give(shown, structured(rows));
        await view.waitForSelector('svg[role=img]');
        const texts = await view.locator('svg text').allTextContents();
        expect(texts).toContain(text);
        const boxes = await view.locator('svg[role=img] text').evaluateAll((all) =>
          all.map((one) => {
            const { left, right, top } = one.getBoundingClientRect();
            return { left, right, top };
          }),
        );
        for (const { left, right } of boxes) expect([left >= 0, right <= 360]).toEqual([true, true]);
        const in_lines = Object.values(Object.groupBy(boxes, ({ top }) => String(Math.round(top))));
        for (const line of in_lines) {
          const sorted = (line ?? []).toSorted((a, b) => a.left - b.left);
          sorted.slice(1).forEach(({ left }, n) => expect(left).toBeGreaterThan(sorted[n]?.right ?? 0));
        }
      }),
    );
  }

  const CHARTS = [
    {
      name: 'bars of categories',
      rows: COUNTRIES,
      view: null,
      label: 'Bar chart of revenue by country, 4 values',
      marks: 'rect',
      count: 3,
    },
    {
      name: 'a line over months',
      rows: MONTHS,
      view: null,
      label: 'Line chart of orders by month, 12 values',
      marks: 'circle',
      count: 12,
    },
    {
      name: 'an area',
      rows: MONTHS,
      view: { kind: 'area', title: 'Orders' },
      label: 'Area chart of orders by month, 12 values',
      marks: '.sv-area',
      count: 1,
    },
    {
      name: 'lines of a series',
      rows: MONTHS.flatMap(({ month, orders }) => [
        { month, shop: 'Berlin', orders },
        { month, shop: 'Lyon', orders: orders / 2 },
      ]),
      view: null,
      label: 'Line chart of orders by month, 12 values',
      marks: '.sv-line',
      count: 2,
    },
    {
      name: 'a pie of at most six parts',
      rows: Array.from({ length: 9 }, (_, n) => ({ kind: `Part ${n}`, share: 10 - n })),
      view: { kind: 'pie', format: 'integer' },
      label: 'Pie chart of share by kind, 9 values',
      marks: 'path.sv-slice',
      count: 6,
    },
  ] as const;
  for (const { name, rows, view: drawn, label, marks, count } of CHARTS) {
    browserTest(`of ${name} has its table beside it`, async () => {
      for (const [theme, width] of [
        ['light', 900],
        ['dark', 360],
      ] as const) {
        await withView({ width, context: { theme } }, async (shown) => {
          const { view, page } = shown;
          await give(shown, structured(rows, drawn === null ? {} : drawnAs(drawn)));
          await view.waitForSelector('svg[role=img]');
          expect(await view.getAttribute('svg[role=img]', 'aria-label')).toBe(label);
          expect(await view.locator(`svg ${marks}`).count()).toBe(count);
          expect(await view.locator('tbody tr').count()).toBe(rows.length);
          expect(await view.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
          await expectAccessible(view, name);
          await page.waitForFunction(() => window.client.sizes.length > 0);
          await look(page, `view-${name.replaceAll(' ', '-')}-${theme}`);
        });
      }
    });
  }
});
