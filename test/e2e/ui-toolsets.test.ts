import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { untilWithin } from '#test/support/until.ts';
import { close, inspect, inspectAll, LIMIT_MS, startUi, toast, untilPolled } from '#test/support/ui.ts';

const ui = startUi({ live: true });

const add = async (page: Page, region: string, field: string, value: string) => {
  const input = page.getByRole('region', { name: region }).getByLabel(field, { exact: true });
  await input.fill(value);
  await input.press('Enter');
};

browserTest(
  'a toolset is built with its members at hand, and a token is limited to it',
  async () => {
    const { programs } = ui;
    const opened = await ui.signedIn();
    const { page } = opened;
    const tools = await programs.api('GET', '/tools?limit=3');
    const [first, second] = (tools['items'] as { name: string; id: string }[]).map(({ name }) => name);
    if (first === undefined || second === undefined) throw new Error('the demo has no tools');

    await page.goto(`${programs.url}/toolsets`);
    await page.getByText('No toolsets yet').waitFor();
    await page.getByRole('link', { name: 'New toolset' }).first().click();
    await page.getByText('Nothing is selected yet.').waitFor();
    const first_toolset = page.getByText('The first toolset takes tools from everyone');
    await first_toolset.waitFor();
    await page.getByRole('switch', { name: 'Enabled' }).click();
    await first_toolset.waitFor({ state: 'detached' });
    await page.getByRole('switch', { name: 'Enabled' }).click();
    await first_toolset.waitFor();
    await page.getByRole('button', { name: 'Create toolset' }).click();
    await page.locator('[aria-invalid=true]').first().waitFor();
    await page.getByLabel('Name', { exact: true }).fill('desk');
    await page.getByLabel('Title').fill('Service desk');
    await page.getByLabel('Instructions').fill('Answer questions about orders.');
    await add(page, 'Include', 'Connections', 'no-such-database');
    await page.getByText('Nothing is named no-such-database.').waitFor();
    const include = page.getByRole('region', { name: 'Include' });
    await include.getByLabel('Search by name, tag or database').fill(first);
    await include.getByRole('checkbox', { name: `Select ${first}` }).check();
    const members = page.getByRole('region', { name: 'Members' });
    await members.getByRole('link', { name: first }).waitFor();
    await members.getByText(/1 member, about \d+ tokens/).waitFor();
    await include.getByLabel('Search by name, tag or database').fill(second);
    await include.getByRole('checkbox', { name: `Select ${second}` }).check();
    await members.getByText(/2 members, about/).waitFor();
    await page.getByRole('button', { name: 'Create toolset' }).click();
    await page.getByText('Some fields need attention.').waitFor();
    expect(await programs.api('GET', '/toolsets')).toMatchObject({ total: 0 });
    await page.getByRole('button', { name: 'Remove no-such-database' }).click();
    await page.getByRole('button', { name: 'Create toolset' }).click();
    await toast(page, 'Toolset saved.').waitFor();
    await page.getByRole('heading', { name: 'desk' }).waitFor();
    await first_toolset.waitFor({ state: 'detached' });
    const made = await programs.api('GET', '/toolsets');
    expect(made['items']).toMatchObject([{ name: 'desk', title: 'Service desk', groups: [], enabled: true }]);

    await page.getByText('Choose what to leave out').click();
    await page
      .getByRole('region', { name: 'Exclude' })
      .getByRole('checkbox', { name: `Select ${second}` })
      .check();
    await members.getByText(/1 member, about/).waitFor();
    await page.getByRole('button', { name: 'Save toolset' }).click();
    await untilWithin(60_000, async () => {
      const body = await programs.api('GET', '/toolsets');
      return (body['items'] as { version: number }[])[0]?.version === 2;
    });
    await page.getByText('/mcp/desk').waitFor();

    await page.goto(`${programs.url}/access`);
    await page.getByRole('button', { name: 'New token' }).first().click();
    const form = page.getByRole('dialog', { name: 'New access token' });
    await form.getByLabel('Name').fill('desk client');
    await form.getByRole('radio', { name: 'Some toolsets' }).check();
    const toolsets = form.getByLabel('Toolsets', { exact: true });
    await toolsets.fill('desk');
    await toolsets.press('Enter');
    await form.getByLabel('Claims').fill('{"region": ');
    await form.getByText('This isn’t a JSON object.').waitFor();
    await form.getByLabel('Claims').fill('{"region": "north"}');
    await form.getByRole('button', { name: 'Create token' }).click();
    await page.getByRole('dialog', { name: 'Token “desk client”' }).waitFor();
    await page.keyboard.press('Escape');
    const stored = async () => ((await programs.api('GET', '/mcp-tokens'))['items'] as object[])[0];
    expect(await stored()).toMatchObject({ toolsets: ['desk'], claims: { region: 'north' } });
    await page.goto(`${programs.url}/access`);
    await page.getByRole('button', { name: 'Edit desk client' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit desk client' });
    await edit.getByRole('radio', { name: 'Everything' }).check();
    await edit.getByRole('button', { name: 'Save token' }).click();
    await toast(page, 'Saved “desk client”.').waitFor();
    expect(await stored()).toMatchObject({ toolsets: null, claims: { region: 'north' } });

    await page.goto(`${programs.url}/access`);
    const connect = page.getByRole('region', { name: 'Connect a client' });
    await connect.getByText(/definitions, about [\d,]+ tokens/).waitFor();
    await connect.getByRole('button', { name: /^Toolset/ }).click();
    await page.getByRole('option', { name: /^Toolset desk/ }).click();
    await connect.getByText(/claude mcp add --transport http sluice-desk http\S+\/mcp\/desk/).waitFor();
    await connect.getByText(/1 definition, about \d+ tokens.* The address works once/).waitFor();
    await connect.getByRole('tab', { name: 'stdio' }).click();
    await connect
      .getByText(/--toolset[\s\S]{1,20}desk/)
      .first()
      .waitFor();
    await close(opened);
    const [toolset] = made['items'] as { id: string }[];
    await inspectAll(ui, [
      { name: 'toolsets', path: '/toolsets', ready: 'Service desk' },
      { name: 'access-toolset', path: '/access', ready: 'in the context of a model' },
      { name: 'toolset', path: `/toolsets/${toolset?.id}`, ready: '1 member, about' },
    ]);
  },
  LIMIT_MS,
);

browserTest(
  'the head of a toolset follows what is saved',
  async () => {
    const { id } = await ui.programs.api<{ id: string }>('POST', '/toolsets', { name: 'early' });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/toolsets/${id}`);
    await page.getByRole('heading', { name: 'early', level: 1 }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('late');
    await page.getByRole('button', { name: 'Save toolset' }).click();
    await page.getByRole('heading', { name: 'late', level: 1 }).waitFor();
    await ui.programs.api('DELETE', `/toolsets/${id}`);
    await close(opened);
  },
  LIMIT_MS,
);

for (const width of [390, 1440]) {
  browserTest(
    `a tag that is too long is refused at its field and stays within the page, at ${width} px`,
    async () => {
      const opened = await ui.signedIn(width);
      const { page } = opened;
      await page.goto(`${ui.programs.url}/toolsets/new`);
      await page.getByText('Nothing is selected yet.').waitFor();
      await add(page, 'Include', 'Tags', 'x'.repeat(300));
      const include = page.getByRole('region', { name: 'Include' });
      await include.getByText('Must have at most 64 characters.').waitFor();
      await page.getByRole('region', { name: 'Members' }).getByText('Correct the marked fields to see the members.').waitFor();
      await add(page, 'Access', 'Groups', 'y'.repeat(300));
      expect(await page.getByText('include.tags').count()).toBe(0);
      await look(page, 'toolset-long-tag');
      await page.getByRole('button', { name: /^Remove x/ }).click();
      await page.getByText('Nothing is selected yet.').waitFor();
      // Clients cannot reach a name that is refused.
      const address = page.getByRole('region', { name: 'Address' });
      await page.getByLabel('Name', { exact: true }).fill('desk');
      await address.getByText(/\/mcp\/desk$/).waitFor();
      await page.getByLabel('Name', { exact: true }).fill('My desk');
      await address.waitFor({ state: 'detached' });
      await close(opened, [422]);
    },
    LIMIT_MS,
  );
}

browserTest(
  'a toolset changed by another while its page is open says so, and is reloaded on request',
  async () => {
    const { id } = await ui.programs.api<{ id: string }>('POST', '/toolsets', { name: 'moving' });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.clock.install();
    await page.goto(`${ui.programs.url}/toolsets/${id}`);
    const title = page.getByLabel('Title');
    await title.fill('Mine');
    await ui.programs.api('PATCH', `/toolsets/${id}`, { title: 'Theirs' });
    const notice = page.getByText('This toolset was changed in the meantime');
    await untilPolled(page, notice);
    expect(await title.inputValue()).toBe('Mine');
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await inspect(page, 'a-toolset-that-was-changed', { width, scheme: 'light' });
    }
    await page.getByRole('button', { name: 'Show the newest' }).click();
    await page
      .getByRole('alertdialog')
      .getByRole('button', { name: /^(Leave|Discard)/ })
      .click();
    await notice.waitFor({ state: 'detached' });
    expect(await title.inputValue()).toBe('Theirs');
    await title.fill('Mine again');
    await page.getByRole('button', { name: 'Save toolset' }).click();
    await toast(page, /^Toolset saved/).waitFor();
    await page.clock.runFor(20_000);
    expect(await notice.count()).toBe(0);
    await ui.programs.api('DELETE', `/toolsets/${id}`);
    await title.fill('Typed for long');
    await untilPolled(page, page.getByText('This toolset was deleted in the meantime'));
    expect(await title.inputValue()).toBe('Typed for long');
    await close(opened, [404]);
  },
  LIMIT_MS,
);

browserTest(
  'a toolset deleted by another keeps what was typed, and deleting it again says that it is gone',
  async () => {
    const { id } = await ui.programs.api<{ id: string }>('POST', '/toolsets', { name: 'gone' });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/toolsets/${id}`);
    await page.getByLabel('Instructions').fill('Typed for long.');
    await ui.programs.api('DELETE', `/toolsets/${id}`);
    await page.getByRole('button', { name: 'Save toolset' }).click();
    await page.getByText('You deleted this elsewhere in the meantime.').waitFor();
    expect(await page.getByLabel('Instructions').inputValue()).toBe('Typed for long.');
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'More for gone' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete toolset' }).click();
    await toast(page, 'This toolset no longer exists.').waitFor();
    await page.getByText('This toolset was deleted in the meantime').waitFor();
    await page.getByText('Deleted', { exact: true }).waitFor();
    await expectAccessible(page, 'a toolset that was deleted');
    await close(opened, [404]);
  },
  LIMIT_MS,
);
