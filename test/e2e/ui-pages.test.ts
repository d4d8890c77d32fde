import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });

browserTest(
  'a tool gets pages and a text format in the builder, with what each format costs',
  async () => {
    const { programs } = ui;
    const { items } = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools');
    const path = `/tools/${items.find(({ name }) => name === 'sales_by_category')?.id}`;
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${programs.url}${path}`);
    await page.getByRole('button', { name: 'Run', exact: false }).first().click();
    await page
      .getByText(/^\d+ rows/)
      .first()
      .waitFor();
    await page.getByText(/Tokens of the previewed rows, about: JSON [\d,]+, Markdown [\d,]+, CSV [\d,]+, TSV [\d,]+\./).waitFor();
    await page.getByRole('button', { name: /^Text format/ }).click();
    await page.getByRole('option', { name: /^CSV/ }).click();
    const pages = page.getByRole('region', { name: 'Pages' });
    await pages.getByRole('button', { name: 'Add column' }).click();
    await pages.getByRole('button', { name: /^Column/ }).click();
    await page.getByRole('option', { name: 'category', exact: true }).click();
    await expectAccessible(page, 'pages of a tool');
    await pages.getByRole('button', { name: /^Order/ }).click();
    await page.getByRole('option', { name: 'Descending' }).click();
    await page.getByRole('button', { name: /^Save tool/ }).click();
    const stored = () => programs.api<{ text_format: string; page_by: unknown }>('GET', path);
    await until(async () => (await stored()).text_format === 'csv');
    expect((await stored()).page_by).toEqual([{ column: 'category', desc: true }]);
    await close(opened);
  },
  LIMIT_MS,
);
