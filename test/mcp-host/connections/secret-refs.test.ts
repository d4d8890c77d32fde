import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLog } from '#core/process/log.ts';
import { createSecretRefs } from '#core/process/secret-refs/secret-refs.ts';
import { callTool, connection, connectionOf, snapshotOf, textOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { testVault } from '#test/support/vault.ts';

const vault = testVault();
vault.tokens.add('root');
const { control, host, folder } = useHost('all', () => ({
  resolveSecret: createSecretRefs({
    environment: {},
    commands: new Map(),
    private_paths: [],
    vault: { address: vault.url, namespace: null, token: 'root', token_file: null, role: null },
    ttl_seconds: () => 300,
    log: createLog('ERROR', () => undefined),
  }),
}));
afterAll(() => vault.stop());

const accountOf = () => `r${crypto.randomUUID().slice(0, 8)}`;

describe.skipIf(!reachable.mysql)('MariaDB with a password by reference', () => {
  let database: TestDatabase;
  const account = accountOf();
  const setPassword = (password: string) => database.run(`alter user '${account}'@'127.0.0.1' identified by '${password}'`);
  const path = () => join(folder.directory, 'password');
  const deploy = async (version: number, ref: string) => {
    const { host: address, port, database: name } = database.settings;
    const shop = connectionOf({
      id: `shop-${version}`,
      db_type: 'mysql',
      host: address,
      port,
      database: name,
      username: account,
      password: { ref },
      pool_size: 8,
      max_concurrency: 8,
    });
    const tools = [
      toolOf(shop, 'count_items', 'select count(*) as n from items'),
      toolOf(shop, 'add_item', 'insert into items values (1)', { mode: 'write' }),
    ];
    await control.deploy(snapshotOf(version, { connections: [connection, shop], tools }));
  };
  beforeAll(async () => {
    database = await testDatabase('mysql');
    await database.run('create table items (id integer)');
    await database.run(`create user '${account}'@'127.0.0.1' identified by 'first'`);
    await database.run(`grant select, insert on ${database.settings.database}.* to '${account}'@'127.0.0.1'`);
  });
  afterAll(async () => {
    await database.run(`drop user '${account}'@'127.0.0.1'`);
    await database.drop();
  });

  test.each(['file', 'vault'])('a password changed in the %s is used at once, and no call is lost', async (kind) => {
    const change = async (password: string) => {
      await setPassword(password);
      if (kind === 'file') writeFileSync(path(), `${password}\n`);
      else vault.secrets.set('kv/shop', { password });
    };
    await change('first');
    await deploy(kind === 'file' ? 1 : 2, kind === 'file' ? `file:${path()}` : 'vault:kv/shop#password');
    expect(textOf(await callTool(host.mcp, 'count_items'))).toContain('n');
    await change('second');
    // Ends the sessions of the account, so that every call signs in again.
    const sessions = await database.run(`select id from information_schema.processlist where user = '${account}'`);
    for (const { id } of sessions) await database.run(`kill ${String(id)}`).catch(() => undefined);
    const before = Number((await database.run('select count(*) as n from items'))[0]?.['n']);
    const answers = await Promise.all(Array.from({ length: 24 }, () => callTool(host.mcp, 'add_item')));
    expect(answers.filter(({ body }) => (body.result as { isError?: boolean }).isError).map(textOf)).toEqual([]);
    expect(Number((await database.run('select count(*) as n from items'))[0]?.['n'])).toBe(before + 24);
  });

  test('a wrong secret is an error without the reference, for the caller', async () => {
    await setPassword('third');
    writeFileSync(path(), 'wrong');
    await deploy(3, `file:${path()}`);
    const refused = textOf(await callTool(host.mcp, 'count_items'));
    expect(refused).toContain('cannot be reached');
    await deploy(4, `file:${path()}-none`);
    const missing = await callTool(host.mcp, 'count_items');
    expect(textOf(missing)).toBe(
      'The connection of this tool cannot be opened because one of its secrets cannot be read. See the log of the host.',
    );
    expect(JSON.stringify([refused, missing.body])).not.toContain(path());
    writeFileSync(`${path()}-none`, 'third');
    expect(textOf(await callTool(host.mcp, 'count_items'))).toContain('n');
  });
});
