import {
  broken,
  commentEnd,
  common,
  lineEnd,
  match,
  NAME,
  parameter,
  quoted,
  token,
  type Token,
  unexpected,
  visible,
  WORD,
  WORD_REST,
} from '#core/lib/sql/tokenize.ts';

const PLACEHOLDER = /\{\s*[A-Za-z_]\w*\s*:[^{}]*\}/y;
const HEREDOC = /\$\w*\$/y;
const VARIABLE = /@@?[\w.$]*/y;
const OPERATOR = /->|<=>|::|\.:|\|\||<>|!=|<=|>=|==|[-+*/<>=%?:^]/y;
/** The server reads these as quotes and as a minus. */
const TYPOGRAPHIC = /[\u2018\u2019\u201c\u201d\u2212]/;

/** Reads tokens of any ClickHouse version. Where versions disagree about comments, the text is refused. */
export function scanClickhouse(sql: string, at: number): Token {
  const char = sql[at] ?? '';
  if (TYPOGRAPHIC.test(char)) {
    throw broken('Typographic quotes and minus signs are not allowed outside of strings; write plain ones.', at);
  }
  if (char === "'") return token('string', at, quoted(sql, at, char, true));
  if (char === '"' || char === '`') return token('identifier', at, nameEnd(sql, at, char));
  if (sql.startsWith('--', at)) return token('comment', at, lineEnd(sql, at));
  if (char === '#' || sql.startsWith('//', at)) {
    throw broken('Comments that begin with # or // are not allowed; begin them with two dashes.', at);
  }
  if (sql.startsWith('/*', at)) return token('comment', at, blockEnd(sql, at));
  if (char === '{') return token('placeholder', at, placeholderEnd(sql, at));
  if (char === '$') {
    const open = match(HEREDOC, sql, at);
    if (open < 0) return token('word', at, Math.max(match(WORD_REST, sql, at), at + 1));
    const end = sql.indexOf(sql.slice(at, open), open);
    if (end < 0) throw broken('A string is not closed.', at);
    return token('string', at, end + open - at);
  }
  if (char === ':' && sql[at + 1] !== ':') {
    const end = match(NAME, sql, at + 1);
    if (end > 0) return parameter(sql, at, end);
  }
  if (char === '@') return token('variable', at, match(VARIABLE, sql, at));
  const word = match(WORD, sql, at);
  if (word > at) return token('word', at, plainWord(sql, at, word));
  const operator = match(OPERATOR, sql, at);
  const found = char === '.' && operator > at ? undefined : common(sql, at);
  if (found?.kind === 'number') {
    const rest = match(WORD, sql, found.end);
    return rest < 0 ? found : token('word', at, plainWord(sql, at, rest));
  }
  if (found) return found;
  return operator > at ? token('operator', at, operator) : unexpected(sql, at);
}

function plainWord(sql: string, at: number, end: number): number {
  const sign = sql.slice(at, end).search(TYPOGRAPHIC);
  return sign < 0 ? visible(sql, at, end) : at + sign;
}

/**
 * The server decodes escapes in names ("fil\x65" is a function that reads files). They are refused, so that names can be compared
 * as written.
 */
function nameEnd(sql: string, at: number, quote: string): number {
  const end = quoted(sql, at, quote, true);
  const escape = sql.slice(at, end).indexOf('\\');
  if (escape >= 0) throw broken('A quoted name cannot hold a backslash; write its characters without escapes.', at + escape);
  return end;
}

/** Some versions nest block comments and others do not. */
function blockEnd(sql: string, at: number): number {
  const end = commentEnd(sql, at);
  const inner = sql.indexOf('/*', at + 2);
  if (inner >= 0 && inner < end - 1) throw broken('A comment cannot hold another one.', inner);
  return end;
}

function placeholderEnd(sql: string, at: number): number {
  const end = match(PLACEHOLDER, sql, at);
  if (end < 0) throw broken('Curly brackets are not allowed here; write each parameter as :name.', at);
  return end;
}
