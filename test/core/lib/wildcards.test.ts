import { expect, test } from 'bun:test';
import { MANY, matcherOf, matchesWildcards, ONE } from '#core/lib/wildcards.ts';
import { processorMs } from '#test/support/processor-time.ts';

const parse = (pattern: string) => Array.from(pattern, (sign) => (sign === '*' ? MANY : sign === '?' ? ONE : sign));

test.each([
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['a*', 'a', true],
  ['a*c', 'abc', true],
  ['a*c', 'abcd', false],
  ['*ab', 'aab', true],
  ['*ab*ab', 'ab', false],
  ['*ab*ab', 'xababab', true],
  ['a?c', 'a😀c', true],
  ['a?c', 'ac', false],
  ['**', 'anything', true],
  ['sales_*_2024.csv', 'sales_north_2024.csv', true],
])('%p on %p: %p', (pattern, text, matches) => expect(matchesWildcards(parse(pattern), text)).toBe(matches));

test('a pattern of paths matches in any case, and a star of it no slash', () => {
  const matches = matcherOf('Sales/2024-*.CSV');
  expect([matches('sales/2024-01.csv'), matches('sales/2024-/1.csv'), matches('2024-01.csv')]).toEqual([true, false, false]);
});

test('many wildcards and a long text that almost matches take no time', () => {
  const started = processorMs();
  expect(matchesWildcards(parse(`${'*a'.repeat(120)}*b`), 'a'.repeat(10_000))).toBe(false);
  expect(processorMs() - started).toBeLessThan(1_000);
});
