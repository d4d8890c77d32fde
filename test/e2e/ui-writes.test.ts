import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, LIMIT_MS, startUiPrograms } from '#test/support/ui.ts';

let file = '';
let tool_id = '';
const ui = startUiPrograms({
  live: true,
  async prepare(programs) {
    const folder = join(programs.directory, 'databases');
    mkdirSync(folder, { recursive: true });
    file = join(folder, 'notes.sqlite');
    const db = new Database(file, { create: true });
    db.run('create table notes (id integer primary key, text text)');
    db.run("insert into notes values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')");
    db.close();
    const connection = { name: 'notes', db_type: 'sqlite', database: 'notes.sqlite' };
    const { id: connection_id } = await programs.api<{ id: string }>('POST', '/connections', connection);
    const tool = await programs.api<{ id: string }>('POST', '/tools', {
      name: 'remove_notes',
      title: 'Remove notes',
      description: 'Deletes every note up to a number, and answers how many there were.',
      connection_id,
      sql_query: 'delete from notes where id <= :id',
      parameters: [{ name: 'id', type: 'integer', description: 'The last number to delete' }],
      confirm: 'always',
    });
    tool_id = tool.id;
    await programs.api('POST', '/tools', {
      name: 'find_note',
      title: 'Find a note',
      description: 'Returns one note by its number and text.',
      connection_id,
      sql_query: 'select id, text from notes where id >= :id and text = :text',
      parameters: [
        { name: 'id', type: 'integer', description: 'The least number' },
        { name: 'text', type: 'string', description: 'Its text' },
      ],
      ask_missing: true,
    });
    await programs.api('POST', '/deploy', { note: 'Notes' });
  },
});

function count(run?: string): number {
  const db = new Database(file);
  if (run !== undefined) db.run(run);
  const { n } = db.query<{ n: number }, []>('select count(*) as n from notes').get() ?? { n: -1 };
  db.close();
  return n;
}

browserTest(
  'the panel of writes says what is wrong in words, and the preview what it does',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/tools/${tool_id}`);
    const panel = page.getByRole('region', { name: 'Writes' });
    await panel.getByRole('button', { name: /Confirmation/ }).click();
    await page.getByRole('option', { name: 'Ask above a number of rows' }).click();
    await panel.getByText('Ask above is required when a person is asked above a number of rows.').waitFor();
    await page.getByText('This statement changes data. Sluice rolls it back.').waitFor();
    await page.getByText('Run the statement to see how many rows it would change').waitFor();
    expect(await page.getByText('runs read-only').count()).toBe(0);
    await page.getByRole('button', { name: /^Save tool/ }).click();
    const words = page.locator('.builder-foot').getByText('Ask above is required');
    await words.waitFor();
    expect(await page.getByText('confirm_rows').count()).toBe(0);
    await expectAccessible(page, 'writes with a fault');
    await panel.getByRole('spinbutton', { name: 'Ask above' }).fill('2');
    await panel.getByRole('spinbutton', { name: 'Affected row limit' }).fill('3');
    await page.getByRole('button', { name: /^Save tool/ }).click();
    const stored = () => ui.programs.api<{ confirm: string }>('GET', `/tools/${tool_id}`);
    await until(async () => (await stored()).confirm === 'above');
    expect(await stored()).toMatchObject({ confirm: 'above', confirm_rows: 2, max_affected_rows: 3 });
    await close(opened, [422]);
    await ui.programs.api('PATCH', `/tools/${tool_id}`, { confirm: 'always', confirm_rows: null, max_affected_rows: null });
  },
  LIMIT_MS,
);

for (const era of ['2026-07-28', '2025-11-25']) {
  browserTest(
    `the playground asks before a tool writes, in ${era}`,
    async () => {
      const opened = await ui.signedIn();
      const { page } = opened;
      await page.goto(`${ui.programs.url}/playground?tool=remove_notes`);
      await page.getByRole('heading', { name: 'Remove notes' }).waitFor();
      await page.getByText(era, { exact: true }).click();
      const call = async (id: number) => {
        await page.getByLabel('id', { exact: true }).fill(String(id));
        await page.getByRole('button', { name: 'Call', exact: true }).click();
        const dialog = page.getByRole('alertdialog', { name: 'Confirm this change' });
        await dialog.getByText('“Remove notes” (remove_notes) would change 1 row with DELETE FROM notes.').waitFor();
        return dialog;
      };
      const before = count();
      const lowest = 5 - before;
      const declined = await call(lowest);
      await expectAccessible(page, 'a question of a tool');
      await declined.getByRole('button', { name: 'Decline' }).click();
      await shown(page, 'This change was not confirmed');
      expect(count()).toBe(before);
      const allowed = await call(lowest);
      await allowed.getByRole('button', { name: 'Change 1 row' }).click();
      await until(async () => count() === before - 1);
      await shown(page, 'As the model sees it');
      await close(opened);
    },
    LIMIT_MS,
  );
}

for (const era of ['2026-07-28', '2025-11-25']) {
  browserTest(
    `the playground asks for arguments that are missing, in ${era}`,
    async () => {
      const opened = await ui.signedIn();
      const { page } = opened;
      await page.goto(`${ui.programs.url}/playground?tool=find_note`);
      await page.getByRole('heading', { name: 'Find a note' }).waitFor();
      await page.getByText(era, { exact: true }).click();
      const call = async () => {
        await page.locator('form').getByText('JSON', { exact: true }).click();
        await page.getByLabel('Arguments as JSON').fill('{"id": 1}');
        await page.getByRole('button', { name: 'Call', exact: true }).click();
        const dialog = page.getByRole('alertdialog', { name: 'Missing arguments' });
        await dialog.getByText('“Find a note” (find_note) needs 1 more argument: text.').waitFor();
        return dialog;
      };
      const asked = await call();
      await expectAccessible(page, 'a tool that lacks an argument');
      await asked.getByRole('button', { name: 'Call' }).click();
      await asked.getByText('This argument is required.').waitFor();
      await asked.getByLabel('text', { exact: true }).fill('d');
      await asked.getByRole('button', { name: 'Call' }).click();
      await page.getByRole('region', { name: 'Result', exact: true }).getByText('1 row').first().waitFor();
      const declined = await call();
      await declined.getByRole('button', { name: 'Decline' }).click();
      await shown(page, 'A person was asked and declined');
      await close(opened);
    },
    LIMIT_MS,
  );
}

for (const era of ['2026-07-28', '2025-11-25']) {
  browserTest(
    `a double click confirms no change that nobody has read, in ${era}`,
    async () => {
      count("insert into notes values (-2, 'y'), (-1, 'z')");
      const opened = await ui.signedIn();
      const { page } = opened;
      await page.clock.install();
      await page.goto(`${ui.programs.url}/playground?tool=remove_notes`);
      await page.getByRole('heading', { name: 'Remove notes' }).waitFor();
      await page.getByText(era, { exact: true }).click();
      await page.getByLabel('id', { exact: true }).fill('0');
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      const dialog = page.getByRole('alertdialog', { name: 'Confirm this change' });
      const yes = dialog.getByRole('button', { name: 'Change 2 rows' });
      const { x = 0, y = 0, width = 0, height = 0 } = (await yes.boundingBox()) ?? {};
      await yes.click({ trial: true });
      await page.clock.pauseAt(Date.now() + 60_000);
      const left = count('delete from notes where id = -2');
      const press = () => page.mouse.click(x + width / 2, y + height / 2);
      await press();
      await dialog.getByText('The number of rows changed since you were asked: it was 2.').waitFor();
      await press();
      expect(await dialog.getByRole('button', { name: 'Change 1 row' }).getAttribute('aria-disabled')).toBe('true');
      await page.clock.resume();
      await dialog.getByRole('button', { name: 'Decline' }).click();
      await shown(page, 'This change was not confirmed');
      expect(count()).toBe(left);
      count('delete from notes where id < 0');
      await close(opened);
    },
    LIMIT_MS,
  );
}

browserTest(
  'the playground reports a host killed during a confirmation and goes on with the next one',
  async () => {
    const { url, process, api } = ui.programs;
    const kill = () => {
      const found = Bun.spawnSync(['pgrep', '-P', String(process.pid), '-f', 'mcp-host/main']).stdout.toString();
      globalThis.process.kill(Number(found), 'SIGKILL');
    };
    const hosts = async () => (await api<{ hosts: { id: string }[] }>('GET', '/deploy/status')).hosts.map(({ id }) => id);
    const served = async (killed?: string) => {
      await until(async () => {
        const connected = await hosts();
        return connected.length > 0 && connected.every((host) => host !== killed);
      });
      await until(async () => (await fetch(ui.programs.mcp_url)).status < 500);
    };
    const before = count("insert into notes values (0, 'x')");
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.clock.install();
    await page.goto(`${url}/playground?tool=remove_notes`);
    const id = page.getByLabel('id', { exact: true });
    await id.fill('0');
    const call = page.getByRole('button', { name: 'Call', exact: true });
    await call.click();
    const yes = page.getByRole('alertdialog', { name: 'Confirm this change' }).getByRole('button', { name: 'Change 1 row' });
    await yes.waitFor();
    const [first] = await hosts();
    kill();
    await served(first);
    // The host that asked is gone with its question: the next one asks again.
    await page.clock.runFor(1_000);
    await yes.click();
    await page.clock.runFor(1_000);
    await yes.click();
    await shown(page, 'As the model sees it');
    expect(count()).toBe(before - 1);
    const result = page.getByRole('region', { name: 'Result', exact: true });
    const [second] = await hosts();
    kill();
    for (let turn = 0; turn < 5; turn += 1) await page.clock.runFor(5_000);
    expect([await id.inputValue(), await result.count()]).toEqual(['0', 1]);
    await served(second);
    await call.click();
    await shown(page, 'As the model sees it');
    await page.clock.runFor(10_000);
    await page.getByText('The deployed server cannot be reached').waitFor({ state: 'detached' });
    await close(opened, [503, 404]);
  },
  LIMIT_MS,
);

const shown = (page: Page, text: string) =>
  page.getByRole('region', { name: 'Result', exact: true }).getByText(text).first().waitFor();
