import type { ScalarType } from './result.ts';
import type { SqlDialect } from './dialect.ts';
import { type Mention, mentions, unquoted } from './mentions.ts';
import { KEYWORDS, tokenize, type Token } from './tokenize.ts';

/** The column that a parameter is compared with or written to, as far as the text shows. */
export interface ParameterUse {
  readonly name: string;
  /** The column's name, and the table or alias before its dot. */
  readonly column: { readonly of: string | null; readonly name: string } | null;
  /** True when only values of the column make sense: compared for equality, looked up in a list, or written. */
  readonly exact: boolean;
  /** True when values are looked up in it: `in (:x)`, `= any(:x)`. */
  readonly list: boolean;
  /** The type that the position requires. */
  readonly type: ScalarType | null;
}

export interface StatementUses {
  readonly tables: readonly Mention[];
  /** One for each name, in order of first appearance. */
  readonly uses: readonly ParameterUse[];
}

const COMPARED = new Set(['=', '==', '<>', '!=', '<', '>', '<=', '>=', '<=>']);
const EXACT = new Set(['=', '==', '<>', '!=', '<=>']);
const LIKE = new Set(['like', 'ilike', 'glob', 'regexp', 'rlike']);

/** Throws `invalid` for text that no server would accept. */
export function parameterUses(sql: string, dialect: SqlDialect): StatementUses {
  const tokens = meaningful(sql, dialect);
  const found = new Map<string, ParameterUse>();
  for (const { is_tested: _, ...use } of usesIn(sql, tokens)) {
    const known = found.get(use.name);
    // The most informative use counts: a name may first be tested for null.
    if (known === undefined || (known.column === null && known.type === null)) found.set(use.name, use);
  }
  return { tables: mentions(sql, tokens), uses: [...found.values()] };
}

/** One entry per use of a value; `:x is null` only tests whether there is one. Throws `invalid` as `parameterUses` does. */
export const everyUse = (sql: string, dialect: SqlDialect): readonly ParameterUse[] =>
  usesIn(sql, meaningful(sql, dialect)).filter(({ is_tested }) => !is_tested);

const meaningful = (sql: string, dialect: SqlDialect): Token[] =>
  tokenize(sql, dialect).filter(({ kind }) => kind !== 'space' && kind !== 'comment');

interface ParameterPosition extends ParameterUse {
  /** True when it is only tested for null. */
  readonly is_tested: boolean;
}
const NO_USE = { column: null, exact: false, list: false, type: null, is_tested: false } as const;

function usesIn(sql: string, tokens: readonly Token[]): ParameterPosition[] {
  const reader = createReader(sql, tokens);
  return tokens.flatMap(({ kind, start, end }, at) =>
    kind === 'parameter' ? [{ ...NO_USE, name: sql.slice(start + 1, end), ...reader.useAt(at) }] : [],
  );
}

function createReader(sql: string, tokens: readonly Token[]) {
  const text = (at: number): string => {
    const piece = tokens[at];
    return piece === undefined ? '' : sql.slice(piece.start, piece.end).toLowerCase();
  };
  const isName = (at: number): boolean =>
    tokens[at]?.kind === 'identifier' || (tokens[at]?.kind === 'word' && !KEYWORDS.has(text(at)));
  const nameAt = (at: number): string => unquoted(sql.slice(tokens[at]?.start, tokens[at]?.end));

  /** With an operator next to it, a column is part of an expression, which has other values than the column. */
  const isOperator = (at: number): boolean => /^[^\w\s"'`(),;.[\]:=<>!]+$|^::$/.test(text(at));
  /** The column whose name ends at a token. */
  const columnBefore = (at: number): ParameterUse['column'] => {
    if (!isName(at)) return null;
    const of = text(at - 1) === '.' && isName(at - 2) ? nameAt(at - 2) : null;
    return isOperator(of === null ? at - 1 : at - 3) ? null : { of, name: nameAt(at) };
  };
  /** The column whose name starts at a token. Null for the name of a function. */
  const columnAfter = (at: number): ParameterUse['column'] => {
    if (!isName(at)) return null;
    const last = text(at + 1) === '.' && isName(at + 2) ? at + 2 : at;
    return text(last + 1) === '(' || isOperator(last + 1) ? null : columnBefore(last);
  };
  /** Index of the bracket at which a list of values starts. */
  const listStart = (at: number): number => {
    let start = at;
    while (start > 0 && (text(start) === ',' || ['parameter', 'number', 'string'].includes(tokens[start]?.kind ?? '')))
      start -= 1;
    return text(start) === '(' ? start : -1;
  };
  const beforeNot = (at: number): number => (text(at) === 'not' ? at - 1 : at);

  /** `insert into t (a, b) values (:a, :b)`: the column with the same index. */
  const insertedAt = (at: number, start: number): ParameterUse['column'] => {
    let index = 0;
    for (let i = start + 1; i < at; i++) if (text(i) === ',') index += 1;
    let values = start - 1;
    while (values > 0 && text(values) !== 'values') values -= 1;
    if (text(values - 1) !== ')') return null;
    let open = values - 2;
    while (open > 0 && text(open) !== '(') open -= 1;
    const names = tokens.slice(open + 1, values - 1).flatMap((_, i) => (isName(open + 1 + i) ? [nameAt(open + 1 + i)] : []));
    const name = names[index];
    return name === undefined || !isName(open - 1) ? null : { of: null, name };
  };

  return {
    useAt(at: number): Partial<ParameterPosition> {
      const before = text(at - 1);
      if (before === 'limit' || before === 'offset' || (before === ',' && text(at - 3) === 'limit')) return { type: 'integer' };
      if (COMPARED.has(before)) return { column: columnBefore(at - 2), exact: EXACT.has(before) };
      if (LIKE.has(before)) return { column: columnBefore(beforeNot(at - 2)), type: 'string' };
      if (before === 'between') return { column: columnBefore(beforeNot(at - 2)) };
      if (before === 'and' && text(at - 3) === 'between') return { column: columnBefore(beforeNot(at - 4)) };
      const start = listStart(at - 1);
      if (start > 0) {
        const only = start === at - 1 && text(at + 1) === ')';
        if (text(start - 1) === 'in') return { column: columnBefore(beforeNot(start - 2)), exact: true, list: only };
        if (only && ['any', 'some', 'all'].includes(text(start - 1)) && COMPARED.has(text(start - 2)))
          return { column: columnBefore(start - 3), exact: EXACT.has(text(start - 2)), list: true };
        if (text(start - 1) === 'values' || (text(start - 1) === ',' && text(start - 2) === ')'))
          return { column: insertedAt(at, start), exact: true };
      }
      if (COMPARED.has(text(at + 1))) return { column: columnAfter(at + 2), exact: EXACT.has(text(at + 1)) };
      const end = text(at + 1) === '::' ? at + 3 : at + 1;
      return { is_tested: text(end) === 'is' && text(text(end + 1) === 'not' ? end + 2 : end + 1) === 'null' };
    },
  };
}
