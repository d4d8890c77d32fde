import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v from 'valibot';
import { JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';
import { BUNDLE_TARGETS, type BundleTarget } from '#core/engines/shared/descriptor.ts';
import { connectionOf, keyring, promptOf, rpc, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { type Authority, createAuthority } from '#test/support/certificates.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { bundleOf, type RunningBundle, startBundle } from '#test/support/edge.ts';
import { type TestIssuer, testIssuer } from '#test/support/issuer.ts';
import { canCreateCluster, type Cluster, createCluster, PASSWORD } from '#test/support/postgres-cluster.ts';
import { testKey, type TestKey } from '#test/support/signed-tokens.ts';
import { until } from '#test/support/until.ts';

const AUDIENCE = 'https://mcp.example.com/mcp';
const sealed = (id: string) => ({ $sealed: keyring.seal('unused', `connection/${id}/password`) });

describe.skipIf(!reachable.postgres || !canCreateCluster)('a bundle', () => {
  let database: TestDatabase;
  let authority: Authority;
  let cluster: Cluster;
  let issuer: TestIssuer;
  let key: TestKey;
  const bundles: Partial<Record<BundleTarget, RunningBundle>> = {};

  /** Three ways to a database: by a URL, encrypted with a password, and by what the platform puts in between. */
  const snapshotFor = (target: BundleTarget) => {
    const [main, secure] = [connectionOf({ id: 'a' }), connectionOf({ id: 'b' })].map(({ id }) => id) as [string, string];
    const moved = connectionOf({
      id: main,
      name: 'moved',
      db_type: 'postgresql',
      host: 'nowhere.invalid',
      database: 'none',
      password: sealed(main),
    });
    const encrypted = connectionOf({
      id: secure,
      name: 'encrypted',
      db_type: 'postgresql',
      host: 'localhost',
      port: cluster.port,
      database: 'postgres',
      username: 'postgres',
      password: sealed(secure),
      ssl_mode: 'verify-full',
      ssl_ca: target === 'workers' ? null : authority_ca,
    });
    const pooled = connectionOf({
      name: 'pooled',
      db_type: 'postgresql',
      host: 'nowhere.invalid',
      database: 'none',
      username: 'nobody',
    });
    const sql = 'select current_database() as name';
    return snapshotOf(3, {
      connections: [moved, encrypted, pooled],
      tools: [
        toolOf(moved, 'moved', sql),
        toolOf(encrypted, 'encrypted', 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'),
        toolOf(pooled, 'pooled', sql),
      ],
      prompts: [promptOf('hi', 'Hello {{ who }}', [{ name: 'who', required: true }])],
      server: {
        auth_type: 'jwt',
        accept_mcp_tokens: false,
        jwt_issuers: [v.parse(JwtIssuer, { issuer: issuer.url, jwks_url: `${issuer.url}/keys`, audience: AUDIENCE })],
      },
    });
  };
  let authority_ca = '';
  const bindings = () => ({
    MOVED_URL: database.url.replace('postgres@', 'postgres:x@'),
    ENCRYPTED_PASSWORD: PASSWORD,
    POOLED_URL: database.url,
  });
  const token = (more: object = {}, by = key) => {
    const now = Math.floor(Date.now() / 1_000);
    return by.sign({ iss: issuer.url, aud: AUDIENCE, sub: 'ada', iat: now, exp: now + 600, ...more });
  };
  const bearer = async (more: object = {}, by = key) => ({ authorization: `Bearer ${await token(more, by)}` });
  const call = async (url: string, name: string, headers: Record<string, string>) => {
    const { body } = await rpc(new URL('/mcp', url), { id: 1, method: 'tools/call', params: { name, arguments: {} } }, headers);
    return body.result?.['structuredContent'] ?? body;
  };

  beforeAll(async () => {
    [database, authority, key] = await Promise.all([testDatabase('postgresql'), createAuthority('edge tests'), testKey()]);
    authority_ca = authority.ca;
    cluster = await createCluster(authority.ca, await authority.issue('DNS:localhost', 'IP:127.0.0.1'));
    await cluster.allow('hostssl all all all scram-sha-256');
    issuer = testIssuer();
    issuer.keys = [key.public_key];
    for (const target of BUNDLE_TARGETS) {
      const place = {
        bindings: bindings(),
        hyperdrives: target === 'workers' ? { POOLED_HYPERDRIVE: database.url.replace('postgres@', 'postgres:x@') } : {},
        ca: authority.ca,
      };
      bundles[target] = await startBundle(target, await bundleOf(snapshotFor(target), target), place);
    }
  }, 60_000);

  afterAll(async () => {
    await Promise.all(Object.values(bundles).map((bundle) => bundle.stop()));
    await issuer?.stop();
    await cluster?.remove();
    await authority?.remove();
    await database?.drop();
  }, 60_000);

  describe.each([...BUNDLE_TARGETS])('on %s', (target) => {
    test('reaches databases where its bindings say, with their passwords, encrypted', async () => {
      const { url } = bundles[target]!;
      const headers = await bearer();
      const name = new URL(database.url).pathname.slice(1);
      expect(await call(url, 'moved', headers)).toMatchObject({ rows: [{ name }] });
      expect(await call(url, 'encrypted', headers)).toMatchObject({ rows: [{ ssl: true }] });
      expect(await call(url, 'pooled', headers)).toMatchObject({ rows: [{ name }] });
    });

    test('lets in whom a public key vouches for, and nobody else', async () => {
      const { url } = bundles[target]!;
      const list = async (headers: Record<string, string>) =>
        (await rpc(new URL('/mcp', url), { id: 1, method: 'tools/list' }, headers)).status;
      expect(await list(await bearer())).toBe(200);
      expect(await list({})).toBe(401);
      expect(await list(await bearer({ aud: 'https://other.example.com' }))).toBe(401);
      expect(await list(await bearer({ exp: Math.floor(Date.now() / 1_000) - 120 }))).toBe(401);
      expect(await list(await bearer({}, await testKey('ES256', key.kid)))).toBe(401);
      // Nobody holds a secret of an installation here.
      expect(await list({ 'x-service-token': '' })).toBe(401);
    });

    test('serves the official clients', async () => {
      const { url } = bundles[target]!;
      const requestInit = { headers: await bearer() };
      const legacy = new Client({ name: 'legacy', version: '1' });
      await legacy.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }));
      expect((await legacy.listTools()).tools.map(({ name }) => name)).toEqual(['encrypted', 'moved', 'pooled']);
      expect(await legacy.callTool({ name: 'moved', arguments: {} })).toMatchObject({ structuredContent: { row_count: 1 } });
      expect(await legacy.getPrompt({ name: 'hi', arguments: { who: 'you' } })).toMatchObject({
        messages: [{ content: { text: 'Hello you' } }],
      });
      await legacy.close();
      const modern = new ModernClient({ name: 'modern', version: '1' });
      await modern.connect(new ModernTransport(new URL('/mcp', url), { requestInit }));
      expect((await modern.listTools()).tools).toHaveLength(3);
      expect(await modern.callTool({ name: 'moved', arguments: {} })).toMatchObject({ structuredContent: { row_count: 1 } });
      await modern.close();
    });

    test('says which version it serves', async () => {
      const health = await (await fetch(`${bundles[target]!.url}/health`)).json();
      expect(health).toMatchObject({ status: 'running', snapshot_version: 3, transport: 'http' });
    });
  });

  test('a bundle on Workers leaves no session behind, asks an issuer once, and refuses empty streams', async () => {
    const { url } = bundles.workers!;
    const headers = await bearer();
    await call(url, 'moved', headers);
    const before = issuer.asked.length;
    await Promise.all(Array.from({ length: 10 }, () => call(url, 'moved', headers)));
    expect(issuer.asked.length - before).toBeLessThanOrEqual(1);
    const stream = { ...headers, accept: 'text/event-stream', 'mcp-session-id': await session(url, headers) };
    expect((await fetch(`${url}/mcp`, { headers: stream })).status).toBe(405);
    // Those of Deno and Bun stay open in their pools.
    await Promise.all([bundles.deno?.stop(), bundles.bun?.stop()]);
    const count = `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    await until(async () => (await database.run(count))[0]?.['n'] === 0);
    expect(await call(url, 'moved', headers)).toMatchObject({ row_count: 1 });
  });

  test('listens on 127.0.0.1, or where SVC_BIND says, and names that address (Bun)', async () => {
    const text = await bundleOf(snapshotFor('bun'), 'bun');
    const reach = (address: string, { port }: URL) =>
      fetch(`http://${address}:${port}/health`).then(
        ({ status }) => status,
        () => null,
      );
    for (const [bound, others, name] of [
      [{}, null, 'http://127.0.0.1:'],
      [{ SVC_BIND: '0.0.0.0' }, 200, 'http://0.0.0.0:'],
    ] as const) {
      const bundle = await startBundle('bun', text, { bindings: { ...bindings(), ...bound } });
      try {
        const url = new URL(bundle.url);
        expect([await reach('127.0.0.1', url), await reach('127.0.0.2', url)]).toEqual([200, others]);
        expect(bundle.output()).toContain(name);
      } finally {
        await bundle.stop();
      }
    }
  });

  test('answers a fault of its own without its stack', async () => {
    const snapshot = snapshotFor('bun');
    const broken = { issuer: issuer.url, jwks_url: null, audience: AUDIENCE, algorithms: null } as never;
    const content = { ...snapshot.content, server: { ...snapshot.content.server, jwt_issuers: [broken] } };
    const bundle = await startBundle('bun', await bundleOf({ ...snapshot, content }, 'bun'), { bindings: bindings() });
    try {
      const answer = await rpc(new URL('/mcp', bundle.url), { id: 1, method: 'tools/list' }, await bearer());
      expect([answer.status, answer.body.error?.message]).toEqual([500, 'The server failed. See its log.']);
      // Its log comes by another way than its answer.
      await until(() => bundle.output().includes('request_failed'));
    } finally {
      await bundle.stop();
    }
  });

  async function session(url: string, headers: Record<string, string>): Promise<string> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    return (
      (await rpc(new URL('/mcp', url), { id: 1, method: 'initialize', params }, headers)).headers.get('mcp-session-id') ?? ''
    );
  }

  test.each([...BUNDLE_TARGETS])('without its bindings, on %s, says which it lacks', async (target) => {
    const bundle = await startBundle(target, await bundleOf(snapshotFor(target), target));
    try {
      const answer = await rpc(new URL('/mcp', bundle.url), { id: 1, method: 'tools/list' }, await bearer());
      expect(answer.status).toBe(503);
      expect(answer.body.error?.message).toBe(
        'This bundle lacks bindings: set MOVED_PASSWORD, ENCRYPTED_PASSWORD where it runs.',
      );
      const health = await fetch(`${bundle.url}/health`);
      expect([health.status, await health.json()]).toEqual([503, expect.objectContaining({ status: 'stopped' })]);
    } finally {
      await bundle.stop();
    }
  });
});
