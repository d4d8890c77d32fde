import type { DbType } from '#core/contract/definitions/connections.ts';

export type Dialect = 'postgresql' | 'duckdb' | 'mysql' | 'sqlite' | 'clickhouse';

const MYSQL: readonly DbType[] = ['mysql', 'mariadb'];
const SQLITE: readonly DbType[] = ['sqlite', 'libsql'];

/** The dialect of a type of database. */
export function dialectOf(db_type: DbType | undefined): Dialect {
  if (db_type === undefined) return 'postgresql';
  if (MYSQL.includes(db_type)) return 'mysql';
  if (db_type === 'duckdb' || db_type === 'clickhouse') return db_type;
  return SQLITE.includes(db_type) ? 'sqlite' : 'postgresql';
}

/** DuckDB has the grammar of PostgreSQL, except for placeholders. */
export const isPostgres = (dialect: Dialect): boolean => dialect === 'postgresql' || dialect === 'duckdb';

/** A token of a statement; `open`: its end is missing. */
export interface SqlPiece {
  readonly kind: 'comment' | 'string' | 'identifier' | 'word' | 'number' | 'parameter' | 'placeholder' | 'separator' | 'mark';
  readonly start: number;
  readonly end: number;
  readonly open?: true;
}

/** Keywords before a value, so that a following bracket is no subscript. */
const KEYWORDS: ReadonlySet<string> = new Set(
  `all and any as between by case collate cross default distinct else end escape except exists false filter for from full glob group having
   ilike in inner intersect interval into is join lateral left like limit match natural not null of offset on or order outer over
   partition regexp returning right rlike select set similar some then true union using values when where window with xor`.split(
    /\s+/,
  ),
);

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;
const NUMBER = /0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y;
const DOLLAR = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const HEREDOC = /\$\w*\$/y;
const NAME = /:[A-Za-z_]\w*/y;
const PLACEHOLDER: Readonly<Record<Dialect, RegExp>> = {
  postgresql: /\$\d+/y,
  duckdb: /\?\d*|\$(?:\d+|[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*(?!\$))/y,
  mysql: /\?/y,
  sqlite: /\?\d*|[$@#][\w$\u0080-\uffff]+/y,
  clickhouse: /\{[^{}]*\}/y,
};

const OPENS: Readonly<Record<string, string>> = { ')': '(', ']': '[' };

/** Tokenizes a statement like the server's scanner, but continues after errors, since people are typing. */
export function scanSql(sql: string, dialect: Dialect): SqlPiece[] {
  const pieces: SqlPiece[] = [];
  const brackets: string[] = [];
  for (let at = 0; at < sql.length;) {
    const piece = pieceAt(sql, at, dialect, pieces.at(-1), brackets.at(-1));
    if (piece === undefined) {
      at += 1;
      continue;
    }
    if (piece.kind === 'mark') {
      const char = sql[at] ?? '';
      if (char === '(' || char === '[') brackets.push(char);
      else if (OPENS[char] !== undefined && brackets.at(-1) === OPENS[char]) brackets.pop();
    }
    pieces.push(piece);
    at = piece.end;
  }
  return pieces;
}

function pieceAt(
  sql: string,
  at: number,
  dialect: Dialect,
  before: SqlPiece | undefined,
  bracket: string | undefined,
): SqlPiece | undefined {
  const char = sql[at] ?? '';
  const quote = quoteAt(sql, at, dialect, before);
  if (quote !== undefined) return quote;
  if (isLineComment(sql, at, dialect)) return { kind: 'comment', start: at, end: lineEnd(sql, at, dialect) };
  if (sql.startsWith('/*', at)) return closed('comment', at, commentEnd(sql, at, isPostgres(dialect)), sql);
  if (char === ':') {
    if (sql[at + 1] === ':' || sql[at + 1] === '=') return { kind: 'mark', start: at, end: at + 2 };
    const end = match(NAME, sql, at);
    // ClickHouse reads `a.:Int64` as part of a value.
    if (dialect === 'clickhouse' && sql[at - 1] === '.' && before?.end !== at) return undefined;
    if (end < 0 || (isPostgres(dialect) && isSlice(sql, at, before, bracket))) return undefined;
    return { kind: 'parameter', start: at, end };
  }
  const placeholder = match(PLACEHOLDER[dialect], sql, at);
  if (placeholder > at) return { kind: 'placeholder', start: at, end: placeholder };
  if (char === ';') return { kind: 'separator', start: at, end: at + 1 };
  const word = match(WORD, sql, at);
  if (word > at) return { kind: 'word', start: at, end: word };
  const number = match(NUMBER, sql, at);
  if (number > at) {
    // Only PostgreSQL ends a number where a letter begins.
    const rest = isPostgres(dialect) ? -1 : match(WORD, sql, number);
    return { kind: rest < 0 ? 'number' : 'word', start: at, end: Math.max(number, rest) };
  }
  return '()[]'.includes(char) ? { kind: 'mark', start: at, end: at + 1 } : undefined;
}

function quoteAt(sql: string, at: number, dialect: Dialect, before: SqlPiece | undefined): SqlPiece | undefined {
  const char = sql[at] ?? '';
  const backslash = dialect === 'mysql' || dialect === 'clickhouse';
  if (char === "'") return closed('string', at, quotedEnd(sql, at, char, backslash), sql);
  if (char === '"') {
    const kind = dialect === 'mysql' ? 'string' : 'identifier';
    return closed(kind, at, quotedEnd(sql, at, char, backslash), sql);
  }
  if (char === '`' && !isPostgres(dialect))
    return closed('identifier', at, quotedEnd(sql, at, char, dialect === 'clickhouse'), sql);
  if (dialect === 'sqlite' && char === '[' && !opensBlock(sql, at, before)) {
    const end = sql.indexOf(']', at);
    return closed('identifier', at, end < 0 ? -1 : end + 1, sql);
  }
  if (!isPostgres(dialect) && dialect !== 'clickhouse') return undefined;
  if (isPostgres(dialect) && /^[eE]'/.test(sql.slice(at, at + 2)))
    return closed('string', at, quotedEnd(sql, at + 1, "'", true), sql);
  const tag = char === '$' ? match(dialect === 'clickhouse' ? HEREDOC : DOLLAR, sql, at) : -1;
  if (tag < 0) return undefined;
  const end = sql.indexOf(sql.slice(at, tag), tag);
  return closed('string', at, end < 0 ? -1 : end + tag - at, sql);
}

const closed = (kind: SqlPiece['kind'], start: number, end: number, sql: string): SqlPiece =>
  end < 0 ? { kind, start, end: sql.length, open: true } : { kind, start, end };

/** Offset after the closing quote, or -1. */
function quotedEnd(sql: string, at: number, quote: string, backslash: boolean): number {
  for (let i = at + 1; i < sql.length; i++) {
    if (backslash && sql[i] === '\\') i++;
    else if (sql[i] === quote) {
      if (sql[i + 1] !== quote) return i + 1;
      i++;
    }
  }
  return -1;
}

function commentEnd(sql: string, at: number, nested: boolean): number {
  let depth = 0;
  for (let i = at; i < sql.length; i++) {
    if (nested ? sql.startsWith('/*', i) : i === at) {
      depth++;
      i++;
    } else if (sql.startsWith('*/', i)) {
      i++;
      if (--depth === 0) return i + 1;
    }
  }
  return -1;
}

function isLineComment(sql: string, at: number, dialect: Dialect): boolean {
  if (dialect === 'mysql') return sql[at] === '#' || (sql.startsWith('--', at) && !(sql.charCodeAt(at + 2) > 32));
  return sql.startsWith('--', at);
}

function lineEnd(sql: string, at: number, dialect: Dialect): number {
  const end = sql.slice(at).search(isPostgres(dialect) ? /[\n\r]/ : /\n/);
  return end < 0 ? sql.length : at + end;
}

/** In SQLite `[[` never starts a name, because it opens an optional block. */
function opensBlock(sql: string, at: number, before: SqlPiece | undefined): boolean {
  if (before?.kind === 'mark' && before.end === at && sql[before.start] === '[') return sql[at - 2] !== '[';
  return sql[at + 1] === '[' && !(before?.end === at && isName(sql, before));
}

/** The colon of a slice or of JSON_OBJECT('k':v) directly follows an operand; a parameter never does. */
function isSlice(sql: string, at: number, before: SqlPiece | undefined, bracket: string | undefined): boolean {
  if (before?.end !== at) return false;
  if (['number', 'string', 'identifier', 'parameter'].includes(before.kind)) return true;
  if (sql[at - 1] === ')' || sql[at - 1] === ']') return true;
  return before.kind === 'word' && bracket === '[' && isName(sql, before);
}

function isName(sql: string, { kind, start, end }: SqlPiece): boolean {
  return kind === 'identifier' || (kind === 'word' && !KEYWORDS.has(sql.slice(start, end).toLowerCase()));
}

function match(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : -1;
}

/** Every `:name` of a statement, in order of first appearance. */
export function parameterNames(sql: string, dialect: Dialect): string[] {
  const found = scanSql(sql, dialect).filter(({ kind }) => kind === 'parameter');
  return [...new Set(found.map(({ start, end }) => sql.slice(start + 1, end)))];
}

/** The text of `[[ … :name … ]]`, brackets included, with the names that decide whether it is included. */
interface OptionalBlock {
  readonly start: number;
  readonly end: number;
  readonly names: readonly string[];
}

/** The optional blocks of a statement; brackets without a parameter inside are plain SQL. */
export function optionalBlocks(sql: string, pieces: readonly SqlPiece[]): OptionalBlock[] {
  const blocks: OptionalBlock[] = [];
  const solid = pieces.filter(({ kind }) => kind !== 'comment');
  for (let i = 0; i < solid.length; i++) {
    if (!isPair(sql, solid, i, '[') || followsName(sql, solid, i)) continue;
    const names: string[] = [];
    let depth = 0;
    for (let j = i + 2; j < solid.length; j++) {
      const { kind, start, end } = solid[j] ?? { kind: 'mark', start: 0, end: 0 };
      if (kind === 'parameter') names.push(sql.slice(start + 1, end));
      if (kind !== 'mark') continue;
      if (depth === 0 && isPair(sql, solid, j, ']')) {
        if (names.length > 0) blocks.push({ start: solid[i]?.start ?? 0, end: end + 1, names: [...new Set(names)] });
        i = j + 1;
        break;
      }
      if ('(['.includes(sql[start] ?? ' ')) depth++;
      else if (')]'.includes(sql[start] ?? ' ')) depth--;
    }
  }
  return blocks;
}

function isPair(sql: string, pieces: readonly SqlPiece[], at: number, char: string): boolean {
  const [one, two] = [pieces[at], pieces[at + 1]];
  return one !== undefined && sql[one.start] === char && one.kind === 'mark' && two?.start === one.end && sql[two.start] === char;
}

/** Directly after a name, `array` or a bracket, `[[` is a subscript or an array. */
function followsName(sql: string, pieces: readonly SqlPiece[], at: number): boolean {
  const [before, here] = [pieces[at - 1], pieces[at]];
  if (before === undefined || here === undefined) return false;
  if (before.kind === 'word' && sql.slice(before.start, before.end).toLowerCase() === 'array') return true;
  return before.end === here.start && (isName(sql, before) || sql[before.start] === '[');
}

/** The first of several faults at the same offset. */
export const eachOnce = <T extends { readonly start: number }>(faults: readonly T[]): T[] =>
  faults.filter(({ start }, index) => faults.findIndex((one) => one.start === start) === index);

/** Errors that are certain, with their offsets; the server finds the rest. */
export function sqlFaults(sql: string, pieces: readonly SqlPiece[]): { start: number; end: number; message: string }[] {
  const faults = pieces.flatMap(({ kind, start, end, open }) => {
    if (kind === 'placeholder') return [{ start, end, message: 'Write each parameter as :name.' }];
    if (open === undefined) return [];
    const what = kind === 'comment' ? 'This comment' : kind === 'string' ? 'This string' : 'This quoted name';
    return [{ start, end: Math.min(end, start + 1), message: `${what} is not closed.` }];
  });
  const separator = pieces.findIndex(({ kind }) => kind === 'separator');
  const next = separator < 0 ? undefined : pieces.slice(separator + 1).find(({ kind }) => kind !== 'comment');
  if (next === undefined) return faults;
  const message = 'One statement only.';
  return [...faults, { start: next.start, end: sql.trimEnd().length, message }];
}
