import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, inspectAll, LIMIT_MS, startUi, toast, pageTab } from '#test/support/ui.ts';

const ui = startUi({ live: true });

interface Tool {
  readonly id: string;
  readonly name: string;
}
async function describe(text: string): Promise<void> {
  const { items } = await ui.programs.api<{ items: Tool[] }>('GET', '/tools');
  const tool = items.find(({ name }) => name === 'get_customer');
  await ui.programs.api('PATCH', `/tools/${tool?.id}`, { description: text });
}
async function described(url: string, token: string | null = null): Promise<string | undefined> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  await client.close();
  return tools.find(({ name }) => name === 'get_customer')?.description;
}
/** A caller of its own calls the tool. */
async function called(url: string): Promise<void> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await client.callTool({ name: 'get_customer', arguments: { id: 1 } });
  await client.close();
}
const mcp = async () => (await ui.programs.api<{ mcp_url: string }>('GET', '/server/health')).mcp_url;
const snippet = (page: Page, text: RegExp) => page.getByRole('dialog').getByText(text).first().innerText();

browserTest(
  'a candidate of the working copy connects a client with its URL and token until it is deleted',
  async () => {
    await describe('One customer, said more clearly than before.');
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/deploy`);
    await page.getByRole('button', { name: 'Try first' }).click();
    await page.getByRole('menuitem', { name: 'New candidate' }).click();
    const dialog = page.getByRole('dialog', { name: 'New candidate' });
    await dialog.getByLabel('Expires after').fill('73');
    await dialog.getByText('Enter whole hours from 1 to 72.').waitFor();
    await dialog.getByLabel('Expires after').fill('2');
    await dialog.getByLabel('Note').fill('Clearer words');
    await expectAccessible(page, 'a new candidate');
    await page.keyboard.press('Enter');
    const made = page.getByRole('dialog', { name: 'Connect to the candidate' });
    await made.getByText('It is shown only once.').waitFor();
    const token = (await snippet(page, /^svc_cand_/)).trim();
    const url = (await snippet(page, /\/mcp\/candidate\/[\w-]+$/)).trim();
    await made.getByText(token).nth(1).waitFor({ state: 'attached' });
    await expectAccessible(page, 'how to connect to a candidate');
    expect(await described(url, token)).toBe('One customer, said more clearly than before.');
    expect(await described(await mcp())).not.toBe('One customer, said more clearly than before.');
    await made.getByRole('button', { name: 'I have copied it' }).click();
    // The button that opened it stands in the tab that was left.
    await pageTab(page, 'Candidates').and(page.locator(':focus')).waitFor();

    const table = page.getByRole('table', { name: 'Candidates' });
    await table.getByText('Clearer words').waitFor();
    expect(await page.content()).not.toContain(token);
    const more = table.getByRole('button', { name: 'More for the candidate Clearer words' });
    await more.click();
    await page.getByRole('menuitem', { name: 'Connect a client' }).click();
    await page.getByRole('dialog').getByText('Replace YOUR_TOKEN with its token').waitFor();
    await page.keyboard.press('Escape');
    await more.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page
      .getByRole('alertdialog', { name: 'Delete this candidate?' })
      .getByRole('button', { name: 'Delete candidate' })
      .click();
    await toast(page, 'Candidate deleted.').waitFor();
    await page.getByText('No candidates').waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a canary that is started with a candidate serves that candidate',
  async () => {
    const made = await ui.programs.api<{ candidate: string }>('POST', '/snapshots/candidate', { note: 'For a share' });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/deploy?view=candidates`);
    await page.getByRole('button', { name: 'More for the candidate For a share' }).click();
    await page.getByRole('menuitem', { name: 'Start a canary with it' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start a canary' });
    await dialog.getByText('is served this candidate').waitFor();
    await dialog.getByRole('button', { name: 'Start canary' }).click();
    const panel = page.getByRole('region', { name: 'Canary', exact: true });
    await panel.getByText('Running').waitFor();
    // It has the note of the candidate, which cannot be deleted while it is served.
    await panel.getByText('For a share').waitFor();
    await pageTab(page, 'Candidates').click();
    await page.getByRole('button', { name: 'More for the candidate For a share' }).click();
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Connect a client']);
    await page.keyboard.press('Escape');
    await pageTab(page, 'Changes').click();
    const { canary } = await ui.programs.api<{ canary: { candidate: string } }>('GET', '/deploy/status');
    expect(canary.candidate).toBe(made.candidate);
    const receipt = page.getByText('The canary is running for 10% of callers');
    await receipt.waitFor();
    await ui.programs.api('POST', '/deploy/abort', {});
    await receipt.waitFor({ state: 'detached' });
    await ui.programs.api('DELETE', `/snapshots/candidate/${made.candidate}`).catch(() => undefined);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a canary shows both sides while it runs, is aborted, and the next one is promoted',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/deploy`);
    await page.getByRole('button', { name: 'Try first' }).waitFor();
    const start = async (minutes: string) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('Start canary');
      await page.getByRole('option', { name: 'Start canary' }).waitFor();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Start a canary' });
      await dialog.getByLabel('Share of callers').fill('50');
      await dialog.getByLabel('Duration').fill(minutes);
      return dialog;
    };
    let dialog = await start('200');
    await dialog.getByRole('button', { name: 'Start canary' }).click();
    await dialog.locator('[aria-invalid=true][name=minutes]').waitFor();
    await expectAccessible(page, 'a new canary');
    await dialog.getByLabel('Duration').fill('30');
    await dialog.getByRole('button', { name: 'Start canary' }).click();
    const panel = page.getByRole('region', { name: 'Canary', exact: true });
    await panel.getByText('Running').waitFor();
    await panel.getByText('Serves 50% of callers.').waitFor();
    const url = await mcp();
    for (let n = 0; n < 3; n += 1) await described(url);
    const sides = panel.getByRole('table', { name: 'Both sides of the canary' });
    // Lists are no calls.
    await sides.getByRole('row', { name: /^Calls 0 0/ }).waitFor();
    await called(url);
    await sides.getByRole('row', { name: /^Calls (1 0|0 1)/ }).waitFor();
    // Of many callers some are on its side, and the request log says of each call which side answered.
    for (let n = 0; n < 20; n += 1) await called(url);
    await panel.getByRole('link', { name: 'Calls of the canary' }).click();
    await page.getByText('Answered by one canary').waitFor();
    await page.getByRole('table', { name: 'Calls' }).getByText('Canary', { exact: true }).first().click();
    await page.getByRole('dialog', { name: 'Call' }).getByText('A canary that is running.').waitFor();
    await page.goto(`${ui.programs.url}/deploy`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, 'a canary in the dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await panel.getByRole('button', { name: 'Abort' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Abort canary' }).click();
    await toast(page, 'Aborted.').waitFor();
    await panel.getByText('Aborted by ada.').waitFor();

    dialog = await start('30');
    await dialog.getByRole('button', { name: 'Start canary' }).click();
    await panel.getByRole('button', { name: 'Promote' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Promote' }).click();
    await toast(page, 'Promoted.').waitFor();
    await panel.getByText('Promoted by ada.').waitFor();
    expect(await ui.programs.api('GET', '/deploy/status')).toMatchObject({ snapshot_version: 2, pending_changes: 0 });
    await until(async () => (await described(url)) === 'One customer, said more clearly than before.');
    await ui.programs.api('PATCH', '/server/config', { server_name: 'Corner shop' });
    await ui.programs.api('POST', '/deploy', {});
    await page.reload();
    await page.getByText('Nothing to deploy').waitFor();
    expect(await panel.count()).toBe(0);
    await close(opened);
  },
  LIMIT_MS,
);

const LONG = 'n'.repeat(1_001);
const TOO_LONG = 'Must have at most 1000 characters.';

browserTest(
  'a refused canary keeps what was typed, and shows what has changed before it starts',
  async () => {
    await describe('One customer, as somebody has read it.');
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/deploy`);
    await page.getByRole('button', { name: 'Try first' }).click();
    await page.getByRole('menuitem', { name: 'Start canary' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start a canary' });
    const start = dialog.getByRole('button', { name: 'Start canary' });
    await dialog.getByLabel('Share of callers').fill('33');
    await dialog.getByLabel('Note').fill(LONG);
    await start.click();
    await dialog.getByText(TOO_LONG).waitFor();
    const note = `For a third ${'w'.repeat(300)}`;
    await dialog.getByLabel('Note').fill(note);
    await describe('One customer, as nobody has read it.');
    await start.click();
    const refused = dialog.getByRole('alert').filter({ hasText: 'Canary not started' });
    await refused.getByText(/has changed since you read it/).waitFor();
    await dialog.getByText('One customer, as nobody has read it.').waitFor();
    expect(await dialog.getByLabel('Share of callers').inputValue()).toBe('33');
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await start.scrollIntoViewIfNeeded();
      const [reason, button] = [await refused.boundingBox(), await start.boundingBox()];
      // Whoever presses the button sees why nothing began.
      expect((button?.y ?? 0) - ((reason?.y ?? 0) + (reason?.height ?? 0))).toBeWithin(0, 100);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
    await expectAccessible(page, 'a refused canary');
    await start.click();
    const panel = page.getByRole('region', { name: 'Canary', exact: true });
    await panel.getByText('Serves 33% of callers.').waitFor();
    await panel.getByText(note).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await look(page, 'canary-long-note');
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(await dialog.count()).toBe(0);

    // Another person ends it while this one decides, on a tab that shows no failures of deploys.
    await pageTab(page, 'Candidates').click();
    await panel.getByRole('button', { name: 'Promote' }).click();
    await ui.programs.api('POST', '/deploy/abort', {});
    await page.getByRole('alertdialog').getByRole('button', { name: 'Promote' }).click();
    await page.getByRole('alert').filter({ hasText: 'Canary not promoted' }).getByText('The canary has ended.').waitFor();
    await panel.getByText('Aborted').first().waitFor();
    await until(() => page.evaluate(() => document.activeElement !== document.body));
    await close(opened, [409, 422]);
  },
  LIMIT_MS,
);

browserTest(
  'a note that is too long is refused at its field, and three candidates say why there is no fourth',
  async () => {
    const made: string[] = [];
    const add = async () => {
      const { candidate } = await ui.programs.api<{ candidate: string }>('POST', '/snapshots/candidate', { note: 'Same' });
      made.push(candidate);
    };
    await describe('One customer, for candidates.');
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/deploy`);
    const deploy = page.getByRole('region', { name: 'Deploy', exact: true });
    await deploy.getByLabel('Note').fill(LONG);
    await deploy.getByRole('button', { name: /^Deploy/ }).click();
    await deploy.getByText(TOO_LONG).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await deploy.getByLabel('Note').and(page.locator(':focus')).waitFor();

    await page.getByRole('button', { name: 'Try first' }).click();
    await page.getByRole('menuitem', { name: 'New candidate' }).click();
    const dialog = page.getByRole('dialog', { name: 'New candidate' });
    await dialog.getByLabel('Note').fill(LONG);
    await dialog.getByRole('button', { name: 'Create candidate' }).click();
    await dialog.getByText(TOO_LONG).waitFor();
    expect(await dialog.getByRole('alert').count()).toBe(0);
    await dialog.getByLabel('Note').fill('Short');
    for (let n = 0; n < 3; n += 1) await add();
    await dialog.getByRole('button', { name: 'Create candidate' }).click();
    await dialog.getByRole('alert').getByText('Candidate not created').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('There can be 3 at a time. Delete one to create another.').waitFor();
    for (const candidate of made) await ui.programs.api('DELETE', `/snapshots/candidate/${candidate}`);
    await close(opened, [409, 422]);
  },
  LIMIT_MS,
);

browserTest(
  'a deploy beside a canary changes what the page says of its end, and its end shows the changes anew',
  async () => {
    await describe('One customer, for a share of the callers.');
    await ui.programs.api('POST', '/deploy', { canary: { percent: 20, minutes: 60 } });
    await describe('One customer, for the others.');
    const { snapshot_version: base } = await ui.programs.api<{ snapshot_version: number }>('GET', '/deploy/status');
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/deploy`);
    const panel = page.getByRole('region', { name: 'Canary', exact: true });
    await panel.getByText(/Promotes automatically at/).waitFor();
    await page.getByRole('region', { name: 'Deploy', exact: true }).getByRole('button', { name: 'Deploy', exact: true }).click();
    await page.getByText('Nothing to deploy').waitFor();
    await panel.getByText(/Aborts automatically at/).waitFor();
    await panel.getByText(`since version ${base + 1} was deployed while it ran.`).waitFor();
    await panel.getByText(`Live (version ${base}, now ${base + 1})`).waitFor();
    await panel.getByRole('button', { name: 'Promote' }).click();
    const dialog = page.getByRole('alertdialog');
    await dialog.getByText(`It replaces version ${base + 1}, which was deployed while it ran.`).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    // Somebody else promotes it. The page reads a running canary every two seconds.
    await ui.programs.api('POST', '/deploy/promote', {});
    await page.getByText('One customer, for a share of the callers.').waitFor({ timeout: 8_000 });
    await panel.getByText(`Live (version ${base})`).waitFor();
    await ui.programs.api('POST', '/deploy', {});
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'candidates and a running canary in every look',
  async () => {
    await describe('One customer, in yet other words than before.');
    await ui.programs.api('POST', '/snapshots/candidate', { note: 'Other words' });
    await ui.programs.api('POST', '/deploy', { canary: { percent: 20, minutes: 60 } });
    await inspectAll(ui, [
      { name: 'canary', path: '/deploy', ready: 'Serves 20% of callers.' },
      { name: 'candidates', path: '/deploy?view=candidates', ready: 'Other words' },
    ]);
    await ui.programs.api('POST', '/deploy/abort', {});
  },
  LIMIT_MS,
);
