import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';
import { guardedFetch } from '#core/engines/shared/dial.ts';
import { foreignKeysFile } from '#mcp-host/auth/signed/foreign-keys.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { type TestIssuer, testIssuer } from '#test/support/issuer.ts';
import { handMade, type TestKey, testKey } from '#test/support/signed-tokens.ts';
import { authSettings, connection, modern, rpc, snapshotOf, testHost, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { until } from '#test/support/until.ts';
import { paced } from '#test/support/paced.ts';

type Members = Readonly<Record<string, unknown>>;

const AUDIENCE = 'api://shop';
const { folder, control, host, use } = useHost('each', null);
let issuer: TestIssuer;
let key: TestKey;
let now = 0;
let version = 0;

const trusting = (more: Partial<JwtIssuer> = {}): JwtIssuer => ({
  issuer: issuer.url,
  jwks_url: null,
  audience: AUDIENCE,
  algorithms: [],
  scope_claim: null,
  groups_claim: 'groups',
  name_claim: 'name',
  required_claims: {},
  ...more,
});
const deployIssuers = (issuers = [trusting()], server: Partial<FrozenServer> = {}) =>
  control.deploy(
    snapshotOf(++version, {
      connections: [connection],
      tools: [toolOf(connection, 'one', 'select 1 as one')],
      server: { auth_type: 'jwt', jwt_issuers: issuers, ...server },
    }),
  );
const start = (allow_private_networks = true) => {
  const policy = { allow_private_networks, forbidden: [], sqlite_dir: folder.directory };
  const auth = {
    ...authSettings(folder.directory),
    ask: (...[url, init]: Parameters<ReturnType<typeof authSettings>['ask']>) => guardedFetch(url, init, policy),
    foreign_keys: foreignKeysFile(join(folder.directory, 'issuers.json')),
  };
  return testHost(folder.directory, control.url, { now: () => now, ticks: () => now, auth });
};
const claims = (more: Members = {}): Members => ({
  iss: issuer.url,
  aud: AUDIENCE,
  sub: 'u1',
  azp: 'client-1',
  scp: 'read',
  iat: Math.floor(now / 1_000),
  exp: Math.floor(now / 1_000) + 3_600,
  ...more,
});
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const callWith = (token: string) => modern(host.mcp, 'tools/call', { name: 'one' }, bearer(token));
const statusOf = async (token: string) => (await callWith(token)).status;
const readings = () => issuer.asked.filter((path) => path === '/keys').length;

beforeEach(async () => {
  now = Date.now();
  issuer = testIssuer();
  key = await testKey('RS256');
  issuer.keys = [key.public_key];
  use(await start());
  await until(async () => (await host.health()).control.connected);
  await deployIssuers();
  await until(() => readings() === 1);
});
afterEach(() => issuer.stop());

describe('a token of an issuer that is trusted', () => {
  test.each<[string, Members, Members]>([
    ['Entra, version 2', { typ: 'JWT' }, { ver: '2.0', oid: 'o', tid: 't', groups: ['g-1'] }],
    ['Okta, without a type', { typ: undefined }, { scp: ['read', 'write'], cid: 'client' }],
    ['Keycloak', { typ: 'JWT' }, { typ: 'Bearer', realm_access: { roles: ['r'] }, scope: 'read' }],
    ['Auth0, RFC 9068 profile', { typ: 'at+jwt' }, { aud: [AUDIENCE, 'https://x.example.com/userinfo'], permissions: ['read'] }],
    ['Cognito', { typ: undefined }, { token_use: 'access', 'cognito:groups': ['a'] }],
  ])('of %s is accepted', async (_, header, more) => {
    expect(await statusOf(await key.sign(claims(more), header))).toBe(200);
  });

  test('is verified with the keys that were read before the first call came, and waits for nobody', async () => {
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
    for (let n = 0; n < 5; n++) expect(await statusOf(await key.sign(claims({ sub: `u${n}` })))).toBe(200);
    expect(readings()).toBe(1);
  });

  test('keeps its session through a refresh and a deploy, and loses it with the issuer', async () => {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params }, bearer(await key.sign(claims())));
    const session = opened.headers.get('mcp-session-id') ?? '';
    const list = async (more: Members = {}) => {
      const token = await key.sign(claims({ jti: crypto.randomUUID(), ...more }));
      return (await rpc(host.mcp, { id: 2, method: 'tools/list' }, { ...bearer(token), 'mcp-session-id': session })).status;
    };
    expect([await list(), await list({ azp: 'client-2' }), await list({ sub: 'u2' })]).toEqual([200, 404, 404]);
    await deployIssuers([trusting({ name_claim: 'preferred_username' })]);
    expect((await host.health()).sessions).toBe(1);
    expect(await list()).toBe(200);
    await deployIssuers([trusting({ audience: 'api://other' })]);
    expect((await host.health()).sessions).toBe(0);
  });

  test.each<[string, () => Partial<JwtIssuer>]>([
    ['a claim', () => ({ required_claims: { tid: 't-2' } })],
    ['another algorithm', () => ({ algorithms: ['ES256'] })],
    ['another audience', () => ({ audience: 'api://other' })],
  ])('loses its session when %s is required from now on', async (_, stricter) => {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const token = await key.sign(claims({ tid: 't-1' }));
    const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params }, bearer(token));
    expect(opened.status).toBe(200);
    expect((await host.health()).sessions).toBe(1);
    await deployIssuers([trusting({ required_claims: { tid: 't-1' }, algorithms: ['RS256'] })]);
    expect((await host.health()).sessions).toBe(1);
    await deployIssuers([trusting(stricter())]);
    expect((await host.health()).sessions).toBe(0);
  });

  test.each<[string, (own: TestKey) => Promise<string> | string]>([
    ['alg none', () => handMade({ alg: 'none' }, claims())],
    ['HS256 with the public key', (own) => hs256(own, claims())],
    ['a key of somebody else under its kid', async (own) => (await testKey('RS256', own.kid)).sign(claims())],
    ['another algorithm under its kid', async (own) => (await testKey('ES256', own.kid)).sign(claims())],
    ['another issuer', (own) => own.sign(claims({ iss: 'https://evil.example.com' }))],
    ['the issuer with a slash more', (own) => own.sign(claims({ iss: `${issuer.url}/` }))],
    ['another audience', (own) => own.sign(claims({ aud: 'api://other' }))],
    ['no audience', (own) => own.sign(claims({ aud: undefined }))],
    ['a part of the audience', (own) => own.sign(claims({ aud: 'api://shop/more' }))],
    ['no end', (own) => own.sign(claims({ exp: undefined }))],
    ['an end that is past', (own) => own.sign(claims({ exp: Math.floor(now / 1_000) - 1 }))],
    ['an end that is no number', (own) => own.sign(claims({ exp: '9999999999' }))],
    ['a begin in the future', (own) => own.sign(claims({ nbf: Math.floor(now / 1_000) + 90 }))],
    ['no subject', (own) => own.sign(claims({ sub: undefined }))],
    ['a nonce: an ID token', (own) => own.sign(claims({ nonce: 'n' }), { typ: 'JWT' })],
    ['at_hash: an ID token', (own) => own.sign(claims({ at_hash: 'h' }), { typ: 'JWT' })],
    ['typ ID of Keycloak', (own) => own.sign(claims({ typ: 'ID' }), { typ: 'JWT' })],
    ['typ Refresh of Keycloak', (own) => own.sign(claims({ typ: 'Refresh' }), { typ: 'JWT' })],
    ['token_use id of Cognito', (own) => own.sign(claims({ token_use: 'id' }), { typ: undefined })],
    ['the type of a logout token', (own) => own.sign(claims(), { typ: 'logout+jwt' })],
    ['a proof of possession that nobody checks', (own) => own.sign(claims({ cnf: { jkt: 'k' } }))],
  ])('with %s is refused', async (_, make) => {
    expect(await statusOf(await make(key))).toBe(401);
  });

  test('must have the claims and the algorithm that are asked for', async () => {
    const token = await key.sign(claims({ tid: 't-1', roles: ['reader', 'other'] }));
    await deployIssuers([trusting({ required_claims: { tid: 't-1', roles: 'reader' } })]);
    expect(await statusOf(token)).toBe(200);
    await deployIssuers([trusting({ required_claims: { tid: 't-2' } })]);
    expect(await statusOf(token)).toBe(401);
    await deployIssuers([trusting({ required_claims: { 'realm_access.roles': 'reader' } })]);
    expect(await statusOf(token)).toBe(401);
    await deployIssuers([trusting({ algorithms: ['ES256'] })]);
    expect(await statusOf(token)).toBe(401);
    await deployIssuers([trusting({ algorithms: ['RS256'] })]);
    expect(await statusOf(token)).toBe(200);
  });

  test('is judged by the keys of its own issuer, not by those of another one that is trusted too', async () => {
    const other = testIssuer();
    const foreign = await testKey('RS256');
    other.keys = [foreign.public_key];
    try {
      await deployIssuers([trusting(), trusting({ issuer: other.url })]);
      expect(await statusOf(await foreign.sign(claims({ iss: other.url })))).toBe(200);
      expect(await statusOf(await foreign.sign(claims()))).toBe(401);
      expect(await statusOf(await key.sign(claims({ iss: other.url })))).toBe(401);
    } finally {
      await other.stop();
    }
  });
});

describe('keys of an issuer', () => {
  test('that are new are found at once, and an unknown one is asked for at most once in 30 s', async () => {
    now += 31_000;
    const next = await testKey('ES256');
    issuer.keys = [key.public_key, next.public_key];
    expect(await statusOf(await next.sign(claims()))).toBe(200);
    expect(readings()).toBe(2);
    const unknown = await testKey('ES256');
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => statusOf(await unknown.sign(claims()))));
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(readings()).toBe(2);
    now += 30_000;
    await Promise.all(Array.from({ length: 20 }, async () => statusOf(await unknown.sign(claims()))));
    expect(readings()).toBe(3);
  });

  test('go on counting while the issuer is down, also after a restart of the host', async () => {
    const token = await key.sign(claims());
    await issuer.stop();
    now += 3_000_000;
    expect(await statusOf(token)).toBe(200);
    await host.stop();
    await control.stop();
    use(await start());
    expect(await statusOf(token)).toBe(200);
  });

  test('that the issuer took back count no more once it was asked, not even for what is remembered', async () => {
    const token = await key.sign(claims());
    expect(await statusOf(token)).toBe(200);
    const next = await testKey('RS256');
    issuer.keys = [next.public_key];
    now += 600_000;
    // A known key is read again in the background, which may be quicker than the answer.
    expect([200, 401]).toContain(await statusOf(await key.sign(claims({ jti: '2' }))));
    await until(() => readings() === 2);
    await until(async () => (await statusOf(token)) === 401);
    expect(await statusOf(await next.sign(claims()))).toBe(200);
  });

  test('that were never read make it 503, not a new sign-in', async () => {
    await issuer.stop();
    const other = testIssuer();
    other.answer = () => new Response('', { status: 500 });
    try {
      await deployIssuers([trusting({ issuer: other.url })]);
      const answer = await callWith(await key.sign(claims({ iss: other.url })));
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    } finally {
      await other.stop();
    }
  });

  test.each<[string, (path: string) => Response | Promise<Response> | null]>([
    [
      'metadata of another issuer',
      (path) => (path === '/keys' ? null : Response.json({ issuer: 'https://x.example', jwks_uri: `${issuer.url}/keys` })),
    ],
    ['no metadata', (path) => (path === '/keys' ? null : new Response('', { status: 404 }))],
    ['a redirect', (path) => (path === '/keys' ? Response.redirect(`${issuer.url}/other`) : null)],
    ['no JSON', (path) => (path === '/keys' ? new Response('<html>') : null)],
    ['no list', (path) => (path === '/keys' ? Response.json({ keys: {} }) : null)],
    [
      'a huge set',
      (path) => (path === '/keys' ? Response.json({ keys: Array.from({ length: 3_000 }, () => key.public_key) }) : null),
    ],
    ['more bytes than a set has', (path) => (path === '/keys' ? new Response('x'.repeat(2_000_000)) : null)],
    ['symmetric keys', (path) => (path === '/keys' ? Response.json({ keys: [{ kty: 'oct', k: 'AAAA', kid: 'next' }] }) : null)],
  ])('that come with %s change nothing', async (_, answer) => {
    const next = await testKey('RS256', 'next');
    // The first reading has ended: another token would wait for it, and ask for none.
    expect(await statusOf(await key.sign(claims({ jti: '1' })))).toBe(200);
    issuer.keys = [key.public_key, next.public_key];
    issuer.answer = answer;
    now += 31_000;
    expect(await statusOf(await next.sign(claims()))).toBe(401);
    await until(() => host.log.some(({ message }) => message === 'foreign_keys_not_read'));
    expect(await statusOf(await key.sign(claims({ jti: '2' })))).toBe(200);
    issuer.answer = null;
    now += 31_000;
    expect(await statusOf(await next.sign(claims({ jti: '3' })))).toBe(200);
  });

  test('that come slowly hold up nobody whose key is known, and others for 5 s at most', async () => {
    issuer.answer = () => Bun.sleep(40_000).then(() => new Response(''));
    now += 31_000;
    const began = performance.now();
    const slow = statusOf(await (await testKey('RS256', 'unknown')).sign(claims()));
    expect(await statusOf(await key.sign(claims({ jti: '2' })))).toBe(200);
    expect(performance.now() - began).toBeLessThan(paced(4_000));
    expect(await slow).toBe(401);
    expect(performance.now() - began).toBeLessThan(paced(7_000));
  }, 60_000);

  test('are not asked for at an address that the address rule forbids', async () => {
    await host.stop();
    folder.remove();
    mkdirSync(folder.directory);
    use(await start(false));
    await until(async () => (await host.health()).control.connected);
    const before = issuer.asked.length;
    await deployIssuers();
    expect(await statusOf(await key.sign(claims()))).toBe(503);
    expect(issuer.asked.length).toBe(before);
    const said = host.log.find(({ message }) => message === 'foreign_keys_not_read')?.fields['reason'];
    expect(String(said)).toContain('SVC_ALLOW_PRIVATE_NETWORKS');
  });
});

describe('beside signed tokens', () => {
  test('clients learn which issuers there are', async () => {
    const { authorization_servers } = await (await fetch(new URL('/.well-known/oauth-protected-resource/mcp', host.mcp))).json();
    expect(authorization_servers).toEqual([issuer.url]);
  });
});

function hs256(own: TestKey, payload: Members): string {
  const unsigned = handMade({ alg: 'HS256', typ: 'JWT', kid: own.kid }, payload).replace(/\.$/, '');
  const mac = createHmac('sha256', JSON.stringify(own.public_key)).update(unsigned).digest('base64url');
  return `${unsigned}.${mac}`;
}
