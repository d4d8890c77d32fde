import { AppError } from '#core/errors.ts';
import type { Dialect } from './statement.ts';

export type TokenKind =
  | 'space'
  | 'comment'
  // MySQL's comment that begins with an exclamation mark: code to the server.
  | 'executable'
  | 'string'
  // A quoted name.
  | 'identifier'
  | 'word'
  | 'number'
  | 'operator'
  | 'punctuation'
  // The semicolon.
  | 'separator'
  // `:name`
  | 'parameter'
  // A driver's own form of a parameter: `?`, `?1`, `$1`, SQLite's `$a` and `@a`.
  | 'placeholder'
  // MySQL's `@user` and `@@system`.
  | 'variable';

/** A piece of SQL text; the tokens of a text cover it without a gap. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

/** Words after which a value or an operator follows, so that what comes next is not a subscript. */
const KEYWORDS: ReadonlySet<string> = new Set(
  `all and any as between by case collate cross default distinct else end escape except exists false filter for from full glob group having
   ilike in inner intersect interval into is join lateral left like limit match natural not null of offset on or order outer over
   partition regexp returning right rlike select set similar some then true union using values when where window with xor`
    .split(/\s+/)
    .filter(Boolean),
);

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;
const WORD_REST = /[\w$\u0080-\uffff]+/y;
const SPACE = /[ \t\n\r\f\v]+/y;
const NUMBER = /0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y;
const DOLLAR = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const OPERATOR = /->>|->|<=>|:=|\|\||&&|<<|>>|<>|!=|<=|>=|==|[-+*/<>=~!%^&|\\]/y;
const POSTGRES_LINE = /--[^\n\r]*/y;
const POSTGRES_OPERATOR = /[-+*/<>=~!@#%^&|`?]+/y;
const NAME = /[A-Za-z_]\w*/y;
const DIGITS = /\d*/y;
const VARIABLE = /@@?[\w.$\u0080-\uffff]*/y;
/** PostgreSQL joins string constants that only space with a line break parts, and goes on in the first one's escape mode. */
const CONTINUATION = /[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*(?=')/y;
const INVISIBLE = /[\s\p{Cc}\p{Cf}]/u;

const CLOSERS: Readonly<Record<string, string>> = { '(': ')', '[': ']' };

/**
 * Splits SQL text the way the dialect's own scanner does, in linear time.
 * Throws `invalid` with a position for text that no server would read: an open string or comment, an unknown character.
 */
export function tokenize(sql: string, dialect: Dialect): Token[] {
  if (!sql.isWellFormed()) throw broken('The SQL query contains half of a surrogate pair; enter the character again.', 0);
  const nul = sql.indexOf('\0');
  if (nul >= 0) throw broken('The SQL query contains a NUL character; delete it.', nul);
  const tokens: Token[] = [];
  const open: string[] = [];
  const scan = SCANNERS[dialect];
  for (let at = 0; at < sql.length;) {
    const token = scan(sql, at, tokens.at(-1), open.at(-1));
    const char = sql[at] ?? '';
    if (token.kind === 'punctuation') {
      if (char in CLOSERS) open.push(char);
      else if (CLOSERS[open.at(-1) ?? ''] === char) open.pop();
    }
    tokens.push(token);
    at = token.end;
  }
  return tokens;
}

type Scanner = (sql: string, at: number, before: Token | undefined, open: string | undefined) => Token;

const SCANNERS: Readonly<Record<Dialect, Scanner>> = {
  postgresql(sql, at, before, open) {
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
  },

  mysql(sql, at, before) {
    const char = sql[at] ?? '';
    if (char === "'" || char === '"') return token('string', at, quoted(sql, at, char, true));
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
  },

  sqlite(sql, at, before) {
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
  },
};

/** Of two brackets in a row neither begins a name in SQLite, because they open an optional block. */
function opensBlock(sql: string, at: number, before: Token | undefined): boolean {
  if (before?.kind === 'punctuation' && sql[before.start] === '[') return sql[at - 2] !== '[';
  return sql[at + 1] === '[' && !isName(sql, before);
}

/** What MySQL and SQLite share. */
function plain(sql: string, at: number, before: Token | undefined): Token {
  if (sql[at] === ':' && sql[at + 1] !== '=') {
    const end = match(NAME, sql, at + 1);
    if (end < 0) unexpected(sql, at);
    return parameter(sql, at, end);
  }
  const word = match(WORD, sql, at);
  if (word > at) return token('word', at, visible(sql, at, word));
  // A table column such as t.1 is never a number.
  const found = common(sql, at);
  if (found?.kind === 'number' && !(sql[at] === '.' && isName(sql, before))) {
    const rest = match(WORD_REST, sql, found.end);
    return rest < 0 ? found : token('word', at, visible(sql, at, rest));
  }
  if (found && found.kind !== 'number') return found;
  if (sql[at] === '.') return token('punctuation', at, at + 1);
  const operator = match(OPERATOR, sql, at);
  return operator > at ? token('operator', at, operator) : unexpected(sql, at);
}

function common(sql: string, at: number): Token | undefined {
  const space = match(SPACE, sql, at);
  if (space > at) return token('space', at, space);
  const number = match(NUMBER, sql, at);
  if (number > at) return token('number', at, number);
  if (sql[at] === ';') return token('separator', at, at + 1);
  return '()[]{},.'.includes(sql[at] ?? ' ') ? token('punctuation', at, at + 1) : undefined;
}

/** A word, or the string or name of which it is the prefix: E'…', U&'…', U&"…" (B, N and X strings have no escapes). */
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

/** The colon of a slice or of JSON_OBJECT('k':v) stands directly behind what it parts; a parameter never does. */
function isSlice(sql: string, at: number, before: Token | undefined, open: string | undefined): boolean {
  if (!before || before.end !== at) return false;
  if (before.kind === 'number' || before.kind === 'string' || before.kind === 'identifier' || before.kind === 'parameter')
    return true;
  if (sql[at - 1] === ')' || sql[at - 1] === ']') return true;
  return before.kind === 'word' && open === '[' && !KEYWORDS.has(sql.slice(before.start, at).toLowerCase());
}

/** True when the token directly before is a name, and not a keyword. */
export function isName(sql: string, before: Token | undefined): boolean {
  if (before?.kind === 'identifier') return true;
  return before?.kind === 'word' && !KEYWORDS.has(sql.slice(before.start, before.end).toLowerCase());
}

function parameter(sql: string, at: number, end: number): Token {
  if (/[$\u0080-\uffff]/.test(sql[end] ?? '')) {
    throw broken('A parameter name can contain only ASCII letters, digits and underscores.', at);
  }
  return token('parameter', at, end);
}

/** Offset behind a quoted piece in which the doubled quote stands for itself. */
function quoted(sql: string, at: number, quote: string, backslash: boolean): number {
  const mark = quote.charCodeAt(0);
  for (let i = at + 1; i < sql.length; i++) {
    const code = sql.charCodeAt(i);
    if (code === 92 && backslash) i++;
    else if (code === mark) {
      if (sql.charCodeAt(i + 1) !== mark) return i + 1;
      i++;
    }
  }
  throw broken(quote === "'" ? 'A string is not closed.' : 'A quoted name or string is not closed.', at);
}

function commentEnd(sql: string, at: number): number {
  const close = sql.indexOf('*/', at + 2);
  if (close < 0) throw broken('A comment is not closed.', at);
  return close + 2;
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

/** MySQL and SQLite end a comment at a line feed, PostgreSQL at a carriage return too. */
function lineEnd(sql: string, at: number): number {
  const end = sql.indexOf('\n', at);
  return end < 0 ? sql.length : end;
}

/** PostgreSQL ends an operator where a comment begins. */
function operatorEnd(sql: string, at: number, end: number): number {
  for (let i = at + 1; i < end; i++) if (sql.startsWith('--', i) || sql.startsWith('/*', i)) return i;
  return end;
}

function visible(sql: string, at: number, end: number): number {
  const hidden = sql.slice(at, end).search(INVISIBLE);
  if (hidden >= 0) throw broken('The SQL query holds an invisible character or an unusual space; replace it.', at + hidden);
  return end;
}

function match(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : -1;
}

const token = (kind: TokenKind, start: number, end: number): Token => ({ kind, start, end });

function unexpected(sql: string, at: number): never {
  const sentence = /[\p{Cc}\p{Cf}]/u.test(sql[at] ?? '')
    ? 'The SQL query holds an invisible character; delete it.'
    : 'The SQL query holds a character that does not belong there.';
  throw broken(sentence, at);
}

/** A fault of the SQL text itself. */
export function broken(detail: string, position: number): AppError {
  return new AppError('invalid', detail, { position, errors: [{ field: 'sql_query', message: detail }] });
}
