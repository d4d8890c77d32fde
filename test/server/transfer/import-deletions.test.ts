import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Export, ImportReport } from '#core/contract/transfer.ts';
import { type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table products (id integer primary key, name text)');
  db.close();
  const seeded = await send({
    connections: [{ name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' }],
    tools: [tool('t1'), tool('t2')],
    resources: [resource('r1', 'shop://a'), resource('r2', 'shop://b'), resource('r3', 'shop://c')],
    prompts: [prompt('p1')],
    tests: [checks('one', 'tool', 't1'), checks('two', 'tool', 't2')],
  });
  expect(seeded.status).toBe(200);
});
afterEach(() => t.close());

const send = async (body: object, query = 'mode=overwrite') => {
  const answer = await t.request('POST', `/api/v1/export-import/import?${query}`, { body: { format: 'sluice/1', ...body } });
  return { ...answer, report: answer.body as ImportReport };
};
const exported = async (): Promise<Export> => await t.call('transfer.export', {});
const addresses = async () =>
  Object.fromEntries((await exported()).resources.map(({ name, uri_template }) => [name, uri_template]));
const owners = async () => Object.fromEntries((await exported()).tests.map(({ name, owner }) => [name, owner]));

const tool = (name: string) => ({
  connection: 'shop',
  name,
  description: `Products for ${name}`,
  sql_query: 'select id, name from products',
});
const resource = (name: string, uri_template: string) => ({
  connection: 'shop',
  name,
  description: `Products of ${name}`,
  uri_template,
  sql_query: 'select id from products',
});
const prompt = (name: string) => ({ name, description: 'Greets', template: 'Hello' });
const checks = (name: string, kind: string, owner: string) => ({ name, owner: { kind, name: owner }, expect: { error: true } });

describe('a definition that is renamed in a file', () => {
  test.each([
    ['tool', 'tools', 't1', tool('t9')],
    ['resource', 'resources', 'r1', resource('r9', 'shop://a')],
    ['prompt', 'prompts', 'p1', prompt('p9')],
  ])('keeps the tests that move to its new name: %s', async (kind, plural, from, renamed) => {
    expect((await send({ tests: [checks('moves', kind, from), checks('stays', kind, from)] })).status).toBe(200);
    const body = {
      [plural]: [renamed],
      tests: [checks('moves', kind, renamed.name)],
      deletes: { [plural]: [from] },
    };
    const rehearsed = await send(body, 'mode=overwrite&dry_run=true');
    const stored = await send(body);
    for (const { status, report } of [rehearsed, stored]) {
      expect([status, report.errors]).toEqual([200, []]);
      expect(report).toMatchObject({ created: { [plural]: 1 }, updated: { tests: 1 } });
      // The ones that were left with the old name went with it.
      expect(report.deleted).toMatchObject({ [plural]: 1, tests: kind === 'tool' ? 2 : 1 });
    }
    const left = await owners();
    expect(left['moves']).toEqual({ kind, name: renamed.name });
    expect(left['stays']).toBeUndefined();
  });

  test('takes 50 tests with it', async () => {
    const many = (owner: string) => Array.from({ length: 49 }, (_, n) => checks(`test ${n}`, 'tool', owner));
    expect((await send({ tests: many('t1') })).status).toBe(200);
    const moved = { tools: [tool('t9')], tests: [...many('t9'), checks('one', 'tool', 't9')], deletes: { tools: ['t1'] } };
    expect((await send(moved)).status).toBe(200);
    expect(Object.values(await owners())).toHaveLength(51);
  });
});

describe('tests of a definition that an import deletes', () => {
  test('are refused where the import has them too, equal or not', async () => {
    const refused = [{ entity_type: 'test', name: 'two', index: 0, field: 'owner.name' }];
    for (const sent of [checks('two', 'tool', 't2'), { ...checks('two', 'tool', 't2'), expect: { max_ms: 5 } }]) {
      for (const mode of ['overwrite', 'merge']) {
        const { status, report } = await send({ tests: [sent], deletes: { tools: ['t2'] } }, `mode=${mode}&dry_run=true`);
        expect([status, report.skipped.tests, report.errors]).toMatchObject([200, 0, refused]);
        expect(report.errors[0]?.message).toBe(
          'owner.name names the tool t2, which this import deletes. Name another one or delete the test too.',
        );
      }
    }
    const stored = await send({ tests: [checks('two', 'tool', 't2')], deletes: { tools: ['t2'] } });
    expect(stored.status).toBe(422);
    expect(await owners()).toHaveProperty('two');
  });

  test('are refused where the import would leave them as they are', async () => {
    const kept = { tools: [tool('t9')], tests: [checks('two', 'tool', 't9')], deletes: { tools: ['t2'] } };
    const { status, body } = await send(kept, 'mode=merge');
    expect([status, body.detail]).toEqual([
      422,
      'Nothing was imported. Test two: This test belongs to the tool t2, which this import deletes, and the mode merge leaves it there. Use the mode overwrite or delete the test too.',
    ]);
    expect(await owners()).toHaveProperty('two');
  });

  test('are counted where nobody named them, in a dry run too', async () => {
    const before = await owners();
    const rehearsed = await send({ deletes: { tools: ['t2'] } }, 'dry_run=true');
    expect(rehearsed.report.deleted).toMatchObject({ tools: 1, tests: 1 });
    expect(await owners()).toEqual(before);
    const stored = await send({ deletes: { tools: ['t2', 't1'], tests: ['one'] } });
    expect(stored.report.deleted).toMatchObject({ tools: 2, tests: 2 });
    expect(await owners()).toEqual({});
  });
});

describe('addresses of resources', () => {
  const cases: readonly [string, object, Record<string, string>][] = [
    [
      'are exchanged',
      { resources: [resource('r1', 'shop://b'), resource('r2', 'shop://a')] },
      { r1: 'shop://b', r2: 'shop://a', r3: 'shop://c' },
    ],
    [
      'go round',
      { resources: [resource('r1', 'shop://b'), resource('r2', 'shop://c'), resource('r3', 'shop://a')] },
      { r1: 'shop://b', r2: 'shop://c', r3: 'shop://a' },
    ],
    [
      'shift on',
      { resources: [resource('r1', 'shop://b'), resource('r2', 'shop://c'), resource('r3', 'shop://d')] },
      { r1: 'shop://b', r2: 'shop://c', r3: 'shop://d' },
    ],
    [
      'go to a new resource',
      { resources: [resource('a0', 'shop://b'), resource('r2', 'shop://z')] },
      { a0: 'shop://b', r1: 'shop://a', r2: 'shop://z', r3: 'shop://c' },
    ],
    [
      'come from a deleted resource',
      { resources: [resource('r1', 'shop://b'), resource('r3', 'shop://a')], deletes: { resources: ['r2'] } },
      { r1: 'shop://b', r3: 'shop://a' },
    ],
  ];
  test.each(cases)('%s in one import', async (_, body, expected) => {
    const before = await addresses();
    const rehearsed = await send(body, 'mode=overwrite&dry_run=true');
    expect([rehearsed.status, rehearsed.report.errors]).toEqual([200, []]);
    expect(await addresses()).toEqual(before);
    const { report, status } = await send(body);
    expect([status, report.errors]).toEqual([200, []]);
    expect(await addresses()).toEqual(expected);
    // The history knows what each had before, and nothing in between.
    const { history } = t.app.store.tables;
    const entries = (await t.app.store.db.select().from(history)).filter(({ batch_id }) => batch_id === report.batch_id);
    const found = entries.filter(({ action, before: row, after: now }) => action === 'import' && row !== null && now !== null);
    for (const { entity_name, before: row, after: now } of found) {
      expect([row?.['uri_template'], now?.['uri_template']]).toEqual([before[entity_name], expected[entity_name] ?? '']);
      expect(Number(now?.['version'])).toBe(Number(row?.['version']) + 1);
    }
  });

  test('that two resources have at last are refused as before', async () => {
    const before = await addresses();
    for (const resources of [
      [resource('r1', 'shop://b')],
      [resource('r1', 'shop://z'), resource('r2', 'shop://z')],
      [resource('r1', 'shop://b'), resource('r2', 'shop://c')],
    ]) {
      const { status, body } = await send({ resources });
      expect([status, String(body.detail)]).toEqual([422, expect.stringContaining('already has this uri_template')]);
      expect(await addresses()).toEqual(before);
    }
  });
});
