import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { SqlDialect } from './dialect.ts';
import { type Mention, mentions, unquoted } from './mentions.ts';
import { KEYWORDS, tokenize, type Token } from './tokenize.ts';

/** What a parameter is compared with or written to, as far as the text of a statement tells. */
export interface ParameterUse {
  readonly name: string;
  /** The column's name, and the table or alias before its dot. */
  readonly column: { readonly of: string | null; readonly name: string } | null;
  /** The column's own values are the ones that make sense: compared for equality, looked up in a list, or written. */
  readonly exact: boolean;
  /** It is looked up in: `in (:x)`, `= any(:x)`. */
  readonly list: boolean;
  /** Known from the place alone. */
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

/** Throws `invalid` for text that no server would read. */
export function parameterUses(sql: string, dialect: SqlDialect): StatementUses {
  const tokens = meaningful(sql, dialect);
  const found = new Map<string, ParameterUse>();
  for (const { is_tested: _, ...use } of usesIn(sql, tokens)) {
    const known = found.get(use.name);
    // The place that says most counts: a name may be tested for null first.
    if (known === undefined || (known.column === null && known.type === null)) found.set(use.name, use);
  }
  return { tables: mentions(sql, tokens), uses: [...found.values()] };
}

/** One for each place where the value counts: `:x is null` asks only whether there is one. Throws `invalid` as `parameterUses` does. */
export const everyUse = (sql: string, dialect: SqlDialect): readonly ParameterUse[] =>
  usesIn(sql, meaningful(sql, dialect)).filter(({ is_tested }) => !is_tested);

const meaningful = (sql: string, dialect: SqlDialect): Token[] =>
  tokenize(sql, dialect).filter(({ kind }) => kind !== 'space' && kind !== 'comment');

interface ParameterPosition extends ParameterUse {
  /** Only whether it is null counts. */
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

  /** Makes an expression of the column beside it, which has other values than the column. */
  const isOperator = (at: number): boolean => /^[^\w\s"'`(),;.[\]:=<>!]+$|^::$/.test(text(at));
  /** The column whose name ends at a token. */
  const columnBefore = (at: number): ParameterUse['column'] => {
    if (!isName(at)) return null;
    const of = text(at - 1) === '.' && isName(at - 2) ? nameAt(at - 2) : null;
    return isOperator(of === null ? at - 1 : at - 3) ? null : { of, name: nameAt(at) };
  };
  /** The column whose name begins at a token; a function's name is none. */
  const columnAfter = (at: number): ParameterUse['column'] => {
    if (!isName(at)) return null;
    const last = text(at + 1) === '.' && isName(at + 2) ? at + 2 : at;
    return text(last + 1) === '(' || isOperator(last + 1) ? null : columnBefore(last);
  };
  /** The bracket that a list of values begins with. */
  const listStart = (at: number): number => {
    let start = at;
    while (start > 0 && (text(start) === ',' || ['parameter', 'number', 'string'].includes(tokens[start]?.kind ?? '')))
      start -= 1;
    return text(start) === '(' ? start : -1;
  };
  const beforeNot = (at: number): number => (text(at) === 'not' ? at - 1 : at);

  /** `insert into t (a, b) values (:a, :b)`: the column at the same place. */
  const insertedAt = (at: number, start: number): ParameterUse['column'] => {
    let place = 0;
    for (let i = start + 1; i < at; i++) if (text(i) === ',') place += 1;
    let values = start - 1;
    while (values > 0 && text(values) !== 'values') values -= 1;
    if (text(values - 1) !== ')') return null;
    let open = values - 2;
    while (open > 0 && text(open) !== '(') open -= 1;
    const names = tokens.slice(open + 1, values - 1).flatMap((_, i) => (isName(open + 1 + i) ? [nameAt(open + 1 + i)] : []));
    const name = names[place];
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
