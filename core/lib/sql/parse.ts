import { AppError } from '#core/errors.ts';
import type { BoundType, ScalarType } from './result.ts';
import type { SqlDialect } from './dialect.ts';
import type { LimitClause, SqlNode, Statement } from './statement.ts';
import { broken, isName, tokenize, type Token } from './tokenize.ts';

export interface DeclaredParameter {
  readonly name: string;
  readonly type: ScalarType | 'array';
  /** Type of the elements of an array; absent: `string`. */
  readonly items?: ScalarType | undefined;
  readonly required?: boolean | undefined;
  readonly default?: unknown;
  /** The source that fills it; absent: the caller does. */
  readonly from?: string | undefined;
}

interface Parsed {
  readonly statement: Statement;
  /** The offset in the SQL query of each leaf of the nodes (text or name, including blocks), in order. */
  readonly offsets: readonly number[];
}

/** Maximum nesting of parentheses; deeper text could overflow the stack of a later step. */
const MAX_DEPTH = 200;

/**
 * Parses one statement with `:name` parameters and `[[ … ]]` optional blocks. Throws `invalid` (field `sql_query`, with a
 * position) when it is not one statement or a name is not declared.
 */
export function parseSql(sql: string, dialect: SqlDialect, parameters: readonly DeclaredParameter[]): Statement {
  const { statement } = parse(sql, dialect, new Map(parameters.map((parameter) => [parameter.name, boundType(parameter)])));
  if (dialect.tells_given !== true) return statement;
  const given = parameters.filter((parameter) => statement.names.includes(parameter.name) && isGiven(parameter));
  return { ...statement, given: given.map(({ name }) => name) };
}

/** The offset in the SQL query of each leaf of a statement's nodes. */
export function leafOffsets(sql: string, { types }: Statement, dialect: SqlDialect): readonly number[] {
  return parse(sql, dialect, new Map(Object.entries(types))).offsets;
}

/** Every parameter name in the SQL query, in order of first appearance. */
export function parameterNames(sql: string, dialect: SqlDialect): string[] {
  const parameters = tokenize(sql, dialect).filter(({ kind }) => kind === 'parameter');
  return [...new Set(parameters.map(({ start, end }) => sql.slice(start + 1, end)))];
}

/** Declared names that do not occur in the statement, for a warning. */
export function unusedParameters(statement: Statement, parameters: readonly { readonly name: string }[]): string[] {
  return parameters.map(({ name }) => name).filter((name) => !statement.names.includes(name));
}

/** Names that are the whole operand of a LIMIT or an OFFSET. */
export const limitNames = (nodes: readonly SqlNode[]): string[] =>
  nodes.flatMap((node) => {
    if (typeof node === 'string') return [];
    if ('block' in node) return limitNames(node.block);
    return node.place === undefined ? [] : [node.name];
  });

function parse(sql: string, dialect: SqlDialect, declared: ReadonlyMap<string, BoundType>): Parsed {
  const tokens = oneStatement(tokenize(sql, dialect));
  refuseForeignForms(sql, dialect, tokens);
  refuseUndeclared(sql, tokens, declared);
  const blocks = findBlocks(sql, dialect, tokens);
  return build(sql, dialect, tokens, blocks, declared);
}

/**
 * True when every call has a value where the name is used. A call without a value from its source is refused, or the block is
 * dropped.
 */
const isGiven = ({ required, default: fallback, from }: DeclaredParameter): boolean =>
  required === true || (fallback !== undefined && fallback !== null) || from !== undefined;

function boundType({ type, items }: DeclaredParameter): BoundType {
  return type === 'array' ? { array: items ?? 'string' } : type;
}

const isTrivia = ({ kind }: Token): boolean => kind === 'space' || kind === 'comment';

/** The tokens before the final semicolon, if there is one. */
function oneStatement(tokens: readonly Token[]): readonly Token[] {
  const end = tokens.findIndex(({ kind }) => kind === 'separator');
  const statement = end < 0 ? tokens : tokens.slice(0, end);
  if (statement.every(isTrivia)) throw broken('The SQL query contains no statement.', 0);
  const next = end < 0 ? undefined : tokens.slice(end + 1).find((token) => !isTrivia(token));
  if (next)
    throw broken('The SQL query must contain exactly one statement; delete what follows the first semicolon.', next.start);
  return statement;
}

function refuseForeignForms(sql: string, dialect: SqlDialect, tokens: readonly Token[]): void {
  const significant = tokens.filter((token) => !isTrivia(token));
  for (const [i, { kind, start, end }] of significant.entries()) {
    if (kind === 'placeholder') throw rawPlaceholder(start);
    if (kind === 'executable') {
      throw broken('Comments that MySQL executes (with an exclamation mark) are not allowed; write their content as SQL.', start);
    }
    // In PostgreSQL a question mark is an operator, which needs an operand after it.
    if (!dialect.question_operator || kind !== 'operator' || sql.slice(start, end) !== '?') continue;
    const next = significant[i + 1];
    if (!next || /^[),]$/.test(sql.slice(next.start, next.end))) throw rawPlaceholder(start);
  }
}

const rawPlaceholder = (position: number): AppError =>
  broken('Placeholders such as ? and $1 are not allowed; write each parameter as :name.', position);

function refuseUndeclared(sql: string, tokens: readonly Token[], declared: ReadonlyMap<string, BoundType>): void {
  const missing = tokens.filter(({ kind, start, end }) => kind === 'parameter' && !declared.has(sql.slice(start + 1, end)));
  const [first] = missing;
  if (!first) return;
  const names = [...new Set(missing.map(({ start, end }) => sql.slice(start, end)))];
  const listed = names.slice(0, 10).join(', ') + (names.length > 10 ? ` and ${names.length - 10} more` : '');
  throw broken(
    names.length === 1
      ? `The SQL query uses ${listed}, which is not declared in parameters.`
      : `The SQL query uses ${listed}, which are not declared in parameters.`,
    first.start,
  );
}

interface Block {
  /** Index of the first bracket of `[[`. */
  readonly from: number;
  /** Index of the first bracket of `]]`. */
  readonly to: number;
}

interface Pair {
  readonly from: number;
  /** Index of the closing bracket. */
  to: number;
  /** The brackets around it. */
  readonly outer: Pair | undefined;
}

const CLOSES: Readonly<Record<string, string>> = { ')': '(', ']': '[' };

/** Every pair of brackets by the index of its opening one, in order. They must be balanced, inside and outside of blocks. */
function pairBrackets(sql: string, tokens: readonly Token[]): ReadonlyMap<number, Pair> {
  const pairs = new Map<number, Pair>();
  const stack: Pair[] = [];
  for (const [i, { kind, start }] of tokens.entries()) {
    if (kind !== 'punctuation') continue;
    const char = sql[start]!;
    if (char === '(' || char === '[') {
      const pair = { from: i, to: -1, outer: stack.at(-1) };
      pairs.set(i, pair);
      stack.push(pair);
      if (stack.length > MAX_DEPTH) throw broken(`The SQL query nests brackets deeper than ${MAX_DEPTH} levels.`, start);
    } else if (char === ')' || char === ']') {
      const top = stack.pop();
      if (top === undefined || !isBracket(sql, tokens[top.from], CLOSES[char]!))
        throw broken(`The SQL query closes a bracket that is not open.`, start);
      top.to = i;
    }
  }
  const [left] = stack;
  if (left) throw broken('The SQL query does not close a bracket.', tokens[left.from]!.start);
  return pairs;
}

/** The optional blocks by the index of their opening token: two pairs of brackets that open together and close together. */
function findBlocks(sql: string, dialect: SqlDialect, tokens: readonly Token[]): Map<number, Block> {
  const blocks = new Map<number, Block>();
  const pairs = pairBrackets(sql, tokens);
  const inner = new Set<number>();
  for (const [from, { to, outer }] of pairs) {
    if (inner.has(from) || !isBracket(sql, tokens[from], '[')) continue;
    const within_list = outer !== undefined && !inner.has(outer.from) && isBracket(sql, tokens[outer.from], '[');
    const doubled = isBracket(sql, tokens[from + 1], '[') && pairs.get(from + 1)?.to === to - 1;
    const opens = doubled && !within_list && !isSubscript(sql, tokens, from);
    if (opens) inner.add(from + 1);
    if (opens && tokens.slice(from, to).some(({ kind }) => kind === 'parameter')) blocks.set(from, { from, to: to - 1 });
    else if (dialect.bracket_names)
      throw broken('An optional block needs a :parameter; write names in double quotes.', tokens[from]!.start);
  }
  refuseNested(tokens, blocks);
  return blocks;
}

function refuseNested(tokens: readonly Token[], blocks: ReadonlyMap<number, Block>): void {
  let end = -1;
  for (const { from, to } of [...blocks.values()].sort((a, b) => a.from - b.from)) {
    if (from < end) throw broken('Optional blocks cannot be nested; write them one after the other.', tokens[from]!.start);
    end = to;
  }
}

function isBracket(sql: string, token: Token | undefined, char: string): boolean {
  return token?.kind === 'punctuation' && sql[token.start] === char;
}

/** True when the token before makes the brackets a subscript or an array. */
function isSubscript(sql: string, tokens: readonly Token[], index: number): boolean {
  if (isName(sql, tokens[index - 1])) return true;
  for (let i = index - 1; i >= 0; i--) {
    const token = tokens[i]!;
    if (!isTrivia(token)) return token.kind === 'word' && sql.slice(token.start, token.end).toLowerCase() === 'array';
  }
  return false;
}

function build(
  sql: string,
  dialect: SqlDialect,
  tokens: readonly Token[],
  blocks: ReadonlyMap<number, Block>,
  declared: ReadonlyMap<string, BoundType>,
): Parsed {
  const names = new Set<string>();
  const offsets: number[] = [];
  const end = tokens.at(-1)!.end;

  const between = (fromToken: number, toToken: number, from: number, to: number): { nodes: SqlNode[]; used: Set<string> } => {
    const nodes: SqlNode[] = [];
    const used = new Set<string>();
    let cursor = from;
    const text = (until: number): void => {
      if (until <= cursor) return;
      offsets.push(cursor);
      nodes.push(sql.slice(cursor, until));
    };
    for (let i = fromToken; i < toToken; i++) {
      const token = tokens[i]!;
      const block = blocks.get(i);
      if (block) {
        text(token.start);
        const inner = between(i + 2, block.to, tokens[i + 1]!.end, tokens[block.to]!.start);
        nodes.push({ block: inner.nodes, names: [...inner.used] });
        for (const name of inner.used) used.add(name);
        i = block.to + 1;
        cursor = tokens[i]!.end;
      } else if (token.kind === 'parameter') {
        const name = sql.slice(token.start + 1, token.end);
        const list = typeof declared.get(name) === 'object' ? inList(sql, tokens, i) : undefined;
        text(list?.start ?? token.start);
        offsets.push(list?.start ?? token.start);
        const clause = list === undefined ? limitClauseAt(sql, tokens, i) : undefined;
        nodes.push(list ? { name, in: list.in } : clause ? { name, place: clause } : { name });
        names.add(name);
        used.add(name);
        if (list) i = list.last;
        cursor = list?.end ?? token.end;
      }
    }
    text(to);
    return { nodes, used };
  };

  const { nodes } = between(0, tokens.length, 0, end);
  const types: Record<string, BoundType> = Object.create(null);
  for (const name of names) types[name] = declared.get(name)!;
  return { statement: { dialect: dialect.name, nodes, names: [...names], types: { ...types } }, offsets };
}

interface InList {
  readonly in: 'in' | 'not_in';
  readonly start: number;
  readonly end: number;
  /** Index of the closing bracket. */
  readonly last: number;
}

/** Skips spaces and comments, and compares words case-insensitively. */
function walkerOf(sql: string, tokens: readonly Token[]) {
  const step = (from: number, by: 1 | -1): number => {
    let i = from + by;
    while (tokens[i] && isTrivia(tokens[i]!)) i += by;
    return i;
  };
  const is = (i: number, text: string): boolean => {
    const token = tokens[i];
    return token !== undefined && sql.slice(token.start, token.end).toLowerCase() === text;
  };
  return { step, is };
}

/** The clause whose whole operand is the parameter at an index. An expression there is the author's concern. */
function limitClauseAt(sql: string, tokens: readonly Token[], index: number): LimitClause | undefined {
  const { step, is } = walkerOf(sql, tokens);
  let [before, after] = [step(index, -1), step(index, 1)];
  while (is(before, '(') && is(after, ')')) [before, after] = [step(before, -1), step(after, 1)];
  if (tokens[after]?.kind === 'operator' || is(step(before, -1), '.')) return undefined;
  if (is(before, 'offset')) return 'offset';
  // LIMIT 10, 20 has the offset first.
  if (is(before, 'limit')) return is(after, ',') ? 'offset' : 'limit';
  if (is(before, ',') && is(step(step(before, -1), -1), 'limit')) return 'limit';
  const isFetch = (is(before, 'first') || is(before, 'next')) && is(step(before, -1), 'fetch');
  return isFetch ? 'limit' : undefined;
}

/** The `IN (:name)` or `NOT IN (:name)` around the parameter at an index, when it is alone in the list. */
function inList(sql: string, tokens: readonly Token[], index: number): InList | undefined {
  const { step, is } = walkerOf(sql, tokens);
  const [before, after] = [step(index, -1), step(index, 1)];
  const word = step(before, -1);
  if (!is(before, '(') || !is(after, ')') || !is(word, 'in')) return undefined;
  const not = step(word, -1);
  const negated = is(not, 'not');
  return {
    in: negated ? 'not_in' : 'in',
    start: tokens[negated ? not : word]!.start,
    end: tokens[after]!.end,
    last: after,
  };
}
