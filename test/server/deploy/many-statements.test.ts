import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

/** From so many statements on a deploy asks first whether the schema changed. */
const COUNT = 50;
let t: TestApp;
let file: string;
let connection_id: string;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  connectHost(t.app);
  mkdirSync(join(t.directory, 'databases'));
  file = join(t.directory, 'databases/shop.sqlite');
  createTable(file, 'id integer primary key, name text');
  const connection = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  connection_id = connection.id;
  for (let n = 0; n < COUNT; n++) {
    const sql_query = n === 0 ? 'select * from products' : `select ${n} as n`;
    await t.call('tools.create', { connection_id, name: `tool_${n}`, description: 'A tool', sql_query });
  }
  expect(await t.send('deploy.run')).toMatchObject({ status: 200, body: { changed: true } });
  expect(await t.send('deploy.run')).toMatchObject({ status: 200, body: { changed: false } });
});
afterEach(() => t.close());

function createTable(path: string, columns: string): void {
  const db = new Database(path, { create: true });
  db.run(`create table products (${columns})`);
  db.close();
}

function change(...statements: string[]): void {
  const db = new Database(file);
  for (const statement of statements) db.run(statement);
  db.close();
}

test('what a database refuses once is refused again, until it is repaired', async () => {
  change('alter table products rename to goods');
  for (let n = 0; n < 3; n++)
    expect(await t.send('deploy.run')).toMatchObject({ status: 422, body: { detail: expect.stringContaining('no such table') } });
  change('alter table goods rename to products');
  expect(await t.send('deploy.run')).toMatchObject({ status: 200, body: { changed: false } });
});

test('what a dry run saw of a changed table, the deploy after it sees too', async () => {
  change('alter table products add column price real');
  const seen = await t.send('deploy.run', { dry_run: true });
  expect(seen.body).toMatchObject({ changed: true });
  expect(await t.send('deploy.run')).toMatchObject({ status: 200, body: { changed: true, checksum: seen.body.checksum } });
  expect(await t.send('deploy.run')).toMatchObject({ status: 200, body: { changed: false, checksum: seen.body.checksum } });
});

test('a database file that another one replaced is another schema, however often either was changed', async () => {
  createTable(`${file}.new`, 'id integer primary key, title text, price real');
  renameSync(`${file}.new`, file);
  // As when its sessions were idle for a while.
  t.app.sources.drop(connection_id);
  expect(await t.send('deploy.run')).toMatchObject({ status: 200, body: { changed: true } });
});
