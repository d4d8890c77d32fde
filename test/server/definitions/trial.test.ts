import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

let t: TestApp;
const databases = new Map<string, TestDatabase>();
const connections: Record<string, string> = {};
let file = '';

const TABLES = [
  'create table orders (id int primary key, status varchar(20) not null)',
  "insert into orders values (1, 'new'), (2, 'new')",
];

const add = async (name: string, body: object) => {
  const created = await t.send('connections.create', { name, ...body });
  connections[name] = created.body.id;
};

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'), { recursive: true });
  file = join(t.directory, 'databases/shop.db');
  const db = new Database(file);
  for (const text of TABLES) db.run(text);
  db.close();
  await add('sqlite', { db_type: 'sqlite', database: 'shop.db' });
  await add('closed', { db_type: 'sqlite', database: 'shop.db', read_only: true });
  for (const [name, kind] of [
    ['postgresql', 'postgresql'],
    ['mariadb', 'mysql'],
  ] as const) {
    if (!reachable[kind === 'mysql' ? kind : 'postgres']) continue;
    const database = await testDatabase(kind);
    databases.set(name, database);
    for (const text of TABLES) await database.run(text);
    const { host, port, database: named, username } = database.settings;
    await add(name, { db_type: name, host, port, database: named, username, ssl_mode: 'disable' });
  }
}, 60_000);
afterAll(async () => {
  await t.close();
  for (const database of databases.values()) await database.drop();
});

const trial = (engine: string, sql_query: string, more: object = {}, bearer?: string) =>
  t.send(
    'preview.trial',
    { connection_id: connections[engine], sql_query, ...more },
    {
      headers: {
        accept: 'application/problem+json',
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}`, cookie: '' }),
      },
    },
  );

/** What stands in the table, read beside the code under test. */
async function stored(engine: string): Promise<string> {
  const text = 'select id, status from orders order by id';
  if (engine !== 'sqlite') return JSON.stringify(await databases.get(engine)?.run(text));
  const db = new Database(file, { readonly: true });
  const rows = db.query(text).all();
  db.close();
  return JSON.stringify(rows);
}
const BEFORE = JSON.stringify([
  { id: 1, status: 'new' },
  { id: 2, status: 'new' },
]);

for (const engine of ['postgresql', 'mariadb', 'sqlite'] as const) {
  const there = engine === 'sqlite' || reachable[engine === 'mariadb' ? 'mysql' : 'postgres'];
  describe.skipIf(!there)(`a writing statement on ${engine}`, () => {
    test('runs, says how many rows it changes, and changes none', async () => {
      const changed = await trial(engine, 'update orders set status = :status', { parameters: { status: 'paid' } });
      expect([changed.status, changed.body.affected_rows, changed.body.rows]).toEqual([200, 2, []]);
      expect((await trial(engine, 'delete from orders where id = 1')).body.affected_rows).toBe(1);
      expect((await trial(engine, "insert into orders values (3, 'new')")).body.affected_rows).toBe(1);
      expect(await stored(engine)).toBe(BEFORE);
    });

    test('that fails says why, and leaves nothing', async () => {
      const refused = await trial(engine, "insert into orders values (1, 'new')");
      expect([refused.status, refused.body.code]).toEqual([400, 'sql_error']);
      expect(await stored(engine)).toBe(BEFORE);
    });

    test('of a kind that may commit by itself is not run', async () => {
      for (const sql of ['create table other (id int)', 'drop table orders', 'commit']) {
        expect([sql, (await trial(engine, sql)).status]).toEqual([sql, 422]);
      }
      expect(await stored(engine)).toBe(BEFORE);
    });
  });
}

describe.skipIf(!reachable.postgres)('on PostgreSQL', () => {
  const pg = () => databases.get('postgresql');

  test('the rows of RETURNING are shown, and what a commit would refuse is refused', async () => {
    const { body } = await trial('postgresql', "update orders set status = 'paid' where id = 1 returning id, status");
    expect([body.rows, body.affected_rows]).toEqual([[{ id: 1, status: 'paid' }], null]);
    await pg()?.run('create table child (id int references orders (id) deferrable initially deferred)');
    const late = await trial('postgresql', 'insert into child values (99)');
    expect([late.status, String(late.body.detail)]).toEqual([400, expect.stringContaining('violates foreign key')]);
    expect(await stored('postgresql')).toBe(BEFORE);
  });

  test('the time of a preview is that of its statement, not of what it waited for before', async () => {
    const lock = pg()?.run('begin; lock table orders in access exclusive mode; select pg_sleep(1); commit');
    await Bun.sleep(200);
    const started = performance.now();
    const seen = await trial('postgresql', 'select id from orders order by id');
    expect(performance.now() - started).toBeGreaterThan(500);
    expect([seen.status, seen.body.execution_time < 500]).toEqual([200, true]);
    await lock;
  });

  test('the session keeps no setting and no lock of the trial', async () => {
    await trial('postgresql', "select set_config('application_name', 'left behind', false), pg_advisory_lock(42)");
    const seen = await trial('postgresql', "select current_setting('application_name') as name");
    expect(JSON.stringify(seen.body.rows)).not.toContain('left behind');
    expect(await pg()?.run("select 1 from pg_locks where locktype = 'advisory' and objid = 42")).toEqual([]);
  });
});

test.skipIf(!reachable.mysql)('on MariaDB a table that cannot roll back stops a trial that can reach it', async () => {
  const database = databases.get('mariadb');
  await database?.run('create table logged (id int) engine = MyISAM');
  await database?.run('create trigger logs after delete on orders for each row insert into logged values (1)');
  const refused = await trial('mariadb', 'delete from orders');
  expect([refused.status, String(refused.body.detail)]).toEqual([
    422,
    expect.stringMatching(/the table logged, which uses MyISAM .*Convert/),
  ]);
  await database?.run('drop table logged');
});

test('only a signed-in administrator tries, and only where the connection may write', async () => {
  const token = await t.call('agent_tokens.create', { name: 'a', duration_minutes: 15, scopes: ['read', 'write', 'deploy'] });
  expect((await trial('sqlite', 'delete from orders', {}, token.token)).status).toBe(403);
  const closed = await trial('closed', 'delete from orders');
  expect([closed.status, String(closed.body.detail)]).toEqual([400, expect.stringContaining('read-only')]);
  expect(
    (await t.send('preview.execute', { connection_id: connections['sqlite'], sql_query: 'delete from orders' })).status,
  ).toBe(400);
  expect(await stored('sqlite')).toBe(BEFORE);
});
