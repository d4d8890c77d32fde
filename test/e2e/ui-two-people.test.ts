import { beforeAll, expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, openPage } from '#test/support/browser.ts';
import { joinAs } from '#test/support/person-browser.ts';
import { close, LIMIT_MS, type Opened, startUi, toast, untilPolled } from '#test/support/ui.ts';

const ui = startUi({ live: true });
const PASSWORD = 'correct horse';
const ids: Record<string, string> = {};

interface Stored {
  readonly id: string;
  readonly version: number;
}

beforeAll(async () => {
  for (const [username, role] of Object.entries({ eva: 'editor', adam: 'admin' }))
    ids[username] = await joinAs(ui.programs, { username, role }, PASSWORD);
}, LIMIT_MS);

/** A browser in which one of them is signed in; the administrator of `ui.programs.api` is beside them. */
async function browserOf(username: string): Promise<Opened> {
  const opened = await openPage(ui.browser, { width: 1280, scheme: 'light' });
  const answer = await opened.context.request.post(`${ui.programs.url}/api/v1/auth/login`, {
    data: { username, password: PASSWORD },
  });
  expect(answer.status()).toBe(200);
  return opened;
}

const signInAs = async (page: Page, username: string) => {
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
};

browserTest(
  'a connection that somebody else renames and deletes says so in its header, and what was typed stays',
  async () => {
    const { api, url } = ui.programs;
    const draft = { name: 'shared', db_type: 'sqlite', database: 'demo.sqlite' };
    const { id } = await api<Stored>('POST', '/connections', draft);
    const opened = await browserOf('eva');
    const { page } = opened;
    await page.clock.install();
    await page.goto(`${url}/connections/${id}`);
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('by eva');
    await api('PATCH', `/connections/${id}`, { name: 'by ada' });
    await untilPolled(page, page.getByRole('heading', { level: 1, name: 'by ada' }));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const question = page.getByRole('alertdialog', { name: 'ada saved this in the meantime' });
    await question.getByRole('button', { name: 'Keep editing' }).click();
    await api('DELETE', `/connections/${id}`);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('ada deleted this in the meantime. What you typed is still here.').first().waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('by eva');
    // Polled or found by a save, the header says it.
    await untilPolled(page, page.getByText('Deleted', { exact: true }));
    expect(await page.getByText('Connected', { exact: true }).count()).toBe(0);
    await close(opened, [404, 409]);
  },
  LIMIT_MS,
);

browserTest(
  'a change by another person is seen before a delete or disable, and a page says where its tool went',
  async () => {
    const { api, url } = ui.programs;
    const { items } = await api<{ items: (Stored & { name: string })[] }>('GET', '/tools');
    const { id = '', name = '' } = items[0] ?? {};
    const opened = await browserOf('eva');
    const { page } = opened;
    await page.clock.install();
    await page.goto(`${url}/tools/${id}`);
    const description = page.getByLabel('Description', { exact: true });
    await description.waitFor();
    await api('PATCH', `/tools/${id}`, { description: 'Ada changed this description.' });
    const remove = async () => {
      await page.getByRole('button', { name: `More for ${name}` }).click();
      await page.getByRole('menuitem', { name: 'Delete…' }).click();
      await page.getByRole('alertdialog').getByRole('button', { name: 'Delete tool' }).click();
    };
    await remove();
    await toast(page, `ada changed ${name} in the meantime; it is now at version 2.`).waitFor();
    expect(await description.inputValue()).toBe('Ada changed this description.');
    await description.fill('As eva types it.');
    await api('DELETE', `/tools/${id}`);
    await untilPolled(page, page.getByText('This tool was deleted in the meantime'));
    await page.getByText('Deleted', { exact: true }).waitFor();
    await expectAccessible(page, 'a tool that was deleted');
    expect(await description.inputValue()).toBe('As eva types it.');

    const [first] = (await api<{ items: (Stored & { name: string })[] }>('GET', '/connections')).items;
    const list = await opened.context.newPage();
    const tested = list.waitForResponse((answer) => new URL(answer.url()).pathname.endsWith(`/connections/${first?.id}/test`));
    await list.goto(`${url}/connections`);
    const row = list.getByRole('row').filter({ has: list.getByText(first?.name ?? '', { exact: true }) });
    await (await tested).finished();
    await row.waitFor();
    await api('PATCH', `/connections/${first?.id}`, { queue_limit: 7 });
    await row.getByRole('button', { name: /^More/ }).click();
    await list.getByRole('menuitem', { name: 'Disable' }).click();
    await list.getByText(`ada changed ${first?.name} in the meantime; it is now at version`).waitFor();
    expect(await list.getByText('could not be changed').count()).toBe(0);
    expect(await api('GET', `/connections/${first?.id}`)).toMatchObject({ enabled: true });
    await close(opened, [404, 409]);
  },
  LIMIT_MS,
);

browserTest(
  'a tool changed by another while its page is open says so, and is reloaded on request',
  async () => {
    const { api, url } = ui.programs;
    const { items } = await api<{ items: (Stored & { name: string })[] }>('GET', '/tools');
    const { id = '' } = items.find(({ name }) => name === 'list_orders') ?? {};
    const opened = await browserOf('eva');
    const { page } = opened;
    await page.clock.install();
    await page.goto(`${url}/tools/${id}`);
    const description = page.getByLabel('Description', { exact: true });
    await description.waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await api('PATCH', `/tools/${id}`, { description: 'Orders of a customer, as ada lists them.' });
    const notice = page.getByText('This tool was changed in the meantime');
    await untilPolled(page, notice);
    await page.getByText('changed', { exact: true }).waitFor();
    await expectAccessible(page, 'a tool that was changed');
    expect(await description.inputValue()).not.toContain('ada');
    const newest = page.getByRole('button', { name: 'Show the newest' });
    await description.fill('As eva types it.');
    await newest.click();
    const question = page.getByRole('alertdialog', { name: 'Discard your changes?' });
    await question.getByRole('button', { name: 'Keep my changes' }).click();
    expect(await description.inputValue()).toBe('As eva types it.');
    await newest.click();
    await question.getByRole('button', { name: 'Discard changes' }).click();
    await notice.waitFor({ state: 'detached' });
    expect(await description.inputValue()).toBe('Orders of a customer, as ada lists them.');
    expect(await page.evaluate(() => document.activeElement !== document.body)).toBe(true);
    // Saved here, it is the newest.
    await description.fill('Orders of a customer, as eva lists them.');
    await page.getByRole('button', { name: /^Save tool/ }).click();
    await toast(page, 'Saved. Deploy to make it live.').waitFor();
    await page.clock.runFor(20_000);
    expect(await notice.count()).toBe(0);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'two people who change the same list of variables keep both changes',
  async () => {
    const { api, url } = ui.programs;
    const variable = (value: string) => ({ type: 'string', value });
    await api('PATCH', '/server/config', { global_variables: { company: variable('Acme') } });
    const opened = await browserOf('adam');
    const { page } = opened;
    await page.goto(`${url}/settings/variables`);
    await page.getByRole('button', { name: 'Add variable' }).click();
    await page.getByLabel('Name').last().fill('from_adam');
    await page.getByLabel('Value').last().fill('mine');
    const theirs = { company: variable('Globex'), from_ada: variable('theirs') };
    await api('PATCH', '/server/config', { global_variables: theirs });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const question = page.getByRole('alertdialog', { name: 'ada saved this in the meantime' });
    await question.getByText('Fields with changes of both: Variables.').waitFor();
    await question.getByRole('button', { name: 'Save merged version' }).click();
    await toast(page, 'Saved.').waitFor();
    const stored = await api<{ global_variables: object }>('GET', '/server/config');
    expect(stored.global_variables).toEqual({ ...theirs, from_adam: variable('mine') });
    await close(opened, [409]);
  },
  LIMIT_MS,
);

browserTest(
  'the role of somebody at work is followed, and a new tool that they wrote comes back with it',
  async () => {
    const { api, url } = ui.programs;
    const opened = await browserOf('eva');
    const { page } = opened;
    await page.clock.install();
    await page.goto(`${url}/tools/new`);
    await page.getByLabel('Description', { exact: true }).fill('Lists what Eva needs.');
    // What is kept of a draft waits for a pause in typing.
    await page.clock.fastForward(1_000);
    await api('PATCH', `/people/${ids['eva']}`, { role: 'viewer' });
    await untilPolled(page, page.getByText('You don’t have access to this page'));
    await toast(page, 'Your role changed from Editor to Viewer.').waitFor();
    await api('PATCH', `/people/${ids['eva']}`, { role: 'editor' });
    await untilPolled(page, page.getByLabel('Description', { exact: true }));
    await toast(page, 'Your unsaved changes are back.').waitFor();
    expect(await page.getByLabel('Description', { exact: true }).inputValue()).toBe('Lists what Eva needs.');
    await close(opened, [403]);
  },
  LIMIT_MS,
);

browserTest(
  'a page of one person does nothing as another who signed in with the same browser',
  async () => {
    const { api, url } = ui.programs;
    const { items } = await api<{ items: Stored[] }>('GET', '/prompts');
    const id = items[0]?.id ?? '';
    const before = await api<Stored>('GET', `/prompts/${id}`);
    const opened = await browserOf('eva');
    const { page, context } = opened;
    await page.goto(`${url}/prompts/${id}`);
    const description = page.getByLabel('Description', { exact: true });
    await description.fill('By Eva.');
    const other = await context.newPage();
    await other.goto(url);
    await other.getByRole('button', { name: 'Sign out' }).click();
    const ended = page.getByRole('dialog', { name: 'Your session has ended' });
    await ended.waitFor();
    await signInAs(other, 'adam');
    await other.getByText('adam', { exact: true }).first().waitFor();
    await ended.getByText('Someone else signed in with this browser, and this page belongs to eva.').waitFor();
    expect((await api<Stored>('GET', `/prompts/${id}`)).version).toBe(before.version);
    // Eva signs in again: the page of the other one has ended, hers goes on.
    await ended.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await ended.getByRole('button', { name: 'Sign in', exact: true }).click();
    await ended.waitFor({ state: 'detached' });
    await other.getByRole('dialog', { name: 'Your session has ended' }).getByText('belongs to adam').waitFor();
    expect(await description.inputValue()).toBe('By Eva.');
    await page.getByRole('button', { name: 'Save prompt' }).click();
    await toast(page, 'Saved. Deploy to make it live.').waitFor();
    const { items: history } = await api<{ items: { actor: { name: string } }[] }>(
      'GET',
      `/history?entity_type=prompt&entity_id=${id}`,
    );
    expect(history[0]?.actor.name).toBe('eva');
    await close(opened, [401]);
  },
  LIMIT_MS,
);
