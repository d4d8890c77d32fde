import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { type TestApp, testApp } from '#test/support/app.ts';
import { assertionsOf, ISSUER, RESOURCE } from '#test/support/assertions.ts';
import { post } from '#test/support/sign-in.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';

const OTHER_CLIENT = 'https://claude.ai/oauth/mcp-oauth-client-metadata';
const TYPE = 'oauth-id-jag+jwt';

let t: TestApp;
let provider: TestProvider;
let foreign: TestProvider;
let sent: ReturnType<typeof assertionsOf>;
beforeAll(async () => {
  [provider, foreign] = await Promise.all([openTestProvider(), openTestProvider()]);
  t = await testApp();
  t.advance(Date.now() - t.app.clock().getTime());
  await t.signIn();
  provider.person = { sub: 'person-1', preferred_username: 'grace', email: 'grace@example.com' };
  sent = assertionsOf(t, provider);
  await sent.configure();
});
afterAll(async () => {
  await t.close();
  await provider.close();
  await foreign.close();
});

const seconds = () => Math.floor(t.app.clock().getTime() / 1_000);
const count = async () => {
  const { people, oauth_grants, used_assertions } = t.app.store.tables;
  const { db } = t.app.store;
  return [await db.$count(people), await db.$count(oauth_grants), await db.$count(used_assertions)];
};
type Answer = Awaited<ReturnType<typeof sent.send>>;

/** Refused with this error, noted in the audit log with the reason, and nothing else happened. */
async function refused(work: () => Promise<Answer>, error = 'invalid_grant', status = 400): Promise<string> {
  const [before, entries] = [await count(), (await sent.audited()).length];
  const answer = await work();
  expect([answer.status, answer.body['error'], answer.body['access_token']]).toEqual([status, error, undefined]);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(await count()).toEqual(before);
  const audited = await sent.audited();
  expect(audited).toHaveLength(entries + 1);
  const reason = String(answer.body['error_description']);
  expect(audited[0]).toMatchObject({
    kind: 'sign_in',
    outcome: 'refused',
    ip: '192.0.2.1',
    detail: { step: 'assertion', reason },
  });
  // Assertions are credentials, and say who somebody is.
  for (const secret of ['eyJ', 'person-1', 'grace@']) expect(JSON.stringify([audited[0], t.log])).not.toContain(secret);
  return reason;
}
const encoded = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const signature = (assertion: string) => assertion.split('.')[2] ?? '';

describe('an identity assertion is refused, and nothing else happens', () => {
  test.each<[string, () => Record<string, unknown>, string]>([
    ['of another issuer', () => ({ iss: 'https://evil.example' }), 'not an identity provider'],
    ['of the issuer with a slash more', () => ({ iss: `${provider.issuer}/` }), 'not an identity provider'],
    ['without an issuer', () => ({ iss: undefined }), 'no issuer'],
    ['with a list of issuers', () => ({ iss: [provider.issuer] }), 'no issuer'],
    ['for another server', () => ({ aud: 'https://other.example' }), 'for another server'],
    ['for the MCP address instead of the issuer', () => ({ aud: RESOURCE }), 'for another server'],
    ['for the token endpoint', () => ({ aud: `${ISSUER}/oauth/token` }), 'for another server'],
    ['for the client ID at the provider, as an ID token', () => ({ aud: 'sluice' }), 'for another server'],
    ['for this server and another', () => ({ aud: [ISSUER, 'https://other.example'] }), 'several servers'],
    ['for this server twice', () => ({ aud: [ISSUER, ISSUER] }), 'several servers'],
    ['for nobody', () => ({ aud: [] }), 'for another server'],
    ['without an audience', () => ({ aud: undefined }), 'aud is missing'],
    ['for another client', () => ({ client_id: OTHER_CLIENT }), 'another client'],
    ['for a list of clients', () => ({ client_id: [OTHER_CLIENT] }), 'another client'],
    ['without a client', () => ({ client_id: undefined }), 'client_id is missing'],
    ['for another resource', () => ({ resource: 'https://other.example/mcp' }), 'another resource'],
    ['for the agent endpoint', () => ({ resource: `${ISSUER}/agent-mcp` }), 'another resource'],
    ['for a resource that is no text', () => ({ resource: 7 }), 'another resource'],
    ['for no resource', () => ({ resource: [] }), 'another resource'],
    ['for scopes that are not here', () => ({ scope: 'chat.read chat.history' }), 'no scope'],
    ['for the identity alone', () => ({ scope: 'openid email' }), 'no scope'],
    ['for no scope', () => ({ scope: '' }), 'no scope'],
    ['for a scope that is no text', () => ({ scope: ['mcp'] }), 'no scope'],
    ['that has expired', () => ({ exp: seconds() - 31 }), 'has expired'],
    ['without an expiry', () => ({ exp: undefined }), 'exp is missing'],
    ['whose expiry is text', () => ({ exp: '9999999999' }), 'not valid'],
    ['issued too long ago, that never expires', () => ({ iat: seconds() - 631, exp: seconds() + 86_400 }), 'ten minutes'],
    ['issued in the future', () => ({ iat: seconds() + 31, exp: seconds() + 300 }), 'in the future'],
    ['without a time of issue', () => ({ iat: undefined }), 'iat is missing'],
    ['that is not valid yet', () => ({ nbf: seconds() + 31 }), 'not valid yet'],
    ['without a subject', () => ({ sub: undefined }), 'sub is missing'],
    ['whose subject is a number', () => ({ sub: 7 }), 'sub and jti'],
    ['whose subject is empty', () => ({ sub: '' }), 'sub and jti'],
    ['whose subject has 256 characters', () => ({ sub: 'x'.repeat(256) }), 'sub and jti'],
    ['whose subject has a NUL', () => ({ sub: 'person-1\0' }), 'sub and jti'],
    ['without an ID', () => ({ jti: undefined }), 'jti is missing'],
    ['whose ID is a list', () => ({ jti: ['a'] }), 'sub and jti'],
    ['bound to a key', () => ({ cnf: { jkt: 'x' } }), 'cnf'],
    ['of one tenant of several', () => ({ tenant: 'other' }), 'tenant'],
    ['limited by authorization details', () => ({ authorization_details: [{ type: 'x' }] }), 'authorization_details'],
  ])('%s', async (_, claims, reason) => {
    expect(await refused(() => sent.exchange(claims(), { resource: undefined }))).toContain(reason);
  });

  test.each<[string, object, string]>([
    ['of type JWT', { typ: 'JWT' }, `not ${TYPE}`],
    ['of the type of access tokens', { typ: 'at+jwt' }, `not ${TYPE}`],
    ['without a type', { typ: undefined }, `not ${TYPE}`],
    ['with an unknown kid', { kid: 'unknown' }, 'None of the provider’s keys'],
    ['with a critical header that nobody knows', { crit: ['x'], x: 1 }, 'cannot be verified'],
  ])('%s', async (_, header, reason) => {
    expect(await refused(async () => sent.send(await sent.assertion({}, header)))).toContain(reason);
  });

  test('signed by a key that is not published, even if its header brings that key or an address of it', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const { kid } = (await fetch(`${provider.issuer}/jwks`).then((answer) => answer.json())).keys[0];
    const asked = foreign.asked.length;
    for (const more of [
      {},
      { kid },
      { jwk: await exportJWK(publicKey) },
      { jku: `${foreign.issuer}/jwks` },
      { x5u: `${foreign.issuer}/x` },
    ]) {
      const sign = new SignJWT(sent.claimsOf()).setProtectedHeader({ alg: 'ES256', typ: TYPE, ...more });
      expect(await refused(async () => sent.send(await sign.sign(privateKey)))).toContain('signature');
    }
    expect(foreign.asked).toHaveLength(asked);
  });

  test('signed by another identity provider of this server', async () => {
    await sent.configure({ name: 'Other', ...foreign.client });
    const forged = await foreign.sign(sent.claimsOf(), { typ: TYPE });
    expect(await refused(() => sent.send(forged))).toContain('None of the provider’s keys');
  });

  test('signed with the client secret, with the public key as a secret, or not at all', async () => {
    const { keys } = (await fetch(`${provider.issuer}/jwks`).then((answer) => answer.json())) as { keys: object[] };
    for (const secret of [provider.client.client_secret.padEnd(32), JSON.stringify(keys[0])]) {
      const sign = new SignJWT(sent.claimsOf()).setProtectedHeader({ alg: 'HS256', typ: TYPE });
      expect(await refused(async () => sent.send(await sign.sign(new TextEncoder().encode(secret))))).toContain('algorithm');
    }
    const unsigned = new UnsecuredJWT(sent.claimsOf()).encode();
    expect(await refused(() => sent.send(unsigned))).toContain('algorithm');
    const [, payload] = unsigned.split('.');
    const none = `${encoded({ alg: 'none', typ: TYPE })}.${payload}.`;
    expect(await refused(() => sent.send(none))).toContain('algorithm');
  });

  test('whose payload or signature was changed', async () => {
    const good = await sent.assertion();
    const [header, payload] = good.split('.');
    const other = encoded({ ...sent.claimsOf(), sub: 'person-2' });
    expect(await refused(() => sent.send(`${header}.${other}.${signature(good)}`))).toContain('signature');
    expect(await refused(() => sent.send(`${header}.${payload}.${'A'.repeat(86)}`))).toContain('signature');
    expect(await refused(() => sent.send(`${header}.${payload}.`))).toContain('signature');
  });

  test.each<[string, string]>([
    ['a word', 'nonsense'],
    ['JSON', '{"iss":"x"}'],
    ['two parts', 'eyJhbGciOiJFUzI1NiJ9.e30'],
    ['five parts, as if encrypted', 'a.b.c.d.e'],
    ['a payload that is no object', `${encoded({ alg: 'ES256' })}.${encoded('[]')}.x`],
    ['as long as a form may be', 'x'.repeat(16_000)],
  ])('that is %s', async (_, text) => {
    await refused(() => sent.send(text));
  });

  test('that is an ID token of the same provider for the same person', async () => {
    expect(await refused(async () => sent.send(await provider.idToken()))).toContain(`not ${TYPE}`);
  });

  test('that is missing, and one that is sent twice', async () => {
    await refused(() => sent.send(undefined), 'invalid_request');
    await refused(() => sent.send(''), 'invalid_request');
    const good = await sent.assertion();
    const twice = await post(t, '/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: [good, good],
    });
    expect([twice.status, twice.body['error']]).toEqual([400, 'invalid_request']);
  });
});

describe('a request with an identity assertion is refused', () => {
  test('for a resource that is not here, is the agent endpoint, or is another than the assertion’s', async () => {
    const send = (resource: string | string[], claims = {}) =>
      refused(() => sent.exchange(claims, { resource }), 'invalid_target');
    await send('https://other.example/mcp');
    await send(`${ISSUER}/agent-mcp`, { resource: undefined });
    await send([RESOURCE, 'https://other.example/mcp']);
    expect(await refused(() => sent.exchange({ resource: `${RESOURCE}/sales` }, { resource: RESOURCE }))).toContain(
      'another resource',
    );
    expect(await refused(() => sent.exchange({ resource: [] }, { resource: RESOURCE }))).toContain('another resource');
  });

  test('from a client that is not listed, has registered itself, or is unknown', async () => {
    const as = async (client_id: string) => sent.send(await sent.assertion({ client_id }), { client_id });
    expect(await refused(() => as(OTHER_CLIENT))).toContain('from this client');
    const registered = await t.request('POST', '/oauth/register', {
      anonymous: true,
      body: { redirect_uris: ['http://127.0.0.1/cb'] },
    });
    expect(await refused(() => as(String(registered.body['client_id'])))).toContain('from this client');
    await refused(() => as('svc_dcr_gone'), 'invalid_client', 401);
    await refused(() => as(''), 'invalid_client', 401);
  });

  test('from an app whose secret is wrong or missing, and with the assertion of another client', async () => {
    const app = await sent.confidentialApp();
    await sent.configure({ name: 'With an app', ...foreign.client, issuer: provider.issuer, assertion_clients: [app.client_id] });
    const assertion = await sent.assertion({ client_id: app.client_id });
    await refused(() => sent.send(assertion, { client_id: app.client_id }), 'invalid_client', 401);
    await refused(() => sent.send(assertion, { client_id: undefined }, app.wrong), 'invalid_client', 401);
    expect(await refused(() => sent.send(assertion))).toContain('another client');
    expect(await refused(async () => sent.send(await sent.assertion(), { client_id: undefined }, app.basic))).toContain(
      'another client',
    );
    expect((await sent.send(assertion, { client_id: undefined }, app.basic)).status).toBe(200);
  });

  test('for scopes beyond the assertion', async () => {
    await refused(() => sent.exchange({}, { scope: 'payroll' }), 'invalid_scope');
  });
});

test('an identity assertion works once, also of 30 parallel uses, and so does its ID', async () => {
  const jti = randomUUID();
  const assertion = await sent.assertion({ jti });
  const answers = await Promise.all(Array.from({ length: 30 }, () => sent.send(assertion)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const others = answers.filter(({ status }) => status !== 200);
  for (const { status, body } of others) expect([status, body['error']]).toEqual([400, 'invalid_grant']);
  expect(await refused(() => sent.send(assertion))).toContain('used before');
  // The same ID with other claims is the same assertion.
  expect(await refused(() => sent.exchange({ jti, sub: 'person-2' }))).toContain('used before');
});

test('algorithms that are not listed are refused', async () => {
  const { items } = await t.call('identity_providers.list', {});
  for (const { id, issuer } of items) {
    if (issuer === provider.issuer) await t.call('identity_providers.update', { id, assertion_algorithms: ['RS256', 'PS256'] });
  }
  expect(await refused(() => sent.exchange())).toContain('algorithm');
});
