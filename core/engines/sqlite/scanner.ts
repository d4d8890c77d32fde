import {
  broken,
  commentEnd,
  DIGITS,
  isName,
  lineEnd,
  match,
  NAME,
  parameter,
  plain,
  quoted,
  token,
  type Token,
  WORD_REST,
} from '#core/lib/sql/tokenize.ts';

export function scanSqlite(sql: string, at: number, before: Token | undefined): Token {
  const char = sql[at] ?? '';
  if (char === "'") return token('string', at, quoted(sql, at, char, false));
  if (char === '"' || char === '`') return token('identifier', at, quoted(sql, at, char, false));
  if (char === '[' && !opensBlock(sql, at, before)) {
    const end = sql.indexOf(']', at);
    if (end < 0) throw broken('A name in brackets is not closed.', at);
    return token('identifier', at, end + 1);
  }
  if (sql.startsWith('--', at)) return token('comment', at, lineEnd(sql, at));
  if (sql.startsWith('/*', at)) return token('comment', at, commentEnd(sql, at));
  if (char === '?') return token('placeholder', at, match(DIGITS, sql, at + 1));
  if (/[$@:#]/.test(char) && /[\w$\u0080-\uffff]/.test(sql[at + 1] ?? '')) {
    const end = char === ':' ? match(NAME, sql, at + 1) : -1;
    return end > 0 ? parameter(sql, at, end) : token('placeholder', at, match(WORD_REST, sql, at + 1));
  }
  return plain(sql, at, before);
}

/** `[[` opens an optional block, so neither of the two brackets starts a name. */
function opensBlock(sql: string, at: number, before: Token | undefined): boolean {
  if (before?.kind === 'punctuation' && sql[before.start] === '[') return sql[at - 2] !== '[';
  return sql[at + 1] === '[' && !isName(sql, before);
}
