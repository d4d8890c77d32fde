import { expect, test } from 'bun:test';
import { keepCertificate } from '#server/tls/keeper.ts';
import { testApp } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

test('a server that lost its lease while it ordered a certificate asks the authority for nothing more', async () => {
  const directory = 'https://authority.example.com/directory';
  const t = await testApp({ SVC_ACME_DIRECTORY_URL: directory }, undefined, { metadata: 'sqlite' });
  await t.signIn();
  await t.call('config.update', { ssl_enabled: true, ui_domain: 'ui.example.com', acme_email: 'ada@example.com' });
  const { leases } = t.app.store.tables;
  const asked: string[] = [];
  const end = keepCertificate(t.app, {
    ask: async (url, { method }) => {
      asked.push(method);
      await t.app.store.write((tx) => tx.update(leases).set({ holder: 'another server' }));
      const at = (name: string) => new URL(name, url).href;
      const body = { newNonce: at('nonce'), newAccount: at('account'), newOrder: at('order') };
      return Response.json(body, { headers: { 'replay-nonce': 'n1' } });
    },
  });
  await until(() => t.log.some(({ message }) => message === 'work was left to another server'));
  end();
  expect(asked.length).toBeGreaterThan(0);
  expect(asked).not.toContain('POST');
  // That it failed here is no failure of the order.
  expect((await t.call('ssl.status', {})).last_error).toBeNull();
  await t.close();
});
