import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { peopleOf } from '#test/support/people.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let connection_id: string;
const ids: string[] = [];
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  connection_id = await sqliteConnection(t, 'create table products (id integer)');
  for (let n = 0; n < 4; n++) {
    const name = `tool_${n}`;
    const draft = {
      connection_id,
      name,
      description: 'Lists products',
      sql_query: 'select id from products',
      tags: [`t${n}`, 'all'],
    };
    ids.push((await t.call('tools.create', draft)).id);
  }
});
afterAll(() => t.close());

const states = async () =>
  (await t.call('tools.list', {})).items.map(({ enabled, version, tags }) => ({ enabled, version, tags: tags.length }));

test('several definitions change in one request, each with its version and its entry in the history', async () => {
  const items = ids.map((id, n) => ({ id, version: 1, enabled: false, ...(n === 3 ? { tags: ['other'] } : {}) }));
  const answer = await t.call('definitions.update', { kind: 'tool', items });
  expect(answer.errors).toEqual([]);
  expect(answer.items).toEqual(ids.map((id) => ({ id, version: 2 })));
  expect(await states()).toEqual([2, 2, 2, 1].map((tags) => ({ enabled: false, version: 2, tags })));
  const { items: entries } = await t.call('history.list', { entity_type: 'tool', action: 'update' });
  expect(entries.map(({ changes }) => Object.keys(changes).toSorted())).toEqual([
    ['enabled', 'tags'],
    ['enabled'],
    ['enabled'],
    ['enabled'],
  ]);
});

test('what one of them refuses keeps none of the others, and what is stored already makes no version', async () => {
  const [a = '', b = '', c = ''] = ids;
  const unknown = '0190b0c0-0000-7000-8000-000000000000';
  const { items, errors } = await t.call('definitions.update', {
    kind: 'tool',
    items: [
      { id: a, version: 1, enabled: true },
      { id: b, version: 2, enabled: true },
      { id: c, enabled: false },
      { id: unknown, enabled: true },
    ],
  });
  expect(new Map(items.map(({ id, version }) => [id, version]))).toEqual(
    new Map([
      [b, 3],
      [c, 2],
    ]),
  );
  expect(new Map(errors.map(({ id, error }) => [id, error]))).toEqual(
    new Map([
      [a, 'ada changed tool_0 in the meantime; it is now at version 2. Read it again and repeat your change.'],
      [unknown, 'There is no tool with this id.'],
    ]),
  );
  expect((await states()).map(({ version }) => version)).toEqual([2, 3, 2, 2]);
});

test('a request of which nothing is left to write answers with what each refuses', async () => {
  const [a = ''] = ids;
  const stale = await t.call('definitions.update', { kind: 'tool', items: [{ id: a, version: 1, enabled: true }] });
  expect([stale.items, stale.errors.length]).toEqual([[], 1]);
  const same = await t.call('definitions.update', { kind: 'tool', items: [{ id: a, enabled: false }] });
  expect(same).toEqual({ items: [{ id: a, version: 2 }], errors: [] });
});

test('connections are switched off together and have no tags', async () => {
  const items = [{ id: connection_id, tags: ['x'] }];
  expect((await t.send('definitions.update', { kind: 'connection', items })).status).toBe(422);
  const answer = await t.call('definitions.update', { kind: 'connection', items: [{ id: connection_id, enabled: false }] });
  expect(answer).toEqual({ items: [{ id: connection_id, version: 2 }], errors: [] });
});

test('no record is named twice, more than 500 are refused, and viewers change nothing', async () => {
  const twice = [0, 1].map(() => ({ id: ids[0] ?? '', enabled: true }));
  const many = Array.from({ length: 501 }, (_, n) => ({ id: String(n), enabled: true }));
  for (const items of [[], twice, many]) expect((await t.send('definitions.update', { kind: 'tool', items })).status).toBe(422);
  const viewer = await peopleOf(t).join(t, { username: 'vera', role: 'viewer' });
  const body = { kind: 'tool', items: [{ id: ids[0] ?? '', enabled: true }] } as const;
  expect((await viewer.send('definitions.update', body)).status).toBe(403);
  expect((await states()).map(({ enabled }) => enabled)).toEqual([false, true, false, false]);
});

test('the tags of one kind are listed once each, however many definitions there are', async () => {
  expect(await t.call('definitions.tags', { kind: 'tool' })).toEqual({ items: ['all', 'other', 't0', 't1', 't2'], total: 5 });
  expect(await t.call('definitions.tags', { kind: 'prompt' })).toEqual({ items: [], total: 0 });
});
