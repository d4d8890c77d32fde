import { expect, test } from 'bun:test';
import { repeatedKey, repeatedKeySentence } from '#core/lib/text/repeated-key.ts';
import { fc } from '#test/support/chance.ts';

test('a key that one object has twice is named, at any depth and however it is escaped', () => {
  for (const [text, key] of [
    ['{"a":1,"a":2}', 'a'],
    ['[{"a":1},{"b":{"c":1,"d":[],"c":2}}]', 'c'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"a b":"{","a b":"}"}', 'a b'],
    ['{"":1,"":2}', ''],
    ['{"a":{"a":{"b":1}},"c":[{"a":1}],"a":0}', 'a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    [`{${Array.from({ length: 40 }, (_, n) => `"k${n % 39}":${n}`).join()}}`, 'k0'],
    [`{"a":"${'\\\\'.repeat(50)}","a":1}`, 'a'],
  ] as const)
    expect([text, repeatedKey(text)]).toEqual([text, key]);
});

test('equal keys of different objects, and equal texts, are not repeated keys', () => {
  for (const text of [
    '{"a":{"a":[{"a":1},{"a":2}]}}',
    '["a","a"]',
    '{"a":"a","b":"a"}',
    '{"a":"\\"a\\":1,","b":"\\\\"}',
    '1',
    '""',
    ' {} ',
  ])
    expect([text, repeatedKey(text)]).toEqual([text, null]);
});

test('whatever JSON is written from a value has no repeated key, and one with a member twice has', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (value, key) => {
      const text = JSON.stringify({ [key]: value });
      expect(repeatedKey(JSON.stringify(value, null, 1))).toBeNull();
      expect(repeatedKey(`[${text.slice(0, -1)},${text.slice(1)}]`)).toBe(key);
    }),
    { numRuns: 300 },
  );
});

test('the sentence cuts a long key', () => {
  expect(repeatedKeySentence('a')).toBe('The body has the key "a" twice in one object. Send each key once.');
  expect(repeatedKeySentence('k'.repeat(1_000)).length).toBeLessThan(200);
});
