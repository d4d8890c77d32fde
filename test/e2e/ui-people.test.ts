import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look, openPage } from '#test/support/browser.ts';
import { is_full_layer } from '#test/support/layer.ts';
import { close, inspectAll, LIMIT_MS, type Opened, quietOf, startUi, toast } from '#test/support/ui.ts';

const ui = startUi({ live: true });
const PASSWORD = 'a long password';

const accepted = (page: Page) => page.waitForURL(({ pathname }) => pathname !== '/invite');

/** Somebody with this role, in a browser of their own, where the link of the invitation leads. */
async function join(role: string, width: number): Promise<Opened> {
  const username = `${role}-${width}`;
  const { id } = await ui.programs.api<{ id: string }>('POST', '/people', { username, role, groups: ['sales'] });
  const { invite_url } = await ui.programs.api<{ invite_url: string }>('POST', `/people/${id}/invite`, {});
  const { pathname, search, hash } = new URL(invite_url);
  const opened = await openPage(ui.browser, { width, scheme: 'light' });
  await opened.page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
  await opened.page.goto(`${ui.programs.url}${pathname}${search}${hash}`);
  expect(await opened.page.getByLabel('Username').inputValue()).toBe(username);
  await opened.page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await opened.page.getByRole('button', { name: 'Set password and sign in' }).click();
  await accepted(opened.page);
  return opened;
}

const navigation = async (page: Page): Promise<string[]> => {
  const menu = page.getByRole('button', { name: 'Menu', exact: true });
  if (await menu.isVisible()) await menu.click();
  await page.getByRole('button', { name: 'Sign out' }).first().waitFor();
  const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
  const names = (await links.allInnerTexts()).map((name) => name.replace(/\s.*/s, ''));
  if (await menu.isVisible().catch(() => false)) await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.locator('.shell:not([aria-hidden])').waitFor();
  return names;
};
const visit = async ({ page }: Opened, path: string): Promise<void> => {
  await page.goto(`${ui.programs.url}${path}`);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
};
const refused = ({ page }: Opened) => page.getByRole('heading', { name: 'You don’t have access to this page' });
/** Of the settings a viewer sees how programs reach the server, an editor also the import. */
const SHOWN = ['Home', 'Databases', 'Tools', 'Playground', 'Deploy', 'Monitor', 'Logs', 'Settings'];
/** What changes something, by any name. */
const WRITES = /^(Create|New|Add|Save|Delete|Deploy|Dry run|Stop|Invite|Enable|Disable|Roll back|Duplicate|Run)\b/;

const WIDTHS = [1440, 390];
/** Every day each page is seen at one of the widths, in the full layer at both. */
const seenAt = (width: number, paths: readonly string[]) =>
  is_full_layer ? paths : paths.filter((_, index) => index % WIDTHS.length === WIDTHS.indexOf(width));

for (const width of WIDTHS) {
  browserTest(
    `a viewer reads everything and sees no button that would be refused (${width} px)`,
    async () => {
      const opened = await join('viewer', width);
      const { page } = opened;
      const quiet = quietOf(page);
      expect(new Set(await navigation(page))).toEqual(new Set(SHOWN));
      const { items } = await ui.programs.api<{ items: { id: string }[] }>('GET', '/tools');
      const { items: databases } = await ui.programs.api<{ items: { id: string }[] }>('GET', '/connections');
      const tool = `/tools/${items[0]?.id}`;
      const connection = `/connections/${databases[0]?.id}`;
      for (const path of seenAt(width, [
        '/',
        '/tools',
        tool,
        '/connections',
        connection,
        `${connection}?tab=tables`,
        '/resources',
        '/toolsets',
        '/deploy',
        '/history',
        '/queue',
        '/metrics',
        '/logs',
      ])) {
        await visit(opened, path);
        await quiet();
        const buttons = await page.getByRole('main').getByRole('button').allInnerTexts();
        const links = await page.getByRole('main').locator('a.button').allInnerTexts();
        expect([path, [...buttons, ...links].filter((name) => WRITES.test(name.trim()))]).toEqual([path, []]);
      }
      await visit(opened, tool);
      await page.getByLabel('Description').first().waitFor();
      expect(await page.getByLabel('Description').first().isDisabled()).toBe(true);
      await look(page, `people-viewer-tool-${width}`);
      await expectAccessible(page, 'a tool as a viewer sees it');
      await visit(opened, connection);
      await look(page, `people-viewer-connection-${width}`);
      for (const path of seenAt(width, ['/people', '/settings', '/access', '/agents', '/tools/new', '/transfer', '/welcome'])) {
        await visit(opened, path);
        await refused(opened).waitFor();
      }
      await look(page, `people-refused-${width}`);
      // The playground calls what is deployed, as the person.
      await visit(opened, '/playground');
      await page.getByRole('main').getByText('search_products').first().waitFor();
      await page.keyboard.press('ControlOrMeta+k');
      await page.getByRole('dialog').getByRole('combobox').fill('create tool');
      expect(await page.getByRole('option', { name: 'Create tool' }).count()).toBe(0);
      await close(opened);
    },
    LIMIT_MS,
  );

  browserTest(
    `an editor builds and deploys, and people, settings and tokens are out of reach (${width} px)`,
    async () => {
      const opened = await join('editor', width);
      const { page } = opened;
      expect(new Set(await navigation(page))).toEqual(new Set(SHOWN));
      await visit(opened, '/tools');
      await page.getByRole('main').getByRole('link', { name: 'New tool' }).first().waitFor();
      await visit(opened, '/deploy');
      await page.getByRole('main').getByRole('button', { name: 'Dry run' }).waitFor();
      // What saving would refuse is shown and cannot be edited.
      const { items } = await ui.programs.api<{ items: { id: string }[] }>('GET', '/tools?search=get_customer');
      await visit(opened, `/tools/${items[0]?.id}`);
      await page.getByText(/A mask hides a column.* Only administrators can change this\./).waitFor();
      expect(await page.getByRole('button', { name: 'Add mask' }).count()).toBe(0);
      await page.getByText('Limits and hints').click();
      expect(await page.getByRole('switch', { name: 'Log arguments' }).isDisabled()).toBe(true);
      expect(await page.getByRole('spinbutton', { name: 'Row limit', exact: true }).isDisabled()).toBe(false);
      // What only administrators may is not offered: server settings of a file, and in the history.
      await visit(opened, '/transfer');
      const file = await ui.programs.api<{ server_config: object }>('GET', '/export-import/export');
      const buffer = Buffer.from(JSON.stringify(file));
      await page.locator('input[type=file]').setInputFiles({ name: 'all.json', mimeType: 'application/json', buffer });
      await page.getByText('Nothing to import').waitFor();
      expect(await page.getByText('Include server settings').count()).toBe(0);
      await ui.programs.api('PATCH', '/server/config', { server_name: `Shop ${width}` });
      await visit(opened, '/history?type=server_config');
      await page.locator('.history-action-open').first().click();
      await page.getByText('Only administrators can roll back server settings.').waitFor();
      await page.keyboard.press('Escape');
      await visit(opened, '/people');
      await refused(opened).waitFor();
      await page.getByText('It requires the role Admin. Your role is Editor.').waitFor();
      await close(opened);
    },
    LIMIT_MS,
  );

  browserTest(
    `a caller has a home and an account, and nothing else (${width} px)`,
    async () => {
      const opened = await join('caller', width);
      const { page } = opened;
      await page.getByRole('heading', { name: 'Connect a client' }).waitFor();
      expect(new Set(await navigation(page))).toEqual(new Set(['Home']));
      await visit(opened, '/account');
      await page.getByText('Signs in from MCP clients and calls tools.').waitFor();
      await look(page, `people-caller-${width}`);
      await expectAccessible(page, 'the account of a caller');
      await visit(opened, '/tools');
      await refused(opened).waitFor();
      await page.getByRole('link', { name: 'Go to Home' }).click();
      await page.getByRole('heading', { name: 'Connect a client' }).waitFor();
      await close(opened);
    },
    LIMIT_MS,
  );
}

browserTest(
  'an owner invites, changes, disables and removes a person; each holds at once',
  async () => {
    const opened = await ui.signedIn(1440);
    const { page } = opened;
    await page.goto(`${ui.programs.url}/people`);
    await page.getByRole('button', { name: 'Invite person' }).first().click();
    const form = page.getByRole('dialog', { name: 'Invite a person' });
    await form.getByRole('button', { name: 'Create invitation' }).click();
    await form.locator('[aria-invalid=true]').first().waitFor();
    await form.getByLabel('Username').fill('grace');
    await form.getByRole('radio', { name: /^Editor/ }).check();
    await form.getByLabel('Groups').fill('sales,');
    await look(page, 'people-invite-1440');
    await expectAccessible(page, 'inviting a person');
    await form.getByRole('button', { name: 'Create invitation' }).click();
    const made = page.getByRole('dialog', { name: 'Invitation for grace' });
    const link = (await made.getByRole('group', { name: 'Invitation link' }).textContent()) ?? '';
    expect(link).toContain('/invite?name=grace#svc_invite_');
    await made.getByRole('button', { name: 'I have copied it' }).click();

    const guest = await openPage(ui.browser, { width: 390, scheme: 'dark' });
    await guest.page.goto(link.trim());
    await look(guest.page, 'people-accept-390-dark');
    await expectAccessible(guest.page, 'accepting an invitation');
    await guest.page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await guest.page.getByRole('button', { name: 'Set password and sign in' }).click();
    await accepted(guest.page);
    await guest.page.goto(`${ui.programs.url}/tools`);
    await guest.page.getByRole('main').getByRole('link', { name: 'New tool' }).first().waitFor();

    const row = page.getByRole('row').filter({ hasText: 'grace' });
    const choose = async (name: string) => {
      await row.getByRole('button', { name: 'More for grace' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await page.reload();
    await choose('Edit…');
    const edit = page.getByRole('dialog', { name: 'Edit grace' });
    await edit.getByRole('radio', { name: /^Viewer/ }).check();
    await edit.getByRole('button', { name: 'Save' }).click();
    await toast(page, 'Saved grace.').waitFor();
    await look(page, 'people-1440');
    await guest.page.reload();
    await guest.page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor();
    expect(await guest.page.getByRole('main').getByRole('link', { name: 'New tool' }).count()).toBe(0);

    await choose('Disable…');
    await page.getByRole('alertdialog').or(page.getByRole('dialog')).getByRole('button', { name: 'Disable' }).click();
    await toast(page, 'grace is disabled.').waitFor();
    await guest.page.reload();
    await guest.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await choose('Remove…');
    await page.getByRole('alertdialog').or(page.getByRole('dialog')).getByRole('button', { name: 'Remove' }).click();
    await toast(page, 'grace was removed.').waitFor();
    await row.waitFor({ state: 'detached' });
    // The link was used: it leads nowhere any more.
    await guest.page.goto(link.trim());
    await guest.page.reload();
    await guest.page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await guest.page.getByRole('button', { name: 'Set password and sign in' }).click();
    await guest.page.getByRole('heading', { name: 'This invitation isn’t valid' }).waitFor();
    expect(await guest.page.getByText('Choose the password').count()).toBe(0);
    await close(guest, [401, 404]);
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'edits of a person changed by another are a choice, and an ended session leaves no fault in the form',
  async () => {
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    const made = await ui.programs.api<{ id: string; version: number }>('POST', '/people', { username: 'kurt', role: 'viewer' });
    await page.goto(`${ui.programs.url}/people`);
    await page.getByRole('row', { name: /kurt/ }).getByRole('button').last().click();
    await page.getByRole('menuitem', { name: 'Edit…' }).click();
    const form = page.getByRole('dialog', { name: 'Edit kurt' });
    await form.getByLabel(/^Name/).fill('Kurt Mine');
    await ui.programs.api('PATCH', `/people/${made.id}`, { email: 'kurt@example.com', version: made.version });
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('1 field changed only by them: Email.').waitFor();
    await page.getByRole('button', { name: 'Save merged version' }).click();
    await toast(page, 'Saved kurt.').waitFor();
    expect(await ui.programs.api('GET', `/people/${made.id}`)).toMatchObject({
      display_name: 'Kurt Mine',
      email: 'kurt@example.com',
    });

    await page.getByRole('button', { name: 'Invite person' }).click();
    const invite = page.getByRole('dialog', { name: 'Invite a person' });
    await invite.getByLabel('Username').fill('lena');
    await opened.context.clearCookies();
    await invite.getByRole('button', { name: 'Create invitation' }).click();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('Password', { exact: true }).fill('correct horse');
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    expect(await invite.getByLabel('Username').inputValue()).toBe('lena');
    expect(await invite.getByText('no valid session').count()).toBe(0);
    await invite.getByRole('button', { name: 'Create invitation' }).click();
    await page.getByText('Send this link yourself').waitFor();
    await close(opened, [401, 409]);
  },
  LIMIT_MS,
);

browserTest(
  'the page of people is fit for every width and scheme',
  () => inspectAll(ui, [{ name: 'people', path: '/people', ready: 'ada' }]),
  LIMIT_MS,
);
