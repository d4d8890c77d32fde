import { asText, doubled, type PageKey, type PageRules } from '#core/lib/sql/page-keys.ts';

/** Numbers as numbers and texts as texts: SQLite keeps either in most columns, and orders numbers first. */
const VALUE: PageKey['value'] = (name) => [
  'CASE WHEN CAST(CAST(',
  name,
  ' AS NUMERIC) AS TEXT) = ',
  name,
  ' THEN CAST(',
  name,
  ' AS NUMERIC) ELSE ',
  name,
  ' END',
];

const SPACED = "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]*'";
/** A moment as results have it: with a `T` where SQLite puts a space. */
const momentOf = (name: string): string =>
  `CASE WHEN typeof(${name}) = 'text' AND ${name} GLOB ${SPACED} THEN substr(${name}, 1, 10) || 'T' || substr(${name}, 12) ELSE ${name} END`;

export const SQLITE_PAGES: PageRules = {
  quote: doubled('"'),
  same: 'IS',
  nulls_last: true,
  key(name, { type, kind }) {
    if (kind === 'string') {
      return { by: `CAST(${name} AS TEXT) COLLATE BINARY`, value: (value) => [value], bound: 'string', write: asText };
    }
    if (kind !== 'bigint' && kind !== 'boolean') return null;
    const by = /^(?:datetime|timestamp)/i.test(type.trim()) ? `(${momentOf(name)})` : `${name} COLLATE BINARY`;
    const write: PageKey['write'] = (cell) => (typeof cell === 'boolean' ? String(Number(cell)) : asText(cell));
    return { by, value: VALUE, bound: 'string', write };
  },
};
