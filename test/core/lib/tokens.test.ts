import { expect, test } from 'bun:test';
import { estimateTokens } from '#core/lib/tokens.ts';
import { fc } from '#test/support/chance.ts';

/** The same in the words of patterns. */
function byPatterns(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(/[A-Za-z]+|\d{1,3}|[^\x20-\x7e\s]|[^A-Za-z0-9\s]+|\s{2,}|\n/g)) {
    if (/^[A-Za-z]/.test(piece)) tokens += Math.ceil(piece.length / 6);
    else if (/^[!-/:-@[-`{-~]/.test(piece)) tokens += Math.ceil(piece.length / 3);
    else tokens++;
  }
  return tokens;
}

test('words, numbers, signs, other scripts and blanks cost what patterns say of them', () => {
  expect(estimateTokens('')).toBe(0);
  expect(estimateTokens('orders of 2026, über 1234567 €!é')).toBe(byPatterns('orders of 2026, über 1234567 €!é'));
  const characters = 'abcXYZ019 \n\t\r.,;"{}[]:é€漢\u007f\u0000\u00a0\u2028\u3000\ufeff\u1680😀'.split('');
  const texts = fc.string({ unit: fc.constantFrom(...characters), maxLength: 40 });
  fc.assert(
    fc.property(texts, (text) => {
      expect(estimateTokens(text)).toBe(byPatterns(text));
    }),
    { numRuns: 2_000 },
  );
});
