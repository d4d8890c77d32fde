import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { join } from 'node:path';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const ui = startUi();

browserTest(
  'a deploy that a definition keeps from happening links to it, and goes on without it',
  async () => {
    const { programs } = ui;
    const db = new Database(join(programs.directory, 'databases', 'office.sqlite'));
    db.run('create table notes (id integer primary key, title text, body text)');
    const connection = { name: 'office', db_type: 'sqlite', database: 'office.sqlite' };
    const { id: connection_id } = await programs.api('POST', '/connections', connection);
    const tool = await programs.api('POST', '/tools', {
      connection_id,
      name: 'note_bodies',
      description: 'Bodies of the notes of the office, oldest first.',
      sql_query: 'select id, body from notes order by id limit 50',
    });
    await programs.api('POST', '/deploy', {});
    db.run('alter table notes drop column body');
    db.close();
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${programs.url}/deploy`);
    await page
      .getByRole('button', { name: /^Deploy/ })
      .last()
      .click();
    await page.getByText('Deploy failed', { exact: true }).waitFor();
    const statements = page.getByRole('region', { name: 'Statements' });
    await statements.getByRole('link', { name: 'note_bodies' }).waitFor();
    await expectAccessible(page, 'a deploy that failed');
    await page.getByRole('button', { name: 'Disable note_bodies and deploy' }).click();
    await page.getByText(/Version \d+ is live/).waitFor();
    expect(await programs.api('GET', `/tools/${String(tool['id'])}`)).toMatchObject({ enabled: false });
    await close(opened, [422]);
  },
  LIMIT_MS,
);
