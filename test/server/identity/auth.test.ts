import { afterEach, beforeEach, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { lockEntityWrites } from '#core/store/journal.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
});
afterEach(() => t.close());

const credentials = { username: 'ada', password: 'correct horse' };

test('a fresh installation asks for its first administrator, and only once', async () => {
  expect(await t.call('auth.status', {})).toMatchObject({ setup_required: true, authenticated: false });
  const created = await t.send('auth.setup', credentials);
  expect(created.status).toBe(201);
  expect(created.body).toEqual({ username: 'ada', totp_enabled: false });
  expect(created.headers.get('set-cookie')).toMatch(/^svc_session=[^;]+;.*Max-Age=86400.*HttpOnly.*SameSite=Strict/);
  expect(await t.call('auth.status', {})).toMatchObject({ setup_required: false, authenticated: true });
  const again = await t.request('POST', '/api/v1/auth/setup', { body: { ...credentials, username: 'eve' } });
  expect(again.status).toBe(409);
  expect(isErrorBody(again.body)).toBe(true);
});

test('of two first administrators at the same moment one wins', async () => {
  const answers = await Promise.all(['ada', 'eve', 'mal'].map((username) => t.send('auth.setup', { ...credentials, username })));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
});

test('a short password is refused at its field and nothing is stored', async () => {
  const answer = await t.send('auth.setup', { username: 'ada', password: 'short' });
  expect(answer.status).toBe(422);
  expect(answer.body.errors).toEqual([{ field: 'password', message: 'password must have at least 8 characters.' }]);
  expect((await t.call('auth.status', {})).setup_required).toBe(true);
});

test('sign in, read the account, sign out; the old cookie is worth nothing', async () => {
  await t.signIn();
  await t.call('auth.logout', {});
  expect((await t.send('auth.me')).status).toBe(401);
  const login = await t.send('auth.login', credentials);
  expect(login.body).toEqual({ totp_required: false, username: 'ada' });
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect(await t.call('auth.me', {})).toMatchObject({
    username: 'ada',
    totp_enabled: false,
    has_password: true,
  });
  const out = await t.send('auth.logout');
  expect(out.status).toBe(204);
  expect((await t.send('auth.me', {}, { anonymous: true, headers: { cookie } })).status).toBe(401);
});

test('a wrong password and an unknown name get the same answer', async () => {
  await t.signIn();
  const plain = { anonymous: true, headers: { accept: 'application/json' } };
  const wrong = await t.send('auth.login', { ...credentials, password: 'wrong' }, plain);
  const unknown = await t.send('auth.login', { username: 'eve', password: 'wrong' }, plain);
  expect([wrong.status, unknown.status]).toEqual([401, 401]);
  expect(wrong.body).toEqual(unknown.body);
});

test('refused passwords stand among the sign-in attempts, without what was typed as a name that nobody has', async () => {
  await t.signIn();
  for (const username of ['ada', 'hunter2 my password'])
    await t.send('auth.login', { username, password: 'wrong' }, { anonymous: true });
  await t.send('auth.login', credentials, { anonymous: true });
  const { items } = await t.call('oauth_attempts.list', {});
  const shown = items.map(({ client, step, success, reason, person }) => ({ client, step, success, reason, person }));
  const wrong = { client: 'Sluice', step: 'password', success: false, reason: 'The username or password is wrong.' } as const;
  expect(shown).toEqual([
    { ...wrong, person: null },
    { ...wrong, person: 'ada' },
  ]);
  expect(JSON.stringify(items)).not.toContain('hunter2');
});

test('the sixth failure of an account from one address waits, also when they come at once', async () => {
  await t.signIn();
  const attempt = () => t.send('auth.login', { ...credentials, password: 'wrong' }, { anonymous: true });
  const answers = await Promise.all(Array.from({ length: 8 }, attempt));
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
  const limited = answers.find(({ status }) => status === 429);
  expect(Number(limited?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await t.send('auth.login', credentials, { anonymous: true })).status).toBe(429);
  t.advance(15 * 60_000 + 1);
  expect((await t.send('auth.login', credentials, { anonymous: true })).status).toBe(200);
});

test('a new password ends every other session and keeps this one', async () => {
  await t.signIn();
  const other = await t.send('auth.login', credentials, { anonymous: true });
  const other_cookie = other.headers.get('set-cookie')?.split(';')[0] ?? '';
  const refused = await t.send('auth.update_me', { current_password: 'wrong', password: 'a new password' });
  expect(refused.status).toBe(403);
  const changed = await t.send('auth.update_me', { current_password: 'correct horse', password: 'a new password' });
  expect(changed.status).toBe(200);
  expect((await t.send('auth.me')).status).toBe(200);
  expect((await t.send('auth.me', {}, { anonymous: true, headers: { cookie: other_cookie } })).status).toBe(401);
  const sessions = await t.call('auth.sessions', {});
  expect(sessions.total).toBe(1);
});

test('a session ends after 24 hours, and after 8 hours without a request', async () => {
  await t.signIn();
  t.advance(7 * 3_600_000);
  expect((await t.send('auth.me')).status).toBe(200);
  t.advance(7.9 * 3_600_000);
  expect((await t.send('auth.me')).status).toBe(200);
  t.advance(7.9 * 3_600_000);
  expect((await t.send('auth.me')).status).toBe(200);
  t.advance(2 * 3_600_000);
  expect((await t.send('auth.me')).status).toBe(401);
  await t.call('auth.login', credentials);
  t.advance(8 * 3_600_000 + 1);
  expect((await t.send('auth.me')).status).toBe(401);
});

test('sessions are listed and revoked one by one', async () => {
  await t.signIn();
  const other = await t.send('auth.login', credentials, { anonymous: true });
  const { items } = await t.call('auth.sessions', {});
  expect(items.filter(({ current }) => current)).toHaveLength(1);
  const id = items.find(({ current }) => !current)?.id;
  expect((await t.send('auth.revoke_session', { id })).status).toBe(204);
  expect((await t.send('auth.revoke_session', { id })).status).toBe(404);
  const cookie = other.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect((await t.send('auth.me', {}, { anonymous: true, headers: { cookie } })).status).toBe(401);
});

test('another site cannot use the cookie', async () => {
  await t.signIn();
  for (const headers of [
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    const answer = await t.send('auth.logout', {}, { headers });
    expect(answer.status).toBe(403);
  }
  expect((await t.send('auth.logout', {}, { headers: { origin: 'http://localhost' } })).status).toBe(204);
});

test('a forged, an unsigned and an expired token are nobody', async () => {
  await t.signIn();
  const none = `${btoa('{"alg":"none"}')}.${btoa('{"sub":"x","sid":"y"}')}.`;
  for (const token of ['nonsense', none, 'a.b.c']) {
    const answer = await t.send('auth.me', {}, { anonymous: true, headers: { cookie: `svc_session=${token}` } });
    expect(answer.status).toBe(401);
  }
});

test('over HTTPS the cookie is bound to the host', async () => {
  const { createHttp } = await import('#server/http/http.ts');
  const response = await createHttp(t.app).fetch(
    new Request('https://localhost/api/v1/auth/setup', {
      method: 'POST',
      headers: { host: 'localhost', 'content-type': 'application/json' },
      body: JSON.stringify(credentials),
    }),
    { address: '192.0.2.1' },
  );
  expect(response.headers.get('set-cookie')).toMatch(/^__Host-svc_session=.*Secure/);
});

/** What happens to the account while a request that has read it waits to write. */
async function meanwhile(set: Record<string, unknown>, ask: () => ReturnType<TestApp['request']>) {
  const { people } = t.app.store.tables;
  const asked = Promise.withResolvers<void>();
  const changed = t.app.store.write(async (tx) => {
    await lockEntityWrites(t.app.store, tx);
    await asked.promise;
    await tx.update(people).set(set).where(eq(people.username, credentials.username));
  });
  const answer = ask();
  await Bun.sleep(300);
  asked.resolve();
  await changed;
  return answer;
}

test.each([
  ['has another password', { password_hash: 'another' }],
  ['is disabled', { enabled: false }],
  ['has a second factor', { totp_enabled: true }],
])('a sign-in fails when the account %s by the time its password was checked', async (_, set) => {
  await t.signIn();
  const login = () => t.send('auth.login', credentials, { anonymous: true });
  const late = await meanwhile(set, login);
  expect([late.status, late.headers.get('set-cookie'), isErrorBody(late.body)]).toEqual([401, null, true]);
});

test('a password that was replaced while it was checked changes nothing', async () => {
  await t.signIn();
  const body = { current_password: credentials.password, password: 'a third password' };
  const late = await meanwhile({ password_hash: 'another' }, () => t.send('auth.update_me', body));
  expect([late.status, isErrorBody(late.body)]).toEqual([409, true]);
  const [stored] = await t.app.store.db.select().from(t.app.store.tables.people);
  expect(stored?.password_hash).toBe('another');
});

test('with a setup token only somebody who knows it becomes the owner', async () => {
  const token = 'k9'.repeat(16);
  const guarded = await testApp({ SVC_SETUP_TOKEN: token });
  try {
    expect(await guarded.call('auth.status', {})).toMatchObject({ setup_required: true, setup_token_required: true });
    for (const setup_token of [undefined, 'guessed', `${token} `]) {
      const { status, body } = await guarded.send('auth.setup', {
        ...credentials,
        ...(setup_token !== undefined && { setup_token }),
      });
      expect([status, body.errors]).toMatchObject([422, [{ field: 'setup_token' }]]);
      expect(JSON.stringify(body)).not.toContain(token);
    }
    expect(await guarded.app.store.db.$count(guarded.app.store.tables.people)).toBe(0);
    expect((await guarded.send('auth.setup', { ...credentials, setup_token: token })).status).toBe(201);
    expect(await guarded.call('auth.status', {})).not.toHaveProperty('setup_token_required');
    expect((await guarded.send('auth.setup', { ...credentials, username: 'eve' })).status).toBe(409);
    expect(JSON.stringify(guarded.log)).not.toContain(token);
  } finally {
    await guarded.close();
  }
  // A server without one has nothing to compare with.
  const open = await testApp();
  try {
    expect(await open.call('auth.status', {})).toMatchObject({ setup_token_required: false });
    expect((await open.send('auth.setup', { ...credentials, setup_token: token })).status).toBe(422);
    expect((await open.send('auth.setup', credentials)).status).toBe(201);
  } finally {
    await open.close();
  }
});
