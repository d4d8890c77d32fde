import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Page } from 'playwright-core';
import { browserTest, openPage } from '#test/support/browser.ts';
import { joinAs, personBrowser, tokensFor } from '#test/support/person-browser.ts';
import { freePort } from '#test/support/free-port.ts';
import { until, untilWithin } from '#test/support/until.ts';
import { close, inEveryLook, inspect, LIMIT_MS, type Look, startUi, type Walk } from '#test/support/ui.ts';

const port = freePort();
const PUBLIC_URL = `http://127.0.0.1:${port}`;
const CARL = { username: 'carl', password: 'correct horse of carl' };
let file = '';
let access_token = '';
const ui = startUi({
  port,
  env: { SVC_PUBLIC_URL: PUBLIC_URL },
  live: true,
  async prepare(programs) {
    const folder = join(programs.directory, 'databases');
    mkdirSync(folder, { recursive: true });
    file = join(folder, 'notes.sqlite');
    const db = new Database(file, { create: true });
    db.run('create table notes (id integer primary key, text text)');
    db.run("insert into notes values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f')");
    db.close();
    const connection = { name: 'notes', db_type: 'sqlite', database: 'notes.sqlite' };
    const { id: connection_id } = await programs.api<{ id: string }>('POST', '/connections', connection);
    await programs.api('POST', '/tools', {
      name: 'remove_notes',
      title: 'Remove notes',
      description: 'Deletes every note up to a number, and answers how many there were.',
      connection_id,
      sql_query: 'delete from notes where id <= :id',
      parameters: [{ name: 'id', type: 'integer', description: 'The last number to delete' }],
      confirm: 'always',
    });
    await programs.api('PATCH', '/server/config', { auth_type: 'oauth' });
    await programs.api('POST', '/deploy', { note: 'Notes' });
    await untilWithin(60_000, async () => (await fetch(programs.mcp_url, { method: 'POST' })).status === 401);
    await joinAs(programs, { username: CARL.username, role: 'caller' }, CARL.password);
    ({ access_token } = await tokensFor(PUBLIC_URL, await personBrowser(PUBLIC_URL, CARL), programs.mcp_url));
  },
});

function rows(run?: string): number {
  const db = new Database(file);
  if (run !== undefined) db.run(run);
  const { n } = db.query<{ n: number }, []>('select count(*) as n from notes').get() ?? { n: -1 };
  db.close();
  return n;
}

/** One call of a client that shows no forms. @returns its result, and where its person is led, one address after the other. */
async function called(id: number) {
  const addresses: string[] = [];
  const client = new Client(
    { name: 'claude', version: '1' },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    addresses.push('url' in params ? params.url : '');
    return { action: 'accept' };
  });
  const requestInit = { headers: { authorization: `Bearer ${access_token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(ui.programs.mcp_url), { requestInit }));
  const calling = async () => {
    try {
      return await client.callTool({ name: 'remove_notes', arguments: { id } });
    } finally {
      await client.close();
    }
  };
  const result = calling();
  // It is looked at below; until then a failure is nobody's.
  result.catch(() => undefined);
  const next = async (index = 0): Promise<string> => {
    await until(async () => addresses.length > index);
    return addresses[index] ?? '';
  };
  return { result, next };
}

async function signIn(page: Page, { username, password }: typeof CARL): Promise<void> {
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

browserTest(
  'a person signs in where their client leads them, sees what would change and approves it by keyboard',
  async () => {
    const { result, next } = await called(2);
    const url = await next();
    expect(url.startsWith(`${PUBLIC_URL}/confirm?request=`)).toBe(true);
    const opened = await openPage(ui.browser, { width: 1280, scheme: 'light' });
    const { page } = opened;
    await page.goto(url);
    await page.getByRole('heading', { name: 'Confirm a change' }).waitFor();
    expect(await page.getByText(/notes/i).count()).toBe(0);
    await signIn(page, CARL);
    await page.getByRole('heading', { name: 'Change 2 rows?' }).waitFor();
    for (const text of ['Remove notes (remove_notes)', 'DELETE FROM notes', 'id = 2', 'Claude Code', ui.programs.mcp_url]) {
      await page.getByText(text, { exact: true }).first().waitFor();
    }
    expect(rows()).toBe(6);
    await page.getByRole('button', { name: 'Change 2 rows' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Approved' }).waitFor();
    expect((await result).structuredContent).toMatchObject({ affected_rows: 2 });
    expect(rows()).toBe(4);
    await page.reload();
    await page.getByRole('heading', { name: 'This request is no longer open' }).waitFor();
    await close(opened, [404]);
    const newest = async () => {
      const { items } = await ui.programs.api<{ items: { confirmation: string | null; name: string }[] }>('GET', '/logs');
      return items.find(({ name }) => name === 'remove_notes')?.confirmation;
    };
    await until(async () => (await newest()) === 'accepted');
  },
  LIMIT_MS,
);

browserTest(
  'a confirmation is shown to its person alone, asks again about changed rows, and ends when declined',
  async () => {
    const { result, next } = await called(9);
    const stranger = await ui.signedIn();
    const { page } = stranger;
    await page.goto(await next());
    await page.getByRole('heading', { name: 'This request is for another person' }).waitFor();
    expect(await page.getByText(/notes|carl|Claude/i).count()).toBe(0);
    await page.getByRole('button', { name: 'Use another account' }).click();
    await signIn(page, CARL);
    await page.getByRole('heading', { name: 'Change 4 rows?' }).waitFor();
    expect(rows("insert into notes values (8, 'h')")).toBe(5);
    await page.getByRole('button', { name: 'Change 4 rows' }).click();
    await page.goto(await next(1));
    await page.getByRole('heading', { name: 'Change 5 rows?' }).waitFor();
    await page.getByText('The number of rows changed since you were asked. It was 4.').waitFor();
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.getByRole('heading', { name: 'Declined' }).waitFor();
    expect((await result).isError).toBe(true);
    expect(rows()).toBe(5);
    await close(stranger, [403, 401]);
  },
  LIMIT_MS,
);

browserTest(
  'a session that ends before the decision goes on in one dialog, and the request stays',
  async () => {
    const { result, next } = await called(9);
    const opened = await openPage(ui.browser, { width: 1280, scheme: 'light' });
    const { page, context } = opened;
    await page.goto(await next());
    await signIn(page, CARL);
    const decline = page.getByRole('button', { name: 'Decline' });
    await decline.waitFor();
    await context.clearCookies();
    await decline.click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    expect(await page.getByLabel('Username').count()).toBe(1);
    expect(await page.getByRole('heading', { name: /^Change \d rows\?$/, includeHidden: true }).count()).toBe(1);
    await dialog.getByLabel('Password', { exact: true }).fill(CARL.password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await until(() => decline.evaluate((button) => document.activeElement === button));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Declined' }).waitFor();
    expect((await result).isError).toBe(true);
    await close(opened, [401]);
  },
  LIMIT_MS,
);

const LOOKS: readonly Look[] = [
  { width: 390, scheme: 'dark' },
  { width: 1440, scheme: 'light' },
];

browserTest(
  'the page is accessible and fits every window',
  async () => {
    const { result, next } = await called(9);
    const url = await next();
    const answers = await fetch(url);
    expect(answers.headers.get('x-frame-options')).toBe('DENY');
    const asked = async (page: Page, { check }: Walk) => {
      await page.goto(url);
      await page.getByRole('heading', { name: 'Confirm a change' }).waitFor();
      await check('confirm-sign-in');
      await signIn(page, CARL);
      await page.getByRole('heading', { name: /^Change \d rows\?$/ }).waitFor();
      await check('confirm');
    };
    await inEveryLook((width, scheme) => openPage(ui.browser, { width, scheme }), asked, { looks: LOOKS });
    const last = await openPage(ui.browser, { width: 390, scheme: 'dark' });
    await last.page.goto(url);
    await signIn(last.page, CARL);
    await last.page.getByRole('button', { name: 'Decline' }).click();
    await last.page.getByRole('heading', { name: 'Declined' }).waitFor();
    await inspect(last.page, 'confirm-declined', { width: 390, scheme: 'dark' });
    await close(last);
    expect((await result).isError).toBe(true);
  },
  LIMIT_MS,
);
