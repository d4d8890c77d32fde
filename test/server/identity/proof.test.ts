import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { Secret, TOTP } from 'otpauth';
import { newTotpSecret } from '#core/lib/totp.ts';
import { PROOF_MS } from '#core/context/proof.ts';
import { totpPath } from '#core/identity/account.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, PASSWORD, peopleOf } from '#test/support/people.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let ada: Member;
beforeEach(async () => {
  t = await testApp();
  ada = await peopleOf(t).owner();
});
afterEach(() => t.close());

const later = () => t.advance(PROOF_MS + 1);
const refused = (field: string) => ({ status: 403, body: { code: 'proof_required', errors: [{ field }] } });
const settings = async () => ada.call('config.get', {});

describe('settings', () => {
  test('a session of the last ten minutes is proof enough, an older one has to prove again', async () => {
    await ada.call('config.update', { auth_type: 'oauth' });
    await ada.call('config.update', { auth_type: 'bearer' });
    later();
    const answer = await ada.send('config.update', { auth_type: 'none' });
    expect(answer).toMatchObject(refused('auth_type'));
    expect(answer.body.detail).toContain(
      'Authentication of MCP clients is turned off (auth_type). Confirm that it is you with your password',
    );
    expect((await settings()).auth_type).toBe('bearer');
    const { proved_until } = await ada.call('auth.prove', { password: PASSWORD });
    expect(Date.parse(proved_until)).toBe(t.app.clock().getTime() + PROOF_MS);
    expect((await ada.send('config.update', { auth_type: 'none' })).status).toBe(200);
    later();
    // It is off already, and stronger is never asked.
    expect((await ada.send('config.update', { auth_type: 'none', server_name: 'Shop' })).status).toBe(200);
    expect((await ada.send('config.update', { auth_type: 'oauth' })).status).toBe(200);
    expect(await ada.send('config.update', { auth_type: 'bearer' })).toMatchObject(refused('auth_type'));
  });

  test('other tokens, passwords again and weaker gates need a proof, and stronger ones none', async () => {
    later();
    const issuer = { issuer: 'https://login.example.com', audience: 'shop' };
    expect(await ada.send('config.update', { jwt_issuers: [issuer] })).toMatchObject(refused('jwt_issuers'));
    expect(await ada.send('config.update', { introspection_url: 'https://login.example.com/introspect' })).toMatchObject(
      refused('introspection_url'),
    );
    expect(await ada.send('config.update', { deploy_gates: { tests: 'off' } })).toMatchObject(refused('deploy_gates.tests'));
    expect(await ada.send('config.update', { deploy_gates: { tests: 'warn' } })).toMatchObject(refused('deploy_gates.tests'));
    expect((await ada.send('config.update', { deploy_gates: { lint: 'block' } })).status).toBe(200);
    expect((await ada.send('config.update', { server_name: 'Shop' })).status).toBe(200);
    await ada.call('auth.prove', { password: PASSWORD });
    expect((await ada.send('config.update', { deploy_gates: { tests: 'off' } })).status).toBe(200);
  });

  test('an import and a rollback are no way around it', async () => {
    await ada.call('config.update', { server_name: 'Before' });
    await ada.call('config.update', { auth_type: 'bearer' });
    later();
    const file = { format: 'sluice/1', server_config: { auth_type: 'none' }, include_server_config: true };
    expect((await ada.send('transfer.import', file)).body.code).toBe('proof_required');
    const { items } = await ada.call('history.list', { entity_type: 'server_config' });
    const earlier = items.at(-1)!;
    expect((await ada.send('history.rollback', { history_id: earlier.id })).body.code).toBe('proof_required');
    expect((await settings()).auth_type).toBe('bearer');
  });
});

test('making somebody an owner or administrator needs a proof, by a new account as by a role', async () => {
  const people = peopleOf(t);
  const bob = await people.join(ada, { username: 'bob', role: 'admin' });
  later();
  expect(await ada.send('people.create', { username: 'eve', role: 'owner' })).toMatchObject(refused('role'));
  expect(await ada.send('people.update', { id: bob.id, role: 'owner' })).toMatchObject(refused('role'));
  expect((await ada.send('people.update', { id: bob.id, role: 'editor' })).status).toBe(200);
  // Who may not do it at all is told so, whether or not they prove.
  expect(await ada.send('people.update', { id: bob.id, role: 'admin' })).toMatchObject(refused('role'));
  await ada.call('auth.prove', { password: PASSWORD });
  await ada.call('people.update', { id: bob.id, role: 'admin' });
  await bob.signIn();
  later();
  expect(await bob.send('people.create', { username: 'eve', role: 'owner' })).toMatchObject({
    status: 403,
    body: { code: 'role_required' },
  });
  expect((await ada.call('people.list', {})).total).toBe(2);
  await ada.call('auth.prove', { password: PASSWORD });
  expect((await ada.send('people.update', { id: bob.id, role: 'owner' })).status).toBe(200);
  expect((await ada.send('people.update', { id: bob.id, role: 'owner' })).status).toBe(200);
});

test('removing or widening a mask needs a proof, also by restoring a version, and adding one none', async () => {
  const connection_id = await sqliteConnection({ ...t, call: ada.call }, 'create table customers (id integer, email text)');
  const draft = { connection_id, name: 'customers', description: 'All customers', sql_query: 'select id, email from customers' };
  const tool = await ada.call('tools.create', draft);
  await ada.call('deploy.run', {});
  const masks = [{ column: 'email', mask: 'remove' as const, unless_groups: ['support'] }];
  later();
  expect((await ada.send('tools.update', { id: tool.id, masks })).status).toBe(200);
  expect((await ada.send('deploy.run')).status).toBe(200);
  expect(await ada.send('tools.update', { id: tool.id, masks: [] })).toMatchObject(refused('masks'));
  const wider = [{ ...masks[0]!, unless_groups: ['support', 'all'] }];
  expect(await ada.send('tools.update', { id: tool.id, masks: wider })).toMatchObject(refused('masks'));
  expect((await ada.send('tools.update', { id: tool.id, description: 'Every customer' })).status).toBe(200);
  expect(await ada.send('snapshots.activate', { version: 1 })).toMatchObject(refused('masks'));
  expect((await ada.call('deploy.status', {})).snapshot_version).toBe(2);
  await ada.call('auth.prove', { password: PASSWORD });
  expect((await ada.send('snapshots.activate', { version: 1 })).status).toBe(200);
  expect((await ada.send('tools.update', { id: tool.id, masks: [] })).status).toBe(200);
});

test('restoring a resource without its masks needs a proof', async () => {
  const connection_id = await sqliteConnection({ ...t, call: ada.call }, 'create table customers (id integer, email text)');
  const draft = { connection_id, description: 'All customers', sql_query: 'select id, email from customers' };
  const resource = await ada.call('resources.create', { ...draft, name: 'customers', uri_template: 'shop://customers' });
  await ada.call('deploy.run', {});
  await ada.call('resources.update', { id: resource.id, masks: [{ column: 'email', mask: 'remove', unless_groups: [] }] });
  await ada.call('deploy.run', {});
  later();
  expect(await ada.send('snapshots.activate', { version: 1 })).toMatchObject(refused('masks'));
});

test('a version with weaker authentication is restored only with a proof', async () => {
  await ada.call('deploy.run', {});
  await ada.call('config.update', { auth_type: 'bearer' });
  await ada.call('deploy.run', {});
  later();
  expect(await ada.send('snapshots.activate', { version: 1 })).toMatchObject(refused('auth_type'));
  await ada.call('auth.prove', { password: PASSWORD });
  expect((await ada.send('snapshots.activate', { version: 1 })).status).toBe(200);
  later();
  expect((await ada.send('snapshots.activate', { version: 2 })).status).toBe(200);
});

describe('the proof', () => {
  test('a wrong password proves nothing and counts as a failed sign-in', async () => {
    later();
    for (let n = 0; n < 5; n++) {
      expect((await ada.send('auth.prove', { password: 'guess' })).status).toBe(403);
    }
    expect((await ada.send('auth.prove', { password: PASSWORD })).status).toBe(429);
    expect(await ada.send('config.update', { deploy_gates: { tests: 'off' } })).toMatchObject(refused('deploy_gates.tests'));
    expect((await ada.send('auth.prove', {})).status).toBe(422);
    expect((await ada.send('auth.prove', { password: PASSWORD, code: '000000' })).status).toBe(422);
    expect((await t.send('auth.prove', { password: PASSWORD }, { anonymous: true })).status).toBe(401);
  });

  test('a code of the second factor counts once, also for people without a password', async () => {
    const { people } = t.app.store.tables;
    const secret = newTotpSecret();
    const totp_secret = { $sealed: t.app.keyring.seal(secret, totpPath(ada.id)) };
    later();
    expect(await ada.send('auth.prove', { code: '123456' })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'code' }] },
    });
    await t.app.store.write((tx) =>
      tx.update(people).set({ totp_secret, totp_enabled: true, password_hash: null }).where(eq(people.id, ada.id)),
    );
    expect(await ada.send('auth.prove', { password: PASSWORD })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'password' }] },
    });
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: t.app.clock().getTime() });
    expect((await ada.send('auth.prove', { code })).status).toBe(200);
    expect((await ada.send('config.update', { deploy_gates: { tests: 'off' } })).status).toBe(200);
    expect(await ada.send('auth.prove', { code })).toMatchObject({ status: 400, body: { code: 'wrong_code' } });
  });

  test('counts for its session alone', async () => {
    const first = { ...ada };
    later();
    await ada.call('auth.prove', { password: PASSWORD });
    const { sessions } = t.app.store.tables;
    const rows = await t.app.store.db.select().from(sessions);
    expect(rows.map(({ proved_at }) => proved_at !== null)).toEqual([true]);
    await first.signIn();
    later();
    expect(await first.send('config.update', { deploy_gates: { tests: 'off' } })).toMatchObject(refused('deploy_gates.tests'));
  });

  test('is in the audit log, and so is the refusal', async () => {
    later();
    await ada.send('config.update', { deploy_gates: { tests: 'off' } });
    await ada.call('auth.prove', { password: PASSWORD });
    const { items } = await ada.call('audit.list', {});
    const refusal = items.find(({ detail }) => (detail as { code?: string }).code === 'proof_required');
    expect(refusal).toMatchObject({ kind: 'refusal', outcome: 'refused', detail: { operation: 'config.update' } });
    const proof = items.find(({ detail }) => (detail as { step?: string }).step === 'proof');
    expect(proof).toMatchObject({ kind: 'sign_in', outcome: 'ok', detail: { by: 'password' } });
  });
});

test('a token is refused such changes altogether, with a sentence that names who can make them', async () => {
  const { token } = await ada.call('agent_tokens.create', {
    name: 'ci',
    duration_minutes: 60,
    scopes: ['read', 'write', 'deploy'],
  });
  const { status, body } = await t.request('PATCH', '/api/v1/server/config', {
    anonymous: true,
    headers: { authorization: `Bearer ${token}`, accept: 'application/problem+json' },
    body: { auth_type: 'none', deploy_gates: { tests: 'off' } },
  });
  expect([status, body.code]).toEqual([403, 'admin_only']);
  expect(body.detail).toContain('only by a signed-in administrator');
});
