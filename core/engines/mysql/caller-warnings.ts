import { VIEW_SUFFIX } from '#core/lib/sql/caller-policies.ts';
import { grantCovers, type Grant } from './grants.ts';

const READS = /^(?:ALL PRIVILEGES|SELECT)\b/;
const SHOWN = 5;

/**
 * What lets an account past the filtered views of a database that is told of each caller: there is no row-level security, so whoever
 * may read the table reads every row.
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
