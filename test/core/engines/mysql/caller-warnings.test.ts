import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { callerWarnings, grantsIn } from '#core/engines/mysql/grants.ts';
import { openMysql } from '#core/engines/mysql/source.ts';
import { mysqlViews } from '#core/lib/sql/caller-policies.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

test.each([
  ['my-db', 'my-db', true],
  ['my\\_db', 'my_db', true],
  ['my\\_db', 'myXdb', false],
  ['my_db', 'myXdb', true],
  ['shop%', 'shop.2 (old)', true],
  ['shop.2 (old)', 'shop.2 (old)', true],
  ['shop.2 (old)', 'shopX2 (old)', false],
  ['a``b', 'a`b', true],
  ['a\\\\b', 'a\\b', true],
])('a right on the databases %j reaches %j: %p', (pattern, database, reaches) => {
  const lines = ['GRANT USAGE ON *.* TO `x`@`%`', `GRANT SELECT, INSERT ON \`${pattern}\`.* TO \`x\`@\`%\``];
  expect(callerWarnings(grantsIn(lines), database)).toHaveLength(reaches ? 1 : 0);
});

describe.skipIf(!reachable.mysql)('the connection test of a MariaDB that is told who calls', () => {
  let database: TestDatabase;
  let schema: string;
  /** At most 32 characters. */
  const account = `caller_${crypto.randomUUID().slice(0, 8)}`;
  beforeAll(async () => {
    database = await testDatabase('mysql');
    schema = database.settings.database ?? '';
    await database.run('create table orders (id int primary key, tenant varchar(40))');
    await database.run('create table notes (id int primary key)');
    await database.run("insert into orders values (1, 'acme'), (2, 'beta')");
    await database.run(`create user '${account}'@'%' identified by 'pw'`);
    const wishes = { schema, table: 'orders', column: 'tenant', value: 'tenant', is_list: false, account };
    for (const statement of mysqlViews(wishes).split(/;\n/)) {
      if (statement.trim() !== '' && !statement.trim().startsWith('--')) await database.run(statement);
    }
  });
  afterAll(async () => {
    await database?.run(`drop user '${account}'@'%'`);
    await database?.drop();
  });

  const TOLD = { session_values: [{ name: 'tenant', from: 'caller.sub' }] } as const;
  const open = (more: Partial<ConnectionSettings>) =>
    openMysql({ ...database.settings, username: account, password: 'pw', ...more }, localPolicy);
  const warnings = async (more: Partial<ConnectionSettings> = TOLD): Promise<string[]> => {
    const source = open(more);
    const { warnings: found } = await source.test();
    await source.close();
    return [...found];
  };
  const granted = async (grant: string, more?: Partial<ConnectionSettings>): Promise<string[]> => {
    await database.run(`grant ${grant} to '${account}'@'%'`);
    const found = await warnings(more);
    await database.run(`revoke ${grant} from '${account}'@'%'`);
    return found;
  };
  const escaped = () => schema.replaceAll('_', '\\_');

  test('finds nothing where the account reads the filtered view and tables without one', async () => {
    expect(await warnings()).toEqual([]);
    expect(await granted(`select on \`${schema}\`.notes`)).toEqual([]);
    expect(await granted(`insert on \`${escaped()}\`.*`)).toEqual([]);
    expect(await granted('select on `another_database`.*')).toEqual([]);
  });

  test('warns of a table that the account can read past its view, and of whole databases', async () => {
    expect(await granted(`select on \`${schema}\`.orders`)).toEqual([
      'The account can read tables past their filtered views: orders. Run REVOKE SELECT on these tables.',
    ]);
    for (const pattern of [schema, escaped(), `${escaped().slice(0, -1)}%`]) {
      const [found, ...others] = await granted(`select on \`${pattern}\`.*`);
      expect([others, found]).toEqual([[], expect.stringContaining('Filtered views do not limit this account')]);
    }
    expect(await granted(`all privileges on \`${schema}\`.*`)).toEqual([expect.stringContaining('every table of the database')]);
    expect(await granted('select on *.*')).toEqual([expect.stringContaining('every table of every database')]);
  });

  test('warns of a superuser, who reads past every view', async () => {
    const { username, password } = database.settings;
    const found = await warnings({ ...TOLD, username, password });
    expect(found[0]).toContain('every table of every database');
    expect(found).toContain('The account has all privileges on the whole server.');
  });

  test('says nothing of views where the database is not told who calls', async () => {
    expect(await granted(`select on \`${schema}\`.*`, {})).toEqual([]);
    const { username, password } = database.settings;
    expect(JSON.stringify(await warnings({ username, password }))).not.toContain('Filtered views');
  });
});
