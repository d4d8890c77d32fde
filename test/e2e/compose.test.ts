import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compose, healthy, imageCommand, type Service, type Stage, startService, writeSecrets } from '#test/support/compose.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { freePort } from '#test/support/free-port.ts';
import { SPECIFIED_TOOLS } from '#test/support/agent-tools.ts';

const ROOT = join(import.meta.dir, '../..');

/** The services of compose.yaml as processes: their commands, environment, secrets and health checks, without containers. */
describe.skipIf(!reachable.postgres)('the services of compose.yaml', () => {
  const ports = { server: freePort(), mcp: freePort(), agent: freePort(), redis: freePort() };
  const url = `http://127.0.0.1:${ports.server}`;
  const services: Record<string, Service> = {};
  let metadata: TestDatabase;
  let shop: TestDatabase;
  let stage: Stage;
  let cookie = '';

  const api = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', cookie },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  };

  beforeAll(async () => {
    metadata = await testDatabase('postgresql');
    shop = await testDatabase('postgresql');
    await shop.run('create table items (id int primary key, name text)');
    await shop.run("insert into items values (1, 'Atlas')");
    const redis_password = crypto.randomUUID();
    const secrets = writeSecrets({
      redis_password,
      redis_url: `redis://:${redis_password}@redis:6379/0`.replace('redis:6379', `127.0.0.1:${ports.redis}`),
      database_url: metadata.url,
    });
    stage = {
      secrets,
      volumes: mkdtempSync(join(tmpdir(), 'sluice-volumes-')),
      addresses: {
        '//server:3000': `//127.0.0.1:${ports.server}`,
        '//agent:8090': `//127.0.0.1:${ports.agent}`,
        'exec redis-server': `exec redis-server --bind 127.0.0.1 --port ${ports.redis}`,
        'redis-cli': `redis-cli -p ${ports.redis}`,
      },
      env: {
        SVC_PORT: String(ports.server),
        SVC_FASTMCP_PORT: String(ports.mcp),
        SVC_AGENT_MCP_PORT: String(ports.agent),
        SVC_ALLOW_PRIVATE_NETWORKS: 'true',
        SVC_ALLOW_OPEN: 'true',
        SVC_PUBLIC_URL: url,
        SVC_MCP_PUBLIC_URL: `http://127.0.0.1:${ports.mcp}`,
      },
    };
    for (const name of ['redis', 'server', 'mcp', 'agent']) {
      services[name] = startService(name, stage);
      await healthy(services[name], name);
    }
  }, 60_000);

  afterAll(async () => {
    for (const name of ['agent', 'mcp', 'server', 'redis']) {
      await services[name]?.stop();
      if (services[name]) rmSync(services[name].directory, { recursive: true, force: true });
    }
    for (const folder of [stage.secrets, stage.volumes]) rmSync(folder, { recursive: true, force: true });
    await metadata.drop();
    await shop.drop();
  }, 60_000);

  test('serve a tool from a deploy, to both official clients', async () => {
    await api('POST', '/auth/setup', { username: 'ada', password: 'correct horse' });
    const { host, port, database, username } = shop.settings;
    const draft = { name: 'shop', db_type: 'postgresql', host, port, database, username, ssl_mode: 'disable' };
    const { id: connection_id } = await api<{ id: string }>('POST', '/connections', draft);
    await api('POST', '/tools', { connection_id, name: 'items', description: 'All.', sql_query: 'select id, name from items' });
    const receipt = await api<{ hosts: { acked_ms: number | null }[] }>('POST', '/deploy', {});
    expect(receipt.hosts.map((each) => typeof each.acked_ms)).toEqual(['number']);
    for (const kind of ['v1', 'v2'] as const) {
      const client = await connectClient(kind, `http://127.0.0.1:${ports.mcp}/mcp`);
      expect((await client.call('items', {})).structuredContent).toMatchObject({ rows: [{ id: 1, name: 'Atlas' }] });
      await client.close();
    }
  });

  test('serve the sample shop, a file that the server makes and the hosts open', async () => {
    const { id: connection_id } = await api<{ id: string }>('POST', '/connections/sample', {});
    const sql_query = 'select name from products order by id limit 1';
    await api('POST', '/tools', { connection_id, name: 'first_product', description: 'The first.', sql_query });
    await api('POST', '/deploy', {});
    const client = await connectClient('v2', `http://127.0.0.1:${ports.mcp}/mcp`);
    expect((await client.call('first_product', {})).structuredContent).toMatchObject({ rows: [{ name: 'Atlas' }] });
    await client.close();
  });

  test('let an agent in through the front port', async () => {
    const { token } = await api<{ token: string }>('POST', '/agent-tokens', { name: 'compose', duration_minutes: 15 });
    const client = await connectClient('v2', `${url}/agent-mcp/mcp`, { authorization: `Bearer ${token}` });
    expect(await client.tools()).toHaveLength(SPECIFIED_TOOLS.length);
    await client.close();
  });

  test('come back by themselves: the host serves while the server is away', async () => {
    await services['server']?.stop();
    await services['mcp']?.stop('SIGKILL');
    services['mcp'] = startService('mcp', { ...stage, again: services['mcp']! });
    await healthy(services['mcp'], 'mcp');
    const client = await connectClient('v2', `http://127.0.0.1:${ports.mcp}/mcp`);
    expect(await client.tools()).toEqual(['first_product', 'items']);
    await client.close();
    services['server'] = startService('server', { ...stage, again: services['server']! });
    await healthy(services['server'], 'server');
    expect(await api<{ status: string }>('GET', '/deploy/status')).toMatchObject({ snapshot_version: 2 });
  }, 60_000);

  test('print no secret', () => {
    const secrets = readdirSync(stage.secrets).map((name) => readFileSync(join(stage.secrets, name), 'utf8'));
    expect(secrets).toHaveLength(7);
    const printed = ['server', 'mcp', 'agent'].map((name) => services[name]?.output() ?? '').join('');
    expect(printed).toContain('listens');
    // The address of the metadata database has no password here.
    expect(secrets.filter((secret) => secret !== metadata.url && printed.includes(secret))).toEqual([]);
  });
});

describe('compose.yaml', () => {
  const ours = Object.entries(compose.services).filter(([, service]) => service.image?.startsWith('sluice') === true);

  test('has its secrets in a folder that neither git nor the image takes up', () => {
    for (const file of ['.gitignore', '.dockerignore']) {
      const ignored = readFileSync(join(ROOT, file), 'utf8').split('\n');
      expect({ file, ignored: ignored.some((line) => /^\/?secrets\/?$/.test(line)) }).toEqual({ file, ignored: true });
    }
  });

  test('lets everything be set that the guide to HTTPS names', () => {
    const guide = readFileSync(join(ROOT, 'docs/https.md'), 'utf8');
    // It runs in production, with Redis, and publishes ports itself.
    const named = [...new Set(guide.match(/\bSVC_[A-Z_]+\b/g))].filter(
      (name) => !['SVC_ENV', 'SVC_KV', 'SVC_BIND'].includes(name),
    );
    expect(named).toContain('SVC_SSL_STAGING');
    const { environment = {}, ports = [] } = compose.services['server'] ?? {};
    const settable = (name: string) => name in environment || `${name}_FILE` in environment || ports.join().includes(`{${name}:`);
    expect(named.filter((name) => !settable(name))).toEqual([]);
  });

  test('runs our programs as nobody special, on a read-only disk, with every secret in a file', () => {
    expect(ours.map(([name]) => name)).toEqual(['server', 'mcp', 'agent']);
    expect(imageCommand).toEqual(['bun', 'server/main.ts']);
    for (const [, service] of ours) {
      expect(service).toMatchObject({ user: '1000:1000', read_only: true, cap_drop: ['ALL'] });
      for (const name of Object.keys(service.environment)) {
        expect(name).not.toMatch(/(KEY|SECRET|TOKEN|PASSWORD|DATABASE_URL|REDIS_URL)$/);
      }
    }
  });
});
