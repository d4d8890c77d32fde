import { expect } from 'bun:test';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { toBatch } from '#test/support/usage.ts';
import { close, inspectAll, LIMIT_MS, startUi } from '#test/support/ui.ts';

const SERVICE_TOKEN = 'audited-'.repeat(5);
const ui = startUi({ env: { SVC_AGENT_SERVICE_TOKEN: SERVICE_TOKEN } });

/** Two people call a tool with a masked column, as a host reports it. */
async function report(): Promise<void> {
  const calledTool = (name: string, day: string, unmasked?: string[]) => ({
    kind: 'tool' as const,
    name: 'get_customer',
    entity_id: 'tool-1',
    timestamp: `${day}T12:00:00.000Z`,
    duration_ms: 4,
    wait_ms: 0,
    rows: 1,
    bytes: 10,
    client: 'claude/1',
    token_prefix: name,
    caller: { person: `id-of-${name}`, token: null, client_id: null },
    ...(unmasked !== undefined && { unmasked }),
  });
  const calls = [
    calledTool('Grace Hopper', '2026-05-04', ['email']),
    calledTool('Alan Turing', '2026-05-05'),
    calledTool('Edsger Dijkstra', '2026-06-05', ['email']),
  ];
  const answer = await fetch(`${ui.programs.url}/api/internal/hosts/audit/usage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-token': SERVICE_TOKEN },
    body: JSON.stringify({ boot_id: 'audit', seq: 1, ...toBatch(calls) }),
  });
  expect(answer.status).toBe(204);
}

browserTest(
  'the audit log says who saw a column unmasked in May, and the address keeps the question',
  async () => {
    await report();
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/logs?view=audit`);
    const table = page.getByRole('table', { name: 'Audit log' });
    await table
      .getByRole('row', { name: /Sign-in/ })
      .first()
      .waitFor();
    await expectAccessible(page, 'the audit log');
    await page.getByLabel('From', { exact: true }).fill('2026-05-01');
    await page.getByLabel('To', { exact: true }).fill('2026-05-31');
    await table.getByRole('row', { name: /Alan Turing/ }).waitFor();
    await page.getByRole('combobox', { name: 'Unmasked column' }).fill('email');
    await page.keyboard.press('Enter');
    await table.getByRole('row', { name: /Alan Turing/ }).waitFor({ state: 'detached' });
    await table.getByRole('row', { name: /Grace Hopper/ }).waitFor();
    expect(await table.locator('tr[data-row]').count()).toBe(1);
    const query = new URL(page.url()).searchParams;
    expect([query.get('unmasked'), query.get('from'), query.get('to')]).toEqual(['email', '2026-05-01', '2026-05-31']);
    await page.reload();
    await table.getByRole('row', { name: /Grace Hopper/ }).click();
    const drawer = page.getByRole('dialog', { name: /^Entry \d+$/ });
    await drawer.getByText('id-of-Grace Hopper').first().waitFor();
    await expectAccessible(page, 'an entry of the audit log');
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a person verifies the log with a head, and one that somebody else signed is named',
  async () => {
    const { items } = await ui.programs.api<{ items: { jws: string }[] }>('GET', '/audit/heads');
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/logs?view=audit`);
    await page.getByRole('button', { name: 'Verify' }).click();
    const dialog = page.getByRole('dialog', { name: 'Verify the audit log' });
    const heads = dialog.getByLabel('Signed heads');
    const verify = dialog.getByRole('button', { name: 'Verify' });
    await heads.fill(`from the vault: ${items[0]?.jws}`);
    await verify.click();
    await dialog.getByText('The audit log is as it was written').waitFor();
    await expectAccessible(page, 'the report on the audit log');
    await heads.fill(`${items[0]?.jws.slice(0, -6)}AAAAAA`);
    await verify.click();
    await dialog.getByText('A given head was not signed by this installation').waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the retention and the syslog server are set on the page of the audit log',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    await page.goto(`${ui.programs.url}/settings/audit`);
    await page.getByLabel('Call', { exact: true }).fill('730');
    await page.getByRole('switch', { name: 'Send to syslog' }).click();
    await page.getByLabel('Host').fill('127.0.0.1');
    await page.getByLabel('Port', { exact: true }).fill('1');
    await expectAccessible(page, 'the settings of the audit log');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const config = await ui.programs.api('GET', '/server/config');
    expect(config['audit_retention_days']).toMatchObject({ call: 730, change: 365 });
    expect(config['audit_syslog']).toEqual({ host: '127.0.0.1', port: 1, tls: true, format: 'json', ca: null });
    await page.getByRole('switch', { name: 'Send to syslog' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('switch', { name: 'Send to syslog', checked: false }).waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the audit log and its settings fit a phone and a desk',
  () =>
    inspectAll(ui, [
      { name: 'audit', path: '/logs?view=audit', ready: { css: 'tr[data-row]' } },
      { name: 'audit-settings', path: '/settings/audit', ready: 'Retention' },
    ]),
  LIMIT_MS,
);
