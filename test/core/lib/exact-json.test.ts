import { expect, test } from 'bun:test';
import { parseIntegers, parseJson } from '#core/lib/exact-json.ts';
import { fc } from '#test/support/chance.ts';

test('an integer that a number cannot hold is a text, however deep it is', () => {
  const text = '{"a": [9007199254740993, -1, 1.5], "b": "9007199254740993", "c": {"d": -90071992547409931, "e": 1e3}}';
  expect(parseIntegers(text)).toEqual({
    a: ['9007199254740993', -1, 1.5],
    b: '9007199254740993',
    c: { d: '-90071992547409931', e: 1000 },
  });
});

test('a double in JSON stays a number exactly when its digits survive', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      const back = parseJson(JSON.stringify(number));
      const is_unsafe = Number.isInteger(number) && !Number.isSafeInteger(number);
      expect(back).toBe(is_unsafe ? JSON.stringify(number) : Object.is(number, -0) ? 0 : number);
    }),
  );
  expect(parseJson('[9007199254740991, 9007199254740993, 1.0, 100e-2, 0.30000000000000004, 0.300000000000000041]')).toEqual([
    9007199254740991,
    '9007199254740993',
    1,
    1,
    0.30000000000000004,
    '0.300000000000000041',
  ]);
});
