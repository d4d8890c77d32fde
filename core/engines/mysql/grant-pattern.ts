import { MANY, matchesWildcards, ONE } from '#core/lib/wildcards.ts';

/** Whether the schema of a grant, which is a pattern as LIKE has them, covers a schema. A backslash takes the meaning of what follows. */
export function grantCovers(pattern: string, schema: string): boolean {
  const pieces = Array.from(pattern.toLowerCase().matchAll(/\\.|[\s\S]/gu), ([piece]) => {
    if (piece === '%') return MANY;
    if (piece === '_') return ONE;
    return piece.length > 1 && piece.startsWith('\\') ? piece.slice(1) : piece;
  });
  return matchesWildcards(pieces, schema.toLowerCase());
}
