import { describe, expect, test } from 'bun:test';
import {
  ClientCredentialsProvider as ModernProvider,
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { ClientCredentialsProvider as LegacyProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt } from 'jose';
import { parseEnv } from '#core/process/env.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import type { HostOptions } from '#mcp-host/host-options.ts';
import { authSettings, keyring, modern, snapshotOf, testHost, TOKEN } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

/** The address that a client asked for is the resource, an audience and, without a public URL, the issuer. */

const CLIENT = { client_id: 'ci', client_secret: 's3cret' };
const ENVIRONMENT = { SVC_ENV: 'dev', SVC_ENCRYPTION_KEY: 'k'.repeat(40), SVC_AGENT_SERVICE_TOKEN: TOKEN };
const sealed = { $sealed: keyring.seal(CLIENT.client_secret, 'server_config/oauth_clients/ci/client_secret') };

const { folder, control, host, use } = useHost('each', null);
let version = 0;

const deployServer = (server: Partial<FrozenServer> = {}) =>
  control.deploy(
    snapshotOf(++version, {
      server: { auth_type: 'oauth_credentials', oauth_clients: [{ client_id: 'ci', client_secret: sealed }], ...server },
    }),
  );
const start = async (more: Partial<HostOptions> = {}) => {
  use(await testHost(folder.directory, control.url, more));
  await until(async () => (await host.health()).control.connected);
  await deployServer();
};
const withPublic = (public_url: string | null, front_url: string | null = null) =>
  start({ auth: { ...authSettings(folder.directory), public_url, front_url } });

const port = () => new URL(host.mcp).port;
const read = async (document: string, headers: Record<string, string>) =>
  (await (await fetch(new URL(`/.well-known/${document}`, host.mcp), { headers })).json()) as Record<string, unknown>;
const resourceFor = async (headers: Record<string, string>) => (await read('oauth-protected-resource/mcp', headers))['resource'];
const challengeFor = async (headers: Record<string, string>) =>
  (await modern(host.mcp, 'tools/list', {}, headers)).headers.get('www-authenticate');
const buy = async (form: Record<string, string> = {}, headers: Record<string, string> = {}) => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...CLIENT, ...form });
  const response = await fetch(new URL('/oauth/token', host.mcp), { method: 'POST', body, headers });
  return { status: response.status, ...((await response.json()) as { access_token?: string }) };
};
const statusWith = async (token = '') => (await modern(host.mcp, 'tools/list', {}, { authorization: `Bearer ${token}` })).status;

describe('the resource', () => {
  test('is the address asked for at every name that is ours, and no other', async () => {
    await start();
    control.send('names', { names: ['shop.example.org'] });
    await until(async () => (await modern(host.mcp, 'server/discover', {}, { host: 'shop.example.org' })).status !== 403);
    const local = `http://127.0.0.1:${port()}/mcp`;
    for (const [name, resource] of [
      [`localhost:${port()}`, `http://localhost:${port()}/mcp`],
      ['app.localhost:9000', 'http://app.localhost:9000/mcp'],
      [`127.0.0.1:${port()}`, local],
      ['[::1]:9000', 'http://[::1]:9000/mcp'],
      // Of the environment and of the configuration.
      ['mcp.example.com', 'http://mcp.example.com/mcp'],
      ['shop.example.org:8443', 'http://shop.example.org:8443/mcp'],
      // Accepted as a Host, but anyone may stand at an IP address.
      ['192.0.2.7:8080', local],
    ] as const) {
      expect([name, await resourceFor({ host: name })]).toEqual([name, resource]);
      const document = `${new URL(resource).origin}/.well-known/oauth-protected-resource/mcp`;
      expect(await challengeFor({ host: name })).toStartWith(`Bearer resource_metadata="${document}"`);
      const issuer = await read('oauth-authorization-server/mcp', { host: name });
      expect(issuer).toMatchObject({ issuer: resource, token_endpoint: `${resource}/oauth/token` });
    }
    // Nobody but our own front port says what was asked for.
    const forged = {
      'x-asked-origin': 'https://evil.example.com',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil.example.com',
    };
    expect(await resourceFor(forged)).toBe(local);
    expect(await resourceFor({ ...forged, 'x-service-token': TOKEN })).toBe(local);
  });

  test('has the scheme that the public URL, the front port or a trusted proxy says', async () => {
    await withPublic('https://mcp.example.com', 'https://ui.example.org');
    control.send('names', { names: ['shop.example.org', 'ui.example.org'] });
    await until(async () => (await modern(host.mcp, 'server/discover', {}, { host: 'shop.example.org' })).status !== 403);
    expect(await resourceFor({ host: 'mcp.example.com' })).toBe('https://mcp.example.com/mcp');
    expect(await resourceFor({ host: 'ui.example.org' })).toBe('https://ui.example.org/mcp');
    expect(await resourceFor({ host: `localhost:${port()}` })).toBe(`http://localhost:${port()}/mcp`);
    expect(await resourceFor({ host: '192.0.2.7' })).toBe('https://mcp.example.com/mcp');
    const front = { 'x-service-token': TOKEN, 'x-asked-origin': 'https://shop.example.org' };
    expect(await resourceFor(front)).toBe('https://shop.example.org/mcp');
    // Tokens come from one place.
    for (const name of ['mcp.example.com', 'shop.example.org']) {
      expect(await read('oauth-protected-resource/mcp', { host: name })).toMatchObject({
        authorization_servers: ['https://mcp.example.com/mcp'],
      });
    }
    await host.stop();
    const { SVC_TRUSTED_PROXIES } = parseEnv('host', { ...ENVIRONMENT, SVC_TRUSTED_PROXIES: '127.0.0.0/8' }).env;
    await start({ trusted_proxies: SVC_TRUSTED_PROXIES });
    const proxied = { host: 'mcp.example.com', 'x-forwarded-proto': 'https' };
    expect(await resourceFor(proxied)).toBe('https://mcp.example.com/mcp');
    const renamed = { host: `127.0.0.1:${port()}`, 'x-forwarded-proto': 'https', 'x-forwarded-host': 'mcp.example.com' };
    expect(await resourceFor(renamed)).toBe('https://mcp.example.com/mcp');
    expect(await resourceFor({ ...renamed, 'x-forwarded-host': 'evil.example' })).toBeUndefined();
  });
});

test('an address with a slash at its end has the same metadata, challenge and tokens', async () => {
  await start();
  for (const document of ['oauth-protected-resource/mcp', 'oauth-authorization-server/mcp'])
    expect(await read(`${document}/`, {})).toEqual(await read(document, {}));
  const at_slash = new URL(`${host.mcp.href}/`);
  const refused = await modern(at_slash, 'tools/list', {}, {});
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, await challengeFor({})]);
  const { access_token } = await buy({ resource: at_slash.href });
  expect(decodeJwt(access_token ?? '').aud).toBe(host.mcp.href);
  expect((await modern(at_slash, 'tools/list', {}, { authorization: `Bearer ${access_token}` })).status).toBe(200);
});

describe('a token', () => {
  test('is for the addresses that are ours, and for nothing else', async () => {
    await start();
    const asked = await buy({}, { host: 'mcp.example.com' });
    expect(decodeJwt(asked.access_token ?? '').aud).toBe('http://mcp.example.com/mcp');
    expect(await statusWith(asked.access_token)).toBe(200);
    const named = await buy({ resource: `http://localhost:${port()}/mcp/` });
    expect(decodeJwt(named.access_token ?? '').aud).toBe(`http://localhost:${port()}/mcp`);
    expect(await statusWith(named.access_token)).toBe(200);
    for (const resource of [
      'http://evil.example.com/mcp',
      'http://192.0.2.7/mcp',
      'http://localhost.evil.example/mcp',
      'http://user@localhost/mcp',
      'http://localhost/other',
      'http://localhost/mcp?x=1',
      'ftp://localhost/mcp',
      'mcp',
    ])
      expect([resource, (await buy({ resource })).status]).toEqual([resource, 400]);
  });

  test('a name of this machine is for no other program and port once there is a public URL', async () => {
    const others = [
      'http://localhost:4444/mcp',
      'https://localhost:4444/mcp',
      'http://localhost/mcp',
      'http://127.0.0.1:4444/mcp',
      'http://[::1]:4444/mcp',
      'http://app.localhost:4444/mcp',
      'https://mcp.example.com:4444/mcp',
      'https://shop.example.com:4444/mcp',
    ];
    const own = () => [
      `http://localhost:${port()}/mcp`,
      `http://127.0.0.1:${port()}/mcp`,
      'http://localhost:3000/mcp',
      'https://mcp.example.com/mcp',
      'https://shop.example.com/mcp',
      'https://shop.example.com:3000/mcp',
    ];
    const statuses = async (resources: readonly string[]) => {
      const found = new Set<number>();
      for (const resource of resources) found.add((await buy({ resource })).status);
      return [...found];
    };
    for (const [public_url, front_url] of [
      ['https://mcp.example.com', null],
      [null, 'https://mcp.example.com'],
    ] as const) {
      await start({
        allowed_hosts: ['mcp.example.com', 'shop.example.com'],
        auth: { ...authSettings(folder.directory), public_url, front_url, own_ports: [3_000] },
      });
      expect([await statuses(others), await statuses(own())]).toEqual([[400], [200]]);
      // What the metadata names is what is accepted.
      expect(await resourceFor({ host: 'localhost:4444' })).toBe(`${public_url ?? `http://127.0.0.1:${port()}`}/mcp`);
      await host.stop();
    }
    // An installation that only this machine reaches has whatever port leads to it.
    await withPublic('http://localhost:3000');
    expect(await statuses(['http://localhost:4444/mcp'])).toEqual([200]);
  });

  test('for a part of the server is not accepted at the others', async () => {
    await start();
    const base = `http://localhost:${port()}/mcp`;
    const statusAt = async (path: string, token = '') =>
      (await modern(new URL(`${host.mcp.href}${path}`), 'tools/list', {}, { authorization: `Bearer ${token}` })).status;
    const { access_token: whole } = await buy({ resource: base });
    for (const path of ['', '/readonly', '/tag/Sales%20team']) expect([path, await statusAt(path, whole)]).toEqual([path, 200]);
    for (const part of ['/readonly', '/tag/Sales%20team']) {
      const { access_token } = await buy({ resource: `${base}${part}` });
      // The second time from what is remembered.
      for (let time = 0; time < 2; time++) {
        for (const path of ['/readonly', '', '/tag/Sales%20team', '/tag/other'])
          expect([part, path, await statusAt(path, access_token)]).toEqual([part, path, path === part ? 200 : 401]);
      }
    }
  });

  test('ends when its audience or its issuer is an address of ours no more', async () => {
    await start({ allowed_hosts: ['old.example.com'] });
    const { access_token } = await buy({ resource: 'http://old.example.com/mcp' });
    expect(await statusWith(access_token)).toBe(200);
    await host.stop();
    await start({ allowed_hosts: [] });
    expect(await statusWith(access_token)).toBe(401);
  });
});

describe('official clients reach the server at localhost', () => {
  test.each(['v1', 'v2'])('%s', async (kind) => {
    await start();
    const url = new URL(`http://localhost:${port()}/mcp`);
    const credentials = { clientId: CLIENT.client_id, clientSecret: CLIENT.client_secret, expectedIssuer: url.href };
    const info = { name: kind, version: '1' };
    if (kind === 'v1') {
      const client = new LegacyClient(info);
      await client.connect(new LegacyTransport(url, { authProvider: new LegacyProvider(credentials) }));
      expect((await client.listTools()).tools).toEqual([]);
      return client.close();
    }
    const client = new ModernClient(info);
    await client.connect(new ModernTransport(url, { authProvider: new ModernProvider(credentials) }));
    expect((await client.listTools()).tools).toEqual([]);
    return client.close();
  });
});

test('a client that tries to register is told what to send instead', async () => {
  await start();
  for (const auth_type of ['bearer', 'oauth_credentials', 'oauth_introspection'] as const) {
    await deployServer({ auth_type });
    const response = await fetch(new URL('/register', host.mcp), { method: 'POST', body: '{"redirect_uris":[]}' });
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error: 'invalid_client_metadata',
        error_description: expect.stringContaining('send a token as Authorization: Bearer'),
      },
    ]);
  }
  expect((await fetch(new URL('/register', host.mcp))).status).toBe(404);
});

test.each(['v1', 'v2'])('the official %s client, sent away with a 401, shows the person that sentence', async (kind) => {
  await start();
  await deployServer({ auth_type: 'bearer' });
  const provider = {
    redirectUrl: 'http://localhost:9/callback',
    clientMetadata: { redirect_uris: ['http://localhost:9/callback'] },
    clientInformation: () => undefined,
    saveClientInformation: () => undefined,
    tokens: () => undefined,
    saveTokens: () => undefined,
    redirectToAuthorization: () => undefined,
    saveCodeVerifier: () => undefined,
    codeVerifier: () => '',
  };
  const info = { name: kind, version: '1' };
  const failed =
    kind === 'v1'
      ? new LegacyClient(info).connect(new LegacyTransport(host.mcp, { authProvider: provider }))
      : new ModernClient(info).connect(new ModernTransport(host.mcp, { authProvider: provider }));
  expect(String(await failed.catch((error: unknown) => error))).toContain('send a token as Authorization: Bearer');
});
