import { afterAll, beforeAll, expect, test } from 'bun:test';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { type TestIssuer, testIssuer } from '#test/support/issuer.ts';
import { handMade, type TestKey, testKey } from '#test/support/signed-tokens.ts';

const PATH = '/api/v1/server/config/check-token';
let t: TestApp;
let issuer: TestIssuer;
let key: TestKey;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  issuer = testIssuer();
  key = await testKey('RS256');
  issuer.keys = [key.public_key];
  const jwt_issuers = [
    { issuer: issuer.url, audience: 'api://shop', groups_claim: 'realm_access.roles', required_claims: { tid: 't1' } },
  ];
  expect((await t.send('config.update', { jwt_issuers })).status).toBe(200);
});
afterAll(async () => {
  await t.close();
  await issuer.stop();
});

const claims = (more: Readonly<Record<string, unknown>> = {}) => {
  const now = Math.floor(t.app.clock().getTime() / 1_000);
  const given = { iss: issuer.url, aud: 'api://shop', sub: 'u1', azp: 'c1', scp: 'read write', name: 'Ada', tid: 't1' };
  return { ...given, realm_access: { roles: ['a', 'b'] }, iat: now, exp: now + 300, ...more };
};
interface Checked {
  readonly accepted: boolean;
  readonly checks: readonly { check: string; status: string; message: string }[];
  readonly caller: unknown;
}
const check = async (token: string) => await t.call('config.check_token', { token });
const failedIn = ({ checks }: Checked) => checks.find(({ status }) => status === 'failed');

test('is for administrators, and wants a token', async () => {
  expect((await t.send('config.check_token', { token: 'a.b.c' }, { anonymous: true })).status).toBe(401);
  for (const body of [{}, { token: '' }, { token: 1 }, { token: 'x'.repeat(20_001) }]) {
    const answer = await t.request('POST', PATH, { body });
    expect([answer.status, isErrorBody(answer.body)]).toEqual([422, true]);
  }
});

test('a token that is good passes every check, and says who would call', async () => {
  const answer = await check(`  ${await key.sign(claims())}\n`);
  expect(answer.accepted).toBe(true);
  expect(answer.checks.map(({ status }) => status)).toEqual(Array.from({ length: 11 }, () => 'passed'));
  expect(answer.caller).toEqual({
    sub: 'u1',
    name: 'Ada',
    email: null,
    client_id: 'c1',
    groups: ['a', 'b'],
    scopes: ['read', 'write'],
  });
});

test.each<[string, string, () => Promise<string> | string]>([
  ['form', 'not a signed JWT', () => 'hello'],
  ['algorithm', 'none', () => handMade({ alg: 'none' }, claims(), 'AA')],
  ['type', 'logout+jwt', () => key.sign(claims(), { typ: 'logout+jwt' })],
  ['issuer', 'evil.example.com', () => key.sign(claims({ iss: 'https://evil.example.com' }))],
  ['key', 'unknown', () => key.sign(claims(), { kid: 'unknown' })],
  ['signature', 'signature', async () => (await testKey('RS256', key.kid)).sign(claims())],
  ['audience', 'api://other', () => key.sign(claims({ aud: 'api://other' }))],
  ['expiry', 'expired at', () => key.sign(claims({ exp: 1_000 }))],
  ['times', 'future', () => key.sign(claims({ nbf: 9_999_999_999 }))],
  ['kind', 'ID token', () => key.sign(claims({ nonce: 'n' }))],
  ['claims', 'tid', () => key.sign(claims({ tid: 't2' }))],
])('one that fails the check of its %s says so, and what follows is skipped', async (name, text, make) => {
  const answer = await check(await make());
  expect([answer.accepted, answer.caller, failedIn(answer)?.check]).toEqual([false, null, name]);
  expect(failedIn(answer)?.message).toContain(text);
  const at = answer.checks.findIndex(({ check: one }) => one === name);
  expect(answer.checks.slice(0, at).every(({ status }) => status === 'passed')).toBe(true);
  expect(answer.checks.slice(at + 1).every(({ status }) => status === 'skipped')).toBe(true);
});

test('groups that Entra left out are none, not all', async () => {
  const token = await key.sign(claims({ _claim_names: { groups: 'src1' }, hasgroups: true, realm_access: { roles: ['a'] } }));
  expect((await check(token)).caller).toMatchObject({ groups: [] });
});

test('keys that cannot be read are named as the reason', async () => {
  issuer.answer = () => new Response('', { status: 500 });
  const failed = failedIn(await check(await key.sign(claims())));
  issuer.answer = null;
  expect(failed?.check).toBe('key');
  expect(failed?.message).toContain('answered 500');
});

test('nothing of a token is stored or logged', async () => {
  const token = await key.sign(claims({ name: 'canary-name-0123' }));
  await check(token);
  const parts = [...token.split('.'), 'canary-name-0123'];
  const logged = JSON.stringify(t.log);
  for (const part of parts) expect(logged).not.toContain(part);
  for (const table of Object.values(t.app.store.tables)) {
    const rows = JSON.stringify(await t.app.store.db.select().from(table as TestApp['app']['store']['tables']['tools']));
    for (const part of parts) expect(rows.includes(part)).toBe(false);
  }
});
