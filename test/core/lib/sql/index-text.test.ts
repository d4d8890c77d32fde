import { expect, test } from 'bun:test';
import { listParts, readIndex } from '#core/lib/sql/index-text.ts';
import { paced } from '#test/support/paced.ts';

test('columns, expressions and the condition of an index are read from its text', () => {
  for (const [text, columns, condition] of [
    ['CREATE INDEX i ON t (a)', ['a'], null],
    ['create unique index "where (" on "a(b" ("x,y", lower(b, \',\'), (c + 1)) ;', ['x,y', "lower(b, ',')", 'c + 1'], null],
    ['CREATE INDEX i ON t(a, b DESC) WHERE a IS NOT NULL AND b > (1);', ['a', 'b DESC'], 'a IS NOT NULL AND b > (1)'],
    [
      'CREATE INDEX i ON t(coalesce(a, (b)), [odd, name]) -- where\n WHERE "where" = \'x\'',
      ['coalesce(a, (b))', '[odd, name]'],
      `"where" = 'x'`,
    ],
    ['CREATE INDEX i ON t(case when a then (b) end) /* where x', ['case when a then (b) end'], null],
    ['', [], null],
    ['CREATE INDEX i ON t(a, (b', ['a', '(b'], null],
  ] as const) {
    expect([text, readIndex(text)]).toEqual([text, { columns: [...columns], condition }]);
  }
});

test('a list is divided at commas outside of brackets and quotes', () => {
  expect(listParts('id, toYYYYMM(seen, 1), "a,b", (x, y)')).toEqual(['id', 'toYYYYMM(seen, 1)', 'a,b', 'x, y']);
  expect(listParts('')).toEqual([]);
});

test('a hostile text is read in linear time', () => {
  for (const text of [
    "'".repeat(100_001),
    '/*'.repeat(100_000),
    '(,'.repeat(100_000),
    '('.repeat(100_000) + ')'.repeat(100_000),
  ]) {
    const began = performance.now();
    readIndex(text);
    expect(performance.now() - began).toBeLessThan(paced(1_000));
  }
});
