import { afterEach, beforeEach, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { Readable } from 'node:stream';
import { requireRemainingOwner, ownersWhoCanSignIn } from '#core/identity/people-rules.ts';
import type { Db } from '#core/store/store.ts';
import { runCli } from '#server/cli/program.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable } from '#test/support/databases.ts';
import { describeOnce } from '#test/support/metadata.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';
import { visitor } from '#test/support/visitor.ts';

const SECRET = 'a-secret-a-secret-a-secret-a-secret';
const secrets = { SVC_ENCRYPTION_KEY: SECRET, SVC_JWT_SECRET: SECRET, SVC_AGENT_SERVICE_TOKEN: SECRET };
const account = { username: 'ada', password: 'correct horse' };

let t: TestApp;
let provider: TestProvider;
let id: string;
beforeEach(async () => {
  provider = await openTestProvider();
  // The command line opens the same file.
  t = await testApp(secrets, undefined, { metadata: 'sqlite' });
  t.advance(Date.now() - t.app.clock().getTime());
  await t.signIn();
  const made = await t.call('identity_providers.create', { name: 'Test', ...provider.client });
  id = made.id;
});
afterEach(async () => {
  await t.close();
  await provider.close();
});

const set = (password_sign_in: boolean) => t.send('config.update', { password_sign_in });
const status = async () => await t.call('auth.status', {}, { anonymous: true });
const login = () => t.send('auth.login', account, { anonymous: true });
const linkOwner = async () => {
  const ada = visitor(t);
  await ada.api('POST', '/auth/login', account);
  expect(await ada.signIn(id, '?link=true&return_to=/account')).toBe('/account');
};

test('the sign-in page learns of providers and of the password, and of nothing else', async () => {
  await t.call('identity_providers.create', { name: 'Off', ...provider.client, enabled: false });
  expect(await status()).toEqual({
    setup_required: false,
    authenticated: false,
    version: expect.any(String),
    providers: [{ id, name: 'Test' }],
    password_sign_in: true,
  });
});

test('the password is turned off only when an owner came in through a provider that works', async () => {
  const nobody = await set(false);
  expect([nobody.status, nobody.body.detail]).toEqual([422, expect.stringContaining('password_sign_in')]);
  await linkOwner();
  const { identity_providers: table } = t.app.store.tables;
  await t.app.store.db.update(table).set({ enabled: false }).where(eq(table.id, id));
  expect((await set(false)).status).toBe(422);
  await t.app.store.db.update(table).set({ enabled: true }).where(eq(table.id, id));
  expect((await set(false)).status).toBe(200);
  expect(await status()).toMatchObject({ password_sign_in: false });
  const refused = await login();
  expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('identity provider')]);
  const invited = { token: `svc_invite_${'a'.repeat(40)}`, password: 'correct horse' };
  expect((await t.send('auth.accept_invite', invited, { anonymous: true })).status).toBe(403);
  const ada = visitor(t);
  expect(await ada.signIn(id)).toBe('/');
  expect((await ada.api('GET', '/auth/me')).body).toMatchObject({ username: 'ada', role: 'owner' });
});

test('a provider that does not answer is no other way in', async () => {
  await linkOwner();
  await provider.close();
  const refused = await set(false);
  expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('identity provider works')]);
});

test('with the password off, nothing takes the last way in of the last owner', async () => {
  await linkOwner();
  expect((await set(false)).status).toBe(200);
  const elsewhere = { issuer: 'https://127.0.0.1:9443', client_secret: 'another' };
  for (const body of [{ enabled: false }, elsewhere]) {
    expect((await t.send('identity_providers.update', { id, ...body })).status).toBe(409);
  }
  expect((await t.send('identity_providers.delete', { id })).status).toBe(409);
  const [entry] = (await t.call('history.entity', { entity_type: 'identity_provider', entity_id: id })).items;
  expect((await t.send('history.rollback', { history_id: entry?.id })).status).toBe(409);
  expect(await status()).toMatchObject({ providers: [{ id }] });
  expect((await set(true)).status).toBe(200);
  expect((await t.send('identity_providers.delete', { id })).status).toBe(204);
});

test('an import that turns passwords off leaves them on where it would lock all out, and says so', async () => {
  await linkOwner();
  expect((await set(false)).status).toBe(200);
  const file = await t.call('transfer.export', {});
  expect(file.server_config).toMatchObject({ password_sign_in: false });
  const fresh = await testApp();
  fresh.advance(Date.now() - fresh.app.clock().getTime());
  await fresh.signIn();
  const load = (mode: string) => fresh.send('transfer.import', { include_server_config: true, mode, ...file });
  const passwords = async () => (await fresh.call('auth.status', {}, { anonymous: true })).password_sign_in;
  // The provider comes with the file, but nobody is linked to it yet.
  const report = await load('merge');
  expect([report.status, JSON.stringify(report.body.warnings)]).toEqual([
    200,
    expect.stringContaining('Passwords were left on. password_sign_in can be turned off only when an owner'),
  ]);
  expect(await passwords()).toBe(true);
  expect((await fresh.send('auth.login', account, { anonymous: true })).status).toBe(200);
  const [imported] = (await fresh.call('identity_providers.list', {})).items;
  const secret = { client_secret: provider.client.client_secret };
  expect((await fresh.send('identity_providers.update', { id: imported?.id, ...secret })).status).toBe(200);
  const ada = visitor(fresh);
  await ada.api('POST', '/auth/login', account);
  expect(await ada.signIn(imported?.id ?? '', '?link=true&return_to=/account')).toBe('/account');
  expect(JSON.stringify((await load('overwrite')).body.warnings)).not.toContain('Passwords were left on');
  expect(await passwords()).toBe(false);
  await fresh.close();
});

test('a rollback that would turn passwords off again is refused while nobody could sign in without one', async () => {
  await linkOwner();
  await set(false);
  await set(true);
  const ada = visitor(t);
  await ada.api('POST', '/auth/login', account);
  const [linked] = (await ada.api('GET', '/auth/identities')).body['items'] as { id: string }[];
  expect((await ada.api('DELETE', `/auth/identities/${linked?.id}`)).status).toBe(204);
  const [entry] = (await t.call('history.entity', { entity_type: 'server_config', entity_id: 'server_config' })).items;
  const undone = await t.send('history.rollback', { history_id: entry?.id });
  expect([undone.status, undone.body.detail]).toEqual([422, expect.stringContaining('password_sign_in')]);
  expect(await status()).toMatchObject({ password_sign_in: true });
});

test('an import that adds the provider and turns passwords off is undone and repeated as a whole', async () => {
  await linkOwner();
  expect((await set(false)).status).toBe(200);
  const { server_config } = await t.call('transfer.export', {});
  expect((await set(true)).status).toBe(200);
  expect((await t.send('identity_providers.delete', { id })).status).toBe(204);
  const identity_providers = [{ name: 'Test', ...provider.client }];
  const body = { format: 'sluice/1', server_config: { ...server_config, identity_providers } };
  expect((await t.send('transfer.import', { include_server_config: true, mode: 'overwrite', ...body })).body).toMatchObject({
    warnings: [],
    updated: { server_config: 1 },
  });
  const off = { password_sign_in: false, providers: [{ name: 'Test' }] };
  expect(await status()).toMatchObject(off);
  const undo = async (action: string) => {
    const { body: found } = await t.send('history.list', { limit: 1, action });
    const [entry] = found.items as { id: string }[];
    const { status: code, body: answer } = await t.send('history.rollback', { history_id: entry?.id });
    expect([code, answer.detail]).toEqual([200, undefined]);
  };
  await undo('import');
  expect(await status()).toMatchObject({ password_sign_in: true, providers: [] });
  await undo('rollback');
  expect(await status()).toMatchObject(off);
});

test('one import disables a provider and adds the one that replaces it', async () => {
  await linkOwner();
  expect((await set(false)).status).toBe(200);
  const old = { name: 'Test', ...provider.client, enabled: false };
  const load = (...identity_providers: object[]) =>
    t.send('transfer.import', {
      include_server_config: true,
      mode: 'overwrite',
      format: 'sluice/1',
      server_config: { identity_providers },
    });
  expect(JSON.stringify((await load(old)).body)).toContain('At least one enabled owner who can sign in must remain.');
  const { body } = await load(old, { ...old, name: 'Newer', enabled: true });
  expect(body).toMatchObject({ errors: [], updated: { server_config: 1 } });
  expect(await status()).toMatchObject({ password_sign_in: false, providers: [{ name: 'Newer' }] });
});

test('the command line lets an owner back in', async () => {
  await linkOwner();
  await set(false);
  let out = '';
  const code = await runCli(['reset-password'], {
    environment: { SVC_ENV: 'dev', SVC_KV: 'memory', ...secrets, SVC_DATA_DIR: t.directory },
    stdin: Readable.from(['a new password\n']),
    out: (text) => void (out += text),
    err: (text) => void (out += text),
  });
  expect([code, out]).toEqual([0, expect.stringContaining('Signing in with a password is on again')]);
  expect((await login()).status).toBe(401);
  const body = { ...account, password: 'a new password' };
  expect((await t.send('auth.login', body, { anonymous: true })).status).toBe(200);
});

describeOnce(reachable.postgres)('two changes at once leave an owner who can sign in', () => {
  let both: TestApp;
  beforeEach(async () => {
    both = await testApp(secrets, undefined, { metadata: 'postgresql' });
    await both.signIn();
  });
  afterEach(() => both.close());

  /** Another provider, which an owner has signed in through. */
  async function link(name: string, person_id: string): Promise<string> {
    const made = await both.call('identity_providers.create', { name, ...provider.client });
    const { identities, identity_providers: table } = both.app.store.tables;
    const issuer = `${provider.client.issuer}/${name}`;
    const now = both.app.clock().toISOString();
    await both.app.store.write(async (tx) => {
      await tx.update(table).set({ issuer }).where(eq(table.name, name));
      const row = { id: both.app.ids(), issuer, subject: 'ada', person_id, invited_by: null, created_at: now, last_used_at: now };
      await tx.insert(identities).values(row);
    });
    return `/api/v1/identity-providers/${made.id}`;
  }
  /** The second change is made when the first one has been checked and is not stored yet. */
  async function atOnce(first: (tx: Db) => Promise<unknown>, second: () => Promise<{ status: number }>): Promise<void> {
    const { app } = both;
    const [checked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const changing = app.store.write(async (tx) => {
      await requireRemainingOwner({ app }, tx, () => first(tx));
      checked.resolve();
      await go.promise;
    });
    await checked.promise;
    const asked = second();
    await Promise.race([asked, Bun.sleep(300)]);
    go.resolve();
    await changing;
    expect([409, 422]).toContain((await asked).status);
    expect(await ownersWhoCanSignIn(app, app.store.db)).not.toEqual([]);
  }
  const owner = async () => {
    const [row] = await both.app.store.db.select().from(both.app.store.tables.people);
    if (row === undefined) throw new Error('Nobody was set up.');
    return row;
  };

  test.each(['provider', 'person'])('passwords go off while the %s is disabled', async (what) => {
    const { identities, people, identity_providers } = both.app.store.tables;
    const ada = await owner();
    await link('one', ada.id);
    await both.app.store.write((tx) => tx.update(identity_providers).set({ issuer: provider.client.issuer }));
    await both.app.store.write((tx) => tx.update(identities).set({ issuer: provider.client.issuer }));
    await both.app.store.write((tx) => tx.insert(people).values({ ...ada, id: both.app.ids(), slot: null, username: 'bob' }));
    const off = { enabled: false };
    await atOnce(
      (tx) =>
        what === 'provider' ? tx.update(identity_providers).set(off) : tx.update(people).set(off).where(eq(people.id, ada.id)),
      () => both.send('config.update', { password_sign_in: false }),
    );
  });

  test('of two providers one is deleted while the other is disabled', async () => {
    const { people, identity_providers } = both.app.store.tables;
    const { id } = await owner();
    await link('one', id);
    const two = await link('two', id);
    await both.app.store.write((tx) => tx.update(people).set({ password_hash: null }));
    await atOnce(
      (tx) => tx.update(identity_providers).set({ enabled: false }).where(eq(identity_providers.name, 'one')),
      () => both.request('DELETE', two),
    );
  });
});
