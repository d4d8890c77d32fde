import { afterEach, expect, test } from 'bun:test';
import { type Answer, isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

let t: TestApp;
afterEach(() => t.close());

const patch = (body: object) => t.request('PATCH', '/api/v1/server/config', { body });
const deploy = (): Promise<Answer> => t.request('POST', '/api/v1/deploy', { body: {} });
const versions = async () => (await t.app.store.db.select().from(t.app.store.tables.snapshots)).length;

async function start(variables: Record<string, string>): Promise<void> {
  t = await testApp(variables);
  await t.signIn();
  connectHost(t.app);
}

test('an installation that requires authentication refuses what anyone could call, and says what to change', async () => {
  await start({ SVC_REQUIRE_AUTH: 'true' });
  await patch({ host: '0.0.0.0' });
  const refused = await deploy();
  expect([refused.status, isErrorBody(refused.body)]).toEqual([422, true]);
  for (const word of ['SVC_REQUIRE_AUTH', 'auth_type', '127.0.0.1']) expect(refused.body['detail']).toContain(word);
  expect((await t.request('POST', '/api/v1/deploy', { body: { dry_run: true } })).status).toBe(422);
  expect(await versions()).toBe(0);
  expect((await t.request('GET', '/api/v1/deploy/status')).body['status']).not.toBe('running');

  await patch({ auth_type: 'bearer' });
  expect(await deploy()).toMatchObject({ status: 200, body: { warnings: [] } });
  await patch({ auth_type: 'none', host: '127.0.0.1' });
  expect((await deploy()).status).toBe(200);
});

test('an earlier snapshot without authentication is not served again either', async () => {
  await start({});
  await patch({ host: '0.0.0.0' });
  expect(String((await deploy()).body['warnings'])).toContain('no credentials');
  await patch({ auth_type: 'bearer' });
  await deploy();
  Object.assign(t.app.env, { SVC_REQUIRE_AUTH: true });
  expect((await t.request('POST', '/api/v1/snapshots/1/activate', { body: {} })).status).toBe(422);
  expect((await t.request('GET', '/api/v1/deploy/status')).body['snapshot_version']).toBe(2);
});
