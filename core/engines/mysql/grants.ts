import { VIEW_SUFFIX } from '#core/lib/sql/caller-policies.ts';
import { MANY, matchesWildcards, ONE } from '#core/lib/wildcards.ts';

/** A line of SHOW GRANTS that concerns tables. */
export interface Grant {
  /** For example `ALL PRIVILEGES` and `TRIGGER`. A list of columns is split at its commas. */
  readonly rights: readonly string[];
  /** A LIKE pattern, or `*` for all databases. */
  readonly database: string;
  readonly table: string;
}

/** A quoted name, which may contain any words (in double quotes with ANSI_QUOTES), or the text before the object of a grant. */
const PIECES = /`[^`]*(?:`|$)|"[^"]*(?:"|$)| ON (?:TABLE )?/g;
/** The server allows 64 characters. Without a bound, matching a hostile answer takes time quadratic in its length. */
const NAME = '(\\*|`(?:[^`]|``){0,128}`|"(?:[^"]|""){0,128}")';
const OBJECT = new RegExp(`${NAME}\\.${NAME} TO `, 'y');

export const grantsIn = (lines: readonly string[]): Grant[] => lines.map(grantIn).filter((grant) => grant !== null);

/** Null: the line grants a role, a proxy or rights on a routine. */
function grantIn(line: string): Grant | null {
  if (!line.startsWith('GRANT ')) return null;
  for (const { 0: piece, index } of line.matchAll(PIECES)) {
    if (/^[`"]/.test(piece)) continue;
    OBJECT.lastIndex = index + piece.length;
    const [, database, table] = OBJECT.exec(line) ?? [];
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

/** Whether a grant covers a schema. The schema of a grant is a LIKE pattern, in which a backslash escapes the next character. */
export function grantCovers(pattern: string, schema: string): boolean {
  const pieces = Array.from(pattern.toLowerCase().matchAll(/\\.|[\s\S]/gu), ([piece]) => {
    if (piece === '%') return MANY;
    if (piece === '_') return ONE;
    return piece.length > 1 && piece.startsWith('\\') ? piece.slice(1) : piece;
  });
  return matchesWildcards(pieces, schema.toLowerCase());
}

const READS = /^(?:ALL PRIVILEGES|SELECT)\b/;
const SHOWN = 5;

/**
 * Warns when an account that receives values about each caller can read more than the filtered views. MySQL has no row-level
 * security, so an account that can read a table reads all of its rows.
 */
export function callerWarnings(grants: readonly Grant[], database: string | null): string[] {
  const reading = grants.filter(({ rights }) => rights.some((right) => READS.test(right)));
  const here = reading.filter((grant) => database === null || grant.database === '*' || grantCovers(grant.database, database));
  const wide = here.find(({ table }) => table === '*');
  if (wide !== undefined) {
    const where = wide.database === '*' ? 'of every database' : `of the database ${wide.database}`;
    return [
      `Filtered views do not limit this account, because it can read every table ${where}. Grant it SELECT on the views only.`,
    ];
  }
  const named = new Set(here.map(({ table }) => table));
  const open = [...named].filter((table) => named.has(`${table}${VIEW_SUFFIX}`));
  if (open.length === 0) return [];
  const more = open.length > SHOWN ? ` and ${open.length - SHOWN} more` : '';
  return [
    `The account can read tables past their filtered views: ${open.slice(0, SHOWN).join(', ')}${more}. Run REVOKE SELECT on these tables.`,
  ];
}
