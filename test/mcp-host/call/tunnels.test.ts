import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { callTool, connectionOf, keyring, snapshotOf, textOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { toolsetOf } from '#test/mcp-host/toolsets/toolsets-support.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { createKey, type SshServer, sshd_is_here, startSshServer } from '#test/support/ssh-server.ts';
import { download, fileOf } from './files/files-support.ts';
import { until } from '#test/support/until.ts';

describe.skipIf(!sshd_is_here || !reachable.postgres)('a host in front of a database behind an SSH server', () => {
  const { control, host } = useHost('all');
  let database: TestDatabase;
  let server: SshServer;
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    const user = createKey();
    server = await startSshServer(user);
    const { password: _, ...settings } = database.settings;
    const draft = connectionOf({ ...settings, name: 'db', ssl_key: null, password: null, ssh: null });
    const private_key = { $sealed: keyring.seal(user.private_key, `connection/${draft.id}/ssh/private_key`) };
    const connection = { ...draft, ssh: { ...server.hop, private_key, passphrase: null, password: null, jump: [] } };
    const tools = [
      toolOf(connection, 'one', 'select 1 as one'),
      toolOf(connection, 'sleep', 'select pg_sleep(30)'),
      toolOf(connection, 'many', 'select n from generate_series(1, 20000) n', { files: 'csv', max_rows: 2 }),
    ];
    const toolsets = [toolsetOf('all', { connection_ids: [connection.id] }, { files: true })];
    expect(await control.deploy(snapshotOf(1, { connections: [connection], tools, toolsets }))).toMatchObject({ error: null });
  });
  afterAll(async () => {
    await host.stop();
    await server.close();
    await database.drop();
  });

  test('a tool reads through the tunnel (needs sshd)', async () => {
    const { body } = await callTool(host.mcp, 'one');
    expect(body.result).toMatchObject({ structuredContent: { rows: [{ one: 1 }] } });
    expect(server.connections().length).toBeGreaterThan(0);
  });

  test('a whole result is downloaded through the tunnel (needs sshd)', async () => {
    const before = server.connections().length;
    const { url } = await fileOf(host, 'many');
    const { status, text } = await download(url);
    expect([status, text.split('\r\n').length]).toEqual([200, 20_002]);
    expect(text.endsWith('\r\n20000\r\n')).toBe(true);
    // Downloads have sessions of their own, and so a tunnel.
    expect(server.connections().length).toBeGreaterThan(before);
  });

  test('a call whose tunnel is killed answers with a sentence that names no address (needs sshd)', async () => {
    const calling = callTool(host.mcp, 'sleep');
    const active = `select 1 from pg_stat_activity where datname = current_database() and query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()`;
    await until(async () => (await database.run(active)).length > 0);
    // Within the first second, a read on a used session would run again.
    await until(async () => (await database.run(`${active} and query_start < clock_timestamp() - interval '1.2 s'`)).length > 0);
    server.signal('SIGKILL');
    const answer = await calling;
    expect(answer.body.result).toMatchObject({ isError: true });
    expect(textOf(answer)).toBe(
      'The SSH tunnel to the database of this tool cannot be used right now. Try again later, or see the log of the host.',
    );
    expect((await callTool(host.mcp, 'one')).body.result).toMatchObject({ structuredContent: { rows: [{ one: 1 }] } });
  });
});
