import { cast, doubled, type PageRules } from '#core/lib/sql/page-keys.ts';

const EXACT =
  /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DECIMAL\(\d+,\d+\)|DATE|TIME|TIMESTAMP(?:_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE|UUID|BOOLEAN)$/;

export const DUCKDB_PAGES: PageRules = {
  quote: doubled('"'),
  same: 'IS NOT DISTINCT FROM',
  nulls_last: true,
  key(name, { type }) {
    if (EXACT.test(type)) return cast(name, type);
    if (type !== 'VARCHAR' && !type.startsWith('ENUM')) return null;
    return cast(`CAST(${name} AS VARCHAR) COLLATE "binary"`, 'VARCHAR');
  },
};
