import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type SQL, sql } from 'drizzle-orm';
import { type TestApp, testApp } from '#test/support/app.ts';

const MANY = 21_000;

let t: TestApp;

/** Adds `count` entries with ids from `first`, from which SQL makes the names, as of the record of a tool. */
async function addEntries(first: number, count: number, name: SQL): Promise<void> {
  const { history } = t.app.store.tables;
  const n = sql`with recursive n(i) as (select ${sql.raw(String(first))} union all select i + 1 from n where i < ${sql.raw(String(first + count - 1))})`;
  // Text in both dialects; an id of a later entry is greater.
  await t.app.store.write((tx) =>
    tx.insert(history).select(sql`${n} select '0000' || (1000000 + i), 'tool', 'id', ${name}, 'update',
      '{"type":"system","id":null,"name":"robot"}', 'robot', null, null, null, 1, 2, null, '2026-03-01T12:00:00.000Z' from n`),
  );
}

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
});
afterAll(() => t.close());

const list = (input: Record<string, unknown>) => t.call('history.list', { limit: 20, ...input });
const namesOf = async (input: Record<string, unknown>) => (await list(input)).items.map(({ entity_name }) => entity_name);

test('a search finds the newest entries of few, of many and of all names', async () => {
  await addEntries(0, 2_000, sql`'orders_' || (i % 700)`);
  // Few names: the newest entry of each, then the earlier ones.
  expect(await namesOf({ search: 'orders_69', limit: 3 })).toEqual(['orders_69', 'orders_699', 'orders_698']);
  expect(await list({ search: 'ORDERS_699' })).toMatchObject({ total: 2, items: [{ entity_name: 'orders_699' }, {}] });
  expect(await list({ search: 'nowhere' })).toEqual({ items: [], total: 0 });
  // More names than are listed.
  expect((await list({ search: 'orders' })).total).toBe(2_000);
  expect(await namesOf({ search: 'orders', limit: 2 })).toEqual(['orders_599', 'orders_598']);
  expect((await list({ search: 'orders', action: 'create' })).total).toBe(0);
});

test('a total counts up to 10 001, and further pages are reached', async () => {
  await addEntries(10_000, 10_050, sql`'stock'`);
  const search = 'stock';
  expect((await list({ search })).total).toBe(10_001);
  expect((await list({ search, skip: 10_000 })).total).toBe(10_021);
  const last = await list({ search, skip: 10_040 });
  expect([last.items.length, last.total]).toEqual([10, 10_050]);
  expect((await list({ search, skip: 20_000 })).total).toBe(10_001);
});

test('a search finds entries among more names than are read', async () => {
  await addEntries(100_000, MANY, sql`'zone_' || (i - 100000)`);
  expect(await namesOf({ search: `zone_${MANY - 1}` })).toEqual([`zone_${MANY - 1}`]);
  expect(await namesOf({ search: 'orders_699' })).toEqual(['orders_699', 'orders_699']);
});
