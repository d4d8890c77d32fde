import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectHost } from '#test/support/host.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { peopleOf } from '#test/support/people.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
let folder: string;
let ref: string;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  folder = mkdtempSync(join(tmpdir(), 'sluice-refs-'));
  writeFileSync(join(folder, 'shop'), 'canary\n');
  ref = `file:${folder}/shop`;
});
afterEach(async () => {
  await t.close();
  rmSync(folder, { recursive: true, force: true });
});

const draft = { name: 'pg', db_type: 'postgresql', host: '127.0.0.1', port: 1, database: 'x', username: 'x' } as const;
const allow = (...secret_refs: string[]) => t.call('config.update', { secret_refs });

describe('a connection', () => {
  test('takes a reference that the setting allows, and shows it wherever the secret would be', async () => {
    const refused = await t.send('connections.create', { ...draft, password: { ref } });
    expect(refused.body.errors).toEqual([{ field: 'password', message: expect.stringContaining('does not allow') }]);
    expect((await t.send('connections.test_draft', { ...draft, password: { ref } })).status).toBe(422);
    expect((await t.send('connections.create', { ...draft, password: { ref: 'file:shop' } })).body.errors).toMatchObject([
      { field: 'password', message: expect.stringContaining('must be env:NAME') },
    ]);
    expect((await t.call('connections.list', {})).total).toBe(0);
    await allow(`file:${folder}/`);
    const made = await t.call('connections.create', { ...draft, password: { ref } });
    expect(made).toMatchObject({ password: { ref }, password_set: true, ssl_key_set: false });
    expect(await t.call('connections.get', { id: made.id })).toEqual(made);
    const moved = { ref: `file:${folder}/other` };
    await t.call('connections.update', { id: made.id, password: moved });
    const [entry] = (await t.call('history.list', { entity_type: 'connection' })).items;
    expect(entry?.changes).toEqual({ password: { old: { ref }, new: moved } });
    await t.call('history.rollback', { history_id: entry?.id ?? '' });
    expect((await t.call('connections.get', { id: made.id })).password).toEqual({ ref });
    const exported = await t.call('transfer.export', {});
    expect(exported.connections).toMatchObject([{ name: 'pg', password: { ref } }]);
    const again = await t.call('transfer.import', { ...exported, mode: 'overwrite' });
    expect([again.updated.connections, again.skipped.connections]).toEqual([0, 1]);
    expect(JSON.stringify([made, exported, t.log, await t.call('history.list', {})])).not.toContain('canary');
    const plain = await t.call('connections.update', { id: made.id, password: 'text' });
    expect([plain.password, plain.password_set]).toEqual([undefined, true]);
  });

  test('cannot be imported with a reference that is not allowed', async () => {
    await allow(`file:${folder}/`);
    await t.call('connections.create', { ...draft, password: { ref } });
    const exported = await t.call('transfer.export', {});
    await allow();
    // The stored one stays.
    expect((await t.send('transfer.import', { ...exported, mode: 'overwrite' })).status).toBe(200);
    const [first] = exported.connections;
    const renamed = { ...exported, connections: [{ ...first, name: 'second' }] };
    expect((await t.send('transfer.import', renamed)).status).toBe(422);
    expect((await t.call('connections.list', {})).total).toBe(1);
  });

  test('takes no reference from a token, and a person without the rights of an administrator cannot move it', async () => {
    await allow(`file:${folder}/`);
    const made = await t.call('connections.create', { ...draft, password: { ref } });
    const { token } = await t.call('agent_tokens.create', { name: 'agent', scopes: ['read', 'write'], duration_minutes: 60 });
    const body = { ...draft, name: 'other', password: { ref } };
    const headers = { authorization: `Bearer ${token}`, accept: 'application/problem+json' };
    const refused = await t.request('POST', '/api/v1/connections', { body, headers, anonymous: true });
    expect([refused.status, refused.body]).toMatchObject([403, { code: 'admin_only', errors: [{ field: 'password' }] }]);
    const editor = await peopleOf(t).join(t, { username: 'eve', role: 'editor' });
    for (const change of [{ host: 'evil.example' }, { host: 'evil.example', password: { ref } }]) {
      const { status, body: answer } = await editor.send('connections.update', { id: made.id, ...change });
      expect([status, answer.code]).toEqual([422, 'secret_required']);
    }
    expect((await editor.send('config.update', { secret_refs: ['file:/'] })).status).toBe(403);
    expect(await t.call('connections.get', { id: made.id })).toMatchObject({ host: '127.0.0.1', version: 1 });
  });

  test('whose reference is no longer allowed is not deployed; one that the server cannot read is a warning', async () => {
    connectHost(t.app);
    await allow(`file:${folder}/`);
    const missing = `file:${folder}/none`;
    const { id: connection_id } = await t.call('connections.create', { ...draft, password: { ref: missing } });
    const tool = { name: 'one', description: 'One', sql_query: 'select 1 as one', connection_id };
    expect((await t.call('tools.create', tool)).warnings).toContainEqual(expect.stringContaining(missing));
    const deployed = await t.call('deploy.run', {});
    expect(deployed.warnings).toContainEqual(expect.stringContaining(`The secret ${missing} does not exist`));
    await allow();
    const refused = await t.send('deploy.run', {});
    expect(refused.body).toMatchObject({ code: 'cannot_deploy', detail: expect.stringContaining(missing) });
  });
});

test.skipIf(!reachable.mysql)('a test of a connection reads the secret, also right after it was changed', async () => {
  const database = await testDatabase('mysql');
  const account = `r${crypto.randomUUID().slice(0, 8)}`;
  try {
    await database.run(`create user '${account}'@'127.0.0.1' identified by 'canary'`);
    await database.run(`grant select on ${database.settings.database}.* to '${account}'@'127.0.0.1'`);
    await allow(`file:${folder}/`);
    const { host, port, database: name } = database.settings;
    const shop = { name: 'shop', db_type: 'mysql', host, port, database: name, username: account, password: { ref } } as const;
    expect(await t.call('connections.test_draft', shop)).toMatchObject({ success: true });
    const { id } = await t.call('connections.create', shop);
    await database.run(`alter user '${account}'@'127.0.0.1' identified by 'canary-two'`);
    expect(await t.call('connections.test', { id })).toMatchObject({ success: false, code: 'auth_failed' });
    writeFileSync(join(folder, 'shop'), 'canary-two');
    // A secret that was refused twice is read again after a second.
    await until(async () => (await t.call('connections.test', { id })).success);
    expect(JSON.stringify(t.log)).not.toContain('canary');
  } finally {
    await database.run(`drop user '${account}'@'127.0.0.1'`);
    await database.drop();
  }
});

test('the settings and identity providers take references, and show them', async () => {
  const secrets = {
    introspection_client_secret: { ref },
    dns_provider: 'cloudflare' as const,
    dns_credentials: { ref },
    oauth_clients: [{ client_id: 'app', client_secret: { ref } }],
  };
  const refused = await t.send('config.update', secrets);
  expect(refused.body.errors?.map(({ field }) => field).toSorted()).toEqual([
    'dns_credentials',
    'introspection_client_secret',
    'oauth_clients.0.client_secret',
  ]);
  // One change can allow and use them.
  const config = await t.call('config.update', { ...secrets, secret_refs: [`file:${folder}/`] });
  expect(config).toMatchObject({ ...secrets, introspection_client_secret_set: true, dns_credentials_set: true });
  const { server_config } = await t.call('transfer.export', {});
  expect(server_config).toMatchObject(secrets);
  const provider = await t.call('identity_providers.create', {
    name: 'Keycloak',
    issuer: 'https://login.example.com/realms/shop',
    client_id: 'sluice',
    client_secret: { ref },
  });
  expect(provider).toMatchObject({ client_secret: { ref }, client_secret_set: true });
  const moved = await t.send('identity_providers.update', { id: provider.id, issuer: 'https://other.example.com' });
  expect(moved.body.code).toBe('secret_required');
  expect((await t.call('transfer.export', {})).server_config['identity_providers']).toMatchObject([{ client_secret: { ref } }]);
  expect(JSON.stringify([config, provider, t.log])).not.toContain('canary');
});

test('a token cannot restore a version whose connection has a reference and another address', async () => {
  connectHost(t.app);
  await allow(`file:${folder}/`);
  const made = await t.call('connections.create', { ...draft, password: { ref } });
  await t.call('tools.create', { name: 'one', description: 'One', sql_query: 'select 1 as one', connection_id: made.id });
  const { snapshot_version } = await t.call('deploy.run', {});
  await t.call('connections.update', { id: made.id, host: '127.0.0.2', password: { ref: `file:${folder}/other` } });
  await t.call('deploy.run', {});
  const { token } = await t.call('agent_tokens.create', {
    name: 'agent',
    scopes: ['read', 'write', 'deploy'],
    duration_minutes: 60,
  });
  const headers = { authorization: `Bearer ${token}`, accept: 'application/problem+json' };
  const path = `/api/v1/snapshots/${snapshot_version}/activate`;
  const refused = await t.request('POST', path, { body: {}, headers, anonymous: true });
  expect([refused.status, refused.body['code']]).toEqual([422, 'secret_required']);
});
