import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Secret, TOTP } from 'otpauth';
import { stepOf } from '#core/lib/totp.ts';
import { isErrorBody, type RequestOptions, type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';

const PROXY = { SVC_TRUSTED_PROXIES: '192.0.2.1' };
const account = { username: 'ada', password: 'correct horse' };
const password = account.password;

interface Setup {
  readonly secret: string;
  readonly otpauth_uri: string;
  readonly qr_svg: string;
  readonly recovery_codes: string[];
}

let t: TestApp;
beforeEach(async () => {
  t = await testApp(PROXY);
});
afterEach(() => t.close());

const postAuth = (path: string, body: unknown = {}, options: RequestOptions = {}, app = t) =>
  app.request('POST', `/api/v1/auth/${path}`, { body, ...options });
const me = async (cookie: string, app = t) => (await app.send('auth.me', {}, { anonymous: true, headers: { cookie } })).status;
const status = () => t.call('two_factor.status', {});
const codeOf = (secret: string, app = t, seconds = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: app.app.clock().getTime() + seconds * 1_000 });
/** A code that is not right now, nor a step before or after. */
const wrongOf = (secret: string) => {
  const right = [-30, 0, 30].map((seconds) => codeOf(secret, t, seconds));
  return ['000000', '111111', '222222', '333333'].find((code) => !right.includes(code)) ?? '';
};
const from = (address: string) => ({ 'x-forwarded-for': address });

/** Signs in, turns the second factor on and lets a step pass. */
async function turnOn(app = t): Promise<Setup> {
  await app.signIn();
  const setup = (await postAuth('2fa/setup', { password }, {}, app)).body as object as Setup;
  const confirmed = await postAuth('2fa/verify-setup', { code: codeOf(setup.secret, app) }, {}, app);
  expect(confirmed.body).toEqual({ totp_enabled: true });
  app.advance(60_000);
  return setup;
}

const pending = async (options: RequestOptions = { anonymous: true }, app = t) =>
  String((await postAuth('login', account, options, app)).body['pending_token']);
const history = async () =>
  (await t.app.store.db.select().from(t.app.store.tables.history).orderBy(t.app.store.tables.history.id)).filter(
    (e) => e.entity_type === 'admin',
  );

const at = (seconds: number) => new Date(seconds * 1_000);

test('the codes are those of RFC 6238', () => {
  const secret = new Secret({ buffer: new TextEncoder().encode('12345678901234567890').buffer }).base32;
  expect(stepOf(secret, '287082', at(59))).toBe(1);
  expect(stepOf(secret, '081804', at(1_111_111_109))).toBe(37_037_036);
  expect(stepOf(secret, '081804', at(1_111_111_109 + 30))).toBe(37_037_036);
  expect(stepOf(secret, '081804', at(1_111_111_109 - 30))).toBe(37_037_036);
  expect(stepOf(secret, '081804', at(1_111_111_109 + 60))).toBeNull();
  for (const code of ['', '28708', '2870822', 'abcdef', '081805']) expect(stepOf(secret, code, at(1_111_111_109))).toBeNull();
});

test('before it is confirmed a setup changes nothing; a wrong code is 400', async () => {
  await t.signIn();
  expect((await postAuth('2fa/verify-setup', { code: '123456' })).status).toBe(409);
  const { body } = await postAuth('2fa/setup', { password });
  const setup = body as object as Setup;
  expect(setup.secret).toMatch(/^[A-Z2-7]{32}$/);
  expect(setup.otpauth_uri).toContain(`otpauth://totp/Sluice:ada?issuer=Sluice&secret=${setup.secret}`);
  expect(setup.qr_svg).toStartWith('<svg');
  expect(new Set(setup.recovery_codes).size).toBe(10);
  const refused = await postAuth('2fa/verify-setup', { code: wrongOf(setup.secret) });
  expect([refused.status, isErrorBody(refused.body)]).toEqual([400, true]);
  expect(await status()).toEqual({ totp_enabled: false, recovery_codes_remaining: 0 });
  expect((await postAuth('login', account, { anonymous: true })).body).toEqual({ totp_required: false, username: 'ada' });
  expect(await history()).toHaveLength(1);
});

test('an old session asks for the password before a set-up, and a wrong one counts as a failed sign-in', async () => {
  await t.signIn();
  t.advance(600_001);
  const without = await postAuth('2fa/setup');
  expect([without.status, isErrorBody(without.body)]).toEqual([403, true]);
  const refused = await postAuth('2fa/setup', { password: 'wrong' });
  expect([refused.status, isErrorBody(refused.body)]).toEqual([403, true]);
  expect((await t.app.store.db.select().from(t.app.store.tables.people))[0]?.totp_secret).toBeNull();
  for (let n = 0; n < 4; n++) expect((await postAuth('2fa/setup', { password: 'wrong' })).status).toBe(403);
  expect((await postAuth('2fa/setup', { password })).status).toBe(429);
  expect((await postAuth('login', account, { anonymous: true })).status).toBe(429);
});

test('who signed in a moment ago need not say the password again', async () => {
  await t.signIn();
  t.advance(590_000);
  expect((await postAuth('2fa/setup')).status).toBe(200);
});

test('a clock that is set back makes no old session a young one', async () => {
  await t.signIn();
  t.advance(600_001 - 3_600_000);
  expect((await postAuth('2fa/setup')).status).toBe(403);
  expect((await postAuth('2fa/setup', { password })).status).toBe(200);
});

test('the second setup replaces the first; when it is on, another one is refused', async () => {
  await t.signIn();
  const first = (await postAuth('2fa/setup', { password })).body as object as Setup;
  const second = (await postAuth('2fa/setup', { password })).body as object as Setup;
  expect((await postAuth('2fa/verify-setup', { code: codeOf(first.secret) })).status).toBe(400);
  expect((await postAuth('2fa/verify-setup', { code: codeOf(second.secret) })).status).toBe(200);
  expect((await postAuth('2fa/setup', { password })).status).toBe(409);
  expect((await postAuth('2fa/verify-setup', { code: codeOf(second.secret, t, 30) })).status).toBe(409);
  expect(await status()).toEqual({ totp_enabled: true, recovery_codes_remaining: 10 });
  expect(await t.call('auth.me', {})).toMatchObject({ totp_enabled: true });
});

test('the password alone gives no session; the code does, once, from any server', async () => {
  const { secret } = await turnOn();
  const login = await postAuth('login', account, { anonymous: true });
  expect(login.headers.get('set-cookie')).toBeNull();
  const pending_token = String(login.body['pending_token']);
  expect(login.body).toEqual({ totp_required: true, pending_token: expect.any(String), expires_in: 300 });
  expect(await me(`svc_session=${pending_token}`)).toBe(401);

  const other = await testApp({}, `file:${t.directory}/sluice.sqlite`);
  other.advance(60_000);
  const wrong = await postAuth('login/verify-2fa', { pending_token, code: wrongOf(secret) }, { anonymous: true }, other);
  expect([wrong.status, isErrorBody(wrong.body), wrong.headers.get('set-cookie')]).toEqual([401, true, null]);
  const right = await postAuth('login/verify-2fa', { pending_token, code: codeOf(secret) }, { anonymous: true }, other);
  expect(right.body).toEqual({ totp_required: false, username: 'ada' });
  expect(await me(right.headers.get('set-cookie')?.split(';')[0] ?? '')).toBe(200);
  await other.close();

  t.advance(30_000);
  const again = await postAuth('login/verify-2fa', { pending_token, code: codeOf(secret) }, { anonymous: true });
  expect([again.status, again.headers.get('set-cookie')]).toEqual([401, null]);
});

test('a step is accepted once, wherever it is used, and none before it', async () => {
  const { secret } = await turnOn();
  const code = codeOf(secret);
  expect((await postAuth('login/verify-2fa', { pending_token: await pending(), code }, { anonymous: true })).status).toBe(200);
  expect((await postAuth('login/verify-2fa', { pending_token: await pending(), code }, { anonymous: true })).status).toBe(401);
  const before = codeOf(secret, t, -30);
  expect((await postAuth('login/verify-2fa', { pending_token: await pending(), code: before }, { anonymous: true })).status).toBe(
    401,
  );
  expect((await postAuth('2fa/disable', { password, code })).status).toBe(400);
  expect((await postAuth('2fa/regenerate-recovery', { password, code })).status).toBe(400);
  expect(await status()).toMatchObject({ totp_enabled: true });
  const next = codeOf(secret, t, 30);
  expect((await postAuth('login/verify-2fa', { pending_token: await pending(), code: next }, { anonymous: true })).status).toBe(
    200,
  );
});

test('of many uses of one code, or one recovery code, at the same moment one wins', async () => {
  const { secret, recovery_codes } = await turnOn();
  for (const body of [{ code: codeOf(secret) }, { code: recovery_codes[0], is_recovery: true }]) {
    const tokens = [await pending(), await pending(), await pending()];
    const answers = await Promise.all(
      tokens.map((pending_token) => postAuth('login/verify-2fa', { pending_token, ...body }, { anonymous: true })),
    );
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 401, 401]);
    t.advance(16 * 60_000);
  }
});

test.skipIf(!reachable.postgres)('on PostgreSQL two servers accept one code once (needs PostgreSQL)', async () => {
  const database = await testDatabase('postgresql');
  const { host, port, username, database: name } = database.settings;
  const url = `postgres://${username}@${host}:${port}/${name}`;
  const servers = [await testApp({}, url), await testApp({}, url)] as [TestApp, TestApp];
  try {
    const { secret, recovery_codes } = await turnOn(servers[0]);
    servers[1].advance(60_000);
    for (const body of [{ code: codeOf(secret, servers[0]) }, { code: recovery_codes[3], is_recovery: true }]) {
      const attempts = await Promise.all(
        [...servers, ...servers].map(async (app) => ({ app, pending_token: await pending({ anonymous: true }, app) })),
      );
      const answers = await Promise.all(
        attempts.map(({ app, pending_token }) =>
          postAuth('login/verify-2fa', { pending_token, ...body }, { anonymous: true }, app),
        ),
      );
      expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401]);
      for (const app of servers) app.advance(16 * 60_000);
    }
  } finally {
    for (const app of servers) await app.close();
    await database.drop();
  }
});

test('a pending token ends after 300 seconds and with the fifth failure, also of guesses at once', async () => {
  const { secret } = await turnOn();
  const late = await pending();
  t.advance(300_001);
  expect((await postAuth('login/verify-2fa', { pending_token: late, code: codeOf(secret) }, { anonymous: true })).status).toBe(
    401,
  );

  const pending_token = await pending({ anonymous: true, headers: from('198.51.100.1') });
  const guess = (address: number, code: string) =>
    postAuth('login/verify-2fa', { pending_token, code }, { anonymous: true, headers: from(`198.51.100.${address}`) });
  const answers = await Promise.all([2, 3, 4, 5, 6, 7, 8].map((address) => guess(address, wrongOf(secret))));
  expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 7 }, () => 401));
  const answer = await guess(9, codeOf(secret));
  expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
  const fresh = await pending({ anonymous: true, headers: from('198.51.100.9') });
  expect((await postAuth('login/verify-2fa', { pending_token: fresh, code: codeOf(secret) }, { anonymous: true })).status).toBe(
    200,
  );
});

test('wrong codes count in the limits of signing in, and a right password does not wipe them out', async () => {
  const { secret } = await turnOn();
  const code = wrongOf(secret);
  for (let n = 0; n < 5; n++) {
    const pending_token = await pending();
    expect((await postAuth('login/verify-2fa', { pending_token, code }, { anonymous: true })).status).toBe(401);
  }
  const limited = await postAuth('login', account, { anonymous: true });
  expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true]);
  expect((await postAuth('2fa/disable', { password, code: codeOf(secret) })).status).toBe(429);
  const elsewhere = await pending({ anonymous: true, headers: from('198.51.100.1') });
  const refused = await postAuth('login/verify-2fa', { pending_token: elsewhere, code: codeOf(secret) }, { anonymous: true });
  expect(refused.status).toBe(429);
  t.advance(15 * 60_000 + 1);
  expect((await postAuth('login', account, { anonymous: true })).body['totp_required']).toBe(true);
});

const use = async (code: string, is_recovery = true) =>
  postAuth('login/verify-2fa', { pending_token: await pending(), code, is_recovery }, { anonymous: true });

test('a recovery code signs in once, typed in any case; what is stored is a hash', async () => {
  const { recovery_codes } = await turnOn();
  const [first = '', second = ''] = recovery_codes;
  expect((await use(first, false)).status).toBe(401);
  expect((await use(first.toLowerCase().replaceAll('-', ' '))).status).toBe(200);
  expect((await use(first)).status).toBe(401);
  expect((await use('0000-0000-0000-0000')).status).toBe(401);
  expect(await status()).toEqual({ totp_enabled: true, recovery_codes_remaining: 9 });
  expect((await use(second)).status).toBe(200);
  const rows = await t.app.store.db.select().from(t.app.store.tables.recovery_codes);
  expect(rows).toHaveLength(8);
  expect(JSON.stringify(rows)).not.toContain(recovery_codes[2] ?? '');
});

test('new recovery codes want password and code; the old ones are worth nothing', async () => {
  const { secret, recovery_codes } = await turnOn();
  expect((await postAuth('2fa/regenerate-recovery', { password: 'wrong', code: codeOf(secret) })).status).toBe(403);
  expect((await postAuth('2fa/regenerate-recovery', { password, code: wrongOf(secret) })).status).toBe(400);
  expect((await postAuth('2fa/regenerate-recovery', { password, code: recovery_codes[0] })).status).toBe(400);
  expect(await status()).toMatchObject({ recovery_codes_remaining: 10 });
  const { body, status: done } = await postAuth('2fa/regenerate-recovery', { password, code: codeOf(secret) });
  expect([done, Object.keys(body)]).toEqual([200, ['recovery_codes']]);
  expect((await use(recovery_codes[0] ?? '')).status).toBe(401);
  expect((await use((body['recovery_codes'] as string[])[0] ?? '')).status).toBe(200);
});

test('turning it off wants password and code, and leaves no secret behind', async () => {
  const { secret, recovery_codes } = await turnOn();
  const refused = [
    await postAuth('2fa/disable', { password: 'wrong', code: codeOf(secret) }),
    await postAuth('2fa/disable', { password, code: wrongOf(secret) }),
    await postAuth('2fa/disable', { password, code: recovery_codes[0] }),
  ];
  expect(refused.map((answer) => [answer.status, isErrorBody(answer.body)])).toEqual([
    [403, true],
    [400, true],
    [400, true],
  ]);
  expect(await status()).toMatchObject({ totp_enabled: true, recovery_codes_remaining: 10 });
  expect((await postAuth('2fa/disable', { password, code: codeOf(secret) })).body).toEqual({ totp_enabled: false });
  const { people, recovery_codes: table } = t.app.store.tables;
  expect((await t.app.store.db.select().from(people))[0]).toMatchObject({ totp_secret: null, totp_last_step: null });
  expect(await t.app.store.db.select().from(table)).toEqual([]);
  expect((await postAuth('login', account, { anonymous: true })).body).toEqual({ totp_required: false, username: 'ada' });
  expect((await postAuth('2fa/disable', { password, code: '123456' })).status).toBe(409);
  expect((await postAuth('2fa/regenerate-recovery', { password, code: '123456' })).status).toBe(409);
});

test('who lost the authenticator turns it off with a recovery code', async () => {
  const { recovery_codes } = await turnOn();
  const off = await postAuth('2fa/disable', { password, code: recovery_codes[4], is_recovery: true });
  expect(off.body).toEqual({ totp_enabled: false });
});

test('on, new recovery codes and off each end every other session and renew this one', async () => {
  await t.signIn();
  const signInElsewhere = async (secret?: string) => {
    const first = await postAuth('login', account, { anonymous: true });
    if (secret === undefined) return first.headers.get('set-cookie')?.split(';')[0] ?? '';
    const { pending_token } = first.body;
    const second = await postAuth('login/verify-2fa', { pending_token, code: codeOf(secret) }, { anonymous: true });
    return second.headers.get('set-cookie')?.split(';')[0] ?? '';
  };
  const { secret } = (await postAuth('2fa/setup', { password })).body as object as Setup;
  const changes: [string, object, boolean][] = [
    ['2fa/verify-setup', {}, false],
    ['2fa/regenerate-recovery', { password }, true],
    ['2fa/disable', { password }, true],
  ];
  for (const [path, body, on] of changes) {
    const other = await signInElsewhere(on ? secret : undefined);
    t.advance(60_000);
    const half_done = on ? await pending() : null;
    expect(await me(other)).toBe(200);
    const changed = await postAuth(path, { ...body, code: codeOf(secret) });
    expect([path, changed.status]).toEqual([path, 200]);
    expect(changed.headers.get('set-cookie')).toContain('svc_session=');
    expect(await me(other)).toBe(401);
    expect((await t.call('auth.sessions', {})).total).toBe(1);
    t.advance(60_000);
    if (half_done === null) continue;
    const late = await postAuth('login/verify-2fa', { pending_token: half_done, code: codeOf(secret) }, { anonymous: true });
    expect(late.status).toBe(401);
  }
});

test('history names what changed and holds no secret, hash or code', async () => {
  const { secret, recovery_codes } = await turnOn();
  await postAuth('2fa/regenerate-recovery', { password, code: codeOf(secret) });
  t.advance(60_000);
  await postAuth('2fa/disable', { password, code: codeOf(secret) });
  const entries = await history();
  expect(entries.map(({ action, before, after }) => ({ action, before, after }))).toEqual([
    { action: 'create', before: null, after: { username: 'ada', role: 'owner' } },
    { action: 'update', before: { totp_enabled: false }, after: { totp_enabled: true } },
    { action: 'update', before: {}, after: { recovery_codes_changed: true } },
    { action: 'update', before: { totp_enabled: true }, after: { totp_enabled: false } },
  ]);
  const kept = JSON.stringify([entries, t.log]);
  for (const text of [secret, ...recovery_codes, '$sealed', 'argon2']) expect(kept).not.toContain(text);
});
