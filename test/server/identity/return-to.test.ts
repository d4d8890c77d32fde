import { afterAll, beforeAll, expect, test } from 'bun:test';
import { localPath } from '#core/identity/providers/sign-in.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';
import { visitor } from '#test/support/visitor.ts';

let t: TestApp;
let provider: TestProvider;
let id = '';
beforeAll(async () => {
  provider = await openTestProvider();
  t = await testApp();
  t.advance(Date.now() - t.app.clock().getTime());
  await t.signIn();
  const body = { name: 'Test', ...provider.client, create_people: true };
  id = (await t.call('identity_providers.create', body)).id;
});
afterAll(async () => {
  await t.close();
  await provider.close();
});

const HOSTILE = [
  'https://evil.example',
  'https://evil.example/tools',
  'http:evil.example',
  '//evil.example',
  '///evil.example',
  '////evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '\\/evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r\n/evil.example',
  '\t//evil.example',
  ' //evil.example',
  '/ /evil.example',
  '/.//evil.example',
  '/..//evil.example',
  '/a/..//evil.example',
  '/a/../..//evil.example',
  '/./\\evil.example',
  '/%2e//evil.example',
  '/%2E%2e//evil.example',
  'javascript:alert(1)',
  'JavaScript:alert(1)//',
  'data:text/html,x',
  '@evil.example',
  '.evil.example',
  'tools',
  '',
  '?next=//evil.example',
  '#//evil.example',
  `/${'a'.repeat(7_000)}`,
  '/tools\u0000',
  '/tools\u007f',
  '/api/v1/auth/logout',
  '/api',
  '/%61pi/v1/auth/oidc/callback',
  '/a/../api/v1/tools',
  '/agent-mcp',
  '/mcp',
];

test.each(HOSTILE)('%j is no place to return to', async (path) => {
  expect(localPath(path)).toBeNull();
  const answer = await t.request('GET', `/api/v1/auth/oidc/${id}/start?return_to=${encodeURIComponent(path)}`, {
    anonymous: true,
  });
  // A NUL character is refused before anything reads it.
  expect([answer.status, answer.headers.get('location')]).toEqual([path.includes('\0') ? 400 : 422, null]);
});

test.each([
  ['/', '/'],
  ['/tools', '/tools'],
  ['/tools?q=//evil.example', '/tools?q=//evil.example'],
  ['/a/../tools#x', '/tools#x'],
  [
    '/oauth/authorize?client_id=https%3A%2F%2Fx.example%2Fc&scope=a%20b',
    '/oauth/authorize?client_id=https%3A%2F%2Fx.example%2Fc&scope=a%20b',
  ],
  ['/@evil.example', '/@evil.example'],
  ['/%2F/evil.example', '/%2F/evil.example'],
])('%j is one: %j', async (path, expected) => {
  expect(localPath(path)).toBe(expected);
  expect(await visitor(t).signIn(id, `?return_to=${encodeURIComponent(path)}`)).toBe(expected);
});

test('a provider cannot change where the sign-in ends', async () => {
  const one = visitor(t);
  const back = await one.through(await one.start(id, '?return_to=/tools'));
  const end = await one.visit(`${back}&return_to=//evil.example&next=//evil.example`);
  expect(end.headers.get('location')).toBe('/tools');
});

test('a refusal leads to the sign-in page of this server, with a place of this server', async () => {
  for (const path of ['//evil.example', '/tools']) {
    const answer = await visitor(t).visit(`/api/v1/auth/oidc/nobody/start?return_to=${encodeURIComponent(path)}`);
    const location = answer.headers.get('location') ?? '';
    expect(location).toMatch(/^\/login\?refused=(?:invalid|not_found)&next=%2F/);
    expect(location).not.toContain('evil');
  }
});
