import { beforeEach, describe, expect, test } from 'bun:test';
import {
  Client as ModernClient,
  ClientCredentialsProvider as ModernProvider,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { ClientCredentialsProvider as LegacyProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { halfSent } from '#test/support/half-sent.ts';
import { authSettings, connection, keyring, modern, rpc, snapshotOf, testHost, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

let now = 0;
let version = 0;
beforeEach(() => {
  now = Date.now();
});
const { folder, control, host, closing, use } = useHost('each', { now: () => now });

/** ids with every character that a careless encoding would break. */
const CLIENT = { client_id: 'ci:runner+%', client_secret: 'a secret: 100 % &=+ü' };
const clientOf = ({ client_id, client_secret }: typeof CLIENT) => ({
  client_id,
  client_secret: { $sealed: keyring.seal(client_secret, `server_config/oauth_clients/${client_id}/client_secret`) },
});
const deployServer = (server: Partial<FrozenServer> = {}) =>
  control.deploy(
    snapshotOf(++version, {
      connections: [connection],
      tools: [toolOf(connection, 'one', 'select 1 as one')],
      server: { auth_type: 'oauth_credentials', oauth_clients: [clientOf(CLIENT)], token_ttl_seconds: 600, ...server },
    }),
  );

beforeEach(() => deployServer());

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** @param form text, or members to encode. */
async function requestToken(
  form: string | Record<string, string>,
  headers: Record<string, string> = {},
  path = '/oauth/token',
): Promise<Answer> {
  const response = await fetch(new URL(path, host.mcp), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
}
const basic = ({ client_id, client_secret }: typeof CLIENT) => ({
  authorization: `Basic ${btoa(`${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`)}`,
});
const GRANT = { grant_type: 'client_credentials' };
const buy = async () => String((await requestToken({ ...GRANT, ...CLIENT })).body['access_token']);
const statusWith = async (token: string, at = host.mcp) =>
  (await modern(at, 'tools/call', { name: 'one' }, { authorization: `Bearer ${token}` })).status;

describe('the token endpoint', () => {
  test('judges no more secrets of one address than may be wrong, however slowly they come', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ ...GRANT, ...CLIENT, client_secret: 'wrong' }).toString();
    const headers = { ...form, 'content-length': String(body.length) };
    const slow = await Promise.all(
      Array.from({ length: 150 }, () => halfSent(new URL('/oauth/token', host.mcp), headers, body.slice(0, -1))),
    );
    closing.push(() => slow.forEach((request) => request.close()));
    // All of them are let in, and wait for the last byte.
    await Promise.all(slow.map((request) => request.arrived()));
    for (const request of slow) request.send(body.slice(-1));
    const statuses = await Promise.all(slow.map((request) => request.status()));
    expect(statuses.filter((status) => status === 401)).toHaveLength(60);
    expect(statuses.filter((status) => status === 429)).toHaveLength(90);
    expect((await requestToken({ ...GRANT, ...CLIENT })).status).toBe(429);
  });

  test('reads no more of a form than a form may have', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '8000000' };
    const large = await halfSent(new URL('/oauth/token', host.mcp), headers, 'grant_type=');
    expect(await large.status()).toBe(413);
    large.close();
  });

  test.each([
    ['nobody', { ...GRANT }, {}, 401, 'invalid_client'],
    ['a wrong secret', { ...GRANT, ...CLIENT, client_secret: 'x' }, {}, 401, 'invalid_client'],
    ['an unknown client', { ...GRANT, ...CLIENT, client_id: 'x' }, {}, 401, 'invalid_client'],
    ['an unknown client without a secret', { ...GRANT, client_id: 'x', client_secret: '' }, {}, 401, 'invalid_client'],
    ['the secret twice', { ...GRANT, ...CLIENT }, basic(CLIENT), 400, 'invalid_request'],
    ['two client ids', { ...GRANT, client_id: 'x' }, basic(CLIENT), 400, 'invalid_request'],
    ['a bearer', { ...GRANT }, { authorization: 'Bearer x' }, 401, 'invalid_client'],
    ['Basic without a colon', { ...GRANT }, { authorization: `Basic ${btoa('x')}` }, 401, 'invalid_client'],
    ['no grant', { ...CLIENT }, {}, 400, 'invalid_request'],
    ['another grant', { ...CLIENT, grant_type: 'password' }, {}, 400, 'unsupported_grant_type'],
    ['another resource', { ...GRANT, ...CLIENT, resource: 'https://other.example.com/mcp' }, {}, 400, 'invalid_target'],
    ['JSON', JSON.stringify({ ...GRANT, ...CLIENT }), { 'content-type': 'application/json' }, 400, 'invalid_request'],
    ['a parameter twice', 'grant_type=client_credentials&grant_type=client_credentials', {}, 400, 'invalid_request'],
  ] as const)('refuses %s', async (_, form, headers, status, error) => {
    const answer = await requestToken(form, headers);
    expect([answer.status, answer.body['error']]).toEqual([status, error]);
    expect(answer.body).toEqual({ error, error_description: answer.body['detail'], detail: expect.any(String) });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(JSON.stringify(answer.body)).not.toContain(CLIENT.client_secret);
  });

  test('challenges a client that came with Basic, and only that', async () => {
    const wrong = basic({ ...CLIENT, client_secret: 'x' });
    expect((await requestToken(GRANT, wrong)).headers.get('www-authenticate')).toStartWith('Basic ');
    expect((await requestToken({ ...GRANT, ...CLIENT, client_secret: 'x' })).headers.get('www-authenticate')).toBeNull();
  });

  test('gives a token for the secret in the body or in the header, on both paths', async () => {
    for (const path of ['/oauth/token', '/mcp/oauth/token']) {
      for (const [form, headers] of [
        [{ ...GRANT, ...CLIENT }, {}],
        [{ ...GRANT, resource: host.mcp.href }, basic(CLIENT)],
      ] as const) {
        const answer = await requestToken(form, headers, path);
        expect(answer.status).toBe(200);
        expect(answer.body).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 600, scope: 'mcp' });
        expect(answer.headers.get('cache-control')).toBe('no-store');
        expect(await statusWith(String(answer.body['access_token']))).toBe(200);
      }
    }
  });

  test('is not there for other ways of authorising, and not by GET', async () => {
    expect((await fetch(new URL('/oauth/token', host.mcp))).status).toBe(405);
    await deployServer({ auth_type: 'bearer' });
    expect((await requestToken({ ...GRANT, ...CLIENT })).status).toBe(404);
  });

  test('turns an address away that guesses, for a minute', async () => {
    const guesses = await Promise.all(
      Array.from({ length: 70 }, (_, n) => requestToken({ ...GRANT, ...CLIENT, client_secret: `guess ${n}` })),
    );
    expect(guesses.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    const right = await requestToken({ ...GRANT, ...CLIENT });
    expect([right.status, Number(right.headers.get('retry-after')) > 0]).toEqual([429, true]);
    now += 60_001;
    expect((await requestToken({ ...GRANT, ...CLIENT })).status).toBe(200);
  });
});

describe('an access token', () => {
  test('names its client, its audience and its end', async () => {
    const token = await buy();
    const { iss, aud, exp = 0, iat = 0, sub, jti, client_id, scope } = decodeJwt(token);
    expect({ iss, aud, sub, client_id, scope }).toEqual({
      iss: host.mcp.href,
      aud: host.mcp.href,
      sub: CLIENT.client_id,
      client_id: CLIENT.client_id,
      scope: 'mcp',
    });
    expect([exp - iat, typeof jti]).toEqual([600, 'string']);
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'HS256', typ: 'at+jwt' });
  });

  test('ends when its time is over, when its client is removed, and when the secret changes', async () => {
    const token = await buy();
    expect(await statusWith(token)).toBe(200);
    now += 599_000;
    expect(await statusWith(token)).toBe(200);
    now += 2_000;
    expect(await statusWith(token)).toBe(401);
    const next = await buy();
    expect(await statusWith(next)).toBe(200);
    await deployServer({ oauth_clients: [clientOf({ ...CLIENT, client_secret: 'another' })] });
    expect(await statusWith(next)).toBe(401);
    await deployServer();
    expect(await statusWith(next)).toBe(200);
    await deployServer({ oauth_clients: [] });
    expect(await statusWith(next)).toBe(401);
  });

  test('is refused when it was signed by another, is for another, or is not signed at all', async () => {
    const token = await buy();
    const [, payload = ''] = token.split('.');
    const header = decodeProtectedHeader(token);
    const claims = decodeJwt(token);
    const key = new Uint8Array(32);
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = [
      await new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(key),
      await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' }).sign(key),
      `${encode({ ...header, alg: 'none' })}.${payload}.`,
      `${token.slice(0, -4)}AAAA`,
      `${token.split('.')[0]}.${encode({ ...claims, client_id: 'x' })}.${token.split('.')[2]}`,
    ];
    const garbage = [
      'a',
      'a.b.c',
      '..',
      `${encode({})}.${payload}.x`,
      `${encode({ ...header, kid: 1 })}.${payload}.x`,
      'e'.repeat(5_000),
    ];
    for (const each of [...forged, ...garbage]) expect(await statusWith(each)).toBe(401);
    expect(await statusWith(token)).toBe(200);
  });

  test('is accepted by every host of the installation, and by none of another', async () => {
    const settings = { ...authSettings(folder.directory), public_url: 'https://mcp.example.com' };
    const hostWith = async (auth: typeof settings) => {
      const made = await testHost(folder.directory, control.url, { auth, now: () => now });
      closing.push(() => made.stop());
      await until(async () => (await made.health()).control.connected);
      return made;
    };
    const hosts = [
      await hostWith(settings),
      await hostWith({ ...settings, keys: ['a-newer-key-0123456789-0123456789-0123', ...settings.keys] }),
      await hostWith({ ...settings, keys: ['a-foreign-key-0123456789-0123456789-01'] }),
      await hostWith({ ...settings, public_url: 'https://other.example.com' }),
    ];
    use(hosts[0]!);
    const token = await buy();
    expect(decodeJwt(token).aud).toBe('https://mcp.example.com/mcp');
    expect(await Promise.all(hosts.map(({ mcp }) => statusWith(token, mcp)))).toEqual([200, 200, 401, 401]);
  });

  test('ends its sessions and streams when its client is removed', async () => {
    const token = await buy();
    const params = { protocolVersion: '2025-11-25' };
    await rpc(host.mcp, { id: 1, method: 'initialize', params }, { authorization: `Bearer ${token}` });
    expect((await host.health()).sessions).toBe(1);
    await deployServer({ server_name: 'Renamed' });
    expect((await host.health()).sessions).toBe(1);
    await deployServer({ oauth_clients: [] });
    expect((await host.health()).sessions).toBe(0);
  });
});

describe('the official clients find the way by themselves', () => {
  /** They do not encode what they put into the header. */
  const PLAIN = { client_id: 'ci', client_secret: 's3cret+%41:x' };
  beforeEach(() => deployServer({ oauth_clients: [clientOf(PLAIN)] }));

  test('v1', async () => {
    const authProvider = new LegacyProvider({
      clientId: PLAIN.client_id,
      clientSecret: PLAIN.client_secret,
      expectedIssuer: host.mcp.href,
    });
    const client = new LegacyClient({ name: 'v1', version: '1' });
    await client.connect(new LegacyTransport(host.mcp, { authProvider }));
    closing.push(() => client.close());
    expect(await client.callTool({ name: 'one' })).toMatchObject({ structuredContent: { rows: [{ one: 1 }] } });
  });

  test('v2', async () => {
    const authProvider = new ModernProvider({
      clientId: PLAIN.client_id,
      clientSecret: PLAIN.client_secret,
      expectedIssuer: host.mcp.href,
    });
    const client = new ModernClient({ name: 'v2', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new ModernTransport(host.mcp, { authProvider }));
    closing.push(() => client.close());
    expect(await client.callTool({ name: 'one' })).toMatchObject({ structuredContent: { rows: [{ one: 1 }] } });
  });
});

describe('the metadata', () => {
  const read = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(new URL(`/.well-known/${path}`, host.mcp), { headers });
    return [response.status, await response.json()] as [number, Record<string, unknown>];
  };

  test('says where the resource is and who issues tokens', async () => {
    const resource = host.mcp.href;
    for (const path of ['oauth-protected-resource/mcp', 'oauth-protected-resource']) {
      expect(await read(path)).toEqual([
        200,
        {
          resource,
          resource_name: 'Shop',
          bearer_methods_supported: ['header'],
          authorization_servers: [resource],
          scopes_supported: ['mcp'],
        },
      ]);
    }
    const about = { token_endpoint: `${resource}/oauth/token`, grant_types_supported: ['client_credentials'] };
    expect(await read('oauth-authorization-server/mcp')).toMatchObject([200, { issuer: resource, ...about }]);
    expect(await read('oauth-authorization-server')).toMatchObject([200, { issuer: host.mcp.origin, ...about }]);
    expect((await read('oauth-protected-resource/mcp', { host: 'evil.example.com' }))[0]).toBe(403);
    expect((await fetch(new URL('/mcp/oauth/authorize', host.mcp))).status).toBe(400);
  });

  test('is that of each way of authorising', async () => {
    await deployServer({ auth_type: 'bearer' });
    expect(await read('oauth-protected-resource/mcp')).toEqual([
      200,
      { resource: host.mcp.href, resource_name: 'Shop', bearer_methods_supported: ['header'] },
    ]);
    expect((await read('oauth-authorization-server/mcp'))[0]).toBe(404);
    await deployServer({ auth_type: 'oauth_introspection', introspection_url: 'https://id.example.com/introspect' });
    expect((await read('oauth-protected-resource'))[1]).toMatchObject({ authorization_servers: ['https://id.example.com'] });
    await deployServer({ auth_type: 'none' });
    expect((await read('oauth-protected-resource'))[0]).toBe(404);
    control.send('stop', {});
    await until(async () => (await host.health()).status === 'stopped');
    expect((await read('oauth-protected-resource'))[0]).toBe(503);
  });
});

test('a fault inside the host is told without its cause', async () => {
  // Sealed for another place, it does not open.
  const client_secret = { $sealed: keyring.seal(CLIENT.client_secret, 'another place') };
  await deployServer({ oauth_clients: [{ client_id: CLIENT.client_id, client_secret }] });
  const { status, body } = await requestToken({ ...GRANT, ...CLIENT });
  expect(status).toBe(503);
  expect(JSON.stringify(body)).not.toMatch(/seal|secret|open|place|decrypt/i);
  expect(host.log.some(({ level }) => level === 'ERROR')).toBe(true);
});

test('the request log names the client that called', async () => {
  expect(await statusWith(await buy())).toBe(200);
  const item = await until(() => control.usage.flatMap(({ items }) => items)[0]);
  expect(item).toMatchObject({ name: 'one', token_prefix: CLIENT.client_id.slice(0, 32) });
});

test('a wrong secret is on the list of refused requests', async () => {
  await requestToken({ ...GRANT, ...CLIENT, client_secret: 'x' });
  const refused = await until(
    () => control.usage.flatMap((batch) => ('refusals' in batch ? (batch.refusals as object[]) : []))[0],
  );
  expect(refused).toMatchObject({
    kind: 'unauthenticated',
    status: 401,
    reason: 'The client is unknown or its secret is wrong.',
  });
});
