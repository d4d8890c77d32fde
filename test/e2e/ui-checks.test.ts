import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { join } from 'node:path';
import { browserTest } from '#test/support/browser.ts';
import { close, inspect, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ids = { notes: '' };
const ui = startUi({
  role: 'server',
  async prepare(programs) {
    const db = new Database(join(programs.directory, 'databases', 'office.sqlite'));
    db.run('create table notes (id integer primary key, title text, body text)');
    db.close();
    const connection = { name: 'office', db_type: 'sqlite', database: 'office.sqlite' };
    const { id: connection_id } = await programs.api('POST', '/connections', connection);
    const tool = {
      connection_id,
      name: 'search_notes',
      description: 'Notes of the office by their title.',
      sql_query: 'select * from notes where title = :title order by id',
      parameters: [{ name: 'title', type: 'string', required: false, default: 'Welcome', description: 'The whole title' }],
    };
    ids.notes = String((await programs.api('POST', '/tools', tool))['id']);
  },
});

browserTest(
  'findings stand beside the field that they are about, and one click fixes them',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/${ids.notes}`);
    const note = (text: string | RegExp) => page.getByRole('list', { name: 'Lint findings' }).getByText(text);
    await note(/^The statement selects every column/).waitFor();
    await note(/^The parameter title has no examples/).waitFor();
    await inspect(page, 'lint-findings', { width: 1280, scheme: 'light' });
    await page.getByRole('button', { name: 'Name the 3 columns' }).click();
    await page.getByRole('button', { name: 'Use the default as an example' }).click();
    await note(/./).first().waitFor({ state: 'detached' });

    const description = page.getByLabel('Description', { exact: true });
    await description.fill('Search notes');
    await note('The description only repeats the name. Say what it returns and when to use it.').waitFor();
    await description.fill('Notes of the office by their whole title.');
    await note(/./).first().waitFor({ state: 'detached' });
    await page.keyboard.press('Control+s');
    await toast(page, /^Saved/).waitFor();
    expect(await ui.programs.api('GET', `/tools/${ids.notes}`)).toMatchObject({
      sql_query: 'select id, title, body from notes where title = :title order by id',
      parameters: [{ name: 'title', examples: ['Welcome'] }],
    });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a deployed tool whose table changed is marked in the list and on its page until it is deployed again',
  async () => {
    await ui.programs.api('POST', '/deploy', {});
    const db = new Database(join(ui.programs.directory, 'databases', 'office.sqlite'));
    db.run('alter table notes drop column body');
    db.close();
    expect(await ui.programs.api('POST', '/drift/check', {})).toMatchObject({ total: 1 });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools`);
    await page
      .getByRole('row', { name: /search_notes/ })
      .getByText('Drifted')
      .waitFor();
    await page.goto(`${ui.programs.url}/tools/${ids.notes}`);
    await page.getByText('The tables of this definition have changed since the deploy').waitFor();
    await page.getByText(/^The database refuses the statement: /).waitFor();
    await inspect(page, 'drift', { width: 1280, scheme: 'light' });
    await ui.programs.api('PATCH', `/tools/${ids.notes}`, {
      sql_query: 'select id, title from notes where title = :title order by id',
    });
    await ui.programs.api('POST', '/deploy', {});
    expect(await ui.programs.api('POST', '/drift/check', {})).toMatchObject({ total: 0 });
    await page.reload();
    await page.getByRole('heading', { name: 'search_notes', level: 1 }).waitFor();
    await page.getByText('The tables of this definition have changed since the deploy').waitFor({ state: 'detached' });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'an administrator turns rules off, and the meter shows what each tool costs',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/settings/checks`);
    const rule = page.getByRole('group', { name: 'Lint rules' }).getByRole('listitem').filter({ hasText: 'select-star' });
    await rule.getByText('Enabled').click();
    await page.getByRole('button', { name: 'Save' }).click();
    await toast(page, 'Saved.').waitFor();
    await inspect(page, 'lint-rules', { width: 1280, scheme: 'light' });
    expect((await ui.programs.api('GET', '/server/config'))['lint_off']).toEqual(['select-star']);
    const { tokens } = await ui.programs.api<{ tokens: number }>('GET', `/tools/${ids.notes}`);
    expect(tokens).toBeGreaterThan(50);
    await page.goto(`${ui.programs.url}/tools/${ids.notes}`);
    await page.getByText(`${tokens} tokens`, { exact: true }).waitFor();
    await page.goto(`${ui.programs.url}/tools`);
    await page
      .getByRole('row', { name: /search_notes/ })
      .getByText(String(tokens), { exact: true })
      .waitFor();
    await close(opened);
  },
  LIMIT_MS,
);
