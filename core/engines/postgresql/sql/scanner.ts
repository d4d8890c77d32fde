import {
  broken,
  common,
  DIGITS,
  KEYWORDS,
  match,
  NAME,
  parameter,
  quoted,
  token,
  type Token,
  unexpected,
  visible,
  WORD,
} from '#core/lib/sql/tokenize.ts';

const DOLLAR = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const POSTGRES_LINE = /--[^\n\r]*/y;
const POSTGRES_OPERATOR = /[-+*/<>=~!@#%^&|`?]+/y;
/**
 * PostgreSQL joins string constants that are only separated by whitespace with a line break; the escape mode of the first one
 * continues.
 */
const CONTINUATION = /[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*(?=')/y;

export function scanPostgres(sql: string, at: number, before: Token | undefined, open: string | undefined): Token {
  const char = sql[at] ?? '';
  if (char === '$') {
    const tag = match(DOLLAR, sql, at);
    if (tag > at) {
      const close = sql.indexOf(sql.slice(at, tag), tag);
      if (close < 0) throw broken('A dollar-quoted string is not closed.', at);
      return token('string', at, close + tag - at);
    }
    const end = match(DIGITS, sql, at + 1);
    if (end > at + 1) return token('placeholder', at, end);
  }
  if (char === '"') return token('identifier', at, quoted(sql, at, '"', false));
  if (char === "'") return token('string', at, quoted(sql, at, "'", false));
  if (char === ':') {
    if (sql[at + 1] === ':' || sql[at + 1] === '=') return token('operator', at, at + 2);
    const end = match(NAME, sql, at + 1);
    if (end < 0 || isSlice(sql, at, before, open)) return token('operator', at, at + 1);
    return parameter(sql, at, end);
  }
  if (sql.startsWith('--', at)) return token('comment', at, match(POSTGRES_LINE, sql, at));
  if (sql.startsWith('/*', at)) return token('comment', at, nestedComment(sql, at));
  const operator = match(POSTGRES_OPERATOR, sql, at);
  if (operator > at) return token('operator', at, operatorEnd(sql, at, operator));
  const word = match(WORD, sql, at);
  if (word > at) return postgresWord(sql, at, word);
  return common(sql, at) ?? unexpected(sql, at);
}

/** A word, or the prefix of a string or name: E'…', U&'…', U&"…" (B, N and X strings have no escapes). */
function postgresWord(sql: string, at: number, end: number): Token {
  if (end === at + 1 && (sql[at] === 'e' || sql[at] === 'E') && sql[end] === "'") {
    let close = quoted(sql, end, "'", true);
    for (let next = match(CONTINUATION, sql, close); next > close; next = match(CONTINUATION, sql, close)) {
      close = quoted(sql, next, "'", true);
    }
    return token('string', at, close);
  }
  if (end === at + 1 && (sql[at] === 'u' || sql[at] === 'U') && sql[end] === '&') {
    const quote = sql[end + 1];
    if (quote === "'") return token('string', at, quoted(sql, end + 1, quote, false));
    if (quote === '"') return token('identifier', at, quoted(sql, end + 1, quote, false));
  }
  return token('word', at, visible(sql, at, end));
}

/** True for the colon of a slice or of JSON_OBJECT('k':v). It directly follows an expression; a parameter never does. */
function isSlice(sql: string, at: number, before: Token | undefined, open: string | undefined): boolean {
  if (!before || before.end !== at) return false;
  if (before.kind === 'number' || before.kind === 'string' || before.kind === 'identifier' || before.kind === 'parameter')
    return true;
  if (sql[at - 1] === ')' || sql[at - 1] === ']') return true;
  return before.kind === 'word' && open === '[' && !KEYWORDS.has(sql.slice(before.start, at).toLowerCase());
}

function nestedComment(sql: string, at: number): number {
  let depth = 0;
  for (let i = at; i < sql.length; i++) {
    if (sql[i] === '/' && sql[i + 1] === '*') {
      depth++;
      i++;
    } else if (sql[i] === '*' && sql[i + 1] === '/') {
      i++;
      if (--depth === 0) return i + 1;
    }
  }
  throw broken('A comment is not closed.', at);
}

/** In PostgreSQL a comment ends an operator. */
function operatorEnd(sql: string, at: number, end: number): number {
  for (let i = at + 1; i < end; i++) if (sql.startsWith('--', i) || sql.startsWith('/*', i)) return i;
  return end;
}
