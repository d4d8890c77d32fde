import { disguisedAt } from '#core/lib/text/hidden-characters.ts';
import { AppError } from '#core/errors.ts';

/** A significant token: spaces and comments are omitted. */
export interface Lexeme {
  readonly kind: Token['kind'];
  /** In lower case. A quoted name includes its quotes, so that it never equals a word or a bracket. */
  readonly text: string;
  /** A word or a quoted name without quotes, in lower case. */
  readonly name: string;
}

export type TokenKind =
  | 'space'
  | 'comment'
  // A comment of MySQL that begins with an exclamation mark; the server runs it.
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
  // A driver's placeholder: `?`, `?1`, `$1`, SQLite's `$a` and `@a`.
  | 'placeholder'
  // MySQL's `@user` and `@@system`.
  | 'variable';

/** A piece of SQL text. The tokens of a text cover it without gaps. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

/** Words that are followed by a value or an operator, so that a bracket after them is not a subscript. */
export const KEYWORDS: ReadonlySet<string> = new Set(
  `all and any as between by case collate cross default distinct else end escape except exists false filter for from full glob group having
   ilike in inner intersect interval into is join lateral left like limit match natural not null of offset on or order outer over
   partition regexp returning right rlike select set similar some then true union using values when where window with xor`
    .split(/\s+/)
    .filter(Boolean),
);

export const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;

export const WORD_REST = /[\w$\u0080-\uffff]+/y;

const SPACE = /[ \t\n\r\f\v]+/y;

const NUMBER = /0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y;

const OPERATOR = /->>|->|<=>|:=|\|\||&&|<<|>>|<>|!=|<=|>=|==|[-+*/<>=~!%^&|\\]/y;

export const NAME = /[A-Za-z_]\w*/y;

export const DIGITS = /\d*/y;

const INVISIBLE = /[\s\p{Cc}\p{Cf}]/u;

const CLOSERS: Readonly<Record<string, string>> = { '(': ')', '[': ']' };

/**
 * Splits SQL text as the dialect's scanner does, in linear time. Throws `invalid` with a position for text that no server would
 * accept: an unclosed string or comment, an unknown character.
 */
export function tokenize(sql: string, { scan }: { readonly scan: Scanner }): Token[] {
  if (!sql.isWellFormed()) throw broken('The SQL query contains half of a surrogate pair; enter the character again.', 0);
  const nul = sql.indexOf('\0');
  if (nul >= 0) throw broken('The SQL query contains a NUL character; delete it.', nul);
  const tokens: Token[] = [];
  const open: string[] = [];
  for (let at = 0; at < sql.length;) {
    const token = scan(sql, at, tokens.at(-1), open.at(-1));
    if (token.kind === 'identifier' || token.kind === 'word') refuseDisguised(sql, token);
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

/** Refuses names with hidden or look-alike characters. */
function refuseDisguised(sql: string, { start, end }: Token): void {
  const at = disguisedAt(sql.slice(start, end));
  if (at < 0) return;
  throw broken(
    'A name holds an invisible character, or letters that look like those of another alphabet; write it anew.',
    start + at,
  );
}

export type Scanner = (sql: string, at: number, before: Token | undefined, open: string | undefined) => Token;

/** Tokens that MySQL and SQLite have in common. */
export function plain(sql: string, at: number, before: Token | undefined): Token {
  if (sql[at] === ':' && sql[at + 1] !== '=') {
    const end = match(NAME, sql, at + 1);
    if (end < 0) unexpected(sql, at);
    return parameter(sql, at, end);
  }
  const word = match(WORD, sql, at);
  if (word > at) return token('word', at, visible(sql, at, word));
  // A column such as t.1 is not a number.
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

export function common(sql: string, at: number): Token | undefined {
  const space = match(SPACE, sql, at);
  if (space > at) return token('space', at, space);
  const number = match(NUMBER, sql, at);
  if (number > at) return token('number', at, number);
  if (sql[at] === ';') return token('separator', at, at + 1);
  return '()[]{},.'.includes(sql[at] ?? ' ') ? token('punctuation', at, at + 1) : undefined;
}

/** True when the token before is a name and not a keyword. */
export function isName(sql: string, before: Token | undefined): boolean {
  if (before?.kind === 'identifier') return true;
  return before?.kind === 'word' && !KEYWORDS.has(sql.slice(before.start, before.end).toLowerCase());
}

export function parameter(sql: string, at: number, end: number): Token {
  if (/[$\u0080-\uffff]/.test(sql[end] ?? '')) {
    throw broken('A parameter name can contain only ASCII letters, digits and underscores.', at);
  }
  return token('parameter', at, end);
}

/** Offset after a quoted piece, in which a doubled quote is one quote. */
export function quoted(sql: string, at: number, quote: string, backslash: boolean): number {
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

export function commentEnd(sql: string, at: number): number {
  const close = sql.indexOf('*/', at + 2);
  if (close < 0) throw broken('A comment is not closed.', at);
  return close + 2;
}

/** MySQL and SQLite end a comment at a line feed, PostgreSQL at a carriage return too. */
export function lineEnd(sql: string, at: number): number {
  const end = sql.indexOf('\n', at);
  return end < 0 ? sql.length : end;
}

export function visible(sql: string, at: number, end: number): number {
  const hidden = sql.slice(at, end).search(INVISIBLE);
  if (hidden >= 0) throw broken('The SQL query holds an invisible character or an unusual space; replace it.', at + hidden);
  return end;
}

export function match(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : -1;
}

export const token = (kind: TokenKind, start: number, end: number): Token => ({ kind, start, end });

export function unexpected(sql: string, at: number): never {
  const character = String.fromCodePoint(sql.codePointAt(at) ?? 0);
  const sentence = /[\p{Cc}\p{Cf}]/u.test(character)
    ? 'The SQL query holds an invisible character; delete it.'
    : sql.startsWith('::', at)
      ? 'This database has no :: for casts; write CAST(value AS type).'
      : `The character ${character} does not belong there.`;
  throw broken(sentence, at);
}

/** An error in the SQL text. */
export function broken(detail: string, position: number): AppError {
  return new AppError('invalid', detail, { position, errors: [{ field: 'sql_query', message: detail }] });
}
