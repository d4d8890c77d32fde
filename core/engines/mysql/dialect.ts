import type { Lexeme } from '#core/lib/sql/classify-tokens.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { MYSQL_PAGES } from './sql/page-keys.ts';
import { scanMysql } from './scanner.ts';

export const MYSQL_DIALECT: SqlDialect = {
  name: 'mysql',
  scan: scanMysql,
  placeholder: () => '?',
  unlimited: { limit: '18446744073709551615', offset: 0 },
  reuses: false,
  no_row: '(SELECT NULL FROM DUAL WHERE FALSE)',
  question_operator: false,
  bracket_names: false,
  // A hint may change settings for the statement; to others it is a comment.
  hint: '/*+',
  pages: MYSQL_PAGES,
  classifier: async () => ({ rules: (await import('./rules.ts')).MYSQL_RULES, runsText }),
};

const runsText = (tokens: readonly Lexeme[]): boolean => tokens[0]?.text === 'execute' && tokens[1]?.text === 'immediate';
