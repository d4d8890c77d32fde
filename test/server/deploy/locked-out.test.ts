import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { clearSnapshotCache } from '#core/versions/stored-snapshots.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const patch = (body: object) => t.send('config.update', body);

describe('settings with which no caller gets in', () => {
  const CASES: [string, string, object][] = [
    ['oauth_introspection', 'introspection_url', { introspection_url: 'https://93.184.215.14/introspect' }],
    ['oauth_credentials', 'oauth_clients', { oauth_clients: [{ client_id: 'app', client_secret: 'a secret' }] }],
  ];
  const deploy = (body = {}) => t.send('deploy.run', body);
  test.each(CASES)('%s without %s: the change warns, the deploy is refused', async (auth_type, field, repair) => {
    connectHost(t.app);
    await deploy();
    const changed = await patch({ auth_type });
    expect([changed.status, changed.body.warnings]).toEqual([200, [expect.stringContaining(field)]]);
    for (const body of [{}, { dry_run: true }]) {
      const refused = await deploy(body);
      expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining(field)]);
      expect(isErrorBody(refused.body)).toBe(true);
    }
    expect(await t.call('deploy.status', {})).toMatchObject({ status: 'running', snapshot_version: 1 });
    // What listens nowhere asks nobody.
    expect((await patch({ transport: 'stdio' })).body.warnings).toEqual([]);
    expect((await deploy()).status).toBe(200);
    expect((await patch({ transport: 'http', ...repair })).body.warnings).toEqual([]);
    expect((await deploy()).status).toBe(200);
  });

  test.each(CASES)('an import of %s without %s says so too', async (auth_type, field) => {
    const body = { format: 'sluice/1', server_config: { auth_type } };
    const { body: report } = await t.request('POST', '/api/v1/export-import/import?include_server_config=true', { body });
    expect(report['warnings']).toEqual([expect.objectContaining({ message: expect.stringContaining(field) })]);
    expect((await t.call('transfer.export', {})).server_config).not.toHaveProperty('warnings');
  });

  test('an earlier snapshot of that kind is not served again', async () => {
    connectHost(t.app);
    await deploy();
    const { blobs } = t.app.store.tables;
    const [row] = await t.app.store.db.select().from(blobs).where(eq(blobs.kind, 'server'));
    const text = (row?.text ?? '').replace('"auth_type":"none"', '"auth_type":"oauth_introspection"');
    await t.app.store.write((tx) => tx.update(blobs).set({ text }).where(eq(blobs.kind, 'server')));
    clearSnapshotCache(t.app);
    const refused = await t.send('snapshots.activate', { version: 1 });
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('introspection_url')]);
  });
});
