import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { decodeJwt } from 'jose';
import { collectOauth } from '#core/identity/oauth/garbage.ts';
import { listEnded } from '#core/identity/oauth/published.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { assertionsOf, ISSUER, JWT_BEARER, RESOURCE } from '#test/support/assertions.ts';
import { type Member, peopleOf } from '#test/support/people.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';
import { CLAUDE_CODE, createBrowser, tokens } from '#test/support/sign-in.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';
import { visitor } from '#test/support/visitor.ts';

const DAY_MS = 24 * 3_600_000;

let t: TestApp;
let owner: Member;
let provider: TestProvider;
let sent: ReturnType<typeof assertionsOf>;
beforeAll(async () => {
  provider = await openTestProvider();
});
afterAll(() => provider.close());
beforeEach(async () => {
  provider.tricks = {};
  provider.person = { sub: 'person-1', preferred_username: 'grace' };
  t = await testApp();
  t.advance(Date.now() - t.app.clock().getTime());
  await t.signIn();
  sent = assertionsOf(t, provider);
});
afterEach(() => t.close());

const update = (id: string, body: object) => t.call('identity_providers.update', { id, ...body });
const people = async () => (await t.call('people.list', {})).items;
const grants = async () => (await t.call('grants.list', {})).items;
const claimsOf = ({ body }: Awaited<ReturnType<typeof sent.send>>) => decodeJwt(String(body['access_token']));
const refusal = ({ status, body }: Awaited<ReturnType<typeof sent.send>>) => [status, body['error'], body['error_description']];
const invalid = (sentence: string) => [400, 'invalid_grant', expect.stringContaining(sentence)];

describe('an identity assertion', () => {
  test('gives a token of ten minutes with the person’s rights, without a refresh token, and is audited', async () => {
    await sent.configure({ default_role: 'viewer', groups_claim: 'groups' });
    const answer = await sent.exchange({ groups: ['data'] });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 600, scope: 'mcp' });
    const [grace] = (await people()).filter(({ username }) => username === 'grace');
    expect(grace).toMatchObject({ role: 'viewer', groups: ['data'], sign_in: 'oidc' });
    const claims = claimsOf(answer);
    expect(claims).toMatchObject({
      iss: ISSUER,
      aud: RESOURCE,
      sub: grace?.id,
      client_id: CLAUDE_CODE,
      scope: '',
      groups: ['data'],
    });
    expect(Math.ceil(Number(claims.exp) - Number(claims.iat))).toBe(600);
    const [grant] = await grants();
    expect(grant).toMatchObject({
      kind: 'assertion',
      person: { username: 'grace' },
      client: { client_id: CLAUDE_CODE },
      resource: RESOURCE,
    });
    const [entry] = await sent.audited();
    const detail = { step: 'assertion', client_id: CLAUDE_CODE, provider: 'Company' };
    expect(entry).toMatchObject({ outcome: 'ok', actor: { type: 'person', name: 'grace' }, detail });
    const [attempt] = (await t.call('oauth_attempts.list', {})).items;
    expect(attempt).toMatchObject({ step: 'assertion', success: true, person: 'grace', client_id: CLAUDE_CODE });
  });

  test.each<[string, Record<string, unknown>, Record<string, string>, Record<string, string>]>([
    ['an audience with a slash more', { aud: `${ISSUER}/` }, {}, {}],
    ['an audience as a list of one', { aud: [ISSUER] }, {}, {}],
    ['no resource and no scope', { resource: undefined, scope: undefined }, { resource: RESOURCE }, {}],
    ['a resource with a slash more', { resource: `${RESOURCE}/` }, { resource: RESOURCE }, {}],
    ['one of several resources', { resource: ['https://other.example/mcp', RESOURCE] }, {}, {}],
    ['a type in capitals with its prefix', {}, {}, { typ: 'application/OAuth-ID-JAG+JWT' }],
    ['an actor, and facts of how the person signed in', { act: { sub: 'agent' }, amr: ['mfa'], auth_time: 1 }, {}, {}],
    ['clocks that differ by half a minute', { iat: Math.floor(Date.now() / 1_000) + 29 }, {}, {}],
  ])('is accepted with %s', async (_, claims, form, header) => {
    await sent.configure();
    const answer = await sent.send(await sent.assertion(claims, header), form);
    expect([answer.status, claimsOf(answer).aud]).toEqual([200, RESOURCE]);
  });

  test('renews one session per person, client and resource, which lives on beside what the person approved', async () => {
    await sent.configure();
    const [first, second] = [await sent.exchange(), await sent.exchange()];
    expect(claimsOf(first)['grant']).toBe(claimsOf(second)['grant']);
    t.advance(60_000);
    const third = await sent.exchange({ resource: `${RESOURCE}/readonly` });
    expect(claimsOf(third)['grant']).not.toBe(claimsOf(first)['grant']);
    expect((await grants()).map(({ kind, resource }) => [kind, resource])).toEqual([
      ['assertion', `${RESOURCE}/readonly`],
      ['assertion', RESOURCE],
    ]);
    const ada = createBrowser(t);
    await ada.signIn();
    expect((await tokens(t, ada)).status).toBe(200);
    expect((await grants()).map(({ kind }) => kind).sort()).toEqual(['assertion', 'assertion', 'consent']);
    // Each is in the audit log; only new sessions are in the list of attempts.
    expect(await sent.audited()).toHaveLength(3);
    const { items } = await t.call('oauth_attempts.list', {});
    expect(items.filter(({ step }) => step === 'assertion')).toHaveLength(2);
    t.advance(2 * DAY_MS);
    await collectOauth(t.app);
    await t.signIn();
    expect((await grants()).map(({ kind }) => kind)).toEqual(['consent']);
  });

  test('ends with its session, which its person and administrators can revoke', async () => {
    await sent.configure();
    await sent.exchange();
    const grace = visitor(t);
    await grace.signIn((await t.call('identity_providers.list', {})).items[0]?.id ?? '');
    const mine = await grace.api('GET', '/grants?mine=true');
    const [session] = mine.body['items'] as { id: string; kind: string }[];
    expect(session?.kind).toBe('assertion');
    expect((await grace.api('DELETE', `/grants/${session?.id}`)).status).toBe(204);
    expect(await listEnded(t.app)).toMatchObject([{ grant: session?.id }]);
    const history = (await t.call('history.list', { entity_type: 'grant' })).items;
    expect(history.map(({ action }) => action)).toEqual(['delete', 'create']);
    // The company decides again with each assertion.
    const next = await sent.exchange();
    expect(claimsOf(next)['grant']).not.toBe(session?.id);
    const [again] = await grants();
    expect((await t.send('grants.delete', { id: again?.id ?? '' })).status).toBe(204);
    expect(await grants()).toEqual([]);
  });

  test('is used up until it would have expired, and its ID is then forgotten', async () => {
    await sent.configure();
    const used = () => t.app.store.db.$count(t.app.store.tables.used_assertions);
    await sent.exchange({ exp: Math.floor(t.app.clock().getTime() / 1_000) + 86_400 });
    expect(await used()).toBe(1);
    t.advance(10 * 60_000);
    await collectOauth(t.app);
    expect(await used()).toBe(1);
    t.advance(11 * 60_000);
    await collectOauth(t.app);
    expect(await used()).toBe(0);
  });

  test('gives a token of fewer minutes where access tokens live shorter', async () => {
    await sent.configure();
    await t.call('config.update', { oauth_access_minutes: 5 });
    expect((await sent.exchange()).body['expires_in']).toBe(300);
  });

  test('of a confidential app opens a session that ends with the app', async () => {
    const app = await sent.confidentialApp();
    await sent.configure({ assertion_clients: [app.client_id] });
    const assertion = await sent.assertion({ client_id: app.client_id });
    expect((await sent.send(assertion, { client_id: undefined }, app.basic)).status).toBe(200);
    await t.call('oauth_apps.delete', { id: app.id });
    expect(await grants()).toEqual([]);
    expect(await listEnded(t.app)).toContainEqual(expect.objectContaining({ client_id: app.client_id }));
  });

  test('follows the keys of its provider when they rotate', async () => {
    await sent.configure();
    expect((await sent.exchange()).status).toBe(200);
    await provider.rotate();
    const asked = provider.asked.length;
    // An unknown key is not looked for again within half a minute, whoever sends it.
    expect(refusal(await sent.exchange())).toEqual(invalid('None of the provider’s keys'));
    expect(provider.asked).toHaveLength(asked);
    await update((await t.call('identity_providers.list', {})).items[0]?.id ?? '', { scopes: ['openid'] });
    expect((await sent.exchange()).status).toBe(200);
  });
});

describe('the person of an identity assertion', () => {
  test('is found by issuer and subject, never by e-mail address or name', async () => {
    owner = await peopleOf(t).join(t, { username: 'grace', role: 'admin', email: 'grace@example.com' });
    await sent.configure();
    const answer = await sent.exchange({ sub: 'somebody-else', email: 'grace@example.com', email_verified: true });
    expect(answer.status).toBe(200);
    expect(claimsOf(answer).sub).not.toBe(owner.id);
    expect((await grants()).map(({ person }) => person.username)).toEqual(['grace-2']);
  });

  test('who never signed in is created where the provider creates people, and refused elsewhere', async () => {
    const id = await sent.configure({ create_people: false });
    expect(refusal(await sent.exchange())).toEqual(invalid('You have no account here'));
    expect([await people(), await grants()]).toMatchObject([[{ username: 'ada' }], []]);
    await update(id, { create_people: true, allowed_domains: ['example.com'] });
    expect(refusal(await sent.exchange())).toEqual(invalid('did not confirm an email address'));
    expect(refusal(await sent.exchange({ email: 'grace@evil.example', email_verified: true }))).toEqual(
      invalid('not of a domain'),
    );
    expect((await people()).length).toBe(1);
    expect((await sent.exchange({ email: 'grace@example.com', email_verified: true })).status).toBe(200);
    // An assertion need not repeat the address of a person who is known.
    expect((await sent.exchange()).status).toBe(200);
    await update(id, { allowed_domains: ['other.example'] });
    expect(refusal(await sent.exchange())).toEqual(invalid('not of a domain'));
  });

  test('who is disabled or deleted is refused, and so are tokens from before', async () => {
    await sent.configure({ create_people: true });
    expect((await sent.exchange()).status).toBe(200);
    const [grace] = (await people()).filter(({ username }) => username === 'grace');
    const id = grace?.id ?? '';
    await t.call('people.update', { id, enabled: false });
    expect(refusal(await sent.exchange())).toEqual(invalid('This account is disabled'));
    expect(await listEnded(t.app)).toContainEqual(expect.objectContaining({ sub: id }));
    const [entry] = await sent.audited();
    expect(entry).toMatchObject({ outcome: 'refused', detail: { reason: expect.stringContaining('disabled') } });
    await update((await t.call('identity_providers.list', {})).items[0]?.id ?? '', { create_people: false });
    await t.call('people.delete', { id });
    expect(refusal(await sent.exchange())).toEqual(invalid('You have no account here'));
  });

  test('gets the groups and the role that the assertion names, and has the present ones without', async () => {
    const roles = { groups_claim: 'groups', role_by_group: { admins: 'admin', staff: 'viewer' }, default_role: null };
    await sent.configure(roles);
    expect(refusal(await sent.exchange())).toEqual(invalid('You have no account here'));
    expect(refusal(await sent.exchange({ groups: ['guests'] }))).toEqual(invalid('None of your groups'));
    expect(claimsOf(await sent.exchange({ groups: ['admins'] }))['groups']).toEqual(['admins']);
    const before = claimsOf(await sent.exchange());
    expect(before['groups']).toEqual(['admins']);
    const after = claimsOf(await sent.exchange({ groups: ['staff'] }));
    expect(after['groups']).toEqual(['staff']);
    expect((await people()).find(({ username }) => username === 'grace')).toMatchObject({ role: 'viewer', groups: ['staff'] });
    // Tokens with the groups from before have ended, the new one has not.
    const [ended] = await listEnded(t.app);
    expect(ended).toMatchObject({ sub: String(after.sub), before: expect.any(Number) });
    expect([Number(before['seq']) < Number(ended?.seq), Number(after['seq']) >= Number(ended?.seq)]).toEqual([true, true]);
  });
});

describe('the scopes of an identity assertion', () => {
  const withToolsets = async () => {
    const connection_id = await sqliteConnection(t, 'create table products (id integer)');
    const draft = { connection_id, description: 'A tool', sql_query: 'select id from products' };
    for (const [name, groups] of [
      ['sales', []],
      ['pay', ['hr']],
      ['stock', []],
    ] as const) {
      await t.call('tools.create', { ...draft, name: `find_${name}`, tags: [name] });
      const include = { tags: [name], connection_ids: [], tool_ids: [], resource_ids: [], prompt_ids: [] };
      await t.call('toolsets.create', { name, title: name, description: name, include, groups: [...groups] });
    }
    const deployed = await t.send('deploy.run');
    expect([deployed.status, deployed.body.detail]).toEqual([200, undefined]);
  };

  test('are the toolsets that it, the request and the person’s groups allow', async () => {
    await withToolsets();
    await sent.configure();
    const scope = async (claimed: string | undefined, requested?: string, resource = RESOURCE) => {
      const answer = await sent.exchange({ scope: claimed, resource }, { scope: requested });
      return answer.status === 200 ? claimsOf(answer)['scope'] : answer.body['error'];
    };
    expect(await scope('mcp')).toBe('');
    expect(await scope(undefined)).toBe('');
    expect(await scope(undefined, 'sales pay')).toBe('sales');
    expect(await scope('mcp', 'stock')).toBe('stock');
    expect(await scope('sales stock', 'mcp')).toBe('sales stock');
    expect(await scope('sales stock pay', 'pay stock')).toBe('stock');
    expect(await scope('mcp sales')).toBe('sales');
    expect(await scope('sales', 'stock')).toBe('invalid_scope');
    expect(await scope('pay')).toBe('invalid_grant');
    expect(await scope('mcp', undefined, `${RESOURCE}/sales`)).toBe('');
    expect(await scope('mcp', undefined, `${RESOURCE}/pay`)).toBe('invalid_grant');
    // A session that an assertion narrows stays one session.
    expect((await grants()).map(({ resource, scopes }) => [resource, scopes])).toContainEqual([RESOURCE, ['sales']]);
  });
});

describe('a provider', () => {
  test('that is disabled, does not accept assertions, or is deleted, gives no access', async () => {
    const id = await sent.configure();
    expect((await sent.exchange()).status).toBe(200);
    await update(id, { enabled: false });
    expect(refusal(await sent.exchange())).toEqual(invalid('is disabled'));
    await update(id, { enabled: true, accept_assertions: false });
    expect(refusal(await sent.exchange())).toEqual(invalid('are not accepted'));
    await update(id, { accept_assertions: true, assertion_clients: ['https://claude.ai/oauth/mcp-oauth-client-metadata'] });
    expect(refusal(await sent.exchange())).toEqual(invalid('from this client'));
    await t.call('identity_providers.delete', { id });
    expect(refusal(await sent.exchange())).toEqual(invalid('not an identity provider'));
    expect((await sent.audited()).map(({ outcome }) => outcome)).toEqual(['refused', 'refused', 'refused', 'refused', 'ok']);
  });

  test('that cannot be reached refuses nothing for ever: the client may try again', async () => {
    await sent.configure();
    provider.tricks = { jwks: () => new Response(null, { status: 500 }) };
    const answer = await sent.exchange();
    expect(refusal(answer)).toEqual([503, 'temporarily_unavailable', expect.stringContaining('could not be read')]);
    expect((await sent.audited())[0]).toMatchObject({ outcome: 'refused' });
    expect(await grants()).toEqual([]);
  });

  test.each([
    ['a metadata service', 'http://169.254.169.254/keys'],
    ['our own port', 'http://127.0.0.1:3000/api/health'],
    ['plain http of the public network', 'http://8.8.8.8/jwks'],
  ])('has its keys read through the address rule, which refuses %s', async (_, jwks_uri) => {
    await sent.configure();
    provider.tricks = { metadata: (document) => ({ ...document, jwks_uri }) };
    const answer = await sent.exchange();
    expect([answer.status, answer.body['error']]).toEqual([503, 'temporarily_unavailable']);
    expect(await grants()).toEqual([]);
  });
});

test('the metadata lists the grant and its profile while a provider accepts assertions', async () => {
  const metadata = async () => (await t.request('GET', '/.well-known/oauth-authorization-server', { anonymous: true })).body;
  const before = await metadata();
  expect(before['grant_types_supported']).not.toContain(JWT_BEARER);
  expect(before).not.toHaveProperty('authorization_grant_profiles_supported');
  const id = await sent.configure();
  expect(await metadata()).toMatchObject({
    grant_types_supported: expect.arrayContaining(['authorization_code', 'refresh_token', JWT_BEARER]),
    authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
  });
  await update(id, { enabled: false });
  expect(await metadata()).toEqual(before);
});
