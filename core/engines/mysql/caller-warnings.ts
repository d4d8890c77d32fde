import { VIEW_SUFFIX } from '#core/lib/sql/caller-policies.ts';
import { grantCovers } from './grant-pattern.ts';

/** A right to read, as a line of SHOW GRANTS has it; `*`: all of them. */
interface Reads {
  readonly database: string;
  readonly table: string;
}

const NAME = '(\\*|`(?:[^`]|``)*`)';
const GRANT = new RegExp(`^GRANT (.+?) ON ${NAME}\\.${NAME} TO `);
const READS = /(?:^|, )(?:ALL PRIVILEGES|SELECT)\b/;
const SHOWN = 5;

/**
 * What lets an account past the filtered views of a database that is told of each caller: there is no row-level security, so whoever
 * may read the table reads every row. @param lines of SHOW GRANTS.
 */
export function callerWarnings(lines: readonly string[], database: string | null): string[] {
  const rights = lines.flatMap((line): Reads[] => {
    const [, privileges = '', on = '', table = ''] = GRANT.exec(line) ?? [];
    return READS.test(privileges) ? [{ database: plain(on), table: plain(table) }] : [];
  });
  const here = rights.filter((right) => database === null || right.database === '*' || grantCovers(right.database, database));
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

const plain = (quoted: string): string => (quoted === '*' ? quoted : quoted.slice(1, -1).replaceAll('``', '`'));
