import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { SYSTEM } from '#core/context/context.ts';
import { PROOF_MS } from '#core/context/proof.ts';
import { run } from '#core/control-plane/run.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, PASSWORD, peopleOf } from '#test/support/people.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let ada: Member;
let bob: Member;
beforeEach(async () => {
  t = await testApp();
  ada = await peopleOf(t).owner();
  bob = await peopleOf(t).join(ada, { username: 'bob', role: 'admin' });
});
afterEach(() => t.close());

const twoPeople = () => ada.call('config.update', { approvals: 1 });
const propose = (note: string) => ({ headers: { 'x-proposal-note': encodeURIComponent(note) } });
const needed = (field: string) => ({ status: 403, body: { code: 'approval_required', errors: [{ field }] } });
const idOf = ({ body }: { readonly body: object }) => String((body as { readonly proposal_id?: string }).proposal_id);
const approve = (by: Member, id: string) => by.send('proposals.approve', { id, version: 1 });

describe('the setting', () => {
  test('needs a second administrator who can sign in, and keeps that many', async () => {
    await ada.call('people.update', { id: bob.id, role: 'editor' });
    await ada.call('people.create', { username: 'eve', role: 'admin' });
    expect(await ada.send('config.update', { approvals: 1 })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'approvals', message: expect.stringContaining('two enabled administrators') }] },
    });
    await ada.call('people.update', { id: bob.id, role: 'admin' });
    await twoPeople();
    for (const change of [{ role: 'editor' as const }, { enabled: false }]) {
      expect((await ada.send('people.update', { id: bob.id, ...change })).body.detail).toContain('Set approvals to 0 first');
    }
    expect((await ada.send('people.delete', { id: bob.id })).status).toBe(409);
    expect((await ada.send('config.update', { approvals: 2 })).status).toBe(422);
  });

  test('is lowered by two people only, and by an operator', async () => {
    await twoPeople();
    expect(await ada.send('config.update', { approvals: 0 })).toMatchObject(needed('approvals'));
    const proposed = await ada.send('config.update', { approvals: 0 }, propose('We are too few'));
    expect(proposed.body).toMatchObject({ proposed: true, approvals: 0 });
    expect((await ada.call('config.get', {})).approvals).toBe(1);
    expect((await approve(bob, idOf(proposed))).status).toBe(200);
    expect((await ada.call('config.get', {})).approvals).toBe(0);
    await twoPeople();
    const call = { actor: SYSTEM, ip: null, user_agent: null, request_id: 'cli' };
    await run(t.app, 'config.update', { approvals: 0 }, call);
    expect((await ada.call('config.get', {})).approvals).toBe(0);
  });
});

describe('a dangerous change of the configuration', () => {
  test('is a proposal that its author cannot approve, and that another administrator proves and approves', async () => {
    await ada.call('config.update', { auth_type: 'oauth' });
    await twoPeople();
    const refused = await ada.send('config.update', { auth_type: 'bearer' });
    expect(refused).toMatchObject(needed('auth_type'));
    expect(refused.body.detail).toContain('repeat the request with the header X-Proposal-Note');
    const id = idOf(await ada.send('config.update', { auth_type: 'bearer' }, propose('The issuer is down – today')));
    const seen = await bob.call('proposals.get', { id });
    expect(seen).toMatchObject({ note: 'The issuer is down – today', author: { type: 'admin', name: 'ada' }, problem: null });
    expect(seen.diff[0]?.values).toMatchObject({ auth_type: { old: 'oauth', new: 'bearer' } });
    const own = await approve(ada, id);
    expect(own).toMatchObject({ status: 403, body: { code: 'approval_required' } });
    expect(own.body.detail).toContain('You proposed this yourself.');
    t.advance(PROOF_MS + 1);
    expect((await approve(bob, id)).body.code).toBe('proof_required');
    expect((await ada.call('config.get', {})).auth_type).toBe('oauth');
    await bob.call('auth.prove', { password: PASSWORD });
    expect((await approve(bob, id)).status).toBe(200);
    expect((await ada.call('config.get', {})).auth_type).toBe('bearer');
    const { items } = await ada.call('history.list', { entity_type: 'server_config' });
    expect(items[0]?.actor).toMatchObject({ name: 'bob', proposal: { id, author: 'ada' } });
  });

  test('in an import, a rollback or a definition is proposed like any other', async () => {
    const connection_id = await sqliteConnection({ ...t, call: ada.call }, 'create table customers (id integer, email text)');
    const draft = {
      connection_id,
      name: 'customers',
      description: 'All customers',
      sql_query: 'select id, email from customers',
    };
    const masks = [{ column: 'email', mask: 'remove' as const, unless_groups: [] }];
    const { id: tool } = await ada.call('tools.create', draft);
    await ada.call('tools.update', { id: tool, masks });
    const { items } = await ada.call('history.list', { entity_type: 'tool' });
    await twoPeople();
    const file = { format: 'sluice/1', server_config: { deploy_gates: { tests: 'off' } }, include_server_config: true };
    expect((await ada.send('transfer.import', file)).body.code).toBe('approval_required');
    expect((await ada.send('history.rollback', { history_id: items[0]!.id })).body.code).toBe('approval_required');
    expect(await ada.send('tools.update', { id: tool, masks: [] })).toMatchObject(needed('masks'));
    const imported = idOf(await ada.send('transfer.import', file, propose('Tests run elsewhere')));
    const shown = idOf(await ada.send('tools.update', { id: tool, masks: [] }, propose('Needed for support')));
    expect(shown).not.toBe(imported);
    expect((await approve(bob, imported)).status).toBe(200);
    expect((await approve(bob, shown)).status).toBe(200);
    expect((await ada.call('config.get', {})).deploy_gates.tests).toBe('off');
    expect((await ada.call('tools.get', { id: tool })).masks).toEqual([]);
  });

  test('of an author who is no administrator any more is not applied', async () => {
    const eve = await peopleOf(t).join(ada, { username: 'eve', role: 'admin' });
    await twoPeople();
    const id = idOf(await eve.send('config.update', { deploy_gates: { tests: 'off' } }, propose('Soon')));
    await ada.call('people.update', { id: eve.id, role: 'editor' });
    expect((await bob.call('proposals.get', { id })).problem).toContain('only by a signed-in administrator');
    expect((await approve(bob, id)).status).toBe(403);
  });
});

describe('a change that is proposed alone', () => {
  test('of a person: the reviewer sees every field, and its secrets in no place', async () => {
    await twoPeople();
    const eve = { username: 'eve', role: 'admin' as const, groups: ['sales'] };
    expect(await ada.send('people.create', eve)).toMatchObject(needed('role'));
    const proposed = await ada.send('people.create', eve, propose('Holidays'));
    expect(proposed.body as object).toEqual({ proposed: true, proposal_id: expect.any(String) });
    const id = idOf(proposed);
    const { operations, diff, problem } = await bob.call('proposals.get', { id });
    expect({ diff, problem }).toEqual({ diff: [], problem: null });
    expect(operations[0]?.summary).toBe(
      'eve becomes an administrator. Sets username "eve", display_name null, email null, role "admin", groups ["sales"], enabled true.',
    );
    expect((await approve(ada, id)).body.code).toBe('approval_required');
    expect((await ada.call('people.list', {})).total).toBe(2);
    expect((await approve(bob, id)).body).toMatchObject({ status: 'approved', closed_by: 'bob' });
    expect((await ada.call('people.list', { search: 'eve' })).items[0]).toMatchObject({ role: 'admin', groups: ['sales'] });
    const provider = {
      name: 'Corp',
      issuer: 'https://login.example.com',
      client_id: 'sluice',
      client_secret: 'swordfish-1',
      groups_claim: 'groups',
      role_by_group: { staff: 'admin' as const },
    };
    const at = idOf(await ada.send('identity_providers.create', provider, propose('One sign-in')));
    const shown = JSON.stringify(await bob.call('proposals.get', { id: at }));
    expect(shown).toContain('People of the group staff of Corp become administrators (role_by_group).');
    expect(shown).not.toContain('swordfish');
  });

  test('of a version: the reviewer sees what the served one loses, and approval serves it', async () => {
    await ada.call('config.update', { auth_type: 'bearer' });
    await ada.call('deploy.run', {});
    await ada.call('config.update', { auth_type: 'oauth' });
    await ada.call('deploy.run', {});
    await twoPeople();
    expect(await ada.send('snapshots.activate', { version: 1 })).toMatchObject(needed('auth_type'));
    const id = idOf(await ada.send('snapshots.activate', { version: 1 }, propose('Clients fail')));
    const seen = await bob.call('proposals.get', { id });
    expect(seen.diff[0]?.values).toMatchObject({ auth_type: { old: 'oauth', new: 'bearer' } });
    expect((await approve(bob, id)).status).toBe(200);
    expect((await ada.call('deploy.status', {})).snapshot_version).toBe(1);
  });

  test('of a candidate from before the protection, which needs a proof without the setting', async () => {
    await ada.call('config.update', { auth_type: 'bearer' });
    await ada.call('deploy.run', {});
    await ada.call('config.update', { instructions: 'Ask for the shop.' });
    const { candidate } = await ada.call('candidates.create', {});
    t.advance(PROOF_MS + 1);
    // The working copy is as weak, and somebody proved that.
    expect((await ada.send('deploy.run', { candidate, dry_run: true })).status).toBe(200);
    await ada.call('config.update', { auth_type: 'oauth' });
    await ada.call('deploy.run', {});
    expect((await ada.send('deploy.run', { candidate })).body).toMatchObject({
      code: 'proof_required',
      errors: [{ field: 'auth_type' }],
    });
    expect((await ada.send('deploy.run', { candidate, canary: { percent: 10, minutes: 10 } })).body.code).toBe('proof_required');
    await ada.call('auth.prove', { password: PASSWORD });
    await bob.signIn();
    await twoPeople();
    const id = idOf(await ada.send('deploy.run', { candidate }, propose('Clients fail')));
    expect((await bob.call('proposals.get', { id })).diff[0]?.values).toMatchObject({
      auth_type: { old: 'oauth', new: 'bearer' },
    });
    expect((await approve(bob, id)).status).toBe(200);
    expect((await ada.call('deploy.status', {})).snapshot_version).toBe(3);
    expect((await ada.send('deploy.run', {}, propose('Back'))).body).toMatchObject({ snapshot_version: 4 });
  });

  test('fails and stays open when the person changed since', async () => {
    await twoPeople();
    const { id: eve, version } = await ada.call('people.create', { username: 'eve' });
    const id = idOf(await ada.send('people.update', { id: eve, version, role: 'admin' }, propose('Holidays')));
    await ada.call('people.update', { id: eve, groups: ['sales'] });
    expect((await approve(bob, id)).body.code).toBe('conflict');
    expect((await bob.call('proposals.get', { id })).status).toBe('open');
  });

  test('takes no other changes, and needs the setting', async () => {
    expect((await ada.send('people.create', { username: 'eve', role: 'admin' }, propose('Now'))).body.detail).toContain(
      'only while approvals is 1',
    );
    await twoPeople();
    const id = idOf(await ada.send('people.create', { username: 'eve', role: 'admin' }, propose('Now')));
    const inside = { headers: { 'x-proposal-id': id } };
    expect((await ada.send('config.update', { server_name: 'Shop' }, inside)).status).toBe(409);
    expect((await ada.send('people.create', { username: 'ivy', role: 'admin' }, inside)).status).toBe(409);
    expect((await bob.send('config.update', { server_name: 'Shop' }, inside)).status).toBe(403);
    expect((await ada.send('files.create_folder', { path: 'a' }, propose('Now'))).status).not.toBe(201);
  });
});

test('one administrator cannot become another: no new password and no second factor less', async () => {
  t.advance(PROOF_MS + 1);
  expect((await ada.send('people.invite', { id: bob.id })).body.code).toBe('proof_required');
  await ada.call('auth.prove', { password: PASSWORD });
  expect((await ada.send('people.invite', { id: bob.id })).status).toBe(200);
  await twoPeople();
  const refused = await ada.send('people.invite', { id: bob.id });
  expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(refused.body.detail).toContain('sluice reset-password --username bob');
  const { people } = t.app.store.tables;
  await t.app.store.write((tx) => tx.update(people).set({ totp_enabled: true }));
  expect(await ada.send('people.reset_2fa', { id: bob.id })).toMatchObject(needed('id'));
});

test('people propose harmless changes too, each on its own unless they name a proposal', async () => {
  const first = await ada.send('config.update', { server_name: 'Shop' }, propose('A better name'));
  const second = await ada.send(
    'config.update',
    { instructions: 'Ask for the shop.' },
    { headers: { 'x-proposal-id': idOf(first), 'x-proposal-note': 'With a hint' } },
  );
  expect(idOf(second)).toBe(idOf(first));
  expect(idOf(await ada.send('config.update', { log_level: 'debug' }, propose('Logs')))).not.toBe(idOf(first));
  expect((await ada.send('proposals.approve', { id: idOf(first), version: 2 })).status).toBe(200);
  expect(await ada.call('config.get', {})).toMatchObject({ server_name: 'Shop', instructions: 'Ask for the shop.' });
});
