import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { DUCKDB_PAGES } from './page-keys.ts';
import { scanDuckdb } from './scanner.ts';

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
