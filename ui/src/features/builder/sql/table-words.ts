/** `OrderLines_größe` as people write it: words in lower case, with every letter of every script. */
export const wordsOf = (name: string): string =>
  name
    .normalize('NFC')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();

/** How letters beyond ASCII are written where only those are allowed; other marks are left off. */
const LATIN: Readonly<Record<string, string>> = {
  ä: 'ae',
  ö: 'oe',
  ü: 'ue',
  ß: 'ss',
  æ: 'ae',
  ø: 'oe',
  å: 'aa',
  ł: 'l',
  đ: 'd',
  ı: 'i',
};

/** A name in the letters that names of tools and parameters may have; empty when it has none of them. */
export const asciiName = (name: string): string =>
  wordsOf(name)
    .replaceAll(/[^a-z0-9 ]/g, (letter) => LATIN[letter] ?? letter)
    .normalize('NFD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');

/** The beginning of a text, without half a character at its end. */
export const beginning = (text: string, most: number): string =>
  text.length <= most
    ? text
    : text
        .slice(0, most)
        .replace(/[\uD800-\uDBFF]$/, '')
        .trimEnd();

export const article = (word: string): string => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;

export const list = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

export function singular(words: string): string {
  if (/(?:ss|us|is)$/.test(words)) return words;
  if (words.endsWith('ies')) return `${words.slice(0, -3)}y`;
  if (/(?:ses|xes|zes|ches|shes)$/.test(words)) return words.replace(/es$/, '');
  return words.replace(/s$/, '');
}
