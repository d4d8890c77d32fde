import type { Lexeme } from '#core/lib/sql/tokenize.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { GRAMMAR_MODES, type GrammarMode, grammarName } from './modes.ts';
import { mysqlPlaceholder } from './placeholder.ts';
import { scanMysql } from './scanner.ts';
import { MYSQL_PAGES } from './sql/page-keys.ts';

const runsText = (tokens: readonly Lexeme[]): boolean => tokens[0]?.text === 'execute' && tokens[1]?.text === 'immediate';

const dialectOf = (modes: readonly GrammarMode[]): SqlDialect => ({
  name: grammarName(modes),
  scan: scanMysql({ quotes_name: modes.includes('ANSI_QUOTES'), backslash: !modes.includes('NO_BACKSLASH_ESCAPES') }),
  placeholder: mysqlPlaceholder,
  unlimited: { limit: '18446744073709551615', offset: 0 },
  reuses: false,
  no_row: '(SELECT NULL FROM DUAL WHERE FALSE)',
  question_operator: false,
  bracket_names: false,
  // A hint may change settings for the statement; to others it is a comment.
  hint: '/*+',
  pages: MYSQL_PAGES,
  classifier: async () => ({ rules: (await import('./sql/rules.ts')).MYSQL_RULES, runsText }),
});

/** The grammar of a server whose modes are those of a new installation. */
export const MYSQL_DIALECT = dialectOf([]);
export const MYSQL_DIALECTS: readonly SqlDialect[] = [
  MYSQL_DIALECT,
  dialectOf(['ANSI_QUOTES']),
  dialectOf(['NO_BACKSLASH_ESCAPES']),
  dialectOf(GRAMMAR_MODES),
];

export const dialectNamed = (name: string): SqlDialect => MYSQL_DIALECTS.find((one) => one.name === name) ?? MYSQL_DIALECT;
