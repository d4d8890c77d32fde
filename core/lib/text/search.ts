/** Letters with more case forms than JavaScript maps to each other: Turkish i, final sigma, sharp s. */
const GROUPS = ['iIİı', 'σςΣ', 'ßẞ', 'sSſ', 'kK\u212A', 'åÅ\u212B', 'ωΩ\u2126', 'μΜµ'].map((letters) => Array.from(letters));

/**
 * A GLOB pattern of SQLite for a case-insensitive "contains". SQLite only folds ASCII letters, so the pattern lists all cases of
 * each letter.
 */
export const globContaining = (text: string): string =>
  `*${patternOf(text, (sign) => (/[*?[]/.test(sign) ? `[${sign}]` : sign))}*`;

/** Like `globContaining`, as a regular expression of PostgreSQL, whose case folding depends on the locale of the database. */
export const regexContaining = (text: string): string =>
  patternOf(text, (sign) => (/[!-/:-@[-`{-~]/.test(sign) ? `\\${sign}` : sign));

const patternOf = (text: string, plain: (sign: string) => string): string =>
  Array.from(text)
    .map((sign) => {
      const cases = casesOf(sign);
      return cases.length === 1 ? plain(sign) : `[${cases.join('')}]`;
    })
    .join('');

/** The words of a search. A result contains all of them, in any order and any case. */
export const searchWords = (search: string): string[] => search.split(/\s+/u).filter((word) => word !== '');

/** Compiles a search. The result says whether every word is part of one of the texts; a search without words matches everything. */
export function compileSearch(search: string): (...texts: readonly (string | null | undefined)[]) => boolean {
  const patterns = searchWords(search.normalize('NFC')).map((word) => new RegExp(regexContaining(word)));
  return (...texts) => {
    // Stored and typed texts can differ in Unicode normalisation.
    const normalised = texts.map((text) => (text ?? '').normalize('NFC'));
    return patterns.every((pattern) => normalised.some((text) => pattern.test(text)));
  };
}

/** Matches one search with one item; `compileSearch` matches it with many. */
export const isFound = (search: string, ...texts: readonly (string | null | undefined)[]): boolean =>
  compileSearch(search)(...texts);

function casesOf(sign: string): string[] {
  const [lower, upper] = [sign.toLowerCase(), sign.toUpperCase()];
  const cases = [sign, lower, upper, upper.toLowerCase(), lower.toUpperCase()].filter((one) => Array.from(one).length === 1);
  const more = GROUPS.filter((group) => cases.some((one) => group.includes(one))).flat();
  return [...new Set([...cases, ...more])];
}
