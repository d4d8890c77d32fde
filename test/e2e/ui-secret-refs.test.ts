import { expect } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { browserTest } from '#test/support/browser.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const ui = startUi();

if (reachable.postgres)
  browserTest(
    'a password is entered as a reference that an administrator allows, and the form shows it later',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-refs-'));
      const database = await testDatabase('postgresql');
      writeFileSync(join(folder, 'shop'), 'canary');
      const opened = await ui.signedIn();
      const { page } = opened;
      try {
        await page.goto(`${ui.programs.url}/connections/new?type=postgresql`);
        const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text);
        await fill('Name', 'by reference');
        await fill('Host', '127.0.0.1');
        await fill('Database', database.settings.database);
        await fill('Username', 'postgres');
        await page.getByLabel('Use a reference (Password)').check();
        await fill('Password', `file:${folder}/shop`);
        await page.getByRole('button', { name: 'Connect', exact: true }).click();
        await page.getByText('which this installation does not allow').first().waitFor();
        const settings = await page.context().newPage();
        await settings.goto(`${ui.programs.url}/settings/auth`);
        await settings.getByLabel('Allowed secret references').fill(`file:${folder}/`);
        await settings.getByRole('button', { name: 'Save' }).click();
        await settings.getByText('Saved').first().waitFor();
        await settings.close();
        await page.getByRole('button', { name: 'Connect', exact: true }).click();
        // The account of the test is a superuser.
        await page.getByRole('button', { name: 'Save anyway' }).click();
        await page.waitForURL(/\/connections\/[0-9a-f-]{36}/);
        await page.goto(`${page.url().split('?')[0]}?tab=settings`);
        await page.getByLabel('Password', { exact: true }).waitFor();
        expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe(`file:${folder}/shop`);
        expect(await page.content()).not.toContain('canary');
      } finally {
        await close(opened, [422]);
        await database.drop();
        rmSync(folder, { recursive: true, force: true });
      }
    },
    LIMIT_MS,
  );
