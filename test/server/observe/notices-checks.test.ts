import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

/** What checks find reaches webhooks once, and never with what a database said. */
let t: TestApp;
let db: Database;
let tool: string;
const api = async (method: string, path: string, body?: object) => {
  const answer = await t.request(method, `/api/v1${path}`, body === undefined ? {} : { body });
  expect(answer.status).toBeLessThan(300);
  return answer.body;
};
const queued = async () => {
  const { notice_deliveries } = t.app.store.tables;
  const rows = await t.app.store.db.select().from(notice_deliveries).orderBy(notice_deliveries.id);
  return rows.map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> });
};

beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  connectHost(t.app);
  mkdirSync(join(t.directory, 'databases'));
  db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table products (id integer primary key, name text)');
  db.run("insert into products values (1, 'tea')");
  const { id: connection_id } = await api('POST', '/connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const sql_query = 'select id, name from products order by id';
  tool = String((await api('POST', '/tools', { connection_id, name: 'products', description: 'Products', sql_query })).id);
  await api('POST', '/deploy', {});
  await api('POST', '/notices', { name: 'team', url: 'http://127.0.0.1:1/hook', events: ['test_failed', 'drift'] });
});
afterEach(async () => {
  db.close();
  await t.close();
});

test('a test that begins to fail is told once, by its name alone, until it passed again', async () => {
  const expected = { owner: { kind: 'tool', id: tool }, name: 'has tea', expect: { contains: [{ name: 'tea' }] } };
  const { id } = await api('POST', '/tests', expected);
  const run = () => api('POST', '/tests/run', { against: 'live' });
  await run();
  expect(await queued()).toEqual([]);
  db.run("update products set name = 'canary-value'");
  await run();
  await run();
  const owner = { kind: 'tool', name: 'products' };
  const data = { against: 'live', by: 'ada', failed: 1, tests: [{ id, name: 'has tea', owner }] };
  expect((await queued()).map(({ type, data: of }) => ({ type, data: of }))).toEqual([{ type: 'test_failed', data }]);
  db.run("update products set name = 'tea'");
  await run();
  db.run("update products set name = 'canary-value'");
  await run();
  expect((await queued()).map(({ type }) => type)).toEqual(['test_failed', 'test_failed']);
  expect(JSON.stringify(await queued())).not.toContain('canary-value');
});

test('a failing test that blocks a deploy is told too', async () => {
  await api('POST', '/tests', { owner: { kind: 'tool', id: tool }, name: 'has tea', expect: { contains: [{ name: 'tea' }] } });
  await api('PATCH', `/tools/${tool}`, { sql_query: "select id, 'cup' as name from products order by id" });
  expect((await t.send('deploy.run')).status).toBe(422);
  expect(await queued()).toMatchObject([{ type: 'test_failed', data: { against: 'draft', failed: 1 } }]);
});

test('drift is told when it is found, and again only for what is new', async () => {
  const check = () => api('POST', '/drift/check', {});
  await check();
  expect(await queued()).toEqual([]);
  db.run('alter table products rename column name to title');
  await check();
  await check();
  const differences = [expect.stringContaining('The database refuses the statement')];
  expect((await queued()).map(({ type, data }) => ({ type, data }))).toEqual([
    {
      type: 'drift',
      data: { version: 1, drifted: 1, definitions: [{ kind: 'tool', name: 'products', connection: 'shop', differences }] },
    },
  ]);
});

test('a change of a webhook on an older version is refused, and without a version the last one wins', async () => {
  const notices = (method: string, path: string, body: object = {}) =>
    t.request(method, `/api/v1/notices${path}`, method === 'GET' ? {} : { body });
  const made = await notices('POST', '', { name: 'pager', url: 'https://hooks.example.com/sluice', events: ['deploy'] });
  expect(made.body['version']).toBe(1);
  const path = `/${String(made.body['id'])}`;
  expect((await notices('PATCH', path, { version: 1, name: 'chat' })).body).toMatchObject({ name: 'chat', version: 2 });
  const late = await notices('PATCH', path, { version: 1, enabled: false });
  expect([late.status, isErrorBody(late.body)]).toEqual([409, true]);
  expect((await notices('POST', `${path}/rotate-secret`)).body['version']).toBe(3);
  expect((await notices('PATCH', path, { events: ['drift'] })).body).toMatchObject({ events: ['drift'], version: 4 });
  const stored = (await notices('GET', '')).body['items'] as Record<string, unknown>[];
  expect(stored.find(({ id }) => id === made.body['id'])).toMatchObject({ enabled: true, name: 'chat', version: 4 });
});
