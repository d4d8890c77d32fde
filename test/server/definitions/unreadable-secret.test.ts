import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eq, sql } from 'drizzle-orm';
import { noteChange } from '#core/store/journal.ts';
import { createKeyring } from '#core/lib/secrets.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

let t: TestApp;
let damaged: string;
let good: string;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  connectHost(t.app);
  mkdirSync(t.app.env.SVC_SQLITE_DIR, { recursive: true });
  new Database(join(t.app.env.SVC_SQLITE_DIR, 'shop.sqlite'), { create: true }).run('create table items (id integer)');
  const make = async (noun: string, body: object) => String((await t.request('POST', `/api/v1/${noun}`, { body })).body['id']);
  good = await make('connections', { name: 'good', db_type: 'sqlite', database: 'shop.sqlite' });
  const network = { db_type: 'postgresql', host: '127.0.0.1', port: 1, database: 'x', username: 'x', password: 'first' };
  damaged = await make('connections', { name: 'damaged', ...network });
  for (const [name, connection_id] of Object.entries({ fine: good, broken: damaged })) {
    await make('tools', { name, connection_id, description: 'Counts.', sql_query: 'select 1 as one' });
  }
  expect((await t.send('deploy.run')).status).toBe(200);
  const foreign = createKeyring(['k'.repeat(40)], new Uint8Array(32));
  const { connections } = t.app.store.tables;
  const password = { $sealed: foreign.seal('first', `connection/${damaged}/password`) };
  // As another server of the installation would see it.
  await t.app.store.write(async (tx) => {
    await noteChange(t.app.store, tx, 'connection', damaged);
    await tx.update(connections).set({ password, version: 9 }).where(eq(connections.id, damaged));
  });
});
afterEach(() => t.close());

test('a secret that no key opens marks its own connection in the health, and nothing else', async () => {
  const health = await t.call('server.health', {});
  expect(health.connections).toEqual([
    { id: damaged, name: 'damaged', healthy: false, lag_ms: null },
    { id: good, name: 'good', healthy: true, lag_ms: null },
  ]);
  const tested = await t.send('connections.test', { id: damaged });
  expect([tested.status, tested.body]).toMatchObject([200, { success: false, message: expect.stringContaining('secret') }]);
  for (const path of ['/deploy/status', '/deploy/diff', '/connections', '/flow', '/export-import/export']) {
    expect([path, (await t.request('GET', `/api/v1${path}`)).status]).toEqual([path, 200]);
  }
});

test('health speaks of what is deployed, whatever the working copy became', async () => {
  const connections = async () => (await t.call('server.health', {})).connections;
  const deployed = [
    { id: damaged, name: 'damaged', healthy: false, lag_ms: null },
    { id: good, name: 'good', healthy: true, lag_ms: null },
  ];
  const file = join(t.app.env.SVC_SQLITE_DIR, 'gone.sqlite');
  new Database(file, { create: true }).run('create table items (id integer)');
  const change = { name: 'moved', database: 'gone.sqlite' };
  expect(await t.call('connections.update', { id: good, ...change })).toMatchObject(change);
  rmSync(file);
  expect(await connections()).toEqual(deployed);
  expect((await t.send('connections.delete', { id: good })).status).toBe(204);
  expect(await connections()).toEqual(deployed);
});

test('a deployed secret that no key opens marks its connection, and no other', async () => {
  const { app } = t;
  const { connections } = app.store.tables;
  const password = {
    $sealed: createKeyring(app.env.SVC_ENCRYPTION_KEY, new Uint8Array(32)).seal('first', `connection/${damaged}/password`),
  };
  await app.store.write(async (tx) => {
    await noteChange(app.store, tx, 'connection', damaged);
    await tx.update(connections).set({ password, version: 10 }).where(eq(connections.id, damaged));
  });
  // The working copy can be read; what is deployed cannot.
  const { blobs } = app.store.tables;
  const text = sql`replace(${blobs.text}, '$sealed":"', '$sealed":"lost')`;
  await app.store.write((tx) => tx.update(blobs).set({ text }).where(eq(blobs.kind, 'connection')));
  app.snapshot_cache.versions.clear();
  const health = await t.send('server.health');
  expect([health.status, health.body.connections]).toEqual([
    200,
    [
      { id: damaged, name: 'damaged', healthy: false, lag_ms: null },
      { id: good, name: 'good', healthy: true, lag_ms: null },
    ],
  ]);
});

test('a deploy names the connection and says what to do; disabled, or with its secret, it deploys', async () => {
  const deploy = () => t.send('deploy.run');
  const refused = await deploy();
  expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('Connection damaged')]);
  expect(refused.body.detail).toContain('disable');
  const patch = (body: object) => t.send('connections.update', { id: damaged, ...body });
  expect((await patch({ enabled: false })).status).toBe(200);
  expect((await deploy()).status).toBe(200);
  expect((await patch({ enabled: true, password: 'first' })).status).toBe(200);
  expect((await deploy()).status).toBe(200);
});
