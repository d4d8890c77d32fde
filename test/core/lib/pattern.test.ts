import { describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { compilePattern, PatternError } from '#core/lib/pattern/pattern.ts';
import { processorMs } from '#test/support/processor-time.ts';

describe('patterns', () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['^a$', ['a'], ['', 'aa', 'b', 'a\n']],
    ['b', ['abc'], ['ac']],
    ['', ['', 'a'], []],
    ['^(?:a|bc)*$', ['', 'abca', 'bcbc'], ['b', 'acb']],
    ['^(?<year>\\d{4})-(\\d{2})$', ['2026-11'], ['226-11', '2026-111']],
    ['^[A-Z]{2,3}\\d+?$', ['AB1', 'ABC99'], ['A1', 'ABCD1', 'AB']],
    ['^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$', ['a@b.de'], ['a@b', 'a b@c.de']],
    ['^x{0}y{2}z{1,}$', ['yyz', 'yyzzz'], ['xyyz', 'yz']],
    ['\\bcat\\b', ['a cat.', 'cat'], ['concat', 'cats']],
    ['\\Bb', ['ab'], ['b', 'a b']],
    ['^.$', ['😀', 'é'], ['', '\n', 'ab']],
    ['^\\p{L}+$', ['Größe'], ['a1']],
    ['^\\u{1F600}\\uD83D\\uDE00\\x41\\cA\\0[\\]\\-]$', ['😀😀A\u0001\0-'], ['😀']],
    ['^(a*)*$', ['', 'aaaa'], ['b']],
    ['^(|a)+b$', ['b', 'aab'], ['a']],
    ['^[^]$', ['\n', 'a'], ['']],
    ['^[]$', [], ['', 'a']],
    ['^\\/\\^\\$$', ['/^$'], ['/']],
  ];
  for (const [pattern, matches, misses] of cases) {
    test(pattern || '(empty)', () => {
      const { matches: found } = compilePattern(pattern);
      for (const text of matches) expect([text, found(text)]).toEqual([text, true]);
      for (const text of misses) expect([text, found(text)]).toEqual([text, false]);
    });
  }
});

test('what cannot be matched in linear time is refused, and so is what is no pattern', () => {
  for (const pattern of ['(a)\\1', '(?<x>a)\\k<x>', '(?=a)', '(?!a)', '(?<=a)', '(?<!a)', '(?i:a)']) {
    expect(() => compilePattern(pattern)).toThrow(/not supported/);
  }
  for (const pattern of ['(', '[', 'a**', '\\', '{', 'a{2,1}', '(?'])
    expect(() => compilePattern(pattern)).toThrow(/not a valid/);
  for (const pattern of ['a{3000}', '((a{100}){100}){100}', '(?:(?:x{0}){2000}){2000}', 'a{0,5000}']) {
    expect(() => compilePattern(pattern)).toThrow(/too large/);
  }
  expect(() => compilePattern(`a{${'1'.repeat(30)}}`)).toThrow(PatternError);
  expect(() => compilePattern(`${'('.repeat(200)}a${')'.repeat(200)}`)).toThrow(PatternError);
});

test('patterns that make a backtracking engine explode take time linear in the text', () => {
  for (const pattern of [
    '^(a+)+$',
    '^(a|a)*$',
    '^(.*)*x$',
    'a*a*a*a*a*a*b',
    '^(a|aa)+$',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '((((((a)+)+)+)+)+)+$',
  ]) {
    const started = processorMs();
    expect(compilePattern(pattern).matches(`${'a'.repeat(9_999)}!`)).toBe(false);
    expect(processorMs() - started).toBeLessThan(8_000);
  }
});

const atom = fc.constantFrom('a', 'b', '.', '\\d', '\\w', '[ab]', '[^a]', '\\b', '^', '$', '1', '\\s');
const piece: fc.Arbitrary<string> = fc.letrec<{ any: string; group: string; term: string }>((tie) => ({
  any: fc.array(tie('term'), { maxLength: 4 }).map((terms) => terms.join('')),
  group: fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((parts) => `(?:${parts.join('|')})`),
  term: fc.oneof(
    { maxDepth: 3 },
    atom,
    fc
      .tuple(
        fc.oneof(fc.constantFrom('a', 'b', '.', '[ab]', '\\d'), tie('group')),
        fc.constantFrom('', '*', '+', '?', '*?', '{2}', '{1,3}', '{0,1}', '{1,}'),
      )
      .map(([part, count]) => part + count),
  ),
})).any;

test('the answer is that of the runtime, for any pattern and text', () => {
  fc.assert(
    fc.property(
      piece,
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '1', ' ', '\n', 'é', '😀'), maxLength: 8 }), { maxLength: 5 }),
      (pattern, texts) => {
        const { matches: found } = compilePattern(pattern);
        const native = new RegExp(pattern, 'u');
        for (const text of texts) expect([pattern, text, found(text)]).toEqual([pattern, text, native.test(text)]);
      },
    ),
    { numRuns: 3_000 },
  );
});

test('a text is followed in pieces of a few steps to the same answer', () => {
  for (const [pattern, text] of [
    ['[a-z]{1,20}!', `${'a'.repeat(200)}!`],
    ['^(a|é|😀)+$', 'aé😀'.repeat(50)],
    ['\\bcat\\b', 'concat cats'],
  ] as const) {
    const compiled = compilePattern(pattern);
    const matching = compiled.begin(text);
    let pieces = 0;
    let answer: boolean | null = null;
    for (; answer === null; pieces++) answer = matching.advance({ steps: 7 });
    expect([pattern, answer]).toEqual([pattern, compiled.matches(text)]);
    expect(pieces).toBeGreaterThan(3);
  }
});
