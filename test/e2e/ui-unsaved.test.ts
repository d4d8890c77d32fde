import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { ACCOUNT, close, LIMIT_MS, quietOf, startUi, toast, pageTab } from '#test/support/ui.ts';

const ui = startUi({ live: true });

const side = (page: Page) => page.getByRole('complementary', { name: 'What it does' });
const name = (page: Page) => page.getByLabel('Name', { exact: true });
async function toolNamed(wanted: string): Promise<{ id: string; description: string; enabled: boolean }> {
  const path = `/tools?search=${wanted}`;
  const { items } = await ui.programs.api<{ items: { id: string; description: string; enabled: boolean }[] }>('GET', path);
  if (items[0] === undefined) throw new Error(`There is no tool ${wanted}.`);
  return items[0];
}

browserTest(
  'a new prompt that is typed stays through a new sign-in and the undo of an older change',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    page.on('dialog', (dialog) => void dialog.accept());
    const quiet = quietOf(page);
    await page.goto(`${ui.programs.url}/tools`);
    await page.getByRole('row', { name: 'get_customer' }).getByRole('button', { name: /^More/ }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await toast(page, '1 tool disabled.').waitFor();
    await pageTab(page, 'Prompts').click();
    await page.getByRole('link', { name: 'New prompt' }).first().click();
    await name(page).fill('half_written');
    await page.getByRole('button', { name: 'Undo' }).click();
    await toast(page, 'Undone for 1 tool.').waitFor();
    await quiet();
    expect(await name(page).inputValue()).toBe('half_written');

    await page.getByLabel('Description', { exact: true }).fill('Written by half.');
    await page.getByRole('textbox', { name: 'Message 1', exact: true }).fill('Greet the customer.');
    await page.context().clearCookies();
    await page.keyboard.press('Control+s');
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
    await page.keyboard.press('Enter');
    await again.waitFor({ state: 'detached' });
    await quiet();
    expect(await name(page).inputValue()).toBe('half_written');
    expect(await page.getByLabel('Description', { exact: true }).inputValue()).toBe('Written by half.');
    await page.getByRole('main').getByRole('button', { name: 'Discard' }).click();
    await close(opened, [401, 422]);
  },
  LIMIT_MS,
);

browserTest(
  'deleting what is open asks once, also while its form has changes',
  async () => {
    const { items } = await ui.programs.api<{ items: { id: string }[] }>('GET', '/connections');
    const connection_id = items[0]?.id;
    const made = [
      ['tools', { connection_id, name: 'soon_gone', description: 'Counts.', sql_query: 'select 1 as one' }, 'Delete tool'],
      ['toolsets', { name: 'soon-gone' }, 'Delete toolset'],
      ['connections', { name: 'soon gone', db_type: 'sqlite', database: 'gone.sqlite' }, 'Delete connection'],
    ] as const;
    const opened = await ui.signedIn();
    const { page } = opened;
    new Database(join(ui.programs.directory, 'databases', 'gone.sqlite')).run('create table things (id integer)');
    for (const [noun, draft, action] of made) {
      const { id } = await ui.programs.api<{ id: string }>('POST', `/${noun}`, draft);
      await page.goto(`${ui.programs.url}/${noun}/${id}`);
      await name(page).fill('soon-renamed');
      await page.getByRole('main').getByRole('button', { name: /^More/ }).first().click();
      await page.getByRole('menuitem', { name: /^Delete/ }).click();
      await page.getByRole('alertdialog').getByRole('button', { name: action }).click();
      await page.waitForURL(`${ui.programs.url}/${noun}`);
      expect(await page.getByText('Leave without saving?').count()).toBe(0);
    }
    await close(opened, [404]);
  },
  LIMIT_MS,
);

browserTest(
  'disabling a tool in its own menu asks before it drops what is not saved',
  async () => {
    const tool = await toolNamed('get_customer');
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/${tool.id}`);
    const description = page.getByLabel('Description', { exact: true });
    await description.fill('Half a sentence');
    const disable = async () => {
      await page.getByRole('button', { name: 'More for get_customer' }).click();
      await page.getByRole('menuitem', { name: 'Disable' }).click();
    };
    await disable();
    const question = page.getByRole('alertdialog', { name: 'Discard your changes?' });
    await question.getByRole('button', { name: 'Keep my changes' }).click();
    expect([await description.inputValue(), (await toolNamed('get_customer')).enabled]).toEqual(['Half a sentence', true]);
    await disable();
    await question.getByRole('button', { name: 'Discard changes' }).click();
    await toast(page, '1 tool disabled.').waitFor();
    await page.getByText('Not saved yet').waitFor({ state: 'detached' });
    expect(await description.inputValue()).toBe(tool.description);

    await description.fill('Another half');
    await page.getByRole('button', { name: 'Undo' }).click();
    await question.getByRole('button', { name: 'Keep my changes' }).click();
    expect([await description.inputValue(), (await toolNamed('get_customer')).enabled]).toEqual(['Another half', false]);
    await page.getByRole('button', { name: 'Discard' }).click();
    await ui.programs.api('PATCH', `/tools/${tool.id}`, { enabled: true });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'whom a run goes out as is what the preview and the playground say',
  async () => {
    const tool = await toolNamed('sales_by_category');
    await ui.programs.api('PATCH', `/tools/${tool.id}`, { masks: [{ column: 'category', mask: 'text' }] });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/${tool.id}`);
    await page.getByRole('button', { name: /^Run as/ }).click();
    await page.getByRole('option', { name: 'Custom values' }).click();
    await side(page).getByLabel(/^ID/).fill('grace');
    await side(page).getByRole('tab', { name: 'What the model sees' }).click();
    await side(page).getByRole('tab', { name: 'Preview' }).click();
    await page.getByRole('button', { name: /^Run as Custom values/ }).waitFor();
    expect(await side(page).getByLabel(/^ID/).inputValue()).toBe('grace');

    await page.goto(`${ui.programs.url}/playground?tool=sales_by_category`);
    await page.getByRole('button', { name: 'View as…' }).click();
    await page.getByRole('button', { name: /^Caller/ }).click();
    await page.getByRole('option', { name: 'Custom values' }).click();
    await page.getByLabel(/^ID/).fill('grace');
    await page.getByRole('button', { name: 'Use an access token' }).click();
    await page.getByRole('button', { name: 'Call as yourself' }).click();
    const sent = page.waitForRequest((request) => request.postData()?.includes('"tools/call"') === true);
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    expect((await sent).headers()['x-sluice-caller']).toBeUndefined();
    await page.getByRole('button', { name: 'View as…' }).click();
    await page.getByRole('button', { name: /^Caller Yourself/ }).waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'an answer leaves the arguments that were edited meanwhile; a run that is picked brings its own',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/playground?tool=get_customer`);
    const email = page.getByRole('main').getByLabel('email', { exact: true });
    const call = async (wanted: string, meanwhile: string) => {
      const answer = Promise.withResolvers<void>();
      await page.route('**/api/v1/playground/mcp*', async (route) => {
        if (route.request().postData()?.includes('"tools/call"') === true) await answer.promise;
        await route.continue();
      });
      await email.fill(wanted);
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor();
      await email.fill(meanwhile);
      answer.resolve();
      await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor({ state: 'detached' });
      await page.unroute('**/api/v1/playground/mcp*');
    };
    await call('ada@example.com', 'bob');
    expect(await email.inputValue()).toBe('bob');
    await call('eve@example.com', 'dan');
    expect(await email.inputValue()).toBe('dan');
    await page.locator('.play-history .play-run').last().click();
    await until(async () => (await email.inputValue()) === 'ada@example.com');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the note of a deploy stays while another tab is looked at',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/deploy`);
    await page.getByLabel('Note').fill('Half a note');
    await pageTab(page, 'Versions').click();
    await page.getByRole('table', { name: 'Deployed versions' }).waitFor();
    await pageTab(page, /^Changes/).click();
    expect(await page.getByLabel('Note').inputValue()).toBe('Half a note');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'keys meant for a dialog do not save or run what is below it',
  async () => {
    const tool = await toolNamed('search_products');
    const opened = await ui.signedIn();
    const { page } = opened;
    const quiet = quietOf(page);
    await page.goto(`${ui.programs.url}/tools/${tool.id}`);
    await page.getByLabel('Description', { exact: true }).fill('Not meant to be saved');
    await page.getByRole('button', { name: 'More for search_products' }).click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    const question = page.getByRole('alertdialog');
    await question.waitFor();
    await page.keyboard.press('Control+s');
    await page.keyboard.press('Control+Enter');
    await quiet();
    expect((await toolNamed('search_products')).description).toBe(tool.description);
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Discard' }).click();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'where the editor cannot be loaded, this is said and the text can be written all the same',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.route('**/assets/engine-*.js', (route) => route.abort());
    await page.goto(`${ui.programs.url}/tools/new`);
    await page.getByText('The editor could not be loaded.').first().waitFor();
    await page.getByRole('textbox', { name: 'SQL', exact: true }).fill('select id from orders limit 1');
    await name(page).fill('one_order');
    await page.getByLabel('Description', { exact: true }).fill('One order.');
    await page.getByRole('button', { name: /^Create tool/ }).click();
    await page.getByRole('heading', { name: 'one_order', level: 1 }).waitFor();
    // The browser says what was refused.
    opened.faults.length = 0;
    await close(opened);
  },
  LIMIT_MS,
);
