import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { asJson } from './placeholder.ts';
import { SQLITE_PAGES } from './page-keys.ts';
import { scanSqlite } from './scanner.ts';

/** What libSQL reads too. */
export const SQLITE_DIALECT: SqlDialect = {
  name: 'sqlite',
  scan: scanSqlite,
  // It numbers the elements of lists itself; it looks up those with a number one by one (1.5 s for 10 000 in libSQL).
  placeholder: (number, element, type) => asJson(element >= 0 ? '?' : `?${number}`, type),
  unlimited: { limit: -1, offset: 0 },
  reuses: true,
  no_row: '(SELECT NULL WHERE FALSE)',
  question_operator: false,
  bracket_names: true,
  hint: null,
  pages: SQLITE_PAGES,
  classifier: async () => ({ rules: (await import('./rules.ts')).SQLITE_RULES }),
};
