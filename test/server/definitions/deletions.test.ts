import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
const ids = new Map<string, string>();

const api = (method: string, path: string, body?: object) =>
  t.request(method, `/api/v1/${path}`, {
    ...(body === undefined ? {} : { body }),
    headers: { accept: 'application/problem+json' },
  });
async function make(plural: string, draft: object): Promise<void> {
  const { status, body } = await api('POST', plural, draft);
  expect([status, body.detail]).toEqual([201, undefined]);
  ids.set(plural, String(body['id']));
}

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  ids.set('connections', await sqliteConnection(t, 'create table orders (id integer)'));
  const owned = { connection_id: ids.get('connections'), description: 'All that was ordered in the shop.' };
  await make('tools', { ...owned, name: 'orders', sql_query: 'select id from orders' });
  await make('resources', { ...owned, name: 'all_orders', uri_template: 'shop://orders', sql_query: 'select id from orders' });
  await make('prompts', { name: 'ask', description: 'Asks about orders', template: 'Which orders?' });
  await make('toolsets', { name: 'sales', description: 'For sales' });
  const owner = { kind: 'tool', id: ids.get('tools') };
  await make('tests', { owner, name: 'answers', expect: { max_ms: 1_000 } });
});
afterAll(() => t.close());

// What is owned goes first.
test.each(['tests', 'toolsets', 'prompts', 'resources', 'tools', 'connections'])(
  'a deletion of %s that names a version spares what was changed since',
  async (plural) => {
    const path = `${plural}/${ids.get(plural)}`;
    const { version } = (await api('GET', path)).body as { version: number };
    expect((await api('PATCH', path, { enabled: false })).status).toBe(200);
    const refused = await api('DELETE', `${path}?version=${version}`);
    expect(refused.status).toBe(409);
    const { name } = (await api('GET', path)).body as { name: string };
    const now = `it is now at version ${version + 1}. Read it again and repeat your change.`;
    expect(refused.body.detail).toBe(`ada changed ${name} in the meantime; ${now}`);
    expect((await api('PATCH', path, { enabled: true, version })).body.detail).toBe(refused.body.detail);
    expect((await api('GET', path)).status).toBe(200);
    expect((await api('DELETE', `${path}?version=0`)).status).toBe(422);
    expect((await api('DELETE', `${path}?version=${version + 1}`)).status).toBe(204);
    expect((await api('DELETE', `${path}?version=${version + 1}`)).status).toBe(404);
  },
);
