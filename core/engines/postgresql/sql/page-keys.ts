import { cast, doubled, type PageKey, type PageRules } from '#core/lib/sql/page-keys.ts';

const EXACT: ReadonlySet<string> = new Set([
  'boolean',
  'bigint',
  'smallint',
  'integer',
  'oid',
  'date',
  'time without time zone',
  'time with time zone',
  'timestamp without time zone',
  'timestamp with time zone',
  'uuid',
]);

/** Results contain the padding of a `char(n)`, but its text does not. */
const withoutBlanks: PageKey['write'] = (cell) => (typeof cell === 'string' ? cell.replace(/ +$/, '') : cell);

export const POSTGRESQL_PAGES: PageRules = {
  quote: doubled('"'),
  same: 'IS NOT DISTINCT FROM',
  same_types: true,
  nulls_last: true,
  key(name, { type, kind }) {
    if (EXACT.has(type)) return cast(name, type);
    // NaN and infinity are null in results. PostgreSQL before 14 has no numeric infinity.
    if (type.startsWith('numeric')) return cast(`CASE WHEN ${name} - ${name} = 0 THEN ${name} END`, 'numeric');
    // Collations can treat different texts as equal, so the text is compared as bytes.
    if (kind !== 'string') return null;
    return cast(`CAST(${name} AS text) COLLATE "C"`, 'text', type === 'character' ? { write: withoutBlanks } : {});
  },
};
