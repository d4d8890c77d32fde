import { commentEnd, type Lexeme, lineEnd, match, plain, quoted, type Scanner, token } from '#core/lib/sql/tokenize.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { GRAMMAR_MODES, type GrammarMode, grammarName } from './modes.ts';
import { mysqlPlaceholder } from './placeholder.ts';
import { MYSQL_PAGES } from './sql/page-keys.ts';

const VARIABLE = /@@?[\w.$\u0080-\uffff]*/y;

/**
 * @param quotes_name double quotes enclose a name, not a text. @param backslash a backslash escapes the next character of a text.
 */
const scanMysql =
  ({ quotes_name, backslash }: { readonly quotes_name: boolean; readonly backslash: boolean }): Scanner =>
  (sql, at, before) => {
    const char = sql[at] ?? '';
    if (char === '"' && quotes_name) return token('identifier', at, quoted(sql, at, char, false));
    if (char === "'" || char === '"') return token('string', at, quoted(sql, at, char, backslash));
    if (char === '`') return token('identifier', at, quoted(sql, at, char, false));
    // The server requires a space or control character after the dashes: 5--1 is a number.
    if (char === '#' || (sql.startsWith('--', at) && !(sql.charCodeAt(at + 2) > 32)))
      return token('comment', at, lineEnd(sql, at));
    if (sql.startsWith('/*', at)) {
      const kind = /^\/\*M?!/i.test(sql.slice(at, at + 4)) ? 'executable' : 'comment';
      return token(kind, at, commentEnd(sql, at));
    }
    if (char === '@') return token('variable', at, match(VARIABLE, sql, at));
    if (char === '?') return token('placeholder', at, at + 1);
    return plain(sql, at, before);
  };

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
  // A hint may change settings for the statement; other servers read it as a comment.
  hint: '/*+',
  pages: MYSQL_PAGES,
  classifier: async () => ({ rules: (await import('./sql/rules.ts')).MYSQL_RULES, runsText }),
});

/** The grammar of a server with the default modes of a new installation. */
export const MYSQL_DIALECT = dialectOf([]);
export const MYSQL_DIALECTS: readonly SqlDialect[] = [
  MYSQL_DIALECT,
  dialectOf(['ANSI_QUOTES']),
  dialectOf(['NO_BACKSLASH_ESCAPES']),
  dialectOf(GRAMMAR_MODES),
];

export const dialectNamed = (name: string): SqlDialect => MYSQL_DIALECTS.find((one) => one.name === name) ?? MYSQL_DIALECT;
