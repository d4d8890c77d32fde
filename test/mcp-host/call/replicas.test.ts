import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { callTool, connectionOf, parameterOf, snapshotOf, textOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { canCreateCluster } from '#test/support/postgres-cluster.ts';
import { type PostgresPair, startPostgresPair } from '#test/support/postgres-pair.ts';
import { until } from '#test/support/until.ts';

if (!canCreateCluster && process.env['CI'] === 'true') throw new Error('initdb is needed for the tests of several hosts');

describe.skipIf(!canCreateCluster)('a host in front of a primary and its standby', () => {
  const { control, host } = useHost('all');
  let pair: PostgresPair;
  beforeAll(async () => {
    pair = await startPostgresPair();
    await pair.primary.run('create table items (id int primary key)');
    const connection = connectionOf({
      name: 'db',
      db_type: 'postgresql',
      host: `127.0.0.1:${pair.primary.port},127.0.0.1:${pair.standby.port}`,
      port: null,
      target: 'prefer_standby',
      database: 'postgres',
      username: 'postgres',
      password: null,
      ssl_mode: 'disable',
    });
    const tools = [
      toolOf(connection, 'role', 'select pg_is_in_recovery() as standby'),
      toolOf(connection, 'count', 'select count(*) as n from items', { mode: 'fixed' }),
      toolOf(connection, 'add', 'insert into items values (:id)', { mode: 'write', parameters: [parameterOf('id', 'integer')] }),
    ];
    expect(await control.deploy(snapshotOf(1, { connections: [connection], tools }))).toMatchObject({ error: null });
  }, 90_000);
  afterAll(async () => {
    await host.stop();
    await pair.remove();
  }, 60_000);
  const rowOf = async (tool: string) => {
    const { body } = await callTool(host.mcp, tool);
    return (body.result?.['structuredContent'] as { rows?: Record<string, unknown>[] } | undefined)?.rows?.[0];
  };

  test('tools that read use the standby and tools that write the primary, before and after a failover', async () => {
    expect(await rowOf('role')).toEqual({ standby: true });
    expect((await callTool(host.mcp, 'add', { id: 1 })).body.result).toMatchObject({ structuredContent: { affected_rows: 1 } });
    await until(async () => (await rowOf('count'))?.['n'] === 1);
    await pair.primary.kill();
    await until(async () => {
      const answer = await callTool(host.mcp, 'add', { id: 2 });
      // A caller learns no address.
      return textOf(answer).startsWith('The database of this tool cannot be reached right now.');
    });
    expect(await rowOf('count')).toEqual({ n: 1 });
    await pair.standby.promote();
    await until(async () => (await callTool(host.mcp, 'add', { id: 3 })).body.result?.['isError'] !== true);
    expect(await rowOf('count')).toEqual({ n: 2 });
  });
});
