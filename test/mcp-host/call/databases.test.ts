import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import { openTcpProxy } from '#test/support/tcp-proxy.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { connectionOf, ENVELOPE, keyring, modern, parameterOf, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const KINDS = [
  {
    kind: 'postgresql' as const,
    up: reachable.postgres,
    sleep: 'select pg_sleep(30)',
    running:
      "select 1 as one from pg_stat_activity where datname = current_database() and query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()",
    sessions: 'select 1 as one from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  },
  {
    kind: 'mysql' as const,
    up: reachable.mysql,
    sleep: 'select sleep(30)',
    running:
      "select 1 as one from information_schema.processlist where db = database() and info like '%sleep(30)%' and id <> connection_id()",
    sessions: 'select 1 as one from information_schema.processlist where db = database() and id <> connection_id()',
  },
];

for (const { kind, up, sleep, running, sessions } of KINDS) {
  describe.skipIf(!up && process.env['CI'] !== 'true')(`a host in front of ${kind}`, () => {
    const { control, host } = useHost('all');
    let database: TestDatabase;
    let connection: FrozenConnection;
    const call = (name: string, args: Record<string, unknown> = {}) => modern(host.mcp, 'tools/call', { name, arguments: args });

    beforeAll(async () => {
      database = await testDatabase(kind);
      await database.run('create table items (id bigint primary key, name varchar(50) not null)');
      await database.run("insert into items values (1, 'one'), (9007199254740993, 'big')");
      const { password, ...settings } = database.settings;
      const draft = connectionOf({ ...settings, name: 'db', ssl_key: null, ssh: null, password: null });
      const $sealed = keyring.seal(password ?? '', `connection/${draft.id}/password`);
      connection = { ...draft, password: { $sealed } };
      const tools = [
        toolOf(connection, 'items', 'select id, name from items where name like :name order by id', {
          parameters: [parameterOf('name', 'string')],
        }),
        toolOf(connection, 'add', 'insert into items values (:id, :name)', {
          mode: 'write',
          parameters: [parameterOf('id', 'integer'), parameterOf('name', 'string')],
        }),
        toolOf(connection, 'read_only_add', "insert into items values (77, 'never')"),
        toolOf(connection, 'sleep', sleep),
        toolOf(connection, 'short_sleep', sleep, { timeout_ms: 100 }),
      ];
      expect(await control.deploy(snapshotOf(1, { connections: [connection], tools }))).toMatchObject({ error: null });
    });
    afterAll(async () => {
      await host.stop();
      await database.drop();
    });

    test('reads, with integers beyond 2^53 as text', async () => {
      expect((await call('items', { name: '%' })).body.result).toMatchObject({
        structuredContent: {
          rows: [
            { id: 1, name: 'one' },
            { id: '9007199254740993', name: 'big' },
          ],
          row_count: 2,
        },
      });
    });

    test('writes only with a tool that writes', async () => {
      expect((await call('add', { id: 5, name: 'five' })).body.result).toMatchObject({ structuredContent: { affected_rows: 1 } });
      expect((await call('read_only_add')).body.result).toMatchObject({ isError: true });
      expect(await database.run('select id from items where id in (5, 77)')).toHaveLength(1);
    });

    test('a client that leaves ends its statement in the database', async () => {
      const controller = new AbortController();
      const left = fetch(host.mcp, {
        method: 'POST',
        signal: controller.signal,
        headers: {
          'content-type': 'application/json',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 'sleep',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'sleep', _meta: ENVELOPE } }),
      }).catch(() => null);
      await until(async () => (await database.run(running)).length === 1);
      controller.abort();
      await left;
      await until(async () => (await database.run(running)).length === 0);
      await until(async () => (await host.health()).connections[0]?.queue.active === 0);
    });

    test('a statement that takes too long is ended in the database', async () => {
      expect((await call('short_sleep')).body.result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/100 ms|time/) }],
      });
      await until(async () => (await database.run(running)).length === 0);
    });

    test('a commit without an answer is no reason to repeat the change', async () => {
      let sent = false;
      const { host: address, port } = database.settings;
      const proxy = await openTcpProxy(
        { host: address!, port: port! },
        {
          toServer: (bytes) => ((sent ||= /commit/i.test(bytes.toString('latin1'))), bytes),
          toClient: (bytes) => (sent ? null : bytes),
        },
      );
      const proxied = {
        ...connection,
        id: crypto.randomUUID(),
        pool_key: crypto.randomUUID(),
        port: proxy.port,
        ssl_mode: 'disable' as const,
        password: null,
      };
      const tools = [toolOf(proxied, 'add_lost', "insert into items values (88, 'once')", { mode: 'write' })];
      expect(await control.deploy(snapshotOf(2, { connections: [proxied], tools }))).toMatchObject({ error: null });
      expect((await call('add_lost')).body.result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('Check whether the change was made') }],
      });
      expect(await database.run('select id from items where id = 88')).toHaveLength(1);
      await proxy.close();
    });

    test('a removed connection leaves no session behind', async () => {
      await control.deploy(snapshotOf(3));
      await until(async () => (await database.run(sessions)).length === 0);
    });
  });
}
