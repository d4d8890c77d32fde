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

/** Results have the blanks that fill a `char(n)`, its text has not. */
const withoutBlanks: PageKey['write'] = (cell) => (typeof cell === 'string' ? cell.replace(/ +$/, '') : cell);

export const POSTGRESQL_PAGES: PageRules = {
  quote: doubled('"'),
  same: 'IS NOT DISTINCT FROM',
  same_types: true,
  nulls_last: true,
  key(name, { type, kind }) {
    if (EXACT.has(type)) return cast(name, type);
    // Results have no NaN and no infinity: they are null there. PostgreSQL before 14 has no numeric of that name.
    if (type.startsWith('numeric')) return cast(`CASE WHEN ${name} - ${name} = 0 THEN ${name} END`, 'numeric');
    // Collations call texts equal that differ; the text of a value is the value.
    if (kind !== 'string') return null;
    return cast(`CAST(${name} AS text) COLLATE "C"`, 'text', type === 'character' ? { write: withoutBlanks } : {});
  },
};
