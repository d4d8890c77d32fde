import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { POSTGRESQL_PAGES } from './page-keys.ts';
import { scanPostgres } from './scanner.ts';

export const POSTGRESQL_DIALECT: SqlDialect = {
  name: 'postgresql',
  scan: scanPostgres,
  placeholder: (number) => `$${number}`,
  unlimited: null,
  reuses: true,
  describes_uses: true,
  no_row: null,
  question_operator: true,
  bracket_names: false,
  hint: null,
  pages: POSTGRESQL_PAGES,
  classifier: async () => (await import('./classifier.ts')).POSTGRESQL_CLASSIFIER,
};
