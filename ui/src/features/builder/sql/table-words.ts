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

/** Words that have no plural, and no article before them. */
const MASS = /\b(?:data|metadata|media|news|information|equipment|staff|inventory|stock|software|hardware|feedback)$/;

/** The sound decides: an order, a user, an hour. */
export const article = (words: string): string => {
  if (MASS.test(words)) return words;
  return `${/^(?:(?!uni|us[aeu]|uti|ur[io]|eu|one\b)[aeiou]|hour|honou?r|heir)/.test(words) ? 'an' : 'a'} ${words}`;
};

export const list = (words: readonly string[], last: 'and' | 'or' = 'or'): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
