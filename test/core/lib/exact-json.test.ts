import { expect, test } from 'bun:test';
import { parseIntegers } from '#core/lib/exact-json.ts';

test('an integer that a number cannot hold is a text, however deep it is', () => {
  const text = '{"a": [9007199254740993, -1, 1.5], "b": "9007199254740993", "c": {"d": -90071992547409931, "e": 1e3}}';
  expect(parseIntegers(text)).toEqual({
    a: ['9007199254740993', -1, 1.5],
    b: '9007199254740993',
    c: { d: '-90071992547409931', e: 1000 },
  });
});
