import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { LOCKS } from '#core/store/journal.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { type Programs, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';
import { paced } from '#test/support/paced.ts';

const SECRET = 'f'.repeat(16) + '0123456789abcdefg';
/** A statement that takes seconds, so that a deploy whose test runs it can be stopped in the middle. */
const SLOW = `with recursive n (i) as (select 1 union all select i + 1 from n where i < 12000000)
  select count(*) as found, 'EDIT' as edit from n`;
const FAST = `select 1 as found, 'EDIT' as edit`;

interface Status {
  readonly status: string;
  readonly snapshot_version: number;
}

/** Servers that are stopped with SIGSTOP in the middle of a deploy and go on later. */
describe.each([
  ['postgresql', reachable.postgres],
  ['sqlite', true],
] as const)('a frozen server on %s', (dialect, is_reachable) => {
  describe.skipIf(!is_reachable)('', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-frozen-'));
    let database: TestDatabase | null = null;
    let servers: Programs[] = [];
    let tool = '';
    let test_id = '';
    let edits = 0;
    const [first, last] = [() => servers[0]!, () => servers.at(-1)!];

    beforeAll(async () => {
      if (dialect === 'postgresql') database = await testDatabase('postgresql');
      mkdirSync(join(folder, 'databases'));
      new Database(join(folder, 'databases/shop.sqlite')).run('create table products (id integer primary key)');
      const env = {
        SVC_ENCRYPTION_KEY: SECRET,
        SVC_JWT_SECRET: SECRET,
        SVC_AGENT_SERVICE_TOKEN: SECRET,
        SVC_DEMO: 'false',
        SVC_SQLITE_DIR: join(folder, 'databases'),
        ...(database && { SVC_DATABASE_URL: database.url }),
      };
      for (let n = 0; n < (database === null ? 1 : 2); n++) servers.push(await startPrograms({ role: 'server', env }));
      for (const server of servers) await server.signIn();
      const { api } = first();
      await api('PATCH', '/server/config', { deploy_gates: { lint: 'off' } });
      const connection = await api('POST', '/connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
      const made = await api('POST', '/tools', {
        connection_id: connection['id'],
        name: 'count_slowly',
        description: 'Counts',
        sql_query: 'select 1 as found',
      });
      tool = String(made['id']);
      const counts = await api('POST', '/tests', {
        owner: { kind: 'tool', id: tool },
        name: 'counts',
        arguments: {},
        expect: { rows: { min: 1 } },
      });
      test_id = String(counts['id']);
      await api('POST', '/deploy', {});
    }, 120_000);
    afterAll(async () => {
      for (const server of servers) {
        server.process.kill('SIGCONT');
        await server.stop('SIGKILL');
        rmSync(server.directory, { recursive: true, force: true });
      }
      rmSync(folder, { recursive: true, force: true });
      servers = [];
      await database?.drop();
    }, 30_000);

    /** An embedded database has one server. */
    const onPostgres = (...args: Parameters<typeof test>) => dialect === 'postgresql' && test(...args);
    const statusOf = (server: Programs) => server.api<Status>('GET', '/deploy/status');
    const edit = (server: Programs, text = SLOW) =>
      server.api('PATCH', `/tools/${tool}`, { sql_query: text.replace('EDIT', `edit ${(edits += 1)}`) });
    const cookieOf = async (server: Programs) => {
      const response = await fetch(`${server.url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'ada', password: 'correct horse' }),
      });
      return response.headers.get('set-cookie')?.split(';')[0] ?? '';
    };
    /** A deploy whose client can give up. */
    const deployOn = (server: Programs, cookie: string, signal: AbortSignal) =>
      fetch(`${server.url}/api/v1/deploy`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', cookie },
        body: '{}',
        signal,
      }).then(
        ({ status }) => status,
        () => 'gave up',
      );
    /** Freezes the first server while its deploy runs the slow test, and gives up. */
    const freezeInDeploy = async () => {
      await edit(first());
      const cookie = await cookieOf(first());
      const client = new AbortController();
      const deploying = deployOn(first(), cookie, client.signal);
      await until(async () => (await statusOf(last())).status === 'deploying');
      await Bun.sleep(300);
      first().process.kill('SIGSTOP');
      await Bun.sleep(500);
      client.abort();
      expect(await deploying).toBe('gave up');
    };
    /** Waits until the deploy of the frozen server has ended. */
    const thaw = async () => {
      first().process.kill('SIGCONT');
      await until(async () => (await statusOf(first())).status !== 'deploying');
      await Bun.sleep(1_000);
    };

    test('serves no version whose client has given up', async () => {
      const { snapshot_version } = await statusOf(first());
      await freezeInDeploy();
      await Bun.sleep(500);
      await thaw();
      expect(await statusOf(last())).toMatchObject({ snapshot_version });
    }, 120_000);

    onPostgres(
      'does not serve it after its checks either',
      async () => {
        const { snapshot_version } = await statusOf(first());
        await edit(first(), FAST);
        const sql = postgres(database!.url, { max: 1 });
        // The deploy waits for this change of what is served.
        await sql`select pg_advisory_lock(${LOCKS.switch})`;
        const client = new AbortController();
        const deploying = deployOn(first(), await cookieOf(first()), client.signal);
        await until(async () => (await statusOf(last())).status === 'deploying');
        await Bun.sleep(1_500);
        first().process.kill('SIGSTOP');
        client.abort();
        expect(await deploying).toBe('gave up');
        await sql.end();
        await thaw();
        expect(await statusOf(last())).toMatchObject({ snapshot_version });
      },
      120_000,
    );

    onPostgres(
      'blocks the deploys and rollbacks of others only for seconds',
      async () => {
        const { snapshot_version } = await statusOf(first());
        await freezeInDeploy();
        const other = last();
        const started = performance.now();
        await other.api('POST', `/snapshots/${snapshot_version}/activate`, {});
        expect(performance.now() - started).toBeLessThan(paced(8_000));
        await other.api('POST', '/deploy', {});
        const waited = performance.now() - started;
        expect(waited).toBeLessThan(30_000);
        process.stdout.write(`A deploy behind a frozen server waited ${(waited / 1_000).toFixed(1)} s.\n`);
        expect(await statusOf(other)).toMatchObject({ snapshot_version: snapshot_version + 1 });
        await thaw();
        expect(await statusOf(other)).toMatchObject({ snapshot_version: snapshot_version + 1 });
      },
      180_000,
    );

    test('runs no deploy that arrived in between and was given up', async () => {
      const { snapshot_version } = await statusOf(first());
      await edit(first(), FAST);
      await first().api('DELETE', `/tests/${test_id}`);
      const cookie = await cookieOf(first());
      first().process.kill('SIGSTOP');
      const client = new AbortController();
      const sent = [1, 2].map(() => deployOn(first(), cookie, client.signal));
      await Bun.sleep(500);
      client.abort();
      expect(await Promise.all(sent)).toEqual(['gave up', 'gave up']);
      await thaw();
      await Bun.sleep(3_000);
      expect(await statusOf(last())).toMatchObject({ status: expect.not.stringContaining('deploying'), snapshot_version });
    }, 120_000);

    test('writes nothing that arrived in between and was given up', async () => {
      const cookie = await cookieOf(first());
      first().process.kill('SIGSTOP');
      const client = new AbortController();
      const sent = Array.from({ length: 5 }, (_, n) =>
        fetch(`${first().url}/api/v1/tools/${tool}`, {
          method: 'PATCH',
          headers: { 'content-type': 'application/json', cookie },
          body: JSON.stringify({ description: `Abandoned ${n}` }),
          signal: client.signal,
        }).catch(() => 'gave up'),
      );
      await Bun.sleep(500);
      client.abort();
      expect(new Set(await Promise.all(sent))).toEqual(new Set(['gave up']));
      first().process.kill('SIGCONT');
      await Bun.sleep(1_000);
      expect((await first().api('GET', `/tools/${tool}`))['description']).toBe('Counts');
    }, 60_000);
  });
});
