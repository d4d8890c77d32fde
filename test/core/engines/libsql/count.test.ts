import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { openLibsql } from '#core/engines/libsql/source.ts';
import type { Changes, Source } from '#core/engines/shared/source.ts';
import { localPolicy } from '#test/support/databases.ts';
import { type SqldServer, startSqld } from '#test/support/sqld-server.ts';
import { sql, WRITE } from '../shared/suite.ts';

let server: SqldServer;
let source: Source;
beforeAll(async () => {
  server = await startSqld();
  source = openLibsql(
    {
      db_type: 'libsql',
      host: '127.0.0.1',
      port: server.port,
      database: 'default',
      username: null,
      password: await server.token('rw'),
      ssl_mode: 'disable',
      ssl_ca: null,
      ssl_cert: null,
      ssl_key: null,
      extra_params: {},
      pool_size: 2,
    },
    localPolicy,
  );
  for (const text of [
    'CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT)',
    'CREATE TABLE items (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders ON DELETE CASCADE)',
    'CREATE TABLE audits (text TEXT)',
    "CREATE TRIGGER gone AFTER DELETE ON orders BEGIN INSERT INTO audits VALUES ('gone'); END",
  ]) {
    await server.run(text);
  }
});
afterAll(async () => {
  await source.close();
  await server.stop();
});
beforeEach(async () => {
  for (const text of [
    'DELETE FROM items',
    'DELETE FROM orders',
    'DELETE FROM audits',
    "INSERT INTO orders VALUES (1, 'old'), (2, 'old'), (3, 'new')",
    'INSERT INTO items VALUES (1, 1), (2, 1), (3, 2)',
  ]) {
    await server.run(text);
  }
});

const rows = async () => [
  (await server.run('SELECT 1 FROM orders')).length,
  (await server.run('SELECT 1 FROM items')).length,
  (await server.run('SELECT 1 FROM audits')).length,
];
async function reviewed(text: string, commits: boolean): Promise<Changes | null> {
  let seen: Changes | null = null;
  const review = (changes: Changes) => {
    seen = changes;
    return commits;
  };
  await source.query(sql(text), { ...WRITE, review });
  return seen;
}

test('libSQL counts the rows of cascades and triggers, and commits only what is allowed', async () => {
  expect(await reviewed("DELETE FROM orders WHERE state = 'old'", false)).toEqual({ direct: 2, all: 7 });
  expect(await rows()).toEqual([3, 3, 0]);
  expect(await reviewed("DELETE FROM orders WHERE state = 'old'", true)).toEqual({ direct: 2, all: 7 });
  expect(await rows()).toEqual([1, 0, 2]);
});

test('libSQL counts nothing for a statement that changes nothing, and every row of one that returns them', async () => {
  expect(await reviewed('DELETE FROM orders WHERE id = 99', true)).toEqual({ direct: 0, all: 0 });
  expect(await reviewed("UPDATE orders SET state = 'x' RETURNING id", false)).toEqual({ direct: 3, all: 3 });
  expect(await server.run("SELECT count(*) FROM orders WHERE state = 'x'")).toEqual([['0']]);
});

test.each([
  "REPLACE INTO orders VALUES (1, 'x')",
  "/* one */ replace into orders VALUES (1, 'x')",
  "-- one\nREPLACE\n--two\nINTO orders VALUES (1, 'x')",
  "insert or/**/replace into orders VALUES (1, 'x')",
  'update or -- that\nreplace "orders" set state = \'x\'',
  "with a as (select 1) replace into orders select 1, 'x' from a",
])('libSQL does not count the rows that are replaced: %s', async (text) => {
  expect(await source.cannotCount?.(text)).toContain('REPLACE');
});

test.each([
  "update orders set state = replace(state, 'a', 'b') where id = 1 or replace(state, 'a', '') = 'x'",
  "insert into audits values ('insert or replace into') -- replace into",
  'update orders set state = "replace" where state = \'x\'',
])('libSQL counts the rows of a statement that only names REPLACE: %s', async (text) => {
  expect(await source.cannotCount?.(text)).toBe(null);
});

test('libSQL looks for REPLACE in every trigger', async () => {
  await server.run(
    "CREATE TRIGGER kept AFTER INSERT ON items BEGIN SELECT 1; INSERT OR/* */REPLACE INTO orders VALUES (9, 'x'); END",
  );
  expect(await source.cannotCount?.('DELETE FROM orders')).toContain('The trigger kept uses REPLACE');
  await server.run('DROP TRIGGER kept');
});
