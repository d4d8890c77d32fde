import { commentEnd, lineEnd, match, plain, quoted, token, type Token } from '#core/lib/sql/tokenize.ts';

const VARIABLE = /@@?[\w.$\u0080-\uffff]*/y;

export function scanMysql(sql: string, at: number, before: Token | undefined): Token {
  const char = sql[at] ?? '';
  if (char === "'" || char === '"') return token('string', at, quoted(sql, at, char, true));
  if (char === '`') return token('identifier', at, quoted(sql, at, char, false));
  // The server wants a space or control character after the dashes: 5--1 is a number.
  if (char === '#' || (sql.startsWith('--', at) && !(sql.charCodeAt(at + 2) > 32))) return token('comment', at, lineEnd(sql, at));
  if (sql.startsWith('/*', at)) {
    const kind = /^\/\*M?!/i.test(sql.slice(at, at + 4)) ? 'executable' : 'comment';
    return token(kind, at, commentEnd(sql, at));
  }
  if (char === '@') return token('variable', at, match(VARIABLE, sql, at));
  if (char === '?') return token('placeholder', at, at + 1);
  return plain(sql, at, before);
}
