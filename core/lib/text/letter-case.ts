/** Letters that are one in another case, and that JavaScript does not lead back to each other: Turkish i, final sigma, sharp s. */
const GROUPS = ['iIİı', 'σςΣ', 'ßẞ', 'sSſ', 'kK\u212A', 'åÅ\u212B', 'ωΩ\u2126', 'μΜµ'].map((letters) => Array.from(letters));

/**
 * A GLOB pattern of SQLite for "contains", whatever the case of the letters. SQLite itself knows the case of ASCII only, so
 * each letter stands there in all of its cases.
 */
export const globContaining = (text: string): string =>
  `*${patternOf(text, (sign) => (/[*?[]/.test(sign) ? `[${sign}]` : sign))}*`;

/** The same as a regular expression of PostgreSQL, whose own idea of case depends on the locale of the database. */
export const regexContaining = (text: string): string =>
  patternOf(text, (sign) => (/[!-/:-@[-`{-~]/.test(sign) ? `\\${sign}` : sign));

const patternOf = (text: string, plain: (sign: string) => string): string =>
  Array.from(text)
    .map((sign) => {
      const cases = casesOf(sign);
      return cases.length === 1 ? plain(sign) : `[${cases.join('')}]`;
    })
    .join('');

function casesOf(sign: string): string[] {
  const [lower, upper] = [sign.toLowerCase(), sign.toUpperCase()];
  const cases = [sign, lower, upper, upper.toLowerCase(), lower.toUpperCase()].filter((one) => Array.from(one).length === 1);
  const more = GROUPS.filter((group) => cases.some((one) => group.includes(one))).flat();
  return [...new Set([...cases, ...more])];
}
