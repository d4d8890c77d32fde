import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ui = startUi({ role: 'server' });

type Config = Record<string, unknown> & { global_variables: Record<string, { value: unknown; type: string }> };
const config = () => ui.programs.api<Config>('GET', '/server/config');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const field = (page: Page, name: string) => page.locator(`input[name="${name}"]`);

browserTest(
  'a change inside a stored variable can be saved, and can be discarded',
  async () => {
    await ui.programs.api('PATCH', '/server/config', { global_variables: { shop: 'Corner shop' } });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/settings/variables`);
    await field(page, 'rows.0.text').fill('Other shop');
    await button(page, 'Discard').click();
    expect(await field(page, 'rows.0.text').inputValue()).toBe('Corner shop');
    expect(await button(page, 'Save').getAttribute('aria-disabled')).toBe('true');
    await field(page, 'rows.0.text').fill('Third shop');
    await button(page, 'Save').click();
    await toast(page, 'Saved.').waitFor();
    expect((await config()).global_variables).toEqual({ shop: { value: 'Third shop', type: 'string' } });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a number with a unit is kept as it was typed, and is never saved as nothing',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const [connection] = (await ui.programs.api<{ items: { id: string }[] }>('GET', '/connections')).items;
    await page.goto(`${ui.programs.url}/connections/${connection?.id}`);
    await page.locator('summary', { hasText: 'Advanced' }).click();
    const slots = field(page, 'max_concurrency');
    await slots.fill('3 calls');
    expect(await slots.inputValue()).toBe('3 calls');
    await page.getByText('Enter a number, without a unit.').waitFor();
    await button(page, 'Save').click();
    await page.getByText('Some fields need attention.').waitFor();
    await slots.fill('3');
    await slots.press('PageUp');
    expect(await slots.inputValue()).toBe('13');
    for (const key of ['PageDown', 'PageDown']) await slots.press(key);
    // Not below the lowest.
    expect(await slots.inputValue()).toBe('1');
    for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowDown']) await slots.press(key);
    await button(page, 'Save').click();
    await toast(page, /^Saved/).waitFor();
    expect(await ui.programs.api<object>('GET', `/connections/${connection?.id}`)).toMatchObject({ max_concurrency: 4 });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'what is typed while a form is being saved stays, and is not saved yet',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/settings`);
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/server/config', async (route) => {
      if (route.request().method() === 'PATCH') await held;
      await route.continue();
    });
    await field(page, 'server_name').fill('Corner');
    await button(page, 'Save').click();
    await field(page, 'server_name').fill('Corner shop');
    answer();
    await toast(page, 'Saved.').waitFor();
    expect(await field(page, 'server_name').inputValue()).toBe('Corner shop');
    expect((await config())['server_name']).toBe('Corner');
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await button(page, 'Save').click();
    await saved;
    await page.getByText('Not saved yet').waitFor({ state: 'detached' });
    expect((await config())['server_name']).toBe('Corner shop');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'an allowed value or a default that does not fit is refused at its field, and the stored one stays',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const { items } = await ui.programs.api<{ items: { id: string; name: string; parameters: { name: string }[] }[] }>(
      'GET',
      '/tools',
    );
    const tool = items.find(({ name }) => name === 'list_orders');
    await page.goto(`${ui.programs.url}/tools/${tool?.id}`);
    const parameter = 'from';
    await page.getByRole('textbox', { name: `Default of ${parameter}` }).fill('everything');
    await page.getByRole('button', { name: /^Save tool/ }).click();
    await page.locator('[data-cell=default] .field-error').waitFor();
    expect(await page.getByRole('textbox', { name: `Default of ${parameter}` }).inputValue()).toBe('everything');
    expect(await ui.programs.api<object>('GET', `/tools/${tool?.id}`)).toMatchObject({ parameters: tool?.parameters ?? [] });
    await close(opened, [422]);
  },
  LIMIT_MS,
);

browserTest(
  'a removed row passes the focus on, and a refused group of fields is announced and has the focus',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const focused = () =>
      page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent);
    const remove = async (name: string) => {
      await button(page, `Remove ${name}`).focus();
      await page.keyboard.press('Enter');
      await button(page, `Remove ${name}`).waitFor({ state: 'detached' });
    };

    await ui.programs.api('PATCH', '/server/config', { global_variables: { a: '1', b: '2', c: '3' } });
    await page.goto(`${ui.programs.url}/settings/variables`);
    await remove('b');
    expect(await focused()).toBe('Remove c');
    await remove('c');
    expect(await focused()).toBe('Remove a');
    await remove('a');
    expect(await focused()).toBe('Add variable');
    await button(page, 'Discard').click();

    const { items } = await ui.programs.api<{ items: { id: string }[] }>('GET', '/tools');
    await page.goto(`${ui.programs.url}/tools/${items[0]?.id}`);
    await page.getByLabel('Tags').fill('x, y,');
    await remove('y');
    await remove('x');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT');

    await page.goto(`${ui.programs.url}/settings/webhooks`);
    await button(page, 'New webhook').first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Team chat');
    await dialog.getByLabel('URL').fill('https://hooks.example.com/sluice');
    const chosen = dialog.getByRole('checkbox', { checked: true });
    while ((await chosen.count()) > 0) await chosen.first().uncheck();
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    const events = dialog.locator('fieldset[data-invalid=true]');
    await events.waitFor();
    const error = await events.locator('.field-error').getAttribute('id');
    expect((await events.getAttribute('aria-describedby'))?.split(' ')).toContain(error ?? '');
    expect(
      await events
        .locator('input')
        .first()
        .evaluate((input) => input === document.activeElement),
    ).toBe(true);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a connection that was refused is marked and has the focus',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    type Connection = { id: string; db_type: string; database: string };
    const [demo] = (await ui.programs.api<{ items: Connection[] }>('GET', '/connections')).items;
    const body = { name: 'short-lived', db_type: demo?.db_type, database: demo?.database };
    const { id } = await ui.programs.api<Connection>('POST', '/connections', body);
    await page.goto(`${ui.programs.url}/tools/new?connection=${id}`);
    await page.getByLabel('Name', { exact: true }).fill('orders');
    await page.getByLabel('Description', { exact: true }).fill('Lists the orders.');
    await page.locator('.code-editor-host').first().click();
    await page.keyboard.type('select 1');
    await page.keyboard.press('Escape');
    await ui.programs.api('DELETE', `/connections/${id}`);
    await page.getByRole('button', { name: /^Create tool/ }).click();
    await page.waitForFunction(() => document.activeElement?.matches('button[aria-invalid=true]'));
    await close(opened, [404, 422]);
  },
  LIMIT_MS,
);

browserTest(
  'Enter in a list that is found by typing takes the first that fits',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/toolsets`);
    await button(page, 'View as…').click();
    await page.getByRole('button', { name: /^Caller/ }).click();
    await page.getByRole('option', { name: 'A person' }).click();
    const person = page.getByRole('combobox', { name: 'Person' });
    await person.fill('AD');
    await page.getByRole('option', { name: 'ada' }).waitFor();
    await person.press('Enter');
    await page.getByRole('heading', { name: 'Members' }).waitFor();
    expect(await person.inputValue()).toBe('ada');
    await close(opened);
  },
  LIMIT_MS,
);
