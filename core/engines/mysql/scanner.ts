import { commentEnd, lineEnd, match, plain, quoted, type Scanner, token } from '#core/lib/sql/tokenize.ts';

const VARIABLE = /@@?[\w.$\u0080-\uffff]*/y;

/** @param quotes_name double quotes hold a name, not a text. @param backslash it takes the meaning of what follows in a text. */
export const scanMysql =
  ({ quotes_name, backslash }: { readonly quotes_name: boolean; readonly backslash: boolean }): Scanner =>
  (sql, at, before) => {
    const char = sql[at] ?? '';
    if (char === '"' && quotes_name) return token('identifier', at, quoted(sql, at, char, false));
    if (char === "'" || char === '"') return token('string', at, quoted(sql, at, char, backslash));
    if (char === '`') return token('identifier', at, quoted(sql, at, char, false));
    // The server wants a space or control character after the dashes: 5--1 is a number.
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
