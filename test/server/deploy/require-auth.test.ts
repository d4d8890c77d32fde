import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultSettings } from '#core/settings/settings.ts';
import { parseEnv } from '#core/process/env.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';
import { listeningServer } from '#test/support/server.ts';

let t: TestApp;
/** Of the app of this test; the last one starts another kind. */
let close: (() => Promise<void>) | null = null;
afterEach(async () => {
  await close?.();
  close = null;
});

const PRODUCTION = Object.fromEntries(
  ['SVC_ENCRYPTION_KEY', 'SVC_JWT_SECRET', 'SVC_AGENT_SERVICE_TOKEN', 'REDIS_PASSWORD'].map((name) => [
    name,
    `${name}-0f9a7c3b5d1e8246a0c4e6f8b2d47591`,
  ]),
);

const patch = (body: object) => t.send('config.update', body);
const versions = async () => (await t.app.store.db.select().from(t.app.store.tables.snapshots)).length;

async function start(variables: Record<string, string>): Promise<void> {
  t = await testApp(variables);
  close = () => t.close();
  await t.signIn();
  connectHost(t.app);
}

test('an installation that requires authentication refuses what anyone could call, and says what to change', async () => {
  await start({ SVC_REQUIRE_AUTH: 'true' });
  await patch({ host: '0.0.0.0' });
  const refused = await t.send('deploy.run');
  expect([refused.status, isErrorBody(refused.body)]).toEqual([422, true]);
  for (const word of ['SVC_REQUIRE_AUTH', 'auth_type', '127.0.0.1']) expect(refused.body.detail).toContain(word);
  expect((await t.send('deploy.run', { dry_run: true })).status).toBe(422);
  expect(await versions()).toBe(0);
  expect((await t.call('deploy.status', {})).status).not.toBe('running');

  await patch({ auth_type: 'bearer' });
  expect(await t.send('deploy.run')).toMatchObject({ status: 200, body: { warnings: [] } });
  await patch({ auth_type: 'none', host: '127.0.0.1' });
  expect((await t.send('deploy.run')).status).toBe(200);
});

test('a new development installation listens on this machine only, elsewhere a deploy names the risk', async () => {
  await start({});
  expect((await t.call('config.get', {})).host).toBe('127.0.0.1');
  const coming = async () => (await t.call('deploy.diff', {})).warnings;
  expect(await coming()).toEqual([]);
  await patch({ host: '0.0.0.0' });
  expect(await coming()).toEqual([expect.stringContaining('anyone who can reach the port')]);
  await patch({ auth_type: 'bearer' });
  expect(await coming()).toEqual([]);
  expect(defaultSettings(parseEnv('server', PRODUCTION).env).host).toBe('0.0.0.0');
});

test('an earlier snapshot without authentication is not served again either', async () => {
  await start({});
  await patch({ host: '0.0.0.0' });
  expect(String((await t.send('deploy.run')).body.warnings)).toContain('no credentials');
  await patch({ auth_type: 'bearer' });
  await t.send('deploy.run');
  Object.assign(t.app.env, { SVC_REQUIRE_AUTH: true });
  expect((await t.send('snapshots.activate', { version: 1 })).status).toBe(422);
  expect((await t.call('deploy.status', {})).snapshot_version).toBe(2);
});

test('what anyone may call is said at the deploy, in its log, and for as long as it is served', async () => {
  await start({});
  const standing = async () => (await t.call('deploy.status', {})).warnings;
  const logged = () =>
    t.log.filter(({ message, ...line }) => message === 'deploy warning' && JSON.stringify(line).includes('anyone who can reach'))
      .length;
  await patch({ host: '127.evil.example' });
  expect(await standing()).toEqual([]);
  expect(await t.send('deploy.run')).toMatchObject({
    status: 200,
    body: { warnings: [expect.stringContaining('127.evil.example')] },
  });
  expect(await standing()).toEqual([expect.stringContaining('anyone who can reach the port')]);
  expect(logged()).toBe(1);
  await t.call('deploy.stop', {});
  expect(await standing()).toEqual([]);
  await patch({ auth_type: 'bearer' });
  await t.send('deploy.run');
  expect(await standing()).toEqual([]);
  expect(logged()).toBe(1);
});

test('a front port that hands calls on is a way in too', async () => {
  await start({ SVC_BIND: '0.0.0.0' });
  await patch({ host: '127.0.0.1' });
  const standing = async () => (await t.call('deploy.status', {})).warnings;
  expect(await t.send('deploy.run')).toMatchObject({ status: 200, body: { warnings: [] } });
  expect((await patch({ mcp_proxy: true })).status).toBe(200);
  expect(await standing()).toEqual([expect.stringContaining('mcp_proxy')]);
  expect(await t.send('deploy.run')).toMatchObject({ status: 200, body: { warnings: [expect.stringContaining('mcp_proxy')] } });

  Object.assign(t.app.env, { SVC_REQUIRE_AUTH: true });
  expect((await t.send('deploy.run')).status).toBe(422);
  expect((await patch({ mcp_proxy: false })).status).toBe(200);
  expect((await t.send('deploy.run')).status).toBe(200);
  const refused = await patch({ mcp_proxy: true });
  expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('Deploy another auth_type first')]);
  expect((await patch({ mcp_proxy: true, auth_type: 'bearer' })).status).toBe(422);
  await patch({ auth_type: 'bearer' });
  await t.send('deploy.run');
  expect((await patch({ mcp_proxy: true })).status).toBe(200);
  expect(await standing()).toEqual([]);
});

test('a version from before authentication was required is not served after a restart, with the reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-required-'));
  const database = `file:${join(folder, 'sluice.sqlite')}`;
  try {
    const before = await listeningServer(database);
    await before.signIn();
    connectHost(before.server.app);
    await before.call('config.update', { host: '0.0.0.0' });
    expect((await before.send('deploy.run')).status).toBe(200);
    await before.server.stop();

    const after = await listeningServer(database, { SVC_REQUIRE_AUTH: 'true' });
    await after.signIn();
    const told = after.lines.find(({ level, message }) => level === 'ERROR' && message.includes('not served'));
    expect(String(told?.fields?.['reason'])).toContain('SVC_REQUIRE_AUTH');
    const stream = await fetch(`${after.url}/api/internal/hosts/stream?id=h9`, {
      headers: { 'x-service-token': after.service_token },
    });
    const reader = stream.body?.getReader();
    let text = '';
    while (!/event: (stop|snapshot)/.test(text)) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    expect(text).not.toContain('event: snapshot');
    const status = async () => await after.call('deploy.status', {});
    expect(await status()).toMatchObject({ status: 'error', last_error: expect.stringContaining('auth_type') });
    expect((await after.call('server.health', {})).status).toBe('error');
    connectHost(after.server.app);
    await after.call('config.update', { auth_type: 'bearer' });
    expect((await after.send('deploy.run')).status).toBe(200);
    expect(await status()).toMatchObject({ status: 'running', last_error: null });
    await after.stop();
    rmSync(before.directory, { recursive: true, force: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
