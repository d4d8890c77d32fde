import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from '#core/process/env.ts';
import { createLog } from '#core/process/log.ts';
import { hostOptions } from '#mcp-host/setup.ts';
import { snapshotOf } from '#test/mcp-host/support.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';

/** The port that the host is configured for belongs to this installation, whatever `SVC_FASTMCP_PORT` says. */
describe.skipIf(!reachable.postgres)('the port of the host is no database (needs PostgreSQL, on a port of this machine)', () => {
  let t: TestApp;
  let database: TestDatabase;
  let port = 0;
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    port = database.settings.port ?? 0;
    t = await testApp();
    await t.signIn();
  });
  afterAll(async () => {
    await t.close();
    await database.drop();
  });

  const attempt = async () => {
    const { db_type, host, username, database: name } = database.settings;
    const body = { name: 'shop', db_type, host, port, username, password: 'x', database: name };
    return await t.call('connections.test_draft', body);
  };
  const listenOn = async (next: number) => expect((await t.send('config.update', { port: next })).status).toBe(200);

  test('of the configuration, before it is deployed', async () => {
    expect(await attempt()).toMatchObject({ success: true });
    await listenOn(port);
    expect(await attempt()).toMatchObject({ success: false, code: 'private_network_blocked' });
    await listenOn(8080);
    expect(await attempt()).toMatchObject({ success: true });
  });

  test('that a connected host says it listens on', async () => {
    const end = t.app.hosts.connect('h1', () => undefined);
    const ack = { boot_id: 'b', version: null, checksum: null, load_ms: null, error: null, request_id: null };
    t.app.hosts.acknowledge('h1', { ...ack, url: `http://0.0.0.0:${port}` });
    expect(await attempt()).toMatchObject({ success: false, code: 'private_network_blocked' });
    end();
    expect(await attempt()).toMatchObject({ success: true });
  });

  test('of what a host serves, for the host itself', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-own-'));
    const { env } = parseEnv('host', {
      SVC_ENV: 'dev',
      SVC_KV: 'memory',
      SVC_ENCRYPTION_KEY: 'k'.repeat(32),
      SVC_AGENT_SERVICE_TOKEN: 't'.repeat(32),
      SVC_DATA_DIR: directory,
      SVC_ALLOW_PRIVATE_NETWORKS: 'true',
    });
    const options = await hostOptions(
      env,
      createLog('ERROR', () => undefined),
    );
    const source = await options.openSource(database.settings);
    const failure = () =>
      source.test().then(
        () => null,
        (error: { code: string }) => error.code,
      );
    const { server } = snapshotOf(1, {}).content;
    options.onServe?.({ ...server, port });
    expect(await failure()).toBe('private_network_blocked');
    options.onServe?.(server);
    expect(await failure()).toBeNull();
    await source.close();
    rmSync(directory, { recursive: true, force: true });
  });
});
