import { beforeEach, describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import type { IdentityList } from '#core/contract/deploy/control.ts';
import { identityFile } from '#mcp-host/auth/signed/identity-state.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { handMade, identityOf, ISSUER, personClaims, type TestKey, testKey } from '#test/support/signed-tokens.ts';
import { authSettings, connection, modern, rpc, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { until } from '#test/support/until.ts';

let key: TestKey;
let now = 0;
let version = 0;
beforeEach(() => {
  now = Date.now();
});
const { control, host } = useHost('each', (directory) => ({
  now: () => now,
  ticks: () => now,
  auth: { ...authSettings(directory), identity: identityFile(join(directory, 'identity.json')) },
}));
type Members = Readonly<Record<string, unknown>>;

const deployServer = (server: Partial<FrozenServer> = {}) =>
  control.deploy(
    snapshotOf(++version, {
      connections: [connection],
      tools: [toolOf(connection, 'one', 'select 1 as one')],
      server: { auth_type: 'oauth', ...server },
    }),
  );
const say = async (list: IdentityList, at = host): Promise<void> => {
  control.send('identity', list);
  await until(() => at.log.some(({ message, fields }) => message === 'identity_list' && fields['as_of'] === list.as_of));
};
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const callWith = (token: string, at = host.mcp) => modern(at, 'tools/call', { name: 'one' }, bearer(token));
const claims = (more: Members = {}) => personClaims(host.mcp.href, now, more);
const statusOf = (token: string) => callWith(token).then(({ status }) => status);

beforeEach(async () => {
  key = await testKey();
  await deployServer();
  await say(identityOf([key]));
});

describe('a token of a signed-in person', () => {
  test('is accepted without asking anybody, by current and older clients', async () => {
    const token = await key.sign(claims());
    expect((await callWith(token)).status).toBe(200);
    const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params: INITIALIZE }, bearer(token));
    expect(opened.status).toBe(200);
    expect(opened.headers.get('mcp-session-id')).not.toBeNull();
  });

  test('is remembered by its digest until it expires', async () => {
    const token = await key.sign(claims({ exp: Math.floor(now / 1_000) + 300 }));
    expect((await callWith(token)).status).toBe(200);
    now += 299_000;
    expect((await callWith(token)).status).toBe(200);
    now += 2_000;
    expect((await callWith(token)).status).toBe(401);
  });

  test.each<[string, (key: TestKey) => Promise<string> | string]>([
    ['alg none', () => handMade({ alg: 'none', typ: 'at+jwt' }, claims())],
    ['alg none with a kid', (own) => handMade({ alg: 'none', typ: 'at+jwt', kid: own.kid }, claims())],
    ['HS256 with the public key as its secret', (own) => hs256(own, claims())],
    ['an unknown kid', (own) => own.sign(claims(), { kid: 'other' })],
    ['no kid', (own) => own.sign(claims(), { kid: undefined })],
    ['a key of somebody else under our kid', async (own) => (await testKey('ES256', own.kid)).sign(claims())],
    [
      'a key in its own header',
      async () => {
        const foreign = await testKey();
        return foreign.sign(claims(), { jwk: foreign.public_key });
      },
    ],
    ['another algorithm under our kid', async (own) => (await testKey('RS256', own.kid)).sign(claims())],
    ['another type', (own) => own.sign(claims(), { typ: 'JWT' })],
    ['no type', (own) => own.sign(claims(), { typ: undefined })],
    ['the type of an ID token', (own) => own.sign(claims(), { typ: 'id+jwt' })],
    ['a header that must be understood', (own) => own.sign(claims(), { crit: ['exp'], exp: 1 }).catch(() => 'a.b.c')],
    ['another issuer', (own) => own.sign(claims({ iss: 'https://evil.example.com' }))],
    ['our issuer with a slash more', (own) => own.sign(claims({ iss: `${ISSUER}/` }))],
    ['no issuer', (own) => own.sign(claims({ iss: undefined }))],
    ['another audience', (own) => own.sign(claims({ aud: 'https://other.example.com/mcp' }))],
    ['the audience of a toolset', (own) => own.sign(claims({ aud: `${host.mcp.href}/sales` }))],
    ['the audience of the agent endpoint', (own) => own.sign(claims({ aud: new URL('/agent-mcp', host.mcp).href }))],
    ['no audience', (own) => own.sign(claims({ aud: undefined }))],
    ['an end in the past', (own) => own.sign(claims({ exp: Math.floor(now / 1_000) }))],
    ['no end', (own) => own.sign(claims({ exp: undefined }))],
    ['a begin in the future', (own) => own.sign(claims({ nbf: Math.floor(now / 1_000) + 62 }))],
    ['an issue in the future', (own) => own.sign(claims({ iat: Math.floor(now / 1_000) + 62 }))],
    ['no time of issue', (own) => own.sign(claims({ iat: undefined }))],
    ['no person', (own) => own.sign(claims({ sub: undefined }))],
    ['a type that is no text', (own) => own.sign(claims(), { typ: 5 })],
    ['a kid that is no text', (own) => handMade({ alg: 'ES256', typ: 'at+jwt', kid: [own.kid] }, claims(), 'AAAA')],
    ['an issuer that is a list', (own) => own.sign(claims({ iss: [ISSUER] }))],
    ['a person that is no text', (own) => own.sign(claims({ sub: { id: 'person-1' } }))],
    ['a client that is no text', (own) => own.sign(claims({ client_id: ['client-1'] }))],
    ['an audience that is no text', (own) => own.sign(claims({ aud: { url: host.mcp.href } }))],
    ['claims that are a list', (own) => handMade({ alg: 'ES256', typ: 'at+jwt', kid: own.kid }, [claims()], 'AAAA')],
    ['no client', (own) => own.sign(claims({ client_id: undefined }))],
    ['no grant', (own) => own.sign(claims({ grant: undefined }))],
    ['a nonce, as an ID token has one', (own) => own.sign(claims({ nonce: 'n' }))],
    ['a key of its client to prove', (own) => own.sign(claims({ cnf: { jkt: 'k' } }))],
    ['a cut signature', async (own) => (await own.sign(claims())).slice(0, -4)],
    ['changed claims', async (own) => swapPayload(await own.sign(claims()), claims({ sub: 'person-2' }))],
    ['a refresh token in its place', () => 'rt_0123456789abcdef0123456789abcdef0123456789'],
  ])('with %s is refused', async (_, make) => {
    const answer = await callWith(await make(key));
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  test('is accepted while clocks differ by up to a minute', async () => {
    const seconds = Math.floor(now / 1_000);
    expect(await statusOf(await key.sign(claims({ iat: seconds + 59, nbf: seconds + 59 })))).toBe(200);
    expect(await statusOf(await key.sign(claims({ iat: seconds - 3_500, exp: seconds + 1 })))).toBe(200);
  });

  test('is not accepted in a cookie, and a session cookie opens nothing', async () => {
    const token = await key.sign(claims());
    for (const cookie of [`sluice_session=${token}`, `token=${token}`, `access_token=${token}`]) {
      expect((await modern(host.mcp, 'tools/call', { name: 'one' }, { cookie })).status).toBe(401);
    }
    const url = new URL(host.mcp);
    url.searchParams.set('access_token', token);
    expect((await modern(url, 'tools/call', { name: 'one' })).status).toBe(401);
  });

  test('is checked for each address by itself, also when it comes to two of them at once', async () => {
    const other = new URL(`${host.mcp.pathname}/sales`, host.mcp);
    for (let n = 0; n < 20; n++) {
      const token = await key.sign(claims({ aud: `${host.mcp.href}/sales`, n }));
      const [first, second] = await Promise.all([callWith(token, other), callWith(token)]);
      expect([first.status === 401, second.status]).toEqual([false, 401]);
    }
  });

  test('does not work with another auth_type, and works again with this one', async () => {
    const token = await key.sign(claims());
    expect((await callWith(token)).status).toBe(200);
    for (const auth_type of ['bearer', 'oauth_credentials', 'jwt'] as const) {
      await deployServer({ auth_type });
      expect((await callWith(token)).status).toBe(401);
    }
    await deployServer();
    expect((await callWith(token)).status).toBe(200);
  });
});

describe('where to sign in', () => {
  test('is said by every refusal: 401 for POST, GET, HEAD and DELETE', async () => {
    const metadata = `${host.mcp.origin}/.well-known/oauth-protected-resource/mcp`;
    for (const method of ['POST', 'GET', 'HEAD', 'DELETE']) {
      const response = await fetch(host.mcp, { method, headers: { accept: 'text/event-stream' } });
      expect([method, response.status]).toEqual([method, 401]);
      expect(response.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${metadata}", scope="mcp"`);
      const invalid = await fetch(host.mcp, { method, headers: { authorization: 'Bearer no' } });
      expect(invalid.headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${metadata}", scope="mcp", error="invalid_token"`,
      );
    }
  });

  test.each([
    ['/.well-known/oauth-protected-resource', '/mcp', ['mcp']],
    ['/.well-known/oauth-protected-resource/mcp', '/mcp', ['mcp']],
    ['/.well-known/oauth-protected-resource/mcp/sales', '/mcp/sales', ['sales']],
    ['/.well-known/oauth-protected-resource/mcp/readonly', '/mcp/readonly', ['mcp']],
    ['/.well-known/oauth-protected-resource/mcp/tag/emea', '/mcp/tag/emea', ['mcp']],
  ])('is in the document at %s', async (path, resource, scopes) => {
    const response = await fetch(new URL(path, host.mcp));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      resource: `${host.mcp.origin}${resource}`,
      resource_name: 'Shop',
      bearer_methods_supported: ['header'],
      authorization_servers: [ISSUER],
      scopes_supported: scopes,
    });
  });

  test('at /sse is said of /sse, for as long as it is served', async () => {
    const document = `${host.mcp.origin}/.well-known/oauth-protected-resource/sse`;
    expect((await fetch(document)).status).toBe(404);
    await deployServer({ transport: 'sse' });
    const sse = `${host.mcp.origin}/sse`;
    const refused = await fetch(sse);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer resource_metadata="${document}", scope="mcp"`,
    ]);
    expect(await (await fetch(document)).json()).toMatchObject({ resource: sse, authorization_servers: [ISSUER] });
    const authorization = `Bearer ${await key.sign(claims({ aud: sse }))}`;
    const client = new LegacyClient({ name: 'sse', version: '1' });
    await client.connect(
      new SSEClientTransport(new URL(sse), {
        eventSourceInit: { fetch: (url, init) => fetch(url, { ...init, headers: { ...init?.headers, authorization } }) },
        requestInit: { headers: { authorization } },
      }),
    );
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['one']);
    await client.close();
  });

  test.each(['/mcp/Sales', '/mcp/a/b', '/mcp/../x', '/other', '/mcp/tag/', '/mcpx'])(
    'is not in a document of %s',
    async (path) => {
      expect((await fetch(`${host.mcp.origin}/.well-known/oauth-protected-resource${path}`)).status).toBe(404);
    },
  );

  test('is no metadata of this host: it issues nothing', async () => {
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/oauth-authorization-server/mcp'])
      expect((await fetch(new URL(path, host.mcp))).status).toBe(404);
  });
});

const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };

function hs256(own: TestKey, payload: Members): string {
  const unsigned = handMade({ alg: 'HS256', typ: 'at+jwt', kid: own.kid }, payload).replace(/\.$/, '');
  const mac = createHmac('sha256', JSON.stringify(own.public_key)).update(unsigned).digest('base64url');
  return `${unsigned}.${mac}`;
}

function swapPayload(token: string, payload: Members): string {
  const [header, , signature] = token.split('.');
  return `${header}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.${signature}`;
}
