import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

const SECRET = 'c'.repeat(16) + '0123456789abcdefg';

interface Canary {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly version: number | null;
}

/** A server that starts a canary, and another one on the same PostgreSQL database. The first is killed while the canary runs. */
describe.skipIf(!reachable.postgres)('a canary whose server is killed', () => {
  let metadata: TestDatabase;
  let servers: Programs[];
  const start = async () => {
    const server = await startPrograms({
      role: 'server',
      env: {
        SVC_DATABASE_URL: metadata.url,
        SVC_KV: 'memory',
        SVC_ENCRYPTION_KEY: SECRET,
        SVC_JWT_SECRET: SECRET,
        SVC_AGENT_SERVICE_TOKEN: SECRET,
        SVC_DEMO: String(servers.length === 0),
      },
    });
    servers.push(server);
    await server.signIn();
    return server;
  };
  const canaryOf = async (server: Programs) => (await server.api<{ canary: Canary }>('GET', '/deploy/status')).canary;

  beforeEach(async () => {
    metadata = await testDatabase('postgresql');
    servers = [];
  });
  afterEach(async () => {
    for (const server of servers) {
      await server.stop('SIGKILL');
      removeFolder(server);
    }
    await metadata.drop();
  });

  /** A canary that the first server began and that the second is left with. */
  async function orphan(): Promise<{ other: Programs; canary: Canary; live: number }> {
    const [one, other] = [await start(), await start()];
    const { items } = await one.api<{ items: { id: string }[] }>('GET', '/connections');
    const tool = await one.api<{ id: string }>('POST', '/tools', {
      connection_id: items[0]?.id,
      name: 'probe',
      description: 'Answers which side served the call, for tests of canaries.',
      sql_query: "select 'live' as side",
    });
    const { snapshot_version: live } = await one.api<{ snapshot_version: number }>('POST', '/deploy', {});
    await one.api('PATCH', `/tools/${tool.id}`, { sql_query: "select 'canary' as side" });
    const plan = { percent: 50, minutes: 1, min_calls: 5, max_error_rate: 0.1, max_p95_ratio: null };
    const { canary } = await one.api<{ canary: Canary }>('POST', '/deploy', { canary: plan });
    expect(canary.status).toBe('running');
    await one.stop('SIGKILL');
    expect(await canaryOf(other)).toMatchObject({ id: canary.id, status: 'running' });
    return { other, canary, live };
  }
  /** It was ended once, and each history entry and version is there once. */
  async function endedOnce(other: Programs, { id }: Canary): Promise<void> {
    const { items } = await other.api<{ items: { entity_name: string; action: string }[] }>(
      'GET',
      '/history?entity_type=snapshot&limit=20',
    );
    const entries = items.filter(({ entity_name }) => entity_name === `canary ${id}`);
    expect(entries.map(({ action }) => action)).toEqual(['update', 'create']);
  }

  test('is promoted by the other server at its end, as the next version', async () => {
    const { other, canary, live } = await orphan();
    // Its minute is brought forward.
    await metadata.run(`update canaries set ends_at = '2026-01-01T00:00:00.000Z' where id = '${canary.id}'`);
    const told = () => other.output().slice(-2_000);
    await until(async () => (await canaryOf(other)).status === 'promoted', told);
    expect(await canaryOf(other)).toMatchObject({ version: live + 1, reason: 'Promoted itself at its end.' });
    expect(await other.api('GET', '/deploy/status')).toMatchObject({ snapshot_version: live + 1 });
    await endedOnce(other, canary);
  }, 90_000);

  test('is aborted by the other server when its calls pass a limit', async () => {
    const { other, canary, live } = await orphan();
    await metadata.run(`update canary_sides set calls = 10, errors = 9 where canary_id = '${canary.id}' and side = 'canary'`);
    const told = () => other.output().slice(-2_000);
    await until(async () => (await canaryOf(other)).status === 'aborted', told);
    expect((await canaryOf(other)).reason).toBe('Limit passed: 90% of 10 calls failed; the limit is 10%.');
    expect(await other.api('GET', '/deploy/status')).toMatchObject({ snapshot_version: live });
    await endedOnce(other, canary);
  }, 90_000);

  test('is promoted by a third server when the second is killed about when it is due', async () => {
    const { other, canary, live } = await orphan();
    const third = await start();
    // Either may be deciding when the second is killed.
    await metadata.run(`update canaries set ends_at = '2026-01-01T00:00:00.000Z' where id = '${canary.id}'`);
    await Bun.sleep(500);
    await other.stop('SIGKILL');
    const told = () => third.output().slice(-2_000);
    await until(async () => (await canaryOf(third)).status === 'promoted', told);
    await until(
      async () => (await third.api<{ snapshot_version: number }>('GET', '/deploy/status')).snapshot_version === live + 1,
      told,
    );
    await endedOnce(third, canary);
  }, 90_000);
});
