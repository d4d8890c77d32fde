import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { testApp, type TestApp } from '#test/support/app.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const draft = { name: 'db', db_type: 'postgresql', host: 'db1.invalid', database: 'shop', username: 'reader' } as const;
const LIST = 'db1.invalid, db2.invalid:5433';

test('several hosts and a target are stored, exported and kept through a change of another field', async () => {
  const created = await t.call('connections.create', { ...draft, host: LIST, target: 'prefer_standby' });
  expect(created).toMatchObject({ host: LIST, target: 'prefer_standby', port: null });
  const { id, version } = created;
  expect(await t.call('connections.update', { id, version, pool_size: 3 })).toMatchObject({
    host: LIST,
    target: 'prefer_standby',
  });
  const exported = await t.call('transfer.export', {});
  expect(exported.connections[0]).toMatchObject({ host: LIST, target: 'prefer_standby' });
  const { items } = await t.call('connections.types', {});
  expect(items.filter(({ hosts }) => hosts).map(({ db_type }) => db_type)).toEqual([
    'postgresql',
    'supabase',
    'timescaledb',
    'mysql',
    'mariadb',
  ]);
});

test('lists and targets without an effect are refused at their field', async () => {
  const refused: [object, string, string][] = [
    [{ db_type: 'clickhouse', host: LIST }, 'host', 'ClickHouse takes one host'],
    [{ db_type: 'cockroachdb', host: LIST }, 'host', 'CockroachDB takes one host'],
    [{ db_type: 'redshift', target: 'primary' }, 'target', 'target has no effect on Amazon Redshift'],
    [{ db_type: 'sqlite', host: null, database: 'a.sqlite', target: 'primary' }, 'target', 'target has no effect on SQLite'],
    [{ target: 'prefer_standby' }, 'target', 'prefer_standby needs several hosts'],
    [{ target: 'secondary' }, 'target', ''],
    [{ host: 'db1.invalid,' }, 'host', 'Host 2 of the list'],
    [{ host: 'db1.invalid,http://db2.invalid' }, 'host', 'Host 2 of the list'],
    [{ host: 'db1.invalid:70000,db2.invalid' }, 'host', 'Host 1 of the list'],
    [{ host: 'db1.invalid,DB1.invalid' }, 'host', 'a host twice'],
    [{ host: Array.from({ length: 9 }, (_, n) => `db${n}.invalid`).join(',') }, 'host', 'at most 8 hosts'],
    [{ host: 'db1.invalid,169.254.169.254' }, 'host', 'metadata address'],
  ];
  for (const [more, field, words] of refused) {
    const { status, body } = await t.send('connections.create', { ...draft, ...more });
    expect([more, status, body.errors?.[0]]).toEqual([more, 422, { field, message: expect.stringContaining(words) }]);
  }
  expect((await t.call('connections.list', {})).total).toBe(0);
});

describe.skipIf(!reachable.postgres && process.env['CI'] !== 'true')('a connection with several hosts', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await testDatabase('postgresql');
  });
  afterEach(() => database.drop());

  test('its test and the health of the server name each host, its role and its lag', async () => {
    const { port, username, database: name } = database.settings;
    const host = `127.0.0.1:1,127.0.0.1:${port}`;
    const settings = { ...draft, host, username, database: name, ssl_mode: 'disable', target: 'primary' } as const;
    const hosts = [
      { host: '127.0.0.1:1', role: null, lag_ms: null, error: expect.stringContaining('Nothing accepts connections') },
      { host: `127.0.0.1:${port}`, role: 'primary', lag_ms: null, error: null },
    ];
    expect(await t.call('connections.test_draft', settings)).toMatchObject({ success: true, hosts });
    const { id } = await t.call('connections.create', settings);
    expect(await t.call('connections.test', { id })).toMatchObject({ success: true, hosts });
    const tool = { name: 'one', connection_id: id, description: 'Returns the number one.', sql_query: 'select 1 as one' };
    await t.call('tools.create', tool);
    await t.call('deploy.run', {});
    expect((await t.call('server.health', {})).connections).toEqual([{ id, name: 'db', healthy: true, lag_ms: null }]);
    const { files } = await t.call('server.generated', {});
    expect(files.find(({ path }) => path === 'README.md')?.content).toContain('by which only Sluice chooses');
    const alone = await t.call('connections.test_draft', { ...settings, host: '127.0.0.1', port, target: 'any' });
    expect(alone.hosts).toBeUndefined();
  });
});
