import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { collectOauth } from '#core/identity/oauth/garbage.ts';
import { rotateKeys } from '#core/identity/oauth/keys.ts';
import { listEnded } from '#core/identity/oauth/published.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Browser, CALLBACK, createBrowser, exchanged, post, refreshed, tokens, VERIFIER } from '#test/support/sign-in.ts';

const DAY_MS = 24 * 3_600_000;

let t: TestApp;
let ada: Browser;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  ada = createBrowser(t);
  await ada.signIn();
});
afterAll(() => t.close());

const token = (form: Parameters<typeof post>[2], headers = {}) => post(t, '/oauth/token', form, headers);
const isGrantError = ({ status, body }: Awaited<ReturnType<typeof token>>) =>
  expect([status, body['error']]).toEqual([400, 'invalid_grant']);

describe('a code', () => {
  test('of 50 parallel uses one wins, and the grant ends', async () => {
    const code = await ada.code();
    const answers = await Promise.all(Array.from({ length: 50 }, () => token(exchanged(code))));
    const won = answers.filter(({ status }) => status === 200);
    expect(won.length).toBeLessThanOrEqual(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) isGrantError(answer);
    const [winner] = won;
    if (winner !== undefined) isGrantError(await token(refreshed(String(winner.body['refresh_token']))));
    expect((await t.call('grants.list', {})).total).toBe(0);
  });

  test('used a second time later ends the grant and its access tokens', async () => {
    const code = await ada.code();
    const first = await token(exchanged(code));
    expect(first.status).toBe(200);
    const before = (await listEnded(t.app)).length;
    isGrantError(await token(exchanged(code)));
    isGrantError(await token(refreshed(String(first.body['refresh_token']))));
    expect((await listEnded(t.app)).length).toBe(before + 1);
  });

  test.each([
    ['another client', { client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata' }],
    ['another redirect address', { redirect_uri: 'http://127.0.0.1:7778/callback' }],
    ['no redirect address', { redirect_uri: undefined }],
    ['another verifier', { code_verifier: VERIFIER.replace(/^./, (sign) => (sign === 'a' ? 'b' : 'a')) }],
    ['a verifier that is too short', { code_verifier: 'abc' }],
  ])('is nothing for %s, and burnt by it', async (_, more) => {
    const code = await ada.code();
    isGrantError(await token(exchanged(code, more)));
    isGrantError(await token(exchanged(code)));
  });

  test('is nothing without a verifier, after a minute, and for another resource', async () => {
    expect((await token(exchanged(await ada.code(), { code_verifier: undefined }))).body['error']).toBe('invalid_request');
    const late = await ada.code();
    t.advance(60_000);
    isGrantError(await token(exchanged(late)));
    const other = await token(exchanged(await ada.code(), { resource: 'http://localhost:3000/agent-mcp' }));
    expect(other.body['error']).toBe('invalid_target');
  });
});

describe('a token request', () => {
  test('that is doubled, no form, of an unknown grant or an unknown client is refused in JSON', async () => {
    const code = await ada.code();
    const cases: [Awaited<ReturnType<typeof token>>, number, string][] = [
      [await token({ ...exchanged(code), code: [code, code] }), 400, 'invalid_request'],
      [await token(exchanged(code), { 'content-type': 'application/json' }), 400, 'invalid_request'],
      [await token({ ...exchanged(code), grant_type: 'password' }), 400, 'unsupported_grant_type'],
      [await token({ ...exchanged(code), grant_type: undefined }), 400, 'invalid_request'],
      [await token({ ...exchanged(code), client_id: undefined }), 401, 'invalid_client'],
      [await token({ ...exchanged(code), client_id: 'svc_dcr_gone' }), 401, 'invalid_client'],
      [await t.request('GET', '/oauth/token'), 405, 'invalid_request'],
      [await t.request('GET', '/oauth/revoke'), 405, 'invalid_request'],
      [await t.request('GET', '/oauth/register'), 405, 'invalid_request'],
    ];
    for (const [answer, status, error] of cases) {
      expect([answer.status, answer.body['error'] ?? '']).toEqual([status, error]);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
    expect((await token(exchanged(code))).status).toBe(200);
  });

  test('of an app with a secret needs the secret, in the header or in the form', async () => {
    const app = await t.call('oauth_apps.create', { name: 'Reports', redirect_uris: [CALLBACK], confidential: true });
    const client_id = app.client_id;
    const secret = String(app.client_secret);
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(`${client_id}:${text}`).toString('base64')}` });
    const code = () => ada.code({ client_id });
    for (const [form, headers] of [
      [{}, {}],
      [{ client_secret: 'wrong' }, {}],
      [{}, basic('wrong')],
    ] as const) {
      const answer = await token(exchanged(await code(), { client_id, ...form }), headers);
      expect([answer.status, answer.body['error'], answer.headers.has('www-authenticate')]).toEqual([
        401,
        'invalid_client',
        true,
      ]);
    }
    expect((await token(exchanged(await code(), { client_id, client_secret: secret }))).status).toBe(200);
    expect((await token(exchanged(await code(), { client_id: undefined }), basic(secret))).status).toBe(200);
  });
});

describe('a refresh token', () => {
  test('of 20 parallel uses all get the same successor, which works', async () => {
    const { refresh } = await tokens(t, ada);
    const answers = await Promise.all(Array.from({ length: 20 }, () => token(refreshed(refresh))));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(new Set(answers.map(({ body }) => body['refresh_token'])).size).toBe(1);
    expect((await token(refreshed(String(answers[0]?.body['refresh_token'])))).status).toBe(200);
  });

  test('yields the same one again for 120 s; later its family ends, and others live', async () => {
    const [theirs, mine] = [await tokens(t, ada), await tokens(t, ada)];
    const next = String((await token(refreshed(theirs.refresh))).body['refresh_token']);
    t.advance(119_000);
    expect((await token(refreshed(theirs.refresh))).body['refresh_token']).toBe(next);
    t.advance(1_000);
    isGrantError(await token(refreshed(theirs.refresh)));
    isGrantError(await token(refreshed(next)));
    expect((await token(refreshed(mine.refresh))).status).toBe(200);
  });

  test('two generations old ends the family at once', async () => {
    const { refresh } = await tokens(t, ada);
    const second = String((await token(refreshed(refresh))).body['refresh_token']);
    const third = String((await token(refreshed(second))).body['refresh_token']);
    isGrantError(await token(refreshed(refresh)));
    isGrantError(await token(refreshed(third)));
  });

  test('however often it is used, ends 90 days after the person approved', async () => {
    let { refresh } = await tokens(t, ada);
    for (const days of [29, 29, 29]) {
      t.advance(days * DAY_MS);
      refresh = String((await token(refreshed(refresh))).body['refresh_token']);
    }
    t.advance(3 * DAY_MS - 60_000);
    const last = await token(refreshed(refresh));
    expect(last.status).toBe(200);
    t.advance(60_000);
    const late = await token(refreshed(String(last.body['refresh_token'])));
    isGrantError(late);
    expect(late.body['error_description']).toContain('longest lifetime');
    t.advance(DAY_MS);
    await collectOauth(t.app);
    await ada.signIn();
    expect((await ada.send('GET', '/api/v1/grants')).body['total']).toBe(0);
  });

  test('is nothing for another client, another resource, or after its rest', async () => {
    const { refresh } = await tokens(t, ada);
    isGrantError(await token(refreshed(refresh, { client_id: 'https://chatgpt.com/oauth/codex/client.json' })));
    // Clients sign in again after this error, and after no other.
    isGrantError(await token(refreshed(refresh, { resource: 'http://localhost:3000/agent-mcp' })));
    isGrantError(await token(refreshed(refresh, { resource: 'https://moved.example/mcp' })));
    const kept = String((await token(refreshed(refresh))).body['refresh_token']);
    t.advance(30 * 24 * 3_600_000);
    isGrantError(await token(refreshed(kept)));
    await ada.signIn();
    await t.call('auth.login', { username: 'ada', password: 'correct horse' });
  });

  test('gives no more scopes than were granted', async () => {
    const agent = { resource: 'http://localhost:3000/agent-mcp' };
    const { body, refresh } = await tokens(t, ada, { ...agent, scope: 'read' }, agent);
    expect(body['scope']).toBe('read');
    const more = await token(refreshed(refresh, { scope: 'read write deploy' }));
    expect([more.status, more.body['scope']]).toEqual([200, 'read']);
  });

  test('is revoked only by its own client', async () => {
    const { refresh } = await tokens(t, ada);
    const foreign = { token: refresh, client_id: 'https://chatgpt.com/oauth/codex/client.json' };
    expect((await post(t, '/oauth/revoke', foreign)).status).toBe(200);
    expect((await token(refreshed(refresh))).status).toBe(200);
    expect((await post(t, '/oauth/revoke', { token: 'x', client_id: 'nobody' })).status).toBe(401);
  });
});

describe('at the API', () => {
  /** As the agent endpoint calls, with its own service token beside that of the person. */
  const headersOf = (bearer: string) => ({
    authorization: `Bearer ${bearer}`,
    'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN,
  });
  const call = async (bearer: string, path = '/api/v1/tools', headers: Record<string, string> = headersOf(bearer)) =>
    (await t.request('GET', path, { anonymous: true, headers })).status;
  const agent = { resource: 'http://localhost:3000/agent-mcp' };

  test('a token for the agent endpoint counts with its scopes, one for /mcp or a refresh token does not', async () => {
    const { access, refresh } = await tokens(t, ada, { ...agent, scope: 'read' }, agent);
    expect(await call(access)).toBe(200);
    expect(await call(access, '/api/v1/auth/me')).toBe(403);
    // Nobody but the endpoint that it is for: a token opens no other resource.
    const direct = await t.request('GET', '/api/v1/tools', { anonymous: true, headers: { authorization: `Bearer ${access}` } });
    expect([direct.status, direct.body['detail']]).toEqual([401, expect.stringContaining('/agent-mcp')]);
    expect(await call(access, '/api/v1/tools', { ...headersOf(access), 'x-service-token': 'wrong' })).toBe(401);
    const write = { anonymous: true, body: {}, headers: headersOf(access) };
    expect((await t.request('POST', '/api/v1/tools', write)).status).toBe(403);
    expect(await call(refresh)).toBe(401);
    expect(await call((await tokens(t, ada)).access)).toBe(401);
    expect((await t.send('tools.list', {}, { anonymous: true, headers: { cookie: `svc_session=${access}` } })).status).toBe(401);
  });

  test('ends with its grant, its expiry, and never counts when somebody else signed it', async () => {
    const { access } = await tokens(t, ada, agent, agent);
    const [head = '', body = '', signature = ''] = access.split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
    const kid = (JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string }).kid;
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const forged = (header: object, key: CryptoKey | Uint8Array) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid, ...header }).sign(key);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const { body: jwks } = await t.request('GET', '/oauth/jwks');
    const published = new TextEncoder().encode(JSON.stringify((jwks['keys'] as object[])[0]));
    for (const evil of [
      await forged({}, privateKey),
      await forged({ jwk: await exportJWK(publicKey) }, privateKey),
      await forged({ alg: 'HS256' }, published),
      `${part({ alg: 'none', typ: 'at+jwt', kid })}.${body}.`,
      `${part({ alg: 'none', typ: 'at+jwt', kid })}.${body}.${signature}`,
      `${head}.${part({ ...claims, scope: 'read write deploy', sub: 'x' })}.${signature}`,
    ]) {
      expect(await call(evil)).toBe(401);
    }
    expect(await call(access)).toBe(200);
    await rotateKeys(t.app, { now: true });
    expect(await call(access)).toBe(200);
    const { items } = await t.call('grants.list', {});
    expect((await t.send('grants.delete', { id: items[0]?.id })).status).toBe(204);
    expect(await call(access)).toBe(401);
    const second = await tokens(t, ada, agent, agent);
    t.advance(3_600_000);
    expect(await call(second.access)).toBe(401);
  });
});
