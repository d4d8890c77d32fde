import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ui = startUi({ role: 'server' });

browserTest(
  'a view is chosen while a tool is written, drawn as clients frame it, and refused without effect',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/new`);
    const sql = page.getByRole('textbox', { name: 'SQL', exact: true });
    await sql.click();
    await page.keyboard.insertText(
      'select category, count(*) as products, sum(price) as price from products group by category order by 1',
    );
    await sql.press('Control+Enter');
    const panel = page.locator('details.panel').filter({ has: page.getByRole('heading', { name: 'View', exact: true }) });
    await panel.locator('summary').click();
    const frame = panel.locator('.view-frame');
    await frame.getByRole('img', { name: /^Bar chart of products, price by category/ }).waitFor();
    expect(await frame.getByRole('gridcell').count()).toBeGreaterThan(3);

    await panel.getByRole('button', { name: /^Drawn as/ }).click();
    await page.getByRole('option', { name: /^Pie chart/ }).click();
    await panel.getByLabel('Heading').fill('Products');
    await frame.getByRole('img', { name: /^Pie chart of products by category/ }).waitFor();
    await frame.getByRole('heading', { name: 'Products' }).waitFor();
    await panel.getByText('Dark', { exact: true }).click();
    await panel.getByText('Phone', { exact: true }).click();
    await panel.locator('.view-frame[data-client=phone][data-scheme=dark] svg').waitFor();
    expect(await frame.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
    await expectAccessible(page, 'the view of a tool');
    await look(page, 'builder-view');

    await page.getByLabel('Name', { exact: true }).fill('products_by_category');
    await page
      .getByLabel('Description', { exact: true })
      .fill('How many products each category has, and what they cost together, in euros.');
    await panel.getByLabel('Number format').fill('euros');
    await page.keyboard.press('Control+s');
    await panel.getByText(/three letters of a currency/).waitFor();
    await panel.getByLabel('Number format').fill('EUR');
    await page.keyboard.press('Control+s');
    await toast(page, 'Tool created.').waitFor();
    const { items } = await ui.programs.api<{ items: Record<string, unknown>[] }>('GET', '/tools?search=products_by_category');
    expect(items[0]?.['view']).toEqual({ kind: 'pie', title: 'Products', format: 'EUR' });
    await close(opened);
  },
  LIMIT_MS,
);
