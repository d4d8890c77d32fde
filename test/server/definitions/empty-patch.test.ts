import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
const paths: Record<string, string> = { 'server config': '/api/v1/server/config' };
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(t.app.env.SVC_SQLITE_DIR, { recursive: true });
  new Database(join(t.app.env.SVC_SQLITE_DIR, 'shop.sqlite'), { create: true }).run('create table items (id integer)');
  const make = async (noun: string, body: object) => {
    const made = await t.request('POST', `/api/v1/${noun}s`, { body });
    expect([noun, made.status]).toEqual([noun, 201]);
    paths[noun] = `/api/v1/${noun}s/${String(made.body['id'])}`;
    return made.body['id'];
  };
  const connection_id = await make('connection', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const query = { connection_id, description: 'Lists items.', sql_query: 'select id from items' };
  await make('tool', { name: 'items', ...query });
  await make('resource', { name: 'all', uri_template: 'shop://items', ...query });
  await make('prompt', { name: 'report', description: 'A report', template: 'Report.' });
});
afterAll(() => t.close());

const history = async () => (await t.call('history.list', {})).total;

describe.each(['connection', 'tool', 'resource', 'prompt', 'server config'])('a PATCH of a %s', (noun) => {
  test('without a field answers the record as it is: no version, no history', async () => {
    const path = paths[noun] ?? '';
    const [before, entries] = [(await t.request('GET', path)).body, await history()];
    const { version, updated_at } = before;
    const read_only = noun === 'server config' ? { updated_at, warnings: [] } : { updated_at };
    for (const body of [{}, { version }, read_only]) {
      expect(await t.request('PATCH', path, { body })).toMatchObject({ status: 200, body: before });
    }
    expect((await t.request('PATCH', path, { body: { version: Number(version) + 1 } })).status).toBe(409);
    expect((await t.request('GET', path)).body).toEqual(before);
    expect(await history()).toBe(entries);
  });

  test('with a field counts as a version, and what was read can be sent back', async () => {
    const path = paths[noun] ?? '';
    const before = (await t.request('GET', path)).body;
    const answer = await t.request('PATCH', path, { body: before });
    expect(answer).toMatchObject({ status: 200, body: { version: Number(before['version']) + 1 } });
  });

  test('with a field that is not of the record is refused', async () => {
    const answer = await t.request('PATCH', paths[noun] ?? '', { body: { nonsense_set: 1 } });
    expect([answer.status, answer.body.detail]).toEqual([422, expect.stringContaining('nonsense_set')]);
  });
});

test('a PATCH of a person, a provider or an OAuth app without a field is no version either', async () => {
  const nouns: [string, object][] = [
    ['people', { username: 'hopper' }],
    ['identity-providers', { name: 'Company', issuer: 'https://id.example.com', client_id: 'sluice' }],
    ['oauth-apps', { name: 'Reports', redirect_uris: ['https://reports.example.com/cb'] }],
  ];
  for (const [noun, draft] of nouns) {
    const made = await t.request('POST', `/api/v1/${noun}`, { body: draft });
    expect([noun, made.status]).toEqual([noun, 201]);
    const entries = await history();
    for (const body of [{}, { version: 1 }]) {
      const answer = await t.request('PATCH', `/api/v1/${noun}/${String(made.body['id'])}`, { body });
      expect([noun, answer.status, answer.body['version'], await history()]).toEqual([noun, 200, 1, entries]);
    }
    const stale = await t.request('PATCH', `/api/v1/${noun}/${String(made.body['id'])}`, { body: { version: 2 } });
    expect([noun, stale.status]).toEqual([noun, 409]);
  }
});

test('of a record that is gone is 404, also without a field', async () => {
  expect((await t.send('tools.update', { id: '0190b0c0-0000-7000-8000-000000000000' })).status).toBe(404);
});

test('fields of an answer that is no record are not accepted where an action is asked for', async () => {
  for (const [path, body] of [
    ['/api/v1/deploy', { warnings: [] }],
    ['/api/v1/deploy/stop', { status: 'stopped' }],
  ] as const) {
    expect([path, (await t.request('POST', path, { body })).status]).toEqual([path, 422]);
  }
  expect((await t.request('GET', '/api/v1/tools?total=1')).status).toBe(422);
});

test('an account that is sent as it is ends no session and leaves no history', async () => {
  const sessions = async () => (await t.call('auth.sessions', {})).items;
  const [before, entries] = [(await sessions()).map(({ id }) => id), await history()];
  const current_password = 'correct horse';
  for (const body of [{ current_password }, { current_password, username: 'ada' }]) {
    expect(await t.send('auth.update_me', body)).toMatchObject({ status: 200, body: { username: 'ada' } });
  }
  expect((await t.send('auth.update_me', { current_password: 'wrong' })).status).toBe(403);
  expect([(await sessions()).map(({ id }) => id), await history()]).toEqual([before, entries]);
  expect((await t.send('auth.update_me', { current_password, username: 'grace' })).status).toBe(200);
  expect((await sessions()).map(({ id }) => id)).not.toEqual(before);
});
