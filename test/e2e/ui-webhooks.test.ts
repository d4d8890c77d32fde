import { expect } from 'bun:test';
import { createHmac } from 'node:crypto';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest } from '#test/support/browser.ts';
import { until } from '#test/support/until.ts';
import { close, drawn, inspectAll, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

const ui = startUi();

browserTest(
  'a webhook is created, its secret is shown once, and a test event and a deploy reach it signed',
  async () => {
    const received: { headers: Headers; body: string }[] = [];
    const receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        received.push({ headers: request.headers, body: await request.text() });
        return new Response('ok');
      },
    });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${ui.programs.url}/settings/webhooks`);
    await page.getByText('No webhooks yet').waitFor();
    await page.getByRole('button', { name: 'New webhook' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Team chat');
    await page.getByRole('textbox', { name: 'URL' }).fill('ftp://nowhere');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.locator('[aria-invalid=true][name=url]').waitFor();
    await page.getByRole('textbox', { name: 'URL' }).fill(`http://127.0.0.1:${receiver.port}/hook`);
    await page.getByRole('checkbox', { name: 'Certificate' }).uncheck();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByText('Sluice stores it encrypted.').waitFor();
    const secret = await page
      .getByText(/^whsec_/)
      .first()
      .innerText();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    const row = page.getByRole('row', { name: /Team chat/ });
    await row.getByText('Deploy, Rollback, Host lost', { exact: true }).waitFor();
    await row.getByText('None yet').waitFor();

    await page.getByRole('button', { name: 'More for Team chat' }).click();
    await page.getByRole('menuitem', { name: 'Send test event' }).click();
    await toast(page, 'Team chat answered 200.').waitFor();
    await row.getByText('Delivered').waitFor();
    await ui.programs.api('PATCH', '/server/config', { server_name: 'Corner shop' });
    await ui.programs.api('POST', '/deploy', {});
    await until(() => received.length === 2);
    for (const { headers, body } of received) {
      const text = `${headers.get('webhook-id')}.${headers.get('webhook-timestamp')}.${body}`;
      const mac = createHmac('sha256', Buffer.from(secret.trim().slice('whsec_'.length), 'base64'))
        .update(text)
        .digest('base64');
      expect(headers.get('webhook-signature')).toBe(`v1,${mac}`);
    }
    expect(received.map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual(['test', 'deploy']);

    await page.getByRole('button', { name: 'More for Team chat' }).click();
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByText('Sluice stores it encrypted.').waitFor();
    const fresh = page.getByText(/^whsec_/).first();
    expect(await fresh.innerText()).not.toBe(secret);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'More for Team chat' }).click();
    await page.getByRole('menuitem', { name: 'Show deliveries' }).click();
    const deliveries = page.getByRole('dialog', { name: 'Deliveries to Team chat' });
    // The newer list comes while a menu of its row is open, which stays.
    const newer = Promise.withResolvers<void>();
    await page.route(/\/api\/v1\/notices(\?|$)/, async (route) => {
      await newer.promise;
      await route.continue();
    });
    await deliveries.getByRole('button', { name: 'Send again' }).first().click();
    await until(() => received.length === 3);
    const [, deployed, again] = received.map(({ headers }) => headers);
    expect(again?.get('webhook-id')).toBe(deployed?.get('webhook-id') ?? '');
    expect(again?.get('webhook-signature')?.split(' ')).toHaveLength(2);
    await toast(page, 'Sent again.').waitFor();
    await deliveries.getByRole('button', { name: 'Close' }).click();
    await deliveries.waitFor({ state: 'hidden' });

    await receiver.stop(true);
    await page.getByRole('button', { name: 'More for Team chat' }).click();
    const answered = page.waitForResponse(/\/api\/v1\/notices(\?|$)/);
    newer.resolve();
    await (await answered).finished();
    await page.unroute(/\/api\/v1\/notices(\?|$)/);
    await page.evaluate(drawn);
    await page.getByRole('menuitem', { name: 'Send test event' }).click();
    await row.getByText('Failed').waitFor();
    await toast(page, /^The event was not delivered\. \S/).waitFor();
    await page.getByRole('button', { name: 'More for Team chat' }).click();
    await page.getByRole('menuitem', { name: 'Show deliveries' }).click();
    const log = page.getByRole('dialog', { name: 'Deliveries to Team chat' });
    // Rows of a table that still loads are there before.
    await log.getByText('Delivered').nth(1).waitFor();
    await log.getByRole('row').nth(3).waitFor();
    expect(await log.getByText('Delivered').count()).toBe(2);
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'More for Team chat' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Pager');
    await page.getByRole('button', { name: 'Save webhook' }).click();
    await page.getByRole('row', { name: /Pager/ }).waitFor();
    await page.getByRole('button', { name: 'More for Pager' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await page.getByRole('row', { name: /Pager/ }).getByText('Disabled').waitFor();
    await page.getByRole('button', { name: 'More for Pager' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete webhook' }).click();
    await page.getByText('No webhooks yet').waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the page fits every width and both themes',
  async () => {
    await ui.programs.api('POST', '/notices', { name: 'Chat', url: 'http://127.0.0.1:1/a', events: ['deploy', 'host_gone'] });
    await inspectAll(ui, [{ name: 'webhooks', path: '/settings/webhooks', ready: 'Chat' }]);
  },
  LIMIT_MS,
);
