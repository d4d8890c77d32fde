import { expect } from 'bun:test';
import { browserTest, openPage } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ui = startUi();
const BOB = { username: 'bob', password: 'battery staple' };

browserTest(
  'one administrator proposes a dangerous change with a reason, another one approves it',
  async () => {
    const { url, api } = ui.programs;
    const gates = async () => (await api<{ deploy_gates: Record<string, string> }>('GET', '/server/config')).deploy_gates;
    const { id } = await api<{ id: string }>('POST', '/people', { username: BOB.username, role: 'admin' });
    const { invite_url } = await api<{ invite_url: string }>('POST', `/people/${id}/invite`);
    const token = new URL(invite_url).hash.slice(1);
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${url}/settings/auth`);
    const two = page.getByRole('radio', { name: 'Two people' });
    await two.check({ force: true });
    const save = () => page.getByRole('button', { name: 'Save', exact: true }).click();
    await save();
    // Bob has not accepted his invitation.
    await page.getByText('approvals needs two enabled administrators who can sign in').waitFor();
    await api('POST', '/auth/accept-invite', { token, password: BOB.password });
    await save();
    await toast(page, 'Saved.').waitFor();

    await page.goto(`${url}/settings/checks`);
    await page.getByRole('button', { name: 'Tests' }).click();
    await page.getByRole('option', { name: 'Off' }).click();
    await save();
    const dialog = page.getByRole('alertdialog', { name: 'Propose this change?' });
    await dialog.getByText('The deploy gate Tests becomes weaker (deploy_gates.tests).').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await save();
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('The tests run elsewhere – from today');
    await dialog.getByRole('button', { name: 'Propose' }).click();
    await page.getByText('Nothing changed yet: this is a proposal now.').waitFor();
    expect((await gates())['tests']).toBe('block');
    await toast(page, 'Proposed. Another administrator has to approve it.').waitFor();
    await page.getByRole('status').getByRole('button', { name: 'Open' }).click();
    // The draft is proposed, not saved.
    await page.getByRole('alertdialog').getByRole('button', { name: /leave/i }).click();
    await page.getByText('The tests run elsewhere – from today').first().waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    const decision = page.getByRole('dialog', { name: 'Approve 1 change?' });
    await decision.getByRole('button', { name: 'Approve' }).click();
    await decision.getByText('You proposed this yourself.').waitFor();
    const address = page.url();
    await close(opened, [403, 422]);

    const other = await openPage(ui.browser, { width: 1280, scheme: 'light' });
    expect((await other.context.request.post(`${url}/api/v1/auth/login`, { data: BOB })).status()).toBe(200);
    await other.page.goto(address);
    await other.page.getByText('The tests run elsewhere – from today').first().waitFor();
    await other.page.getByRole('button', { name: 'Approve' }).click();
    await other.page.getByRole('dialog', { name: 'Approve 1 change?' }).getByRole('button', { name: 'Approve' }).click();
    await toast(other.page, 'Approved.').waitFor();
    expect((await gates())['tests']).toBe('off');
    await close(other);
  },
  LIMIT_MS,
);
