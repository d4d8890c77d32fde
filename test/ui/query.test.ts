import { describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { createQuery, keepEqual } from '#ui/src/kernel/data/query.ts';

const json = fc.jsonValue({ maxDepth: 4 });
const row = fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), name: fc.string(), tags: fc.array(fc.string()) });

describe('an answer and the one before', () => {
  test('what is kept equals the new answer, whatever came before', () => {
    fc.assert(
      fc.property(json, json, (before, next) => {
        expect(keepEqual(before, next)).toEqual(next);
        expect(keepEqual(before, structuredClone(before))).toBe(before);
      }),
    );
    fc.assert(fc.property(fc.array(row), fc.array(row), (before, next) => expect(keepEqual(before, next)).toEqual(next)));
  });

  test('rows that did not change stay the same objects, where they stand now', () => {
    const items = (...pairs: [string, number][]) => pairs.map(([id, n]) => ({ id, n }));
    const before = { items: items(['a', 1], ['b', 1]), total: 2 };
    const kept = keepEqual(before, { items: items(['c', 1], ['a', 1], ['b', 2]), total: 3 });
    expect(kept.items[1]).toBe(before.items[0]);
    expect(kept.items[2]).toEqual({ id: 'b', n: 2 });
  });

  test('what is no JSON is taken as it comes', () => {
    const [old, blob] = [new Blob(['a']), new Blob(['a'])];
    expect(keepEqual(old, blob)).toBe(blob);
    expect(keepEqual([1], { 0: 1 })).toEqual({ 0: 1 });
    expect(Object.keys(keepEqual({ a: 1, b: 2 }, { b: 2, a: 1 }))).toEqual(['b', 'a']);
    expect(Object.keys(keepEqual({}, JSON.parse('{"__proto__":1}') as object))).toEqual(['__proto__']);
  });
});

test('a query that is answered with the same has new data of the same parts', async () => {
  const answers = [{ items: [{ id: 'a' }] }, { items: [{ id: 'a' }] }, { items: [{ id: 'a' }, { id: 'b' }] }];
  const query = createQuery(async () => answers.shift());
  await query.reload();
  const first = query.data();
  await query.reload();
  expect(query.data()).toEqual(first);
  expect(query.data()).not.toBe(first);
  expect(query.data()?.items).toBe(first?.items);
  await query.reload();
  expect(query.data()?.items[0]).toBe(first?.items[0]);
  expect(query.data()?.items).toHaveLength(2);
});
