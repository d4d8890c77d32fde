/** Match any one character, and any number of characters. */
export const ONE = Symbol('one');
export const MANY = Symbol('many');

/** Literal characters and wildcards. */
export type Wildcards = readonly (string | typeof ONE | typeof MANY)[];

/**
 * Whether a pattern matches the whole text. Takes at most the product of both lengths in steps, so untrusted patterns are safe.
 */
export function matchesWildcards(pattern: Wildcards, text: string): boolean {
  const characters = Array.from(text);
  let [at, from] = [0, 0];
  /** The last MANY so far: its index, and how far it extends. */
  let many: { readonly at: number; end: number } | null = null;
  while (from < characters.length) {
    const expected = pattern[at];
    if (expected === MANY) many = { at: at++, end: from };
    else if (expected === ONE || expected === characters[from]) [at, from] = [at + 1, from + 1];
    else if (many === null) return false;
    else [at, from] = [many.at + 1, ++many.end];
  }
  while (pattern[at] === MANY) at++;
  return at === pattern.length;
}

/** For paths: a star matches anything but a slash; letters match in any case. */
export function matcherOf(pattern: string): (name: string) => boolean {
  const parts = pattern.toLowerCase().split('/');
  const wildcards = parts.map((part) => Array.from(part, (character) => (character === '*' ? MANY : character)));
  return (name) => {
    const names = name.toLowerCase().split('/');
    return names.length === parts.length && wildcards.every((part, n) => matchesWildcards(part, names[n] ?? ''));
  };
}
