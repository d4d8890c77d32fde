import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { reachable, redisUrl, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { type Fault, type FaultProxy, openFaultProxy } from './fault-proxy.ts';
import { until } from '#test/support/until.ts';

/** What goes on while the metadata store or Redis is away, and that everything heals by itself when it is back. */
const PATIENCE_MS = 30_000;
const AWAY: readonly Fault[] = ['refused', 'half_open', 'garbage'];

const served = async (programs: Programs): Promise<number> => {
  const client = await connectClient('v2', programs.mcp_url);
  const { structuredContent } = await client.call('search_products', { text: 'l', limit: 3 });
  await client.close();
  return Array.isArray(structuredContent?.['rows']) ? structuredContent['rows'].length : 0;
};

/** Status and sentence of an answer that must come, whatever is away. */
async function answer(programs: Programs, path: string): Promise<{ status: number; detail: unknown }> {
  const response = await fetch(programs.url + path, { signal: AbortSignal.timeout(PATIENCE_MS) });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, detail: body['detail'] };
}

describe.skipIf(!reachable.postgres)('the metadata store in PostgreSQL', () => {
  let database: TestDatabase;
  let proxy: FaultProxy;
  let programs: Programs;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    const { port } = new URL(database.url);
    proxy = await openFaultProxy({ host: '127.0.0.1', port: Number(port) });
    programs = await startPrograms({ env: { SVC_DATABASE_URL: database.url.replace(`:${port}/`, `:${proxy.port}/`) } });
    await until(
      () => programs.output().includes('curl'),
      () => programs.output(),
    );
    await programs.signIn();
  }, 60_000);
  afterAll(async () => {
    await programs.stop();
    removeFolder(programs);
    await proxy.close();
    await database.drop();
  }, 60_000);

  test.each(AWAY.map((fault) => [fault]))(
    'is %s: tools are served, the server says that it is not ready, and heals',
    async (fault) => {
      proxy.use(fault);
      await until(
        async () => (await fetch(`${programs.url}/readyz`, { signal: AbortSignal.timeout(PATIENCE_MS) })).status === 503,
        () => programs.output().slice(-3_000),
      );
      expect(await served(programs)).toBe(3);
      expect((await fetch(`${programs.url}/livez`)).status).toBe(200);
      const { status, detail } = await answer(programs, '/api/v1/auth/status');
      expect([status >= 500, typeof detail]).toEqual([true, 'string']);
      proxy.use('none');
      await until(
        async () => (await fetch(`${programs.url}/readyz`, { signal: AbortSignal.timeout(PATIENCE_MS) })).ok,
        () => programs.output().slice(-3_000),
      );
      await programs.api('GET', '/tools');
      await programs.api('POST', '/deploy', { note: fault });
    },
    120_000,
  );
});

describe.skipIf(!reachable.redis)('Redis', () => {
  let proxy: FaultProxy;
  let programs: Programs;

  beforeAll(async () => {
    const target = new URL(redisUrl);
    proxy = await openFaultProxy({ host: target.hostname, port: Number(target.port) });
    const url = `redis://127.0.0.1:${proxy.port}/11`;
    programs = await startPrograms({ env: { SVC_KV: 'redis', SVC_REDIS_URL: url, REDIS_URL: url } });
    await until(
      () => programs.output().includes('curl'),
      () => programs.output(),
    );
    await programs.signIn();
  }, 60_000);
  afterAll(async () => {
    await programs.stop();
    removeFolder(programs);
    await proxy.close();
  }, 60_000);

  test.each(AWAY.map((fault) => [fault]))(
    'is %s: tools are served, administrators work and deploy, agents too',
    async (fault) => {
      proxy.use(fault);
      expect(await served(programs)).toBe(3);
      await programs.api('PATCH', '/server/config', { server_name: `Without Redis: ${fault}` });
      expect(await programs.api('POST', '/deploy', {})).toMatchObject({ changed: true });
      const { token } = await programs.api<{ token: string }>('POST', '/agent-tokens', { name: fault, duration_minutes: 15 });
      const headers = { authorization: `Bearer ${token}` };
      const listed = await fetch(`${programs.url}/api/v1/tools`, { headers, signal: AbortSignal.timeout(PATIENCE_MS) });
      expect(listed.status).toBe(200);
      proxy.use('none');
      await until(
        async () => (await fetch(`${programs.url}/readyz`)).ok,
        () => programs.output().slice(-3_000),
      );
      expect(await served(programs)).toBe(3);
    },
    120_000,
  );
});
