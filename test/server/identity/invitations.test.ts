import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Secret, TOTP } from 'otpauth';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { type Member, peopleOf } from '#test/support/people.ts';

let t: TestApp;
let owner: Member;
beforeEach(async () => {
  t = await testApp({ SVC_PUBLIC_URL: 'https://sluice.example' });
  owner = await peopleOf(t).owner();
});
afterEach(() => t.close());

const accept = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  t.send('auth.accept_invite', body, { anonymous: true, headers });
async function invite(draft: Record<string, unknown> = { username: 'grace', role: 'editor' }) {
  const id = (await owner.send('people.create', draft)).body.id;
  return { id, ...(await again(id)) };
}
async function again(id: string) {
  const body = await owner.call('people.invite', { id });
  return { token: new URL(body.invite_url).hash.slice(1), body };
}
const password = 'a long password';
const me = (cookie: string | null) =>
  t.send('auth.me', {}, { anonymous: true, headers: { cookie: cookie?.split(';')[0] ?? '' } });

test('a link works once: it sets the password, the name if wished, and signs in', async () => {
  const { id, token, body } = await invite();
  expect(body.invite_url).toBe(`https://sluice.example/invite?name=grace#${token}`);
  expect(body.expires_at).toBe('2026-03-04T12:00:00.000Z');
  expect(await owner.call('people.get', { id })).toMatchObject({
    can_sign_in: false,
    invite_expires_at: body.expires_at,
  });
  const answer = await accept({ token, username: 'hopper', password });
  expect([answer.status, answer.body]).toEqual([200, { totp_required: false, username: 'hopper' }]);
  expect((await me(answer.headers.get('set-cookie'))).body).toMatchObject({ id, username: 'hopper', role: 'editor' });
  expect(await owner.call('people.get', { id })).toMatchObject({ can_sign_in: true, invite_expires_at: null });
  const second = await accept({ token, password: 'another password' });
  expect([second.status, isErrorBody(second.body), second.headers.get('set-cookie')]).toEqual([404, true, null]);
  const login = { username: 'hopper', password };
  expect((await t.send('auth.login', login, { anonymous: true })).status).toBe(200);
});

test('of five who come with one link at the same moment one gets in', async () => {
  const { token } = await invite();
  const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => accept({ token, password: `${password} ${n}` })));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404, 404, 404]);
});

test('a link ends after 72 hours, with the next link, and while the person is disabled or gone', async () => {
  const first = await invite();
  const second = await again(first.id);
  expect((await accept({ token: first.token, password })).status).toBe(404);
  await owner.call('people.update', { id: first.id, enabled: false });
  expect((await accept({ token: second.token, password })).status).toBe(404);
  expect((await owner.send('people.invite', { id: first.id })).status).toBe(409);
  await owner.call('people.update', { id: first.id, enabled: true });
  t.advance(72 * 3_600_000);
  expect((await accept({ token: second.token, password })).status).toBe(404);
  await owner.signIn();
  const third = await again(first.id);
  t.advance(72 * 3_600_000 - 1);
  await owner.signIn();
  expect((await accept({ token: third.token, password: 'short' })).status).toBe(422);
  expect((await accept({ token: third.token, username: 'Ada', password })).status).toBe(409);
  expect((await accept({ token: third.token, password })).status).toBe(200);
  const gone = await invite({ username: 'eve' });
  await owner.call('people.delete', { id: gone.id });
  expect((await accept({ token: gone.token, password })).status).toBe(404);
  expect((await accept({ token: 'svc_invite_nonsense', password })).status).toBe(404);
});

test('the token is stored nowhere, and no log line holds it', async () => {
  const { token } = await invite();
  await accept({ token: `${token}x`, password });
  const { history, people } = t.app.store.tables;
  const stored = [await t.app.store.db.select().from(history), await t.app.store.db.select().from(people), t.log];
  expect(JSON.stringify(stored)).not.toContain(token);
});

test('a second link for somebody who has a password resets it: their sessions end, the second factor stays', async () => {
  const person = await peopleOf(t).join(owner, { username: 'grace', role: 'viewer' });
  const { secret } = await person.call('two_factor.setup', {});
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const code = () => totp.generate({ timestamp: t.app.clock().getTime() });
  await person.call('two_factor.verify_setup', { code: code() });
  await person.signIn();
  t.advance(60_000);
  const { token } = await again(person.id);
  const answer = await accept({ token, password });
  expect([answer.body.totp_required, answer.headers.get('set-cookie')]).toEqual([true, null]);
  expect((await person.send('auth.me')).status).toBe(401);
  const body = { pending_token: 'pending_token' in answer.body ? answer.body.pending_token : null, code: code() };
  const done = await t.send('two_factor.login', body, { anonymous: true });
  expect(done.status).toBe(200);
  // A lost authenticator is taken away by an administrator, and the sessions end again.
  const reset = await owner.send('people.reset_2fa', { id: person.id });
  expect([reset.status, reset.body.totp_enabled]).toEqual([200, false]);
  expect((await me(done.headers.get('set-cookie'))).status).toBe(401);
  expect((await owner.send('people.reset_2fa', { id: person.id })).status).toBe(200);
});

test('an open link ends when its person becomes an owner: whoever sent it may make no owner', async () => {
  const admin = await peopleOf(t).join(owner, { username: 'eve', role: 'admin' });
  const grace = await peopleOf(t).join(owner, { username: 'grace', role: 'admin' });
  const body = await admin.call('people.invite', { id: grace.id });
  const token = new URL(body.invite_url).hash.slice(1);
  // Another change of role leaves it open.
  expect((await owner.call('people.update', { id: grace.id, role: 'editor' })).invite_expires_at).not.toBeNull();
  const raised = await owner.send('people.update', { id: grace.id, role: 'owner' });
  expect([raised.status, raised.body.invite_expires_at]).toEqual([200, null]);
  expect((await accept({ token, password })).status).toBe(404);
  expect(await grace.call('auth.me', {})).toMatchObject({ role: 'owner' });
  expect((await grace.signIn()).status).toBe(200);
  expect((await accept({ token: (await again(grace.id)).token, password })).status).toBe(200);
});

test('a link ends with the rights of whoever made it, and counts again with them', async () => {
  const admin = await peopleOf(t).join(owner, { username: 'eve', role: 'admin' });
  const made = await admin.call('people.create', { username: 'puppet', role: 'admin' });
  const body = await admin.call('people.invite', { id: made.id });
  const token = new URL(body.invite_url).hash.slice(1);
  const change = (draft: object) => owner.send('people.update', { id: admin.id, ...draft });
  for (const draft of [{ role: 'editor' }, { role: 'admin', enabled: false }]) {
    expect((await change(draft)).status).toBe(200);
    expect((await accept({ token, password })).status).toBe(404);
  }
  expect((await change({ enabled: true })).status).toBe(200);
  expect((await accept({ token, password })).status).toBe(200);
  const next = await peopleOf(t).join(owner, { username: 'next', role: 'owner' });
  const boss = await next.call('people.create', { username: 'boss', role: 'owner' });
  const of_boss = await next.call('people.invite', { id: boss.id });
  await owner.call('people.update', { id: next.id, role: 'admin' });
  // An administrator cannot invite an owner.
  const hash = new URL(of_boss.invite_url).hash.slice(1);
  expect((await accept({ token: hash, password })).status).toBe(404);
  const gone = await admin.send('auth.me');
  expect(gone.status).toBe(401);
  await admin.signIn();
  const last = await admin.call('people.create', { username: 'last', role: 'viewer' });
  const link = await admin.call('people.invite', { id: last.id });
  expect((await owner.send('people.delete', { id: admin.id })).status).toBe(204);
  expect((await accept({ token: new URL(link.invite_url).hash.slice(1), password })).status).toBe(404);
});
