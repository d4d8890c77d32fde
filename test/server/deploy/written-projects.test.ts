import { afterEach, beforeEach, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp({}, undefined, { writes_projects: true });
  await t.signIn();
});
afterEach(() => t.close());

const tool = async () => {
  const { body } = await t.request('POST', '/api/v1/connections/sample', { body: {} });
  const draft = { connection_id: body['id'], name: 'one', description: 'The number one', sql_query: 'select 1 as n' };
  await t.request('POST', '/api/v1/tools', { body: draft });
};

test('generated projects go with their snapshots, and drafts that were left behind with them', async () => {
  const folder = t.app.env.SVC_GENERATED_DIR;
  for (const name of ['3', '7.4711.draft', '150', 'notes', '9.txt']) mkdirSync(join(folder, name), { recursive: true });
  const { snapshots } = t.app.store.tables;
  await tool();
  await t.call('deploy.run', {});
  await t.app.store.write(async (tx) => {
    await tx.update(snapshots).set({ version: 149 });
    await tx.update(t.app.store.tables.deployment).set({ active_version: 149 });
  });
  t.app.snapshot_cache.versions.clear();
  await t.request('PATCH', '/api/v1/server/config', { body: { server_name: 'Shop' } });
  expect((await t.call('deploy.run', {})).snapshot_version).toBe(150);
  await until(() => readdirSync(folder).length <= 3);
  expect(readdirSync(folder).toSorted()).toEqual(['150', '9.txt', 'notes']);
}, 60_000);

test('a generated project that lacks a file is written again by a deploy that changes nothing', async () => {
  const readme = join(t.app.env.SVC_GENERATED_DIR, '1', 'README.md');
  const source = join(t.app.env.SVC_GENERATED_DIR, '1', 'src/main.ts');
  const settled = () => until(async () => existsSync(readme) && !t.app.generated_lock.busy());
  await tool();
  await t.call('deploy.run', {});
  await settled();
  await Bun.write(source, '// mine');
  expect((await t.call('deploy.run', {})).changed).toBe(false);
  // The deploy looks at the folder a moment later.
  await until(() => t.app.generated_lock.busy());
  await settled();
  expect(await Bun.file(source).text()).toBe('// mine');
  rmSync(readme);
  await t.call('deploy.run', {});
  await settled();
  expect(readFileSync(readme, 'utf8')).toContain('snapshot 1');
  expect(await Bun.file(source).text()).not.toBe('// mine');
  await t.request('PATCH', '/api/v1/server/config', { body: { server_name: 'Shop' } });
  await t.call('deploy.run', {});
  rmSync(t.app.env.SVC_GENERATED_DIR, { recursive: true });
  expect((await t.request('POST', '/api/v1/snapshots/1/activate', { body: {} })).status).toBe(200);
  await settled();
}, 60_000);
