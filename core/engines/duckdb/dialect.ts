import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { scanDuckdb } from './scanner.ts';
import { cast, doubled, type PageRules } from '#core/lib/sql/page-keys.ts';

const EXACT =
  /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DECIMAL\(\d+,\d+\)|DATE|TIME|TIMESTAMP(?:_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE|UUID|BOOLEAN)$/;

const DUCKDB_PAGES: PageRules = {
  quote: doubled('"'),
  same: 'IS NOT DISTINCT FROM',
  nulls_last: true,
  key(name, { type }) {
    if (EXACT.test(type)) return cast(name, type);
    if (type !== 'VARCHAR' && !type.startsWith('ENUM')) return null;
    return cast(`CAST(${name} AS VARCHAR) COLLATE "binary"`, 'VARCHAR');
  },
};

export const DUCKDB_DIALECT: SqlDialect = {
  name: 'duckdb',
  scan: scanDuckdb,
  placeholder: (number) => `$${number}`,
  unlimited: null,
  reuses: true,
  describes_uses: true,
  no_row: null,
  question_operator: false,
  bracket_names: false,
  hint: null,
  pages: DUCKDB_PAGES,
  classifier: async () => ({ rules: (await import('./rules.ts')).DUCKDB_RULES }),
};
