import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_GATES, DEPLOY_GATES, GATE_NAMES } from '#core/contract/settings/deploy-gates.ts';
import { GATES } from '#core/deploy/gates/index.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

/** What gates do with their findings, in each mode, and who may pass them. */
let t: TestApp;
let tool: string;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  connectHost(t.app);
  mkdirSync(join(t.directory, 'databases'));
  new Database(join(t.directory, 'databases/shop.sqlite')).run('create table products (id integer primary key, name text)');
  const connection = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const made = await t.call('tools.create', {
    connection_id: connection.id,
    name: 'products',
    description: 'All products',
    sql_query: 'select id, name from products',
  });
  tool = made.id;
  expect((await deployWith()).status).toBe(200);
  await t.call('tools.update', { id: tool, sql_query: 'select id from products' });
});
afterEach(() => t.close());

const GONE = 'Tool products: name is no longer in the result of this tool.';
const PROBLEM = { accept: 'application/problem+json' };
const deployWith = (body: object = {}, headers?: Record<string, string>) =>
  t.send('deploy.run', body, { headers: { ...PROBLEM, ...headers }, anonymous: headers !== undefined });
const setGates = (deploy_gates: unknown) => t.send('config.update', { deploy_gates });
const version = async () => (await t.call('deploy.status', {})).snapshot_version;
const newest = async () => {
  const page = await t.call('history.list', { entity_type: 'snapshot', limit: 1 });
  return (page.items as { changes: Record<string, { new: unknown }>; actor: unknown }[])[0];
};
async function bearer(scopes: string[]): Promise<Record<string, string>> {
  const made = await t.send('agent_tokens.create', { name: 'ci', duration_minutes: 60, scopes });
  return { authorization: `Bearer ${made.body.token}` };
}

test('every gate that has a mode has a check, and the defaults are read', async () => {
  const answer = await t.call('config.get', {});
  expect(answer.deploy_gates).toEqual(DEFAULT_GATES);
  for (const name of GATE_NAMES) expect(GATES.filter((gate) => gate.name === name)).toHaveLength(1);
});

test('a gate warns, blocks or is off, for dry runs too', async () => {
  expect((await deployWith({ dry_run: true })).body.warnings).toEqual([GONE]);
  expect((await setGates({ breaking: 'block' })).status).toBe(200);
  for (const body of [{ dry_run: true }, {}]) {
    const blocked = await deployWith(body);
    expect([blocked.status, blocked.body.code]).toEqual([422, 'gate_failed']);
    expect(blocked.body.detail).toBe(`Blocked by the gate breaking. ${GONE}`);
    expect(blocked.body.errors).toEqual([{ field: 'tool.products', message: GONE, gate: 'breaking' }]);
  }
  expect(await version()).toBe(1);
  await setGates({ breaking: 'off' });
  expect((await deployWith()).body).toMatchObject({ snapshot_version: 2, warnings: [] });
});

test('a blocking gate is passed knowingly, and history says who and why', async () => {
  await setGates({ breaking: 'block' });
  expect((await deployWith({ allow: ['breaking'], dry_run: true })).body).toMatchObject({
    snapshot_version: 1,
    warnings: [GONE],
  });
  const passed = await deployWith({ allow: ['breaking'], note: 'Clients were told' });
  expect(passed.body).toMatchObject({ snapshot_version: 2, warnings: [GONE] });
  expect(await newest()).toMatchObject({
    actor: { type: 'admin', name: 'ada' },
    changes: { note: { new: 'Clients were told' }, allowed: { new: ['breaking'] } },
  });
});

test('opening the server to callers without a credential breaks what reads values of the caller', async () => {
  const most = { name: 'most', type: 'integer', description: 'Most rows', default: 10, required: false };
  const mine = {
    sql_query: 'select id from products where name = :who limit :most',
    parameters: [{ name: 'who', type: 'string', from: 'caller.sub' }, most],
  };
  await t.request('PATCH', `/api/v1/tools/${tool}`, { body: mine });
  await t.request('PATCH', '/api/v1/server/config', { body: { auth_type: 'bearer' } });
  expect((await deployWith()).status).toBe(200);
  await setGates({ breaking: 'block' });
  await t.request('PATCH', '/api/v1/server/config', { body: { auth_type: 'none' } });
  const message =
    'With auth_type none callers are not known, and Tool products read values of the caller. Calls that need them are refused.';
  const blocked = await deployWith();
  expect([blocked.status, blocked.body['errors']]).toEqual([
    422,
    [{ field: 'server_config.auth_type', message, gate: 'breaking' }],
  ]);
  // Nothing reads them any more.
  await t.request('PATCH', `/api/v1/tools/${tool}`, {
    body: { sql_query: 'select id from products limit :most', parameters: [most] },
  });
  expect((await deployWith()).status).toBe(200);
});

test('what had nothing to pass is not said to have been passed', async () => {
  await setGates({ breaking: 'warn' });
  await deployWith({ allow: ['breaking'] });
  expect(Object.keys((await newest())?.changes ?? {})).not.toContain('allowed');
});

test('restoring a version passes the same gates', async () => {
  await deployWith();
  await t.call('tools.update', { id: tool, sql_query: 'select id, name from products' });
  await deployWith();
  await setGates({ breaking: 'block' });
  const restore = (body: object) => t.send('snapshots.activate', { version: 2, ...body });
  const blocked = await restore({});
  expect([blocked.status, blocked.body.errors]).toEqual([422, [{ field: 'tool.products', message: GONE, gate: 'breaking' }]]);
  expect(await version()).toBe(3);
  expect((await restore({ allow: ['breaking'], note: 'Outage' })).body).toMatchObject({ snapshot_version: 2, warnings: [GONE] });
  expect((await newest())?.changes).toMatchObject({ allowed: { new: ['breaking'] }, note: { new: 'Outage' } });
});

test('tokens pass gates only with the scope deploy, and never those that people pass alone', async () => {
  await setGates({ breaking: 'block' });
  const writes = await deployWith({ allow: ['breaking'] }, await bearer(['read', 'write']));
  expect([writes.status, writes.body.code]).toEqual([403, 'insufficient_scope']);
  const headers = await bearer(['read', 'deploy']);
  for (const name of GATE_NAMES.filter((gate) => DEPLOY_GATES[gate].people_only === true)) {
    for (const dry_run of [true, false]) {
      const refused = await deployWith({ allow: [name], dry_run }, headers);
      expect([refused.status, refused.body.code]).toEqual([403, 'admin_only']);
    }
  }
  expect(await version()).toBe(1);
  expect((await deployWith({ allow: ['breaking'] }, headers)).body).toMatchObject({ snapshot_version: 2 });
  expect(await newest()).toMatchObject({
    actor: { type: 'agent_token', name: 'ci' },
    changes: { allowed: { new: ['breaking'] } },
  });
});

test('modes are an administrator’s, a gate that is left out keeps its own, and unknown ones are refused', async () => {
  const headers = await bearer(['read', 'write', 'deploy']);
  const byToken = await t.send('config.update', { deploy_gates: { breaking: 'off' } }, { anonymous: true, headers });
  expect(byToken.status).toBe(403);
  await setGates({ breaking: 'block' });
  expect((await setGates({})).body.deploy_gates).toMatchObject({ breaking: 'block' });
  for (const wrong of [{ prepare: 'off' }, { breaking: 'maybe' }, 'off']) expect((await setGates(wrong)).status).toBe(422);
  expect((await deployWith({ allow: ['prepare'] })).status).toBe(422);
});

test('settings that were stored before a gate came have its default', async () => {
  const { server_config } = t.app.store.tables;
  await setGates({ breaking: 'block' });
  await t.app.store.db.update(server_config).set({ settings: { deploy_gates: {} } });
  expect((await t.call('config.get', {})).deploy_gates).toEqual(DEFAULT_GATES);
});
