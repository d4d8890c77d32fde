import { expect } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ui = startUi({ live: true });

interface Record {
  readonly id: string;
  readonly version: number;
}
interface Case {
  readonly what: string;
  /** Where its operations are. */
  readonly path: string;
  readonly draft: () => Promise<object>;
  readonly page: string;
  dialog(name: string): string;
  open(page: Page, name: string): Promise<void>;
  /** What this person types, and what another tab saves. */
  readonly mine: { readonly label: string | RegExp; readonly text: string; readonly stored: object };
  readonly theirs: { readonly change: object; readonly said: string; readonly shown: string };
  /** Both name it. */
  readonly name: string;
  readonly saved: string;
}

const more = (label: string, item: RegExp | string) => async (page: Page, name: string) => {
  await page.getByRole('button', { name: `${label} ${name}`, exact: true }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

const CASES: readonly Case[] = [
  {
    what: 'an identity provider',
    path: '/identity-providers',
    draft: async () => ({
      name: 'Company',
      issuer: 'https://login.example.com',
      client_id: 'sluice',
      client_secret: 'its secret',
    }),
    page: '/settings/sign_in',
    dialog: (name) => `Edit ${name}`,
    open: more('More for', /^Edit/),
    mine: { label: 'Client ID', text: 'sluice-2', stored: { client_id: 'sluice-2' } },
    theirs: {
      change: { allowed_domains: ['example.com'], groups_claim: 'teams' },
      said: '2 fields changed only by them: ',
      shown: 'teams',
    },
    name: 'Name',
    saved: 'Saved “Firm”.',
  },
  {
    what: 'an OAuth app',
    path: '/oauth-apps',
    draft: async () => ({ name: 'Company', redirect_uris: ['https://app.example.com/callback'] }),
    page: '/sign-in',
    dialog: (name) => `Edit ${name}`,
    open: (page, name) => page.getByRole('button', { name: `Edit ${name}` }).click(),
    mine: {
      label: 'Redirect addresses',
      text: 'https://app.example.com/mine',
      stored: { redirect_uris: ['https://app.example.com/mine'] },
    },
    theirs: { change: { trusted: true }, said: '1 field changed only by them: Skip the consent page.', shown: 'on' },
    name: 'Name',
    saved: 'Saved “Firm”.',
  },
  {
    what: 'a webhook',
    path: '/notices',
    draft: async () => ({ name: 'Company', url: 'https://hooks.example.com/sluice', events: ['deploy'] }),
    page: '/settings/webhooks',
    dialog: (name) => `Edit ${name}`,
    open: more('More for', 'Edit'),
    mine: { label: 'URL', text: 'https://hooks.example.com/mine', stored: { url: 'https://hooks.example.com/mine' } },
    theirs: { change: { events: ['deploy', 'drift'] }, said: '1 field changed only by them: Events.', shown: 'Drift' },
    name: 'Name',
    saved: 'Saved “Firm”.',
  },
  {
    what: 'an access token',
    path: '/mcp-tokens',
    draft: async () => ({ name: 'Company', all_toolsets: true }),
    page: '/access',
    dialog: (name) => `Edit ${name}`,
    open: (page, name) => page.getByRole('button', { name: `Edit ${name}` }).click(),
    mine: { label: 'Claims', text: '{"tenant": "globex2"}', stored: { claims: { tenant: 'globex2' } } },
    theirs: { change: { idle_timeout_minutes: 60 }, said: '1 field changed only by them: Idle timeout.', shown: '1 hour' },
    name: 'Name',
    saved: 'Saved “Firm”.',
  },
  {
    what: 'a test',
    path: '/tests',
    draft: async () => {
      const { items } = await ui.programs.api<{ items: Record[] }>('GET', '/tools?search=sales_by_category');
      return { owner: { kind: 'tool', id: items[0]?.id }, name: 'Company', expect: { rows: { min: 1 } } };
    },
    page: '/tests',
    dialog: () => 'Edit test',
    open: more('More for the test', 'Edit test'),
    mine: { label: 'Minimum rows', text: '2', stored: { expect: { rows: { min: 2 } } } },
    theirs: { change: { enabled: false }, said: '1 field changed only by them: Enabled.', shown: 'off' },
    name: 'Name',
    saved: 'Test saved.',
  },
];

for (const { what, path, draft, mine, theirs, ...one } of CASES) {
  browserTest(
    `whoever edits ${what} that another tab has changed sees what changed, and loses nothing`,
    async () => {
      const { api, url } = ui.programs;
      const { id, version } = await api<Record>('POST', path, await draft());
      const stored = async () => {
        const { items } = await api<{ items: (Record & object)[] }>('GET', path);
        return items.find((item) => item.id === id);
      };
      const opened = await ui.signedIn();
      const { page } = opened;
      await page.goto(`${url}${one.page}`);
      await one.open(page, 'Company');
      const form = page.getByRole('dialog', { name: one.dialog('Company') });
      const field: Locator = form.getByLabel(mine.label);
      await field.fill(mine.text);
      const changed = await api<Record>('PATCH', `${path}/${id}`, { version, ...theirs.change });
      const save = form.getByRole('button', { name: /^Save/ });
      await save.click();
      const question = page.getByRole('alertdialog', { name: 'You saved this elsewhere in the meantime' });
      await question.getByText(theirs.said).waitFor();
      await question.getByText(theirs.shown).first().waitFor();

      // Neither is written before this person chooses.
      await question.getByRole('button', { name: 'Keep editing' }).click();
      await question.waitFor({ state: 'detached' });
      expect(await field.inputValue()).toBe(mine.text);
      expect(await stored()).toMatchObject({ version: changed.version, ...theirs.change });
      await save.click();
      await question.getByRole('button', { name: 'Save merged version' }).click();
      await form.waitFor({ state: 'detached' });
      await page
        .getByRole('status')
        .getByText(/^(Saved|Test saved)/)
        .first()
        .waitFor();
      const merged = await stored();
      expect(merged).toMatchObject({ ...theirs.change, ...mine.stored });

      // Both renamed it.
      await page.goto(`${url}${one.page}`);
      await one.open(page, 'Company');
      await form.getByLabel(one.name, { exact: true }).fill('Firm');
      await api('PATCH', `${path}/${id}`, { version: merged?.version, name: 'House' });
      await save.click();
      const contested = question.locator('section').first();
      await contested.getByText('House').waitFor();
      await contested.getByText('Firm').waitFor();
      await question.getByRole('button', { name: 'Save merged version' }).click();
      await toast(page, one.saved).waitFor();
      await form.waitFor({ state: 'detached' });
      expect(await stored()).toMatchObject({ name: 'Firm' });

      // Deleted by somebody: what was typed stays, to be copied.
      await page.goto(`${url}${one.page}`);
      await one.open(page, 'Firm');
      const last = page.getByRole('dialog', { name: one.dialog('Firm') });
      const typed = last.getByLabel(mine.label);
      await typed.fill(mine.text.replace('2', '3').replace('mine', 'again'));
      await api('DELETE', `${path}/${id}`);
      await last.getByRole('button', { name: /^Save/ }).click();
      await page
        .getByText(/^(You deleted this elsewhere|This .* no longer exists|No )/)
        .first()
        .waitFor();
      expect(await typed.inputValue()).toBe(mine.text.replace('2', '3').replace('mine', 'again'));
      await close(opened, [404, 409]);
    },
    LIMIT_MS,
  );
}
