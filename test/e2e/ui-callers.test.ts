import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const ui = startUi({ role: 'server' });

const editor = (page: Page, name = 'SQL') => page.getByRole('textbox', { name, exact: true });
const side = (page: Page) => page.getByRole('complementary', { name: 'What it does' });
/** Pictures for people, in the folder that CALLER_LOOKS names. */
const picture = async (page: Page, name: string) => {
  const folder = process.env['CALLER_LOOKS'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
};
const choose = async (page: Page, field: RegExp, option: string) => {
  await page.getByRole('button', { name: field }).last().click();
  await page.getByRole('option', { name: option, exact: false }).first().click();
};

browserTest(
  'a parameter is filled by the caller, a column is masked, and the preview runs as a chosen caller',
  async () => {
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/new`);
    await editor(page).click();
    await page.keyboard.type('select id, name, price from products where category = :category order by id');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Rules of category' }).click();
    await choose(page, /^Filled by/, 'The caller: a claim');
    await page.getByLabel('Claim', { exact: true }).fill('department');
    expect(await page.getByRole('checkbox', { name: 'Required of category' }).count()).toBe(0);

    await page.getByRole('button', { name: 'Add mask' }).click();
    await choose(page, /^Column/, 'name');
    await choose(page, /^Callers see/, 'Stars');
    await page.getByLabel(/^Except groups/).fill('staff,');

    await choose(page, /^Run as/, 'Custom values');
    await side(page).getByLabel('Claims').fill('{"department": "books"}');
    await editor(page).press('Control+Enter');
    await side(page).getByRole('gridcell', { name: '***' }).first().waitFor();
    await picture(page, 'builder-1440-light');
    await side(page)
      .getByLabel(/^Groups/)
      .fill('staff,');
    await editor(page).press('Control+Enter');
    await side(page).getByRole('gridcell', { name: 'Atlas' }).waitFor();
    await expectAccessible(page);

    await page.getByRole('tab', { name: 'What the model sees' }).click();
    const schema = await side(page).getByRole('group', { name: 'Input schema' }).textContent();
    expect(schema).not.toContain('category');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture(page, 'builder-390-dark');
    expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBe(0);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a connection says what its database is told of callers',
  async () => {
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/connections`);
    const made = await page.evaluate(async () => {
      const body = { name: 'warehouse', db_type: 'postgresql', host: '127.0.0.1', database: 'postgres', enabled: false };
      const answer = await fetch('/api/v1/connections', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return (await answer.json()) as { id: string };
    });
    await page.goto(`${ui.programs.url}/connections/${made.id}`);
    await page.getByRole('button', { name: 'Add session value' }).click();
    await page.getByLabel('Session value', { exact: true }).fill('tenant');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page
      .getByText(/needs a prefix and a dot on PostgreSQL/)
      .first()
      .waitFor();
    await page.getByLabel('Session value', { exact: true }).fill('app.tenant');
    await choose(page, /^Filled by/, 'The caller: groups');
    await page.getByText('SQL for the database', { exact: true }).first().click();
    await page.getByText('create policy of_caller on').waitFor();
    await page.getByRole('switch', { name: 'Run as a role of the caller' }).click();
    await page.getByLabel(/^Allowed roles/).fill('sales,');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/^Saved “warehouse”/).waitFor();
    await picture(page, 'connection-1440-light');
    await expectAccessible(page);
    const stored = await page.evaluate(async (id) => {
      const answer = await fetch(`/api/v1/connections/${id}`);
      const { session_values, session_role } = (await answer.json()) as Record<string, unknown>;
      return { session_values, session_role };
    }, made.id);
    expect(stored).toEqual({
      session_values: [{ name: 'app.tenant', from: 'caller.groups' }],
      session_role: { from: 'caller.groups', allow: ['sales'] },
    });
    await page.setViewportSize({ width: 360, height: 800 });
    await picture(page, 'connection-360-light');
    expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBe(0);
    await close(opened, [422]);
  },
  LIMIT_MS,
);
