import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { decodeProtectedHeader } from 'jose';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EndedTarget, endGrants } from '#core/identity/oauth/ended.ts';
import { signAccessToken } from '#core/identity/oauth/keys.ts';
import { publicKeys } from '#core/identity/oauth/published.ts';
import { identityFile } from '#mcp-host/auth/signed/identity-state.ts';
import { authSettings, modern, rpc, testHost, type TestHost } from '#test/mcp-host/support.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { paced } from '#test/support/paced.ts';
import { listeningServer, type ListeningServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const identityIn = (folder: string): string => readFileSync(join(folder, 'identity.json'), 'utf8');

/** Two servers of one database, a host at each; tokens signed by one server are used at the host of the other. */
describe.skipIf(!reachable.postgres)('two servers of one PostgreSQL database, with a host each', () => {
  let database: TestDatabase;
  const servers: ListeningServer[] = [];
  const hosts: TestHost[] = [];
  const folders: string[] = [];

  const startHost = async ({ url, service_token, server }: ListeningServer): Promise<TestHost> => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-host-'));
    folders.push(directory);
    const auth = { ...authSettings(directory), identity: identityFile(join(directory, 'identity.json')), attempts: 100_000 };
    return testHost(directory, url, {
      id: `h${hosts.length}`,
      service_token,
      auth,
      openSecret: (sealed, place) => server.app.keyring.open(sealed, place),
    });
  };

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    const folder = mkdtempSync(join(tmpdir(), 'sluice-databases-'));
    folders.push(folder);
    mkdirSync(folder, { recursive: true });
    new Database(join(folder, 'shop.sqlite'), { create: true }).run('create table products (id integer)');
    const variables = { SVC_SQLITE_DIR: folder, SVC_PUBLIC_URL: 'http://localhost:3000', SVC_FASTMCP_PORT: '0' };
    for (let n = 0; n < 2; n++) servers.push(await listeningServer(database.url, variables));
    const [first] = [servers[0]!];
    await first.signIn();
    for (const server of servers) hosts.push(await startHost(server));
    const connection = await first.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
    for (const [name, tags] of [
      ['find_orders', ['sales']],
      ['find_salaries', ['pay']],
    ] as const) {
      const tool = { connection_id: connection.id, name, description: 'A tool', sql_query: 'select 1 as one', tags };
      expect((await first.send('tools.create', tool)).status).toBe(201);
    }
    for (const [name, tag, groups] of [
      ['sales', 'sales', []],
      ['payroll', 'pay', ['hr']],
    ] as const) {
      const include = { tags: [tag], connection_ids: [], tool_ids: [], resource_ids: [], prompt_ids: [] };
      const made = await first.send('toolsets.create', { name, title: name, description: name, include, groups });
      expect([made.status, made.body.detail]).toEqual([201, undefined]);
    }
    expect((await first.send('config.update', { auth_type: 'oauth' })).status).toBe(200);
    await until(() => servers.every(({ server }) => server.app.hosts.local().size === 1));
    const deployed = await first.send('deploy.run');
    expect([deployed.status, deployed.body.detail]).toEqual([200, undefined]);
    await until(() => hosts.every(({ host }) => host.health().snapshot_version === 1));
  }, 60_000);
  afterAll(async () => {
    for (const host of hosts) await host.stop();
    for (const server of servers) await server.stop();
    await database?.drop();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  const token = (more: Readonly<Record<string, unknown>> = {}, at = hosts[1]!) =>
    signAccessToken(
      servers[0]!.server.app,
      { aud: at.mcp.href, sub: 'p1', client_id: 'c1', scope: '', groups: [], grant: 'g1', seq: 0, ...more },
      3_600,
    );
  const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
  const statusOf = async (credential: string, host: TestHost, path = '') =>
    (await modern(new URL(`${host.mcp.href}${path}`), 'tools/list', {}, bearer(credential))).status;
  const listed = async (credential: string, path = '') => {
    const { body } = await modern(new URL(`${hosts[1]!.mcp.href}${path}`), 'tools/list', {}, bearer(credential));
    return ((body.result?.['tools'] ?? []) as { name: string }[]).map(({ name }) => name).sort();
  };

  test('a token that one server signs is accepted at the host of the other, from the first one on', async () => {
    const first = await token();
    await until(async () => (await statusOf(first, hosts[1]!)) === 200);
    expect(await statusOf(await token({}, hosts[0]), hosts[0]!)).toBe(200);
  });

  test.each<[string, EndedTarget]>([
    ['a grant', { grant: 'g-ended' }],
    ['a person', { sub: 'p-ended' }],
    ['a client', { client_id: 'c-ended' }],
  ])('%s that one server ends is refused at the hosts of both within a second, with its sessions', async (_, target) => {
    const kept = await token();
    const tokens = await Promise.all(hosts.map((host) => token({ sub: 'other', client_id: 'other', ...target }, host)));
    const opened = await Promise.all(
      hosts.map((host, n) =>
        rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }, bearer(tokens[n]!)),
      ),
    );
    expect(opened.map(({ status }) => status)).toEqual([200, 200]);
    const began = performance.now();
    await endGrants(servers[0]!.server.app, target);
    await until(async () =>
      (await Promise.all(hosts.map((host, n) => statusOf(tokens[n]!, host)))).every((status) => status === 401),
    );
    expect(performance.now() - began).toBeLessThan(paced(1_000));
    expect(hosts.map(({ host }) => host.health().sessions)).toEqual([0, 0]);
    expect(await statusOf(kept, hosts[1]!)).toBe(200);
  });

  test('keys rotate while tokens are in use: none is refused at any host, whenever it was signed', async () => {
    const { app } = servers[0]!.server;
    const { signing_keys } = app.store.tables;
    const statuses: number[] = [];
    const kids = new Set<string | undefined>();
    const done = new AbortController();
    const old = await Promise.all(hosts.map((host) => token({}, host)));
    const callers = hosts.flatMap((host, n) =>
      [0, 1, 2].map(async () => {
        while (!done.signal.aborted) {
          const fresh = await token({}, host);
          kids.add(decodeProtectedHeader(fresh).kid);
          for (const credential of [fresh, old[n]!]) statuses.push(await statusOf(credential, host));
        }
      }),
    );
    try {
      for (let round = 0; round < 3; round++) {
        const seen = statuses.length;
        expect((await servers[0]!.send('signing_keys.rotate')).status).toBe(409);
        // As if the last rotation were long ago: hosts know the next key by then.
        const next = (await publicKeys(app)).map(({ kid }) => kid ?? '');
        await until(() => folders.slice(-hosts.length).every((folder) => next.every((kid) => identityIn(folder).includes(kid))));
        await app.store.db
          .update(signing_keys)
          .set({ since: '2020-01-01T00:00:00.000Z' })
          .where(eq(signing_keys.state, 'current'));
        const rotated = await servers[0]!.send('signing_keys.rotate');
        expect([rotated.status, rotated.body.detail]).toEqual([200, undefined]);
        await until(() => statuses.length > seen + 24);
      }
    } finally {
      done.abort();
      await Promise.all(callers);
    }
    expect([...new Set(statuses)]).toEqual([200]);
    expect(kids.size).toBe(4);
  });

  test('a person sees the toolsets of everyone and of its groups, cut to the scopes granted', async () => {
    expect(await listed(await token())).toEqual(['find_orders']);
    expect(await listed(await token({ groups: ['hr'] }))).toEqual(['find_orders', 'find_salaries']);
    expect(await listed(await token({ groups: ['hr'], scope: 'payroll offline_access' }))).toEqual(['find_salaries']);
    expect(await listed(await token({ scope: 'payroll' }))).toEqual([]);
    expect(await listed(await token({ scope: 'sales payroll' }))).toEqual(['find_orders']);
  });

  test('a token is for the one endpoint that it names', async () => {
    const [host] = [hosts[1]!];
    const sales = await token({ aud: `${host.mcp.href}/sales` });
    const whole = await token();
    expect([await statusOf(sales, host, '/sales'), await statusOf(sales, host)]).toEqual([200, 401]);
    expect([await statusOf(whole, host, '/sales'), await statusOf(whole, host)]).toEqual([401, 200]);
    expect(await statusOf(await token({ aud: `${host.mcp.href}/payroll` }), host, '/sales')).toBe(401);
    expect(await listed(sales, '/sales')).toEqual(['find_orders']);
  });

  test('what a person could ask for answers 403 with the scope, everything else does not exist', async () => {
    const [host] = [hosts[1]!];
    const payroll = new URL(`${host.mcp.href}/payroll`);
    const asked = await token({ aud: payroll.href, groups: ['hr'], scope: 'sales' });
    const answer = await modern(payroll, 'tools/list', {}, bearer(asked));
    expect(answer.status).toBe(403);
    const challenge = answer.headers.get('www-authenticate') ?? '';
    expect(challenge).toContain('error="insufficient_scope"');
    expect(challenge).toContain('payroll');
    expect(challenge).toContain(`resource_metadata="${host.mcp.origin}/.well-known/oauth-protected-resource/mcp/payroll"`);
    const other = await token({ aud: payroll.href });
    expect((await modern(payroll, 'tools/list', {}, bearer(other))).status).toBe(404);
  });

  test('the documents name no toolset but the one of their endpoint, whether or not there is one', async () => {
    const scopesOf = async (path: string) => {
      const response = await fetch(`${hosts[1]!.mcp.origin}/.well-known/oauth-protected-resource${path}`);
      return ((await response.json()) as { scopes_supported?: string[] }).scopes_supported;
    };
    expect([await scopesOf('/mcp'), await scopesOf('')]).toEqual([['mcp'], ['mcp']]);
    expect([await scopesOf('/mcp/payroll'), await scopesOf('/mcp/nothing')]).toEqual([['payroll'], ['nothing']]);
  });

  test('is nobody at the REST API, at the control channel and at the agent endpoint’s part of the server', async () => {
    const credential = await token();
    const [{ url }] = [servers[0]!];
    for (const path of ['/api/v1/tools', '/api/v1/auth/me', '/api/v1/server/config', '/api/internal/hosts/stream?id=x']) {
      const answer = await fetch(`${url}${path}`, { headers: bearer(credential) });
      expect([path, answer.status]).toEqual([path, 401]);
      await answer.body?.cancel();
    }
    const with_cookie = await fetch(`${url}/api/v1/tools`, { headers: { cookie: `sluice_session=${credential}` } });
    expect(with_cookie.status).toBe(401);
  });

  test('an administrator’s session is nobody at a host', async () => {
    const cookie = await servers[0]!.signIn();
    const [, value = ''] = cookie.split('=');
    expect((await modern(hosts[1]!.mcp, 'tools/list', {}, { cookie })).status).toBe(401);
    expect(await statusOf(value, hosts[1]!)).toBe(401);
  });
});
