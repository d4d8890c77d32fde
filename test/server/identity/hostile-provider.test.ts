import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { WAITS } from '#core/platform/platform.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { grownBy } from '#test/support/hostile-server.ts';
import { huge, openTestProvider, stalled, type TestProvider, type Tricks } from '#test/support/test-provider.ts';
import { visitor } from '#test/support/visitor.ts';

let t: TestApp;
let provider: TestProvider;
beforeAll(async () => {
  provider = await openTestProvider();
});
afterAll(() => provider.close());
beforeEach(async () => {
  provider.tricks = {};
  provider.userinfo = {};
  t = await testApp();
  t.advance(Date.now() - t.app.clock().getTime());
  await t.signIn();
});
afterEach(() => t.close());

const configure = async (of: TestProvider = provider, body: object = {}) => {
  const draft = { name: of.issuer, ...of.client, create_people: true, ...body };
  return (await t.call('identity_providers.create', draft)).id;
};
const count = () => t.app.store.db.$count(t.app.store.tables.people);
const reasons = () =>
  t.log
    .filter(({ message }) => message.startsWith('a sign-in through an identity provider'))
    .map(({ fields }) => String(fields['reason']));

/** The sign-in is refused, nobody was made and nobody has a session. */
async function refused(tricks: Tricks): Promise<string> {
  provider.tricks = tricks;
  const id = await configure();
  const one = visitor(t);
  const end = new URL(await one.signIn(id), 'http://localhost');
  expect(end.pathname).toBe('/login');
  expect([...one.cookies.keys()]).not.toContain('svc_session');
  expect(await count()).toBe(1);
  const reason = reasons().at(-1) ?? '';
  // The library quotes what it read; nothing of that is told.
  for (const secret of [provider.client.client_secret, 'eyJ', 'person-1']) expect(JSON.stringify(t.log)).not.toContain(secret);
  return `${end.searchParams.get('refused')}: ${reason}`;
}

const now = () => Math.floor(Date.now() / 1_000);
const with_claims = (change: object): Tricks => ({ claims: (claims) => ({ ...claims, ...change }) });

describe('a token that is not right is refused', () => {
  test.each<[string, () => Tricks]>([
    ['of another issuer', () => with_claims({ iss: 'https://evil.example' })],
    ['of the issuer with a slash more', () => with_claims({ iss: `${provider.issuer}/` })],
    ['for another client', () => with_claims({ aud: 'somebody-else' })],
    ['for several clients without azp', () => with_claims({ aud: ['sluice', 'somebody-else'] })],
    ['for several clients with the azp of another', () => with_claims({ aud: ['sluice', 'other'], azp: 'other' })],
    ['with another nonce', () => with_claims({ nonce: 'x'.repeat(43) })],
    ['without a nonce', () => with_claims({ nonce: undefined })],
    ['that has expired', () => with_claims({ exp: now() - 61 })],
    ['without exp', () => with_claims({ exp: undefined })],
    ['without iat', () => with_claims({ iat: undefined })],
    ['that is not valid yet', () => with_claims({ nbf: now() + 3_600 })],
    ['without a subject', () => with_claims({ sub: undefined })],
    ['with a subject that is no text', () => with_claims({ sub: 7 })],
    ['with an empty subject', () => with_claims({ sub: '' })],
    ['with a subject of 256 characters', () => with_claims({ sub: 'x'.repeat(256) })],
    ['with an unknown kid', () => ({ header: { kid: 'unknown' } })],
    ['with a critical header nobody knows', () => ({ header: { crit: ['x'], x: 1 } })],
  ])('%s', async (_, tricks) => {
    expect(await refused(tricks())).toStartWith('provider_failed: ');
  });

  test('signed by a key that is not published', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const sign: Tricks['sign'] = (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
    expect(await refused({ sign })).toBe('provider_failed: The signature of the ID token is not what OpenID Connect prescribes.');
  });

  test('signed with the client secret, though the metadata lists HS256', async () => {
    const key = new TextEncoder().encode(provider.client.client_secret.padEnd(32));
    const sign: Tricks['sign'] = (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key);
    const metadata: Tricks['metadata'] = (document) => ({ ...document, id_token_signing_alg_values_supported: ['HS256'] });
    expect(await refused({ sign, metadata })).toContain('uses an algorithm that is not accepted');
  });

  test('not signed at all, though the metadata lists none', async () => {
    const sign: Tricks['sign'] = (claims) => new UnsecuredJWT(claims).encode();
    const metadata: Tricks['metadata'] = (document) => ({ ...document, id_token_signing_alg_values_supported: ['none'] });
    expect(await refused({ sign, metadata })).toStartWith('provider_failed: ');
  });

  test('signed by a key that is for encryption', async () => {
    const jwks: Tricks['jwks'] = ({ keys }) => ({ keys: (keys as object[]).map((key) => ({ ...key, use: 'enc' })) });
    expect(await refused({ jwks })).toContain('none of the provider’s keys fits');
  });

  test('missing, or beside no access token', async () => {
    expect(await refused({ token: ({ id_token: _, ...rest }) => rest })).toStartWith('provider_failed: ');
    expect(await visitor(t).signIn(await configure(provider, { name: 'again' }))).toContain('/login');
  });
});

describe('an answer that is not right is refused', () => {
  test.each<[string, string, Tricks]>([
    ['another state', 'expired', { back: (url) => url.searchParams.set('state', 'x'.repeat(43)) }],
    ['no state', 'expired', { back: (url) => url.searchParams.delete('state') }],
    ['a state twice', 'provider_failed', { back: (url) => url.searchParams.append('state', 'y') }],
    ['another issuer', 'provider_failed', { back: (url) => url.searchParams.set('iss', 'https://evil.example') }],
    ['no issuer, which was promised', 'provider_failed', { back: (url) => url.searchParams.delete('iss') }],
    ['no code', 'provider_failed', { back: (url) => url.searchParams.delete('code') }],
    ['another code', 'provider_failed', { back: (url) => url.searchParams.set('code', 'guessed') }],
    ['an error', 'denied', { back: (url) => url.searchParams.set('error', 'access_denied') }],
    ['a token of its own in the query', 'provider_failed', { back: (url) => url.searchParams.set('response', 'x.y.z') }],
  ])('%s: %s', async (_, reason, tricks) => {
    expect(await refused(tricks)).toStartWith(`${reason}: `);
  });

  test('userinfo about somebody else', async () => {
    provider.person = { sub: 'person-1' };
    expect(await refused({ userinfo: () => ({ sub: 'person-2', email: 'ada@example.com' }) })).toContain('another person');
  });

  test('the error of a provider is not repeated', async () => {
    const token: Tricks['token'] = () =>
      Response.json({ error: 'invalid_grant', error_description: 'the person-1 typed hunter2' }, { status: 400 });
    expect(await refused({ token })).toBe('provider_failed: The identity provider refused the code with invalid_grant.');
    expect(JSON.stringify(t.log)).not.toContain('hunter2');
  });
});

describe('metadata that is not right is refused', () => {
  const metadata = (change: object): Tricks => ({ metadata: (document) => ({ ...document, ...change }) });
  test.each<[string, Tricks]>([
    ['another issuer', metadata({ issuer: 'https://evil.example' })],
    ['no token endpoint', metadata({ token_endpoint: undefined })],
    ['an address that runs in the browser', metadata({ authorization_endpoint: 'javascript:alert(1)' })],
    ['a file as key set', metadata({ jwks_uri: 'file:///etc/passwd' })],
    ['only plain PKCE', metadata({ code_challenge_methods_supported: ['plain'] })],
    ['a metadata service as token endpoint', metadata({ token_endpoint: 'http://169.254.169.254/latest' })],
    ['our own port as key set', metadata({ jwks_uri: 'http://127.0.0.1:3000/api/health' })],
    ['plain http of the public network', metadata({ jwks_uri: 'http://8.8.8.8/jwks' })],
    ['no JSON', { metadata: () => new Response('<html>') }],
    ['a list', { metadata: () => Response.json([]) }],
    ['a redirect', { metadata: () => Response.redirect('http://127.0.0.1:1/', 302) }],
    ['a key set that is none', { jwks: () => ({ keys: 'all' }) }],
    ['a key set that redirects', { jwks: () => Response.redirect('http://127.0.0.1:1/', 302) }],
    ['a compressed answer', { jwks: () => new Response('x', { headers: { 'content-encoding': 'gzip' } }) }],
  ])('%s', async (_, tricks) => {
    expect(await refused(tricks)).toMatch(/^(provider_failed|private_network_blocked|invalid): /);
  });
});

describe('an answer without end', () => {
  test.each<[string, Tricks]>([
    ['of the metadata', { metadata: huge }],
    ['of the key set', { jwks: huge }],
    ['of the token endpoint', { token: huge }],
  ])('%s is read to 256 KiB', async (_, tricks) => {
    let reason = '';
    const grown = await grownBy(async () => {
      reason = await refused(tricks);
    });
    expect(reason).toContain('larger than 256 KiB');
    expect(grown).toBeLessThan(120);
  });

  test.each<[string, Tricks]>([
    ['of the metadata', { metadata: stalled }],
    ['of the key set', { jwks: stalled }],
    ['of the token endpoint', { token: stalled }],
  ])('%s is waited for no longer than the limit', async (_, tricks) => {
    await t.close();
    t = await testApp({}, undefined, { waits: { ...WAITS, provider_ms: 500 } });
    t.advance(Date.now() - t.app.clock().getTime());
    await t.signIn();
    expect(await refused(tricks)).toContain('longer than 0.5 seconds');
  });
});

test('a provider that failed is asked again after five seconds, one that answered after ten minutes', async () => {
  provider.tricks = { metadata: () => new Response(null, { status: 503 }) };
  const id = await configure();
  const asked = () => provider.asked.filter((path) => path.startsWith('/.well-known')).length;
  const before = asked();
  for (let turn = 0; turn < 10; turn++) await visitor(t).start(id);
  expect(asked() - before).toBe(1);
});

test('keys that were rotated are read anew', async () => {
  const id = await configure();
  expect(await visitor(t).signIn(id)).toBe('/');
  for (let turn = 0; turn < 3; turn++) {
    await provider.rotate();
    expect(await visitor(t).signIn(id)).toBe('/');
  }
});

test('the return of one provider with the state of another is refused', async () => {
  const other = await openTestProvider();
  const [honest, attacker] = [await configure(), await configure(other)];
  const one = visitor(t);
  const at_attacker = await one.start(attacker);
  const at_honest = await one.start(honest);
  // The attacker sends the browser on to the honest provider with the state of its own sign-in.
  at_honest.searchParams.set('state', at_attacker.searchParams.get('state') ?? '');
  const back = await one.through(at_honest);
  const asked = other.asked.length;
  const end = await one.visit(back);
  expect(new URL(end.headers.get('location') ?? '', 'http://localhost').searchParams.get('refused')).toBe('provider_failed');
  // The code of the honest provider never reaches the other one.
  expect(other.asked.slice(asked)).toEqual([]);
  await other.close();
});
