import { MANY, matchesWildcards, ONE } from '#core/lib/wildcards.ts';

/** A line of SHOW GRANTS about tables. */
export interface Grant {
  /** Such as `ALL PRIVILEGES` and `TRIGGER`; a list of columns is split at its commas. */
  readonly rights: readonly string[];
  /** A pattern as LIKE has them, or `*`: all of them. */
  readonly database: string;
  readonly table: string;
}

/** A quoted name, with ANSI_QUOTES in double quotes, which may hold any words, and what stands before the place of a grant. */
const PIECES = /`[^`]*(?:`|$)|"[^"]*(?:"|$)| ON (?:TABLE )?/g;
/** The server allows 64 characters. Without a bound, matching a hostile answer takes time quadratic in its length. */
const NAME = '(\\*|`(?:[^`]|``){0,128}`|"(?:[^"]|""){0,128}")';
const PLACE = new RegExp(`${NAME}\\.${NAME} TO `, 'y');

export const grantsIn = (lines: readonly string[]): Grant[] => lines.map(grantIn).filter((grant) => grant !== null);

/** Null: the line is about a routine, a proxy or a role. */
function grantIn(line: string): Grant | null {
  if (!line.startsWith('GRANT ')) return null;
  for (const { 0: piece, index } of line.matchAll(PIECES)) {
    if (/^[`"]/.test(piece)) continue;
    PLACE.lastIndex = index + piece.length;
    const [, database, table] = PLACE.exec(line) ?? [];
    if (database === undefined || table === undefined) return null;
    const rights = line.slice('GRANT '.length, index).split(', ');
    return { rights, database: unquoted(database), table: unquoted(table) };
  }
  return null;
}

function unquoted(name: string): string {
  const [quote = ''] = name;
  return quote === '*' ? name : name.slice(1, -1).replaceAll(quote + quote, quote);
}

/** Whether the schema of a grant, which is a pattern as LIKE has them, covers a schema. A backslash takes the meaning of what follows. */
export function grantCovers(pattern: string, schema: string): boolean {
  const pieces = Array.from(pattern.toLowerCase().matchAll(/\\.|[\s\S]/gu), ([piece]) => {
    if (piece === '%') return MANY;
    if (piece === '_') return ONE;
    return piece.length > 1 && piece.startsWith('\\') ? piece.slice(1) : piece;
  });
  return matchesWildcards(pieces, schema.toLowerCase());
}
