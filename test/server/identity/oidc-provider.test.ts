import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type OidcProvider, passOidcProvider, startOidcProvider } from '#test/support/oidc-provider.ts';
import { visitor } from '#test/support/visitor.ts';

let t: TestApp;
let provider: OidcProvider;
let id = '';
beforeAll(async () => {
  provider = await startOidcProvider('http://localhost/api/v1/auth/oidc/callback');
  t = await testApp();
  t.advance(Date.now() - t.app.clock().getTime());
  await t.signIn();
  const body = {
    name: 'Company',
    ...provider.client,
    scopes: ['openid', 'profile', 'email', 'groups'],
    groups_claim: 'groups',
    role_by_group: { data: 'editor', staff: 'viewer' },
    create_people: true,
  };
  id = (await t.send('identity_providers.create', body)).body.id;
}, 60_000);
afterAll(async () => {
  await t.close();
  await provider.stop();
});

test('the connection test finds nothing wrong with a certified provider', async () => {
  const answer = await t.call('identity_providers.test', { id });
  const checks = answer.checks as { check: string; status: string; message: string }[];
  expect(checks.filter(({ status }) => status !== 'passed')).toEqual([
    { check: 'address', status: 'warning', message: expect.stringContaining('plain http') },
  ]);
  expect(answer.success).toBe(true);
});

test.each([
  ['grace', 'editor', ['data', 'staff']],
  ['alan', 'caller', ['guests']],
])('%s signs in with the real code flow as %s', async (login, role, groups) => {
  const one = visitor(t);
  const back = await passOidcProvider(await one.start(id, '?return_to=/tools'), login);
  expect(back.searchParams.get('iss')).toBe(provider.client.issuer);
  const end = await one.visit(`${back.pathname}${back.search}`);
  expect(end.headers.get('location')).toBe('/tools');
  const me = await one.api('GET', '/auth/me');
  expect(me.body).toMatchObject({ username: login, display_name: 'Grace Hopper', role, groups });
});

test('a code that was spent, and a return in another browser, are refused', async () => {
  const one = visitor(t);
  const back = await passOidcProvider(await one.start(id), 'grace');
  const path = `${back.pathname}${back.search}`;
  expect((await visitor(t).visit(path)).headers.get('location')).toContain('refused=expired');
  expect((await one.visit(path)).headers.get('location')).toBe('/');
  const again = await one.start(id);
  const state = again.searchParams.get('state') ?? '';
  const replayed = new URLSearchParams(back.search);
  replayed.set('state', state);
  expect((await one.visit(`${back.pathname}?${replayed}`)).headers.get('location')).toContain('refused=provider_failed');
});
