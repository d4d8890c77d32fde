import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

let t: TestApp;
const databases: TestDatabase[] = [];
const connections: Record<string, string> = {};

const POSTGRESQL = `
  create type mood as enum ('sad', 'ok', 'happy');
  create table orders (
    id bigint primary key, customer uuid, status text not null check (status in ('new', 'paid')), level integer check (level = any (array[1, 2])),
    feeling mood, total numeric(10,2), ordered_at timestamptz, paid boolean, name text
  );
  comment on column orders.status is 'Where the order stands';`;
const MARIADB = `
  create table orders (
    id bigint primary key, customer char(36), status varchar(20) not null comment 'Where the order stands' check (status in ('new', 'paid')),
    level int check (level in (1, 2)), feeling enum('sad', 'ok', 'happy'), total decimal(10,2), ordered_at datetime, paid tinyint(1), name text
  )`;
const SQLITE = `
  create table orders (
    id integer primary key, customer text, status text not null check (status in ('new', 'paid')), level integer check (level in (1, 2)),
    feeling text check ("feeling" in ('sad', 'ok', 'happy')), total real, ordered_at datetime, paid boolean, name text
  )`;

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  const add = async (name: string, body: object) => {
    const created = await t.send('connections.create', { name, ...body });
    connections[name] = created.body.id;
  };
  mkdirSync(join(t.directory, 'databases'), { recursive: true });
  const file = new Database(join(t.directory, 'databases/shop.db'));
  file.run(SQLITE);
  file.close();
  await add('sqlite', { db_type: 'sqlite', database: 'shop.db' });
  for (const [name, kind, script] of [
    ['postgresql', 'postgresql', POSTGRESQL],
    ['mariadb', 'mysql', MARIADB],
  ] as const) {
    if (!reachable[kind === 'mysql' ? kind : 'postgres']) continue;
    const database = await testDatabase(kind);
    databases.push(database);
    await database.run(script);
    const { host, port, database: named, username } = database.settings;
    await add(name, { db_type: name, host, port, database: named, username, ssl_mode: 'disable' });
  }
}, 60_000);
afterAll(async () => {
  await t.close();
  for (const database of databases) await database.drop();
});

async function suggested(engine: string, sql_query: string): Promise<Record<string, object>> {
  const { body } = await t.send('preview.tool', { connection_id: connections[engine], sql_query });
  const list = body.suggested ?? [];
  return Object.fromEntries(
    list.map(({ name, column: _, ...rest }) => [name, rest.description === '' ? { ...rest, description: undefined } : rest]),
  );
}
const plain = (type: string) => ({ type, description: undefined });

for (const engine of ['postgresql', 'mariadb', 'sqlite'] as const) {
  const there = engine === 'sqlite' || reachable[engine === 'mariadb' ? 'mysql' : 'postgres'];
  describe.skipIf(!there)(`parameters on ${engine}`, () => {
    const commented = engine === 'sqlite' ? undefined : 'Where the order stands';

    test('have the type of what they are compared with, whatever they are called', async () => {
      const sql = `select id from orders o where o.total >= :day and paid = :count [[ and ordered_at < :name ]]
        and id between :low and :high and :key = o.id limit :few`;
      expect(await suggested(engine, sql)).toEqual({
        day: plain('number'),
        count: plain('boolean'),
        name: plain('datetime'),
        low: plain('integer'),
        high: plain('integer'),
        key: plain('integer'),
        few: plain('integer'),
      });
    });

    test('that are looked up in are lists, with the allowed values of the column', async () => {
      const lists = await suggested(
        engine,
        'select id from orders where status in (:states) and id not in (:ids) and level = :level',
      );
      expect(lists).toEqual({
        states: { type: 'array', items: 'string', enum: ['new', 'paid'], description: commented },
        ids: { type: 'array', items: 'integer', description: undefined },
        level: { type: 'integer', enum: [1, 2], description: undefined },
      });
    });

    test('of an enumeration offer its values, a search does not', async () => {
      expect(await suggested(engine, 'select id from orders where feeling = :feeling and status like :part')).toEqual({
        feeling: { type: 'string', enum: ['sad', 'ok', 'happy'], description: undefined },
        part: { type: 'string', description: commented },
      });
    });

    test('that are written have the type of their column', async () => {
      expect(await suggested(engine, 'insert into orders (id, status, total) values (:a, :b, :c)')).toEqual({
        a: plain('integer'),
        b: { type: 'string', enum: ['new', 'paid'], description: commented },
        c: plain('number'),
      });
      expect(await suggested(engine, 'update orders set level = :level where id = :id')).toEqual({
        level: { type: 'integer', enum: [1, 2], description: undefined },
        id: plain('integer'),
      });
    });
  });
}

test.skipIf(!reachable.postgres)('on PostgreSQL a list may also stand in any(…), and a cast decides', async () => {
  expect(await suggested('postgresql', 'select id from orders where customer = any(:ids) and name = (:n::int)::text')).toEqual({
    ids: { type: 'array', items: 'uuid', description: undefined },
    n: plain('integer'),
  });
});

test('parameters name the column that they are compared with, by the table as the statement has it', async () => {
  const sql_query =
    'select o.id from orders o join main.orders as p on p.id = o.id where o.Status = :state and p.id > :after limit :few';
  const { suggested: list = [] } = (await t.send('preview.tool', { connection_id: connections['sqlite'], sql_query })).body;
  expect(list.map(({ name, column }) => [name, column])).toEqual([
    ['state', { schema: null, table: 'orders', name: 'status' }],
    ['after', { schema: 'main', table: 'orders', name: 'id' }],
    ['few', undefined],
  ]);
});

test('what cannot be read suggests nothing, and the preview answers all the same', async () => {
  const { status, body } = await t.send('preview.tool', {
    connection_id: connections['sqlite'],
    sql_query: "select ' from orders where id = :id",
  });
  expect([status, body.suggested]).toEqual([200, []]);
  expect(await suggested('sqlite', 'select id from nowhere where id = :id')).toEqual({ id: plain('string') });
});
