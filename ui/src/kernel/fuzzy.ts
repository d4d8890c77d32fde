import { searchWords } from '#core/lib/text/search.ts';

/**
 * How well a text answers what is typed: every word has to be found, as a word or the beginning of one (best), inside one, or as letters
 * in order. 0 when it does not answer.
 */
export function score(search: string, text: string): number {
  const words = searchWords(search.toLowerCase());
  const target = text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const found = scoreWord(word, target);
    if (found === 0) return 0;
    sum += found;
  }
  // Of two that fit equally well the shorter one is meant.
  return words.length === 0 ? 1 : sum / words.length + 1 / (10 + target.length);
}

function scoreWord(word: string, target: string): number {
  const parts = target.split(/[\s_\-./:]+/);
  const best = Math.max(
    ...parts.map((part, index) => (part.startsWith(word) ? 8 + Number(part === word) + Number(index === 0) : 0)),
  );
  if (best > 0) return best;
  if (target.includes(word)) return 4;
  // Two letters are found in order almost everywhere.
  if (word.length < 3) return 0;
  let from = 0;
  let gaps = 0;
  for (const letter of word) {
    const next = target.indexOf(letter, from);
    if (next === -1) return 0;
    gaps += from === 0 ? 0 : next - from;
    from = next + 1;
  }
  // Letters scattered over a sentence answer nothing.
  return gaps > word.length * 2 ? 0 : 2 / (1 + gaps);
}

/** What answers, the best first; equally good ones in the order given. */
export function rank<T>(search: string, items: readonly T[], text: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, value: score(search, text(item)) }))
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value)
    .map(({ item }) => item);
}
