import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DbType } from '#core/contract/definitions/connections.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { storeExtras } from '#test/support/extras.ts';
import { reachable } from '#test/support/databases.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table products (id integer primary key, name text not null, price real)');
  db.run("insert into products values (1, 'Atlas', 4.5), (2, 'Basket', 8.25)");
  db.close();
});
afterEach(() => t.close());

const sqlite = { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' };
const postgres = { name: 'pg', db_type: 'postgresql', host: '127.0.0.1', port: 5432, database: 'test', username: 'postgres' };
const mariadb = { host: '127.0.0.1', port: 3306, database: 'mysql', username: 'root' };
const createConnection = (body: object) => t.send('connections.create', body);

test('a connection is created with defaults, read, changed and deleted', async () => {
  const created = await createConnection(sqlite);
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    name: 'shop',
    enabled: true,
    pool_size: 4,
    max_rows: 1000,
    password_set: false,
    version: 1,
  });
  const path = `/api/v1/connections/${created.body.id}`;
  expect(await t.call('connections.get', { id: created.body.id })).toEqual(created.body);
  const changed = await t.request('PATCH', path, { body: { ...created.body, pool_size: 2 } });
  expect(changed.body).toMatchObject({ pool_size: 2, version: 2 });
  expect((await t.send('connections.delete', { id: created.body.id })).status).toBe(204);
  expect((await t.send('connections.get', { id: created.body.id })).status).toBe(404);
});

test('the sample shop is made and connected once; its tables can be read', async () => {
  const sample = () => t.send('connections.create_sample');
  const made = await sample();
  expect([made.status, made.body.name, made.body.db_type]).toEqual([201, 'demo', 'sqlite']);
  const tables = await t.call('schema.tables', { connection_id: made.body.id });
  expect(tables).toMatchObject({ total: 4 });
  expect((await sample()).status).toBe(409);
});

test.each([
  'passphrase',
  'pwd',
  'access_key',
  'sslkey',
  'auth',
  'dsn',
  'connectionString',
  'url',
  'client_cert',
  'apiKey',
  'JWT',
])('an extra parameter named %s is a secret', async (name) => {
  const id = (await createConnection(postgres)).body.id;
  await storeExtras(t.app, id, { [name]: 'canary-extra', application: 'x' });
  const connection = await t.call('connections.update', { id, pool_size: 3 });
  expect(connection.extra_params).toEqual({ [name]: '********', application: 'x' });
  const { connections, history } = t.app.store.tables;
  const stored = [await t.app.store.db.select().from(connections), await t.app.store.db.select().from(history)];
  expect(JSON.stringify([stored, connection, t.log])).not.toContain('canary');
});

test('a password is stored sealed, never answered, kept when not sent and cleared by null', async () => {
  const id = (await createConnection({ ...postgres, password: 'canary-password' })).body.id;
  await storeExtras(t.app, id, { application: 'x', api_token: 'canary-token' });
  const created = await t.call('connections.get', { id });
  expect(created).toMatchObject({ password_set: true, extra_params: { application: 'x', api_token: '********' } });
  const kept = await t.call('connections.update', { id, pool_size: 3, extra_params: created.extra_params });
  expect(kept).toMatchObject({ password_set: true, extra_params: { api_token: '********' } });
  const { connections, history } = t.app.store.tables;
  const stored = JSON.stringify([await t.app.store.db.select().from(connections), await t.app.store.db.select().from(history)]);
  expect(stored).toContain('$sealed');
  expect(stored).not.toContain('canary');
  expect(JSON.stringify([created, kept, t.log])).not.toContain('canary');
  const { toSettings } = await import('#core/engines/shared/connection-settings.ts');
  const [row] = await t.app.store.db.select().from(connections);
  if (row === undefined) throw new Error('no row');
  expect(await toSettings(row, t.app.secrets)).toMatchObject({
    password: 'canary-password',
    extra_params: { api_token: 'canary-token' },
  });
  expect((await t.call('connections.update', { id, password: null })).password_set).toBe(false);
});

describe('what is refused', () => {
  test('a second connection of the same name, also by renaming', async () => {
    await createConnection(sqlite);
    const again = await createConnection(sqlite);
    expect([again.status, isErrorBody(again.body)]).toEqual([409, true]);
    const other = await createConnection({ ...sqlite, name: 'other' });
    const renamed = await t.send('connections.update', { id: other.body.id, name: 'shop' });
    expect(renamed.status).toBe(409);
    expect((await t.call('connections.list', {})).total).toBe(2);
  });

  test('a change on an old version', async () => {
    const created = await createConnection(sqlite);
    const path = `/api/v1/connections/${created.body.id}`;
    await t.call('connections.update', { id: created.body.id, version: 1, pool_size: 2 });
    const stale = await t.request('PATCH', path, { body: { version: 1, pool_size: 3 } });
    expect([stale.status, isErrorBody(stale.body)]).toEqual([409, true]);
    expect((await t.call('connections.get', { id: created.body.id })).pool_size).toBe(2);
  });

  test('null in a field that needs a value, at its field', async () => {
    const created = await createConnection(sqlite);
    const answer = await t.send('connections.update', { id: created.body.id, name: null });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([{ field: 'name', message: 'name must not be null.' }]);
  });

  test('a network type without host or port, and a type without a driver', async () => {
    const missing = await createConnection({ name: 'a', db_type: 'postgresql', database: 'x' });
    expect(missing.status).toBe(422);
    expect(missing.body.detail).toContain('host is required');
    expect((await createConnection({ ...postgres, db_type: 'oracle' })).status).toBe(422);
    expect((await createConnection({ ...postgres, db_type: 'dbase' })).status).toBe(422);
  });

  test('files outside the folder, links out of it, folders and our own file', async () => {
    writeFileSync(join(t.directory, 'secret.sqlite'), '');
    symlinkSync(join(t.directory, 'secret.sqlite'), join(t.directory, 'databases/link.sqlite'));
    for (const database of [
      '../secret.sqlite',
      '/etc/passwd',
      'link.sqlite',
      '.',
      'missing.sqlite',
      'shop.sqlite/../../secret.sqlite',
    ]) {
      const answer = await createConnection({ ...sqlite, database });
      expect([database, answer.status]).toEqual([database, 422]);
      expect(isErrorBody(answer.body)).toBe(true);
    }
  });

  test('private addresses, unless allowed; metadata addresses always', async () => {
    const strict = await testApp({ SVC_ALLOW_PRIVATE_NETWORKS: 'false' });
    await strict.signIn();
    for (const host of [
      '127.0.0.1',
      'localhost',
      '127.1',
      '0x7f.1',
      '2130706433',
      '10.0.0.1',
      '::1',
      '[::ffff:10.0.0.1]',
      '169.254.169.254',
    ]) {
      const answer = await strict.send('connections.create', { ...postgres, host });
      expect([host, answer.status]).toEqual([host, 422]);
    }
    const refused = await strict.send('connections.create', postgres);
    expect(refused.body.code).toBe('private_network_blocked');
    expect(refused.body.detail).toContain('SVC_ALLOW_PRIVATE_NETWORKS');
    expect((await strict.call('connections.list', {})).total).toBe(0);
    await strict.close();
    expect((await createConnection({ ...postgres, host: '169.254.169.254' })).status).toBe(422);
    for (const db_type of ['postgresql', 'mysql', 'libsql']) {
      for (const host of ['127.0.0.1?x=', '127.0.0.1#', 'user@127.0.0.1', '127.0.0.1:9', 'a b']) {
        const refused = await createConnection({ ...postgres, db_type, host });
        expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('is not a host name')]);
      }
    }
    const token = await createConnection({ ...postgres, db_type: 'libsql', password: 'a\nb' });
    expect([token.status, token.body.detail]).toEqual([422, expect.stringContaining('invalid in a token')]);
  });
});

test('a test tells what is wrong, stored or not', async () => {
  const created = await createConnection(sqlite);
  const good = await t.call('connections.test', { id: created.body.id });
  expect(good).toMatchObject({ success: true, message: 'Connected.' });
  const closed = await t.send('connections.test_draft', { ...postgres, port: 1 });
  expect([closed.status, closed.body.success, closed.body.code]).toEqual([200, false, 'refused']);
  const named = await t.send('connections.test_draft', { ...postgres, host: 'nowhere.invalid' });
  expect(named.body).toMatchObject({ success: false, code: 'dns_failed' });
  expect((await t.call('connections.list', {})).total).toBe(1);
});

test('the list is sorted, searched, filtered and paged', async () => {
  for (const name of ['b', 'c', 'a', 'x_1', 'x%2']) await createConnection({ ...sqlite, name, enabled: name !== 'c' });
  const names = async (query: string) => {
    const { body } = await t.request('GET', `/api/v1/connections?${query}`);
    return [body['total'], ...(body['items'] as { name: string }[]).map(({ name }) => name)];
  };
  expect(await names('')).toEqual([5, 'a', 'b', 'c', 'x%2', 'x_1']);
  expect(await names('skip=1&limit=2')).toEqual([5, 'b', 'c']);
  expect(await names('search=X_')).toEqual([1, 'x_1']);
  expect(await names('search=%25')).toEqual([1, 'x%2']);
  expect(await names('enabled=false')).toEqual([1, 'c']);
  expect((await t.send('connections.list', { limit: 501 })).status).toBe(422);
  expect((await t.send('connections.list', { skip: '-1' })).status).toBe(422);
});

test('every type of the contract is described and has a driver, and no other is listed', async () => {
  const body = await t.call('connections.types', {});
  const items = body.items;
  expect(
    items
      .filter(({ supported }) => supported)
      .map(({ db_type }) => db_type)
      .toSorted(),
  ).toEqual(DbType.options.toSorted());
  expect(items.find(({ db_type }) => db_type === 'postgresql')).toMatchObject({ supported: true, default_port: 5432 });
});

test('a setting of the engine is stored and described, and a value it does not take is refused', async () => {
  const body = await t.call('connections.types', {});
  const types = body.items;
  const names = (wanted: string) => types.find(({ db_type }) => db_type === wanted)?.extra_fields.map(({ name }) => name);
  expect(names('supabase')).toEqual(['application_name', 'search_path', 'options']);
  expect(names('mariadb')).toEqual(['charset', 'time_zone']);
  expect(names('sqlite')).toEqual([]);
  const extra_params = { application_name: 'reports', search_path: '' };
  expect((await createConnection({ ...postgres, extra_params })).body.extra_params).toEqual(extra_params);
  const refused = await createConnection({ ...postgres, name: 'other', extra_params: { search_path: 'public, pg_catalog' } });
  expect([refused.status, refused.body.detail]).toEqual([
    422,
    "extra_params.search_path names a schema of PostgreSQL's own, which is searched anyway.",
  ]);
});

test('deleting a connection deletes what it owns in one batch', async () => {
  const connection_id = (await createConnection(sqlite)).body.id;
  const tool = { connection_id, description: 'x', sql_query: 'select 1 as one' };
  await t.call('tools.create', { ...tool, name: 'one' });
  await t.call('tools.create', { ...tool, name: 'two' });
  await t.call('connections.delete', { id: connection_id });
  expect((await t.call('tools.list', {})).total).toBe(0);
  const entries = await t.app.store.db.select().from(t.app.store.tables.history);
  const deleted = entries.filter(({ action }) => action === 'delete');
  expect(deleted.map(({ entity_type }) => entity_type).sort()).toEqual(['connection', 'tool', 'tool']);
  expect(new Set(deleted.map(({ batch_id }) => batch_id)).size).toBe(1);
});

test.each(['postgresql', 'supabase', 'mysql', 'mariadb'])(
  '%s needs no user name: peers and trusted networks have none',
  async (db_type) => {
    const { username: _username, ...rest } = postgres;
    const created = await createConnection({ ...rest, db_type, name: db_type, port: 1 });
    expect([created.status, created.body.username]).toEqual([201, null]);
    const body = await t.call('connections.types', {});
    const type = body.items.find((one) => one.db_type === db_type);
    expect(type?.required_fields).toEqual(['host', 'database']);
  },
);

if (reachable.postgres) {
  test('PostgreSQL that trusts its network is asked as postgres when no user is named', async () => {
    const { username: _username, ...rest } = postgres;
    const { body } = await t.send('connections.test_draft', rest);
    expect(body).toMatchObject({ success: true });
  });
} else test.skip('PostgreSQL that trusts its network: it is not reachable', () => undefined);

if (reachable.mysql) {
  test('the test of a connection says which kind of database the server is, where that is another', async () => {
    const draft = { ...mariadb, name: 'pasted', db_type: 'mysql' } as const;
    expect(await t.call('connections.test_draft', draft)).toMatchObject({ success: true, db_type: 'mariadb' });
    const { id } = await t.call('connections.create', draft);
    expect(await t.call('connections.test', { id })).toMatchObject({ success: true, db_type: 'mariadb' });
    await t.call('connections.update', { id, db_type: 'mariadb' });
    expect(await t.call('connections.test', { id })).not.toHaveProperty('db_type');
  });
} else test.skip('the kind of a MariaDB server: it is not reachable', () => undefined);

test('an extra parameter without effect is refused by name, and one stored earlier stays until changed', async () => {
  const bodies = { application: 'x', api_token: 'canary' };
  for (const path of ['connections', 'connections/test']) {
    const refused = await t.request('POST', `/api/v1/${path}`, { body: { ...postgres, extra_params: bodies } });
    expect([refused.status, refused.body.detail]).toEqual([
      422,
      'extra_params.application has no effect on PostgreSQL. Remove it. extra_params.api_token has no effect on PostgreSQL. Remove it. PostgreSQL takes application_name (shown in pg_stat_activity), search_path (schemas in which unqualified names are looked up, such as sales, public) and options (settings of the planner and of memory, such as -c work_mem=64MB -c jit=off).',
    ]);
  }
  const id = (await createConnection(postgres)).body.id;
  await storeExtras(t.app, id, bodies);
  const change = (extra_params: object) => t.send('connections.update', { id, extra_params });
  expect((await change({ application: 'x', api_token: '********' })).status).toBe(200);
  expect((await change({ application: 'other' })).status).toBe(422);
  expect((await change({ application: 'x', api_token: 'other' })).status).toBe(422);
  expect((await t.send('connections.update', { id, pool_size: 3 })).status).toBe(200);
  expect((await change({})).body.extra_params).toEqual({});
  const file = { format: 'sluice/1', connections: [{ ...postgres, name: 'imported', extra_params: { region: 'eu' } }] };
  const imported = await t.send('transfer.import', file);
  expect([imported.status, String(imported.body.detail)]).toEqual([422, expect.stringContaining('extra_params.region')]);
});

test('an engine without settings says how its connections are made instead', async () => {
  const refused = await t.send('connections.test_draft', {
    name: 'turso',
    db_type: 'libsql',
    host: 'db.example.com',
    database: 'shop',
    extra_params: { auth_token: 'x' },
  });
  expect([refused.status, String(refused.body.detail)]).toEqual([
    422,
    expect.stringMatching(
      /^extra_params\.auth_token has no effect on libSQL\. Remove it\. libSQL takes no extra_params\. .*the password is the token/,
    ),
  ]);
});
