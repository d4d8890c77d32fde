import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { createKey, type KeyPair, type SshServer, sshd_is_here, startSshServer } from '#test/support/ssh-server.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const needed = reachable.postgres && sshd_is_here;
let database: TestDatabase;
let key: KeyPair;
let bastion: SshServer;
const ui = startUi({
  role: 'server',
  env: { SVC_DEMO: 'false' },
  needed,
  async prepare() {
    database = await testDatabase('postgresql');
    await database.run('create table customers (id int primary key, name text not null)');
    key = createKey();
    bastion = await startSshServer(key);
  },
  async cleanup() {
    if (!needed) return;
    await bastion.close();
    await database.drop();
  },
});

browserTest(
  'a database behind a bastion is connected in the form, with faults at their fields (needs sshd)',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    const { pathname, port } = new URL(database.url);
    const test = page.getByRole('button', { name: 'Test', exact: true });
    const fieldOf = (label: string) => page.getByLabel(label, { exact: true });
    /** The sentence at a field, once the form shows it. */
    const told = async (label: string, text: string) => {
      const field = page.locator('.field', { has: fieldOf(label) }).last();
      await field.locator('.field-error', { hasText: text }).waitFor();
      expect(await fieldOf(label).getAttribute('aria-invalid')).toBe('true');
    };
    await page.goto(`${ui.programs.url}/connections/new`);
    await page.getByLabel('Connection string').fill(`postgres://postgres@127.0.0.1:${port}${pathname}`);
    await page.getByRole('switch', { name: 'Connect through an SSH server' }).click();
    await fieldOf('SSH host').fill('127.0.0.1');
    await fieldOf('SSH port').fill('1');
    await fieldOf('SSH username').fill(bastion.hop.username);
    await fieldOf('Private key').fill(createKey().private_key);

    // A wrong host of the bastion.
    await test.click();
    await told('SSH host', 'Nothing accepts connections at 127.0.0.1, port 1');
    // The first contact shows the fingerprint, and trusting it tests again, with a wrong key.
    await fieldOf('SSH port').fill(String(bastion.port));
    await test.click();
    await told('Host key', bastion.fingerprint);
    await look(page, 'tunnel-host-key');
    await page.getByRole('button', { name: 'Trust this key' }).click();
    await told('Private key', 'refused the user name or the private key');
    expect(await fieldOf('Host key').inputValue()).toBe(bastion.fingerprint);
    await look(page, 'tunnel-wrong-key');
    await expectAccessible(page);
    // Another host key than the stored one.
    await fieldOf('Private key').fill(key.private_key);
    await fieldOf('Host key').fill(createKey().fingerprint);
    await test.click();
    await told('Host key', 'Another server may be answering');
    await fieldOf('Host key').fill(bastion.fingerprint);
    // A database that the bastion does not reach.
    await fieldOf('Port').fill('1');
    await test.click();
    await told('Host', 'cannot reach the database at 127.0.0.1, port 1');
    await fieldOf('Port').fill(port);
    await test.click();
    await page.getByText(/^Connected in /).waitFor();
    await look(page, 'tunnel-connected');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByRole('link', { name: 'customers' }).waitFor();

    // The stored form shows that a key is stored, and adds a jump server.
    await page.goto(`${page.url().split('?')[0]}?tab=settings`);
    await page.getByText('A secret is stored. Leave empty to keep it.').first().waitFor();
    await page.getByRole('button', { name: 'Add a jump server' }).click();
    await page.getByRole('group', { name: 'Jump server 1' }).getByLabel('SSH host').fill('127.0.0.1');
    // A new server has no secret yet.
    expect(await page.getByText('A secret is stored. Leave empty to keep it.').count()).toBe(1);
    await look(page, 'tunnel-stored');
    await page.getByRole('button', { name: 'Remove jump server 1' }).click();
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText(/^Connected in /).waitFor();
    await close(opened);
  },
  LIMIT_MS,
);
