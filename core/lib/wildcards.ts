/** In place of any one character, and of any number of them. */
export const ONE = Symbol('one');
export const MANY = Symbol('many');

/** Characters as they are, and what stands for others. */
export type Wildcards = readonly (string | typeof ONE | typeof MANY)[];

/** Whether a pattern is the whole text. Takes no more steps than the one's length times the other's, whoever wrote them. */
export function matchesWildcards(pattern: Wildcards, text: string): boolean {
  const characters = Array.from(text);
  let [at, from] = [0, 0];
  /** Of the last MANY so far: where it is, and up to where it reaches. */
  let many: { readonly at: number; end: number } | null = null;
  while (from < characters.length) {
    const wanted = pattern[at];
    if (wanted === MANY) many = { at: at++, end: from };
    else if (wanted === ONE || wanted === characters[from]) [at, from] = [at + 1, from + 1];
    else if (many === null) return false;
    else [at, from] = [many.at + 1, ++many.end];
  }
  while (pattern[at] === MANY) at++;
  return at === pattern.length;
}

/** Of paths: a star stands for anything but a slash; letters match in any case. */
export function matcherOf(pattern: string): (name: string) => boolean {
  const parts = pattern.toLowerCase().split('/');
  const wildcards = parts.map((part) => Array.from(part, (character) => (character === '*' ? MANY : character)));
  return (name) => {
    const names = name.toLowerCase().split('/');
    return names.length === parts.length && wildcards.every((part, n) => matchesWildcards(part, names[n] ?? ''));
  };
}
