import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { type TestApp, testApp } from '#test/support/app.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';
import { type Visitor, visitor } from '#test/support/visitor.ts';

let t: TestApp;
let provider: TestProvider;
beforeAll(async () => {
  provider = await openTestProvider();
});
afterAll(() => provider.close());
const GRACE = { sub: 'person-1', name: 'Grace Hopper', email: 'grace@example.com', email_verified: true };
beforeEach(async () => {
  provider.tricks = {};
  provider.person = GRACE;
  provider.userinfo = {};
  t = await testApp();
  // The provider's clock is that of this machine.
  t.advance(Date.now() - t.app.clock().getTime());
  await t.signIn();
});
afterEach(() => t.close());

const configure = async (body: object = {}) => {
  const draft = { name: 'Test', ...provider.client, create_people: true, ...body };
  const answer = await t.call('identity_providers.create', draft);
  return answer.id;
};
const change = (id: string, body: object) => t.send('identity_providers.update', { id, ...body });
const me = async (one: Visitor) => (await one.api('GET', '/auth/me')).body;
const people = async () => (await t.call('people.list', {})).items;
const refusedWith = (location: string) => new URL(location, 'http://localhost').searchParams.get('refused');
const signInRows = () => t.app.store.db.select().from(t.app.store.tables.provider_sign_ins);

describe('a sign-in', () => {
  test('begins with PKCE, state and nonce, bound to the browser', async () => {
    const id = await configure();
    const one = visitor(t);
    const answer = await one.visit(`/api/v1/auth/oidc/${id}/start?return_to=/tools`);
    expect(answer.status).toBe(302);
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^svc_oidc=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/);
    const { origin, searchParams: query } = new URL(answer.headers.get('location') ?? '');
    expect(origin).toBe(provider.issuer);
    expect(Object.fromEntries(query)).toEqual({
      client_id: 'sluice',
      redirect_uri: 'http://localhost/api/v1/auth/oidc/callback',
      response_type: 'code',
      scope: 'openid email profile',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    // Nothing of what finishes a sign-in is stored as it is.
    const stored = JSON.stringify(await signInRows());
    for (const secret of [...one.cookies.values(), query.get('state'), query.get('nonce'), query.get('code_challenge')]) {
      expect(stored).not.toContain(String(secret));
    }
  });

  test('over HTTPS has a __Host- cookie and the public address', async () => {
    const id = await configure();
    await t.close();
    t = await testApp({ SVC_PUBLIC_URL: 'https://sluice.example.com' });
    t.advance(Date.now() - t.app.clock().getTime());
    await t.signIn();
    const here = await configure();
    expect(here).not.toBe(id);
    const away = await visitor(t).visit(`/api/v1/auth/oidc/${here}/start?return_to=/tools`);
    // The cookie has to be of the host that the provider sends people back to.
    expect(away.headers.get('location')).toBe(
      `https://sluice.example.com/api/v1/auth/oidc/${here}/start?return_to=%2Ftools&moved=true`,
    );
    expect(away.headers.get('set-cookie')).toBeNull();
    const one = visitor(t, { host: 'sluice.example.com' });
    const answer = await one.visit(`/api/v1/auth/oidc/${here}/start?return_to=/tools`);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-svc_oidc=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    expect(new URL(answer.headers.get('location') ?? '').searchParams.get('redirect_uri')).toBe(
      'https://sluice.example.com/api/v1/auth/oidc/callback',
    );
    expect(await one.signIn(here, '?return_to=/tools')).toBe('/tools');
    expect([...one.cookies.keys()].toSorted()).toEqual(['__Host-svc_oidc', '__Host-svc_session']);
    expect(await me(one)).toMatchObject({ username: 'grace@example.com' });
  });

  test('creates a person, and finds them again by issuer and subject alone', async () => {
    const id = await configure({ default_role: 'viewer' });
    const one = visitor(t);
    expect(await one.signIn(id, '?return_to=/tools%3Fq%3D1')).toBe('/tools?q=1');
    expect(await me(one)).toMatchObject({
      username: 'grace@example.com',
      display_name: 'Grace Hopper',
      role: 'viewer',
      has_password: false,
    });
    provider.person = { ...GRACE, email: 'g.hopper@example.com', name: 'Rear Admiral Hopper' };
    expect(await visitor(t).signIn(id)).toBe('/');
    expect(await people()).toMatchObject([
      { username: 'ada', sign_in: 'password' },
      { username: 'grace@example.com', email: 'g.hopper@example.com', display_name: 'Rear Admiral Hopper', sign_in: 'oidc' },
    ]);
    // Another subject with the same address is another person, also with the name of an owner.
    provider.person = { ...GRACE, sub: 'person-2', preferred_username: 'ADA' };
    const other = visitor(t);
    await other.signIn(id);
    expect(await me(other)).toMatchObject({ username: 'ADA-2', role: 'viewer' });
    expect((await people()).length).toBe(3);
    const providers = (await t.call('identity_providers.list', {})).items;
    expect(providers).toMatchObject([{ people: 2 }]);
  });

  test('ends once, and only in the browser that began it', async () => {
    const id = await configure();
    const one = visitor(t);
    const back = await one.through(await one.start(id));
    const second = visitor(t);
    expect(refusedWith((await second.visit(back)).headers.get('location') ?? '')).toBe('expired');
    await second.start(id);
    expect(refusedWith((await second.visit(back)).headers.get('location') ?? '')).toBe('expired');
    expect((await second.api('GET', '/auth/me')).status).toBe(401);
    expect((await one.visit(back)).headers.get('location')).toBe('/');
    expect(refusedWith((await one.visit(back)).headers.get('location') ?? '')).toBe('expired');
    // A program reads the one error body.
    const program = await t.request('GET', back, { anonymous: true });
    expect([program.status, program.body.detail]).toEqual([403, expect.stringContaining('another browser')]);
  });

  test('of many returns at once, one wins', async () => {
    const id = await configure();
    const one = visitor(t);
    const back = await one.through(await one.start(id));
    const answers = await Promise.all(Array.from({ length: 20 }, () => one.visit(back)));
    expect(answers.filter(({ headers }) => headers.get('location') === '/').length).toBe(1);
    expect(provider.asked.filter((path) => path === '/token').length).toBeGreaterThan(0);
  });

  test('expires after ten minutes, and its rows go', async () => {
    const id = await configure();
    const one = visitor(t);
    const back = await one.through(await one.start(id));
    t.advance(600_001);
    expect(refusedWith((await one.visit(back)).headers.get('location') ?? '')).toBe('expired');
    await one.start(id);
    await one.start(id);
    expect((await signInRows()).length).toBe(2);
    t.advance(600_001);
    await one.start(id);
    expect((await signInRows()).length).toBe(1);
  });

  test('two tabs of one browser end both', async () => {
    const id = await configure();
    const one = visitor(t);
    const [first, second] = [await one.start(id, '?return_to=/a'), await one.start(id, '?return_to=/b')];
    expect((await one.visit(await one.through(second))).headers.get('location')).toBe('/b');
    expect((await one.visit(await one.through(first))).headers.get('location')).toBe('/a');
  });

  test('a HEAD request neither begins nor ends one', async () => {
    const id = await configure();
    const one = visitor(t);
    const back = await one.through(await one.start(id));
    const cookie = [...one.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    expect((await t.request('HEAD', back, { anonymous: true, headers: { cookie } })).headers.get('location')).toBeNull();
    expect((await one.visit(back)).headers.get('location')).toBe('/');
  });

  test('of a disabled, unknown or changed provider is refused', async () => {
    const id = await configure();
    const one = visitor(t);
    const back = await one.through(await one.start(id));
    await change(id, { enabled: false });
    expect(refusedWith((await one.visit(back)).headers.get('location') ?? '')).toBe('not_found');
    expect((await t.request('GET', `/api/v1/auth/oidc/${id}/start`, { anonymous: true })).status).toBe(404);
    expect((await t.request('GET', '/api/v1/auth/oidc/nobody/start', { anonymous: true })).status).toBe(404);
    expect((await t.request('GET', `/api/v1/auth/oidc/${id}/start?nonsense=1`, { anonymous: true })).status).toBe(422);
    await change(id, { enabled: true });
    const other = await one.through(await one.start(id));
    const elsewhere = await openTestProvider();
    await change(id, elsewhere.client);
    expect(refusedWith((await one.visit(other)).headers.get('location') ?? '')).toBe('expired');
    await elsewhere.close();
  });

  test('more than sixty a minute from one network are refused', async () => {
    const id = await configure();
    const statuses: number[] = [];
    for (let count = 0; count < 61; count++) {
      statuses.push((await t.request('GET', `/api/v1/auth/oidc/${id}/start`, { anonymous: true })).status);
    }
    expect(statuses.indexOf(429)).toBe(60);
  });
});

describe('who comes in', () => {
  test('nobody new where people are not created, nobody who is disabled', async () => {
    const id = await configure({ create_people: false });
    const one = visitor(t);
    expect(refusedWith(await one.signIn(id))).toBe('not_admitted');
    expect((await people()).length).toBe(1);
    await change(id, { create_people: true });
    expect(await one.signIn(id)).toBe('/');
    const [, grace] = await people();
    await t.call('people.update', { id: String(grace?.id), enabled: false });
    expect((await one.api('GET', '/auth/me')).status).toBe(401);
    expect(refusedWith(await visitor(t).signIn(id))).toBe('disabled');
  });

  test.each([
    [{ email: 'eve@evil.example', email_verified: true }, 'not_admitted'],
    [{ email: 'grace@example.com', email_verified: false }, 'not_admitted'],
    [{ email: 'grace@example.com', email_verified: undefined }, 'not_admitted'],
    [{ email: undefined, email_verified: true }, 'not_admitted'],
    [{ email: 'grace@example.com@evil.example', email_verified: true }, 'not_admitted'],
    [{ email: 'example.com', email_verified: true }, 'not_admitted'],
    [{ email: 'grace@EXAMPLE.com', email_verified: true }, null],
    [{ email: 'grace@sub.example.com', email_verified: true }, 'not_admitted'],
  ])('of the domain example.com: %j', async (claims, refusal) => {
    const id = await configure({ allowed_domains: ['example.com'] });
    provider.person = { ...GRACE, ...claims };
    expect(refusedWith(await visitor(t).signIn(id))).toBe(refusal);
  });

  test('roles follow the groups at every sign-in; too many groups for the token change nothing', async () => {
    const role_by_group = { staff: 'viewer', data: 'editor' };
    const id = await configure({ groups_claim: 'groups', role_by_group, default_role: 'caller' });
    const roleWith = async (claims: object) => {
      provider.person = { ...GRACE, ...claims };
      const one = visitor(t);
      await one.signIn(id);
      const { role, groups } = await me(one);
      return [role, groups];
    };
    expect(await roleWith({ groups: ['staff', 'data', 'other'] })).toEqual(['editor', ['staff', 'data', 'other']]);
    expect(await roleWith({ _claim_names: { groups: 'src1' } })).toEqual(['editor', ['staff', 'data', 'other']]);
    expect(await roleWith({ hasgroups: true })).toEqual(['editor', ['staff', 'data', 'other']]);
    expect(await roleWith({ groups: ['staff'] })).toEqual(['viewer', ['staff']]);
    expect(await roleWith({ groups: 'data' })).toEqual(['editor', ['data']]);
    expect(await roleWith({ groups: [1, { a: 1 }, 'x\u202ey', ''] })).toEqual(['caller', []]);
    provider.userinfo = { groups: ['data'], email: 'grace@example.com' };
    expect(await roleWith({ email: undefined })).toEqual(['editor', ['data']]);
    const [, grace] = await people();
    const entries = await t.call('history.entity', { entity_type: 'admin', entity_id: String(grace?.id) });
    expect(entries.items).toContainEqual(
      expect.objectContaining({ action: 'update', changes: expect.objectContaining({ role: { old: 'editor', new: 'viewer' } }) }),
    );
  });

  test('of many groups those that decide something are kept, as a person may have them', async () => {
    const id = await configure({ groups_claim: 'groups', role_by_group: { editors: 'editor' }, default_role: 'viewer' });
    const toolset = { name: 'sales', include: { tags: ['sales'] }, groups: ['sales desk'] };
    expect((await t.send('toolsets.create', toolset)).status).toBe(201);
    const many = Array.from({ length: 300 }, (_, n) => `group ${n}`);
    provider.person = { ...GRACE, groups: ['x'.repeat(101), ...many, ' sales desk ', 'editors'] };
    const one = visitor(t);
    await one.signIn(id);
    const { role, groups } = (await me(one)) as { role: string; groups: string[] };
    expect([role, groups.length, groups.slice(0, 3)]).toEqual(['editor', 100, ['sales desk', 'editors', 'group 0']]);
    expect(t.log.find(({ message }) => message.startsWith('groups of a person were left out'))?.fields).toMatchObject({
      groups: 303,
      remaining: 100,
    });
    const [, grace] = await people();
    const path = `/api/v1/people/${String(grace?.id)}`;
    const body = await t.call('people.get', { id: String(grace?.id) });
    expect((await t.request('PATCH', path, { body })).status).toBe(200);
  });

  test('access tokens of a person whose groups changed end', async () => {
    const id = await configure({ groups_claim: 'groups' });
    provider.person = { ...GRACE, groups: ['a'] };
    await visitor(t).signIn(id);
    const ended = () => t.app.store.db.select().from(t.app.store.tables.ended_grants);
    expect(await ended()).toEqual([]);
    provider.person = { ...GRACE, groups: ['b'] };
    await visitor(t).signIn(id);
    const [, grace] = await people();
    expect(await ended()).toMatchObject([{ kind: 'sub', value: String(grace?.id) }]);
  });

  test('without a default role only mapped groups come in', async () => {
    const id = await configure({ groups_claim: 'realm.roles', role_by_group: { staff: 'viewer' }, default_role: null });
    expect(refusedWith(await visitor(t).signIn(id))).toBe('not_admitted');
    provider.person = { ...GRACE, _claim_names: { 'realm.roles': 'src1' } };
    expect(refusedWith(await visitor(t).signIn(id))).toBe('not_admitted');
    provider.person = { ...GRACE, realm: { roles: ['staff'] } };
    expect(await visitor(t).signIn(id)).toBe('/');
    provider.person = { ...GRACE, realm: { roles: [] } };
    expect(refusedWith(await visitor(t).signIn(id))).toBe('not_admitted');
  });

  test('an owner stays one whatever their groups say', async () => {
    const id = await configure({ groups_claim: 'groups', role_by_group: { staff: 'viewer' } });
    await visitor(t).signIn(id);
    const { people: table } = t.app.store.tables;
    await t.app.store.db.update(table).set({ role: 'owner' }).where(eq(table.username, 'grace@example.com'));
    provider.person = { ...GRACE, groups: ['staff'] };
    const one = visitor(t);
    await one.signIn(id);
    expect(await me(one)).toMatchObject({ role: 'owner', groups: ['staff'] });
  });
});

describe('linking', () => {
  const passwordVisitor = async () => {
    const one = visitor(t);
    await one.api('POST', '/auth/login', { username: 'ada', password: 'correct horse' });
    return one;
  };

  test('adds a way in to the own account and changes nothing else', async () => {
    const id = await configure({ create_people: false, groups_claim: 'groups', role_by_group: { staff: 'viewer' } });
    provider.person = { ...GRACE, groups: ['staff'] };
    const ada = await passwordVisitor();
    expect(await ada.signIn(id, '?link=true&return_to=/account')).toBe('/account');
    const elsewhere = visitor(t);
    expect(await elsewhere.signIn(id)).toBe('/');
    expect(await me(elsewhere)).toMatchObject({ username: 'ada', role: 'owner', groups: [] });
    expect((await people()).length).toBe(1);
  });

  test('needs a session that is ten minutes old at most, and an account that nobody else signs in with', async () => {
    const id = await configure();
    expect(refusedWith(await visitor(t).signIn(id, '?link=true'))).toBe('unauthenticated');
    await visitor(t).signIn(id);
    const ada = await passwordVisitor();
    expect(refusedWith(await ada.signIn(id, '?link=true'))).toBe('taken');
    t.advance(600_001);
    expect(refusedWith(await ada.signIn(id, '?link=true'))).toBe('forbidden');
  });
});
