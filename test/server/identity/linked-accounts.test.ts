import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { Secret, TOTP } from 'otpauth';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, PASSWORD, peopleOf } from '#test/support/people.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';
import { type Visitor, visitor } from '#test/support/visitor.ts';

let t: TestApp;
let owner: Member;
let provider: TestProvider;
let provider_id: string;
const GRACE = { sub: 'person-1', name: 'Grace Hopper', email: 'grace@example.com', email_verified: true };
beforeAll(async () => {
  provider = await openTestProvider();
});
afterAll(() => provider.close());
beforeEach(async () => {
  provider.tricks = {};
  provider.person = GRACE;
  t = await testApp();
  // The provider's clock is that of this machine.
  t.advance(Date.now() - t.app.clock().getTime());
  owner = await peopleOf(t).owner();
  provider_id = await configure();
});
afterEach(() => t.close());

const configure = async (more: object = {}) => {
  const draft = { name: 'Company', ...provider.client, create_people: true, default_role: 'viewer', ...more };
  const { status, body } = await owner.send('identity_providers.create', draft);
  expect(status).toBe(201);
  return body.id;
};
const refusedWith = (location: string) => new URL(location, 'http://localhost').searchParams.get('refused');
interface Linked {
  id: string;
  issuer: string;
  provider: string | null;
  enabled: boolean;
}
const linked = async (one: Visitor) => (await one.api('GET', '/auth/identities')).body['items'] as Linked[];
const unlink = (one: Visitor, account: Linked | undefined) => one.api('DELETE', `/auth/identities/${String(account?.id)}`);
const attempts = async () => (await owner.call('oauth_attempts.list', {})).items;
const withPassword = async (username: string) => {
  const one = visitor(t);
  expect((await one.api('POST', '/auth/login', { username, password: PASSWORD })).status).toBe(200);
  return one;
};

describe('one’s own linked accounts', () => {
  test('are listed and unlinked, noted in the history, and can no longer sign in', async () => {
    const ada = await withPassword('ada');
    expect(await linked(ada)).toEqual([]);
    expect(await ada.signIn(provider_id, '?return_to=/account&link=true')).toBe('/account');
    const [account, ...others] = await linked(ada);
    expect(others).toEqual([]);
    expect(account).toMatchObject({ issuer: provider.issuer, provider: 'Company', enabled: true });
    const through = visitor(t);
    await through.signIn(provider_id);
    expect((await through.api('GET', '/auth/me')).body).toMatchObject({ username: 'ada' });
    expect((await unlink(ada, account)).status).toBe(204);
    expect(await linked(ada)).toEqual([]);
    expect((await unlink(ada, account)).status).toBe(404);
    const stranger = visitor(t);
    await stranger.signIn(provider_id);
    expect((await stranger.api('GET', '/auth/me')).body).toMatchObject({ username: 'grace@example.com' });
    const { items } = await owner.call('history.list', { entity_type: 'admin', search: 'ada' });
    expect(items.slice(0, 2).map(({ changes }) => changes)).toEqual([
      { linked_account: { old: 'Company', new: null } },
      { linked_account: { old: null, new: 'Company' } },
    ]);
  });

  test('are nobody else’s, and nobody’s without a session', async () => {
    const ada = await withPassword('ada');
    await ada.signIn(provider_id, '?link=true');
    const [account] = await linked(ada);
    const viewer = await peopleOf(t).join(owner, { username: 'vera', role: 'viewer' });
    expect((await viewer.call('auth.identities', {})).items).toEqual([]);
    expect((await viewer.send('auth.unlink_identity', { id: String(account?.id) })).status).toBe(404);
    expect((await visitor(t).api('GET', '/auth/identities')).status).toBe(401);
    expect(await linked(ada)).toHaveLength(1);
  });

  test('are not linked by who began before the password changed', async () => {
    const ada = await withPassword('ada');
    const back = await ada.through(await ada.start(provider_id, '?return_to=/account&link=true'));
    const changed = await owner.send('auth.update_me', { current_password: PASSWORD, password: 'another password' });
    expect(changed.status).toBe(200);
    expect(refusedWith((await ada.visit(back)).headers.get('location') ?? '')).toBe('expired');
    expect(await t.app.store.db.select().from(t.app.store.tables.identities)).toEqual([]);
  });

  test('keep the last way in: without a password, with passwords turned off, and beside a disabled provider', async () => {
    const grace = visitor(t);
    await grace.signIn(provider_id);
    const refused = await unlink(grace, (await linked(grace))[0]);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('the only way you can sign in')]);

    provider.person = { ...GRACE, sub: 'person-2', email: 'ada@example.com' };
    const ada = await withPassword('ada');
    await ada.signIn(provider_id, '?link=true');
    expect((await owner.send('config.update', { password_sign_in: false })).status).toBe(200);
    expect((await unlink(ada, (await linked(ada))[0])).status).toBe(409);
    expect((await owner.send('config.update', { password_sign_in: true })).status).toBe(200);
    await owner.call('identity_providers.update', { id: provider_id, enabled: false });
    expect((await linked(ada))[0]).toMatchObject({ enabled: false });
    expect((await unlink(ada, (await linked(ada))[0])).status).toBe(204);
  });

  test('keep one of two that are unlinked at once', async () => {
    const second = await openTestProvider();
    second.person = { ...GRACE, sub: 'elsewhere' };
    const other_id = await configure({ name: 'Second', ...second.client });
    const grace = visitor(t);
    await grace.signIn(provider_id);
    await grace.signIn(other_id, '?link=true');
    const accounts = await linked(grace);
    const answers = await Promise.all(accounts.map((account) => unlink(grace, account)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 409]);
    expect(await linked(grace)).toHaveLength(1);
    await second.close();
  });
});

describe('an invitation', () => {
  const invite = async (body: object = {}) => {
    const made = await owner.call('people.create', { username: 'hopper', role: 'editor', groups: ['navy'], ...body });
    const { invite_url } = await owner.call('people.invite', { id: made.id });
    return invite_url.split('#')[1] ?? '';
  };
  const accept = async (one: Visitor, token: string) => one.api('POST', '/auth/accept-invite/provider', { token, provider_id });
  /** From the page of the invitation through the provider. @returns where it ends. */
  const acceptThrough = async (one: Visitor, token: string): Promise<string> => {
    const { body } = await accept(one, token);
    const started = await one.visit(String(body['redirect_to']));
    const back = await one.through(new URL(started.headers.get('location') ?? '', 'http://localhost'));
    return (await one.visit(back)).headers.get('location') ?? '';
  };

  test('is accepted through a provider, once, also where passwords are off and nobody is created', async () => {
    provider.person = { ...GRACE, sub: 'owner' };
    await (await withPassword('ada')).signIn(provider_id, '?link=true');
    provider.person = GRACE;
    await owner.call('identity_providers.update', { id: provider_id, create_people: false });
    expect((await owner.send('config.update', { password_sign_in: false })).status).toBe(200);
    const token = await invite();
    expect((await visitor(t).api('POST', '/auth/accept-invite', { token, password: 'long enough' })).status).toBe(403);
    const one = visitor(t);
    const { body } = await accept(one, token);
    expect(String(body['redirect_to'])).not.toContain(token);
    expect(await acceptThrough(one, token)).toBe('/');
    const me = (await one.api('GET', '/auth/me')).body;
    expect(me).toMatchObject({ username: 'hopper', role: 'editor', groups: ['navy'] });
    const { items } = await owner.call('people.list', {});
    expect(items.find(({ username }) => username === 'hopper')).toMatchObject({ sign_in: 'oidc' });
    expect((await accept(visitor(t), token)).status).toBe(404);
    const again = visitor(t);
    await again.signIn(provider_id);
    expect((await again.api('GET', '/auth/me')).body).toMatchObject({ username: 'hopper' });
  });

  test('of two who come with the same link, one wins', async () => {
    const token = await invite();
    const [first, second] = [visitor(t), visitor(t)];
    const starts = await Promise.all([first, second].map(async (one) => (await accept(one, token)).body['redirect_to']));
    const backs: string[] = [];
    for (const [index, one] of [first, second].entries()) {
      provider.person = { ...GRACE, sub: `person-${index}` };
      const started = await one.visit(String(starts[index]));
      backs.push(await one.through(new URL(started.headers.get('location') ?? '')));
    }
    expect((await first.visit(backs[0]!)).headers.get('location')).toBe('/');
    expect(refusedWith((await second.visit(backs[1]!)).headers.get('location') ?? '')).toBe('not_found');
    expect((await second.api('GET', '/auth/me')).status).toBe(401);
  });

  test('is not accepted with a wrong link, a late or invented ticket, or an account of somebody else', async () => {
    expect((await accept(visitor(t), 'svc_invite_nothing')).status).toBe(404);
    const token = await invite();
    const one = visitor(t);
    const unknown = await one.api('POST', '/auth/accept-invite/provider', { token, provider_id: 'nothing' });
    expect(unknown.status).toBe(404);
    const { body } = await accept(one, token);
    t.advance(60_000);
    expect(refusedWith((await one.visit(String(body['redirect_to']))).headers.get('location') ?? '')).toBe('expired');
    for (const ticket of ['', 'v1.a.b.c', 'nonsense']) {
      const answer = await one.visit(`/api/v1/auth/oidc/${provider_id}/start?invite=${ticket}`);
      expect(refusedWith(answer.headers.get('location') ?? '')).toBe('expired');
    }
    await visitor(t).signIn(provider_id);
    expect(refusedWith(await acceptThrough(one, token))).toBe('taken');
    expect((await one.api('GET', '/auth/me')).status).toBe(401);
  });

  test('is not accepted through a provider by who has a second factor, which it would pass by', async () => {
    const vera = await peopleOf(t).join(owner, { username: 'vera', role: 'viewer' });
    const { secret } = await vera.call('two_factor.setup', { password: PASSWORD });
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: t.app.clock().getTime() });
    expect((await vera.send('two_factor.verify_setup', { code })).status).toBe(200);
    const { invite_url } = await owner.call('people.invite', { id: vera.id });
    const one = visitor(t);
    expect(refusedWith(await acceptThrough(one, invite_url.split('#')[1] ?? ''))).toBe('second_factor');
    expect((await one.api('GET', '/auth/me')).status).toBe(401);
    const { identities } = t.app.store.tables;
    expect(await t.app.store.db.select().from(identities)).toEqual([]);
  });

  test('keeps the password and the rights of who had one', async () => {
    const vera = await peopleOf(t).join(owner, { username: 'vera', role: 'viewer' });
    const { items } = await owner.call('people.list', {});
    const id = items.find(({ username }) => username === 'vera')?.id ?? '';
    const { invite_url } = await owner.call('people.invite', { id });
    const one = visitor(t);
    expect(await acceptThrough(one, invite_url.split('#')[1] ?? '')).toBe('/');
    // The sessions of before end, as they do with a new password.
    expect((await vera.send('auth.me')).status).toBe(401);
    expect((await one.api('GET', '/auth/me')).body).toMatchObject({ username: 'vera', role: 'viewer' });
    await withPassword('vera');
  });

  test('of an administrator gives no way in to somebody who becomes an owner, unless there is no other', async () => {
    const admin = await peopleOf(t).join(owner, { username: 'eve', role: 'admin' });
    const vera = await peopleOf(t).join(owner, { username: 'vera', role: 'viewer' });
    const link = async (id: string) => (await admin.call('people.invite', { id })).invite_url.split('#')[1] ?? '';
    const spy = visitor(t);
    expect(await acceptThrough(spy, await link(vera.id))).toBe('/');
    expect((await spy.api('GET', '/auth/me')).body).toMatchObject({ username: 'vera' });
    expect((await owner.send('people.update', { id: vera.id, role: 'owner' })).status).toBe(200);
    expect((await spy.api('GET', '/auth/me')).status).toBe(401);
    const again = visitor(t);
    await again.signIn(provider_id);
    expect((await again.api('GET', '/auth/me')).body).toMatchObject({ username: 'grace@example.com', role: 'viewer' });
    expect(await linked(await withPassword('vera'))).toEqual([]);

    provider.person = { ...GRACE, sub: 'hopper', email: 'hopper@example.com' };
    const made = await owner.call('people.create', { username: 'hopper', role: 'editor' });
    const only = visitor(t);
    expect(await acceptThrough(only, await link(made.id))).toBe('/');
    expect((await owner.send('people.update', { id: made.id, role: 'owner' })).status).toBe(200);
    expect((await only.api('GET', '/auth/me')).body).toMatchObject({ username: 'hopper', role: 'owner' });
  });

  test('of an administrator is unlinked from a new owner who has linked another account', async () => {
    const admin = await peopleOf(t).join(owner, { username: 'eve', role: 'admin' });
    const { id } = await owner.call('people.create', { username: 'hopper', role: 'editor' });
    const invited = visitor(t);
    const { invite_url } = await admin.call('people.invite', { id });
    expect(await acceptThrough(invited, invite_url.split('#')[1] ?? '')).toBe('/');
    provider.person = { ...GRACE, sub: 'hopper', email: 'hopper@example.com' };
    expect(await invited.signIn(provider_id, '?return_to=/account&link=true')).toBe('/account');
    expect(await linked(invited)).toHaveLength(2);
    expect((await owner.send('people.update', { id, role: 'owner' })).status).toBe(200);
    expect((await invited.api('GET', '/auth/me')).status).toBe(401);
    const own = visitor(t);
    await own.signIn(provider_id);
    expect((await own.api('GET', '/auth/me')).body).toMatchObject({ username: 'hopper', role: 'owner' });
    expect(await linked(own)).toHaveLength(1);
  });
});

test('sign-ins through providers stand among the attempts, with the reason of what failed', async () => {
  await visitor(t).signIn(provider_id);
  provider.tricks = { claims: (claims) => ({ ...claims, nonce: 'another' }) };
  await visitor(t).signIn(provider_id);
  provider.tricks = {};
  provider.person = { ...GRACE, sub: 'someone', email: 'someone@example.com' };
  await owner.call('identity_providers.update', { id: provider_id, create_people: false });
  await visitor(t).signIn(provider_id);
  const gone = await configure({ name: 'Gone', issuer: 'http://127.0.0.1:9' });
  await visitor(t).visit(`/api/v1/auth/oidc/${gone}/start`);
  const [unreachable, refused, wrong, good] = await attempts();
  expect(
    [unreachable, refused, wrong, good].map((attempt) => [attempt?.client, attempt?.step, attempt?.reason !== null]),
  ).toEqual([
    ['Gone', 'provider', true],
    ['Company', 'provider', true],
    ['Company', 'provider', true],
    ['Company', 'provider', false],
  ]);
  expect(good).toMatchObject({ person: 'grace@example.com', client_id: provider.issuer, success: true });
  expect(refused?.reason).toContain('You have no account here');
  expect(wrong?.reason).toContain('nonce');
});
