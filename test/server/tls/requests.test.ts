import { afterEach, beforeEach, expect, test } from 'bun:test';
import { readCertificate, writeCertificate } from '#core/server-config/certificates.ts';
import { type KeeperOptions, keepCertificate } from '#server/tls/keeper.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp({ SVC_ACME_DIRECTORY_URL: 'https://acme.example.com/directory' });
  await t.signIn();
  const body = { ssl_enabled: true, ui_domain: 'ui.example.com', acme_email: 'ada@example.com' };
  expect((await t.send('config.update', body)).status).toBe(200);
  const asked = await t.call('ssl.issue', { force: true });
  expect(asked).toEqual({ status: 'pending' });
});
afterEach(() => t.close());

const row = () => readCertificate(t.app);
/** An authority whose answer fails when the test says so. */
function authority(): { readonly options: KeeperOptions; readonly fail: () => void; readonly asked: () => number } {
  const { promise, reject } = Promise.withResolvers<Response>();
  promise.catch(() => undefined);
  let count = 0;
  const ask: KeeperOptions['ask'] = (_url, init) => {
    count++;
    init?.signal?.addEventListener('abort', () => reject(new Error('The order was aborted.')));
    return promise;
  };
  return { options: { ask }, fail: () => reject(new Error('The authority is away.')), asked: () => count };
}

test('a requested order stands until it has ended, also when its server goes away meanwhile', async () => {
  const first = authority();
  const stop = keepCertificate(t.app, first.options);
  await until(() => first.asked() > 0);
  expect(await row()).toMatchObject({ forced: true, requested_at: expect.any(String) });
  stop();
  first.fail();
  await until(async () => (await t.app.store.db.$count(t.app.store.tables.leases)) === 0);
  expect(await row()).toMatchObject({ forced: true, requested_at: expect.any(String), last_error: null });

  const second = authority();
  const end = keepCertificate(t.app, second.options);
  await until(() => second.asked() > 0);
  second.fail();
  await until(async () => (await row()).last_error !== null);
  await until(async () => (await row()).requested_at === null);
  expect(await row()).toMatchObject({ forced: false, failures: 1 });
  end();
});

test('a request that comes during an order is another one', async () => {
  const { options, asked, fail } = authority();
  const end = keepCertificate(t.app, options);
  await until(() => asked() > 0);
  await writeCertificate(t.app, { requested_at: '2026-03-01T12:00:01.000Z', forced: true });
  fail();
  await until(async () => (await row()).failures === 2);
  await until(async () => (await row()).requested_at === null);
  end();
});

test('a retry that a clock put too far ahead is not waited for', async () => {
  const first = authority();
  const stop = keepCertificate(t.app, first.options);
  await until(() => first.asked() > 0);
  first.fail();
  await until(async () => (await row()).failures === 1);
  await until(async () => (await row()).requested_at === null);
  stop();
  const ahead = (hours: number) => new Date(t.app.clock().getTime() + hours * 3_600_000).toISOString();
  await writeCertificate(t.app, { next_try_at: ahead(7) });
  const waits = authority();
  const end = keepCertificate(t.app, waits.options);
  await Bun.sleep(300);
  expect(waits.asked()).toBe(0);
  end();
  await writeCertificate(t.app, { next_try_at: ahead(24 * 30) });
  const again = authority();
  const over = keepCertificate(t.app, again.options);
  await until(() => again.asked() > 0);
  over();
  again.fail();
});
