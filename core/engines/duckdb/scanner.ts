import { match, token, type Token } from '#core/lib/sql/tokenize.ts';
import { scanPostgres } from '../postgresql/sql/scanner.ts';

const NUMBERED = /\?\d*/y;
const NAMED = /\$[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*(?!\$)/y;
const DOLLAR_QUOTE = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const OPERATOR = /(?:(?!--|\/\*)[-+*/<>=~!@#%^&|`])+/y;
const UNICODE_PREFIX = /[uU](?=&['"])/y;

/** PostgreSQL's tokens, plus `?`, `?1` and `$name` as placeholders, and without `U&'…'`. */
export function scanDuckdb(sql: string, at: number, before: Token | undefined, open: string | undefined): Token {
  const char = sql[at] ?? '';
  if (char === '?') return token('placeholder', at, match(NUMBERED, sql, at));
  if (char === '$' && match(DOLLAR_QUOTE, sql, at) < 0) {
    const end = match(NAMED, sql, at);
    if (end > at) return token('placeholder', at, end);
  }
  if (char === 'u' || char === 'U') {
    const end = match(UNICODE_PREFIX, sql, at);
    if (end > at) return token('word', at, end);
  }
  const operator = match(OPERATOR, sql, at);
  return operator > at ? token('operator', at, operator) : scanPostgres(sql, at, before, open);
}
