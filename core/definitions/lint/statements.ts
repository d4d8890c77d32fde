import { KEYWORDS } from '#core/lib/sql/tokenize.ts';
import { type Piece, piecesOf, resultLists } from './sql-shape.ts';
import type { RuleFinding, Subject, SubjectQuery } from './subject.ts';

/** Findings in the statement of a definition. */
export function statementRules({ query }: Subject): RuleFinding[] {
  if (query === null) return [];
  const pieces = piecesOf(query.sql, query.dialect);
  if (pieces.length === 0) return [];
  return [starRule, boundRule, orderRule, optionalRule, confirmRule].flatMap((rule) => rule(query, pieces));
}

/** Commands that can be run, counted and rolled back. */
const COUNTED = new Set(['insert', 'update', 'delete', 'merge', 'with', 'select']);

function confirmRule({ reads, confirms }: SubjectQuery, [first]: readonly Piece[]): RuleFinding[] {
  if (reads || confirms) return [];
  const message = 'This tool changes data and asks nobody. Set confirm, so that a person sees how many rows would change.';
  const found = { rule: 'write-unconfirmed', field: 'confirm', message } as const;
  if (!COUNTED.has(first?.text ?? '')) return [found];
  return [{ ...found, fix: { label: 'Ask before every change', changes: { confirm: 'always' } } }];
}

const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;
const isPlain = (name: string): boolean => PLAIN_NAME.test(name) && !KEYWORDS.has(name);

function starRule({ sql, columns }: SubjectQuery, pieces: readonly Piece[]): RuleFinding[] {
  const stars = resultLists(pieces).flatMap((list) => list.filter((piece, n) => isStar(piece, list[n - 1])));
  const [star, ...more] = stars;
  if (star === undefined) return [];
  const message = 'The statement selects every column. Name those that a model needs.';
  const found = { rule: 'select-star', field: 'sql_query', message } as const;
  const names = columns?.map(({ name }) => name) ?? [];
  const [before, after] = [pieces[pieces.indexOf(star) - 1]?.text, pieces[pieces.indexOf(star) + 1]?.text];
  const alone = more.length === 0 && (before === 'select' || before === 'distinct') && after === 'from';
  const sure = alone && names.length > 0 && names.every(isPlain) && new Set(names).size === names.length;
  if (!sure) return [found];
  const written = `${sql.slice(0, star.start)}${names.join(', ')}${sql.slice(star.end)}`;
  return [{ ...found, fix: { label: `Name the ${names.length} columns`, changes: { sql_query: written } } }];
}

/** Whether this is the star of a SELECT, not a multiplication and not that of `count(*)`. */
const isStar = (piece: Piece, before: Piece | undefined): boolean =>
  piece.depth === 0 &&
  piece.text === '*' &&
  (before === undefined || [',', '.', 'distinct', 'all'].includes(before.text)) &&
  piece.kind === 'operator';

const LISTS: readonly SubjectQuery['returns'][] = ['rows', 'column', 'text', 'markdown', 'csv'];
const BOUNDS = new Set(['limit', 'fetch', 'order', 'top']);
const AGGREGATES =
  /^(?:count|sum|total|avg|min|max|every|bool_and|bool_or|(?:string|array|json|jsonb|xml)_agg|json_(?:group|array)\w*|jsonb_object_agg|group_concat|std\w*|var\w*)$/;
/** Columns that identify one row. */
const KEYS = new Set(['id', 'uuid']);

function boundRule({ sql, columns, returns, reads, pages }: SubjectQuery, pieces: readonly Piece[]): RuleFinding[] {
  const outer = pieces.filter(({ depth }) => depth === 0);
  const has = (word: string) => outer.some(({ kind, text }) => kind === 'word' && text === word);
  const bounded = outer.some(({ kind, text }) => kind === 'word' && BOUNDS.has(text));
  if (!reads || pages || bounded || !LISTS.includes(returns) || !has('select') || !has('from')) return [];
  const [list = []] = resultLists(pieces);
  const aggregated = list.some(({ text, kind }, n) => kind === 'word' && AGGREGATES.test(text) && list[n + 1]?.text === '(');
  if (aggregated && !has('group') && !list.some(({ text }) => text === 'over')) return [];
  if (outer.some((piece, n) => KEYS.has(piece.text) && outer[n + 1]?.text === '=' && !piece.in_block)) return [];
  const message = 'The statement has neither LIMIT nor ORDER BY. A result that reaches the row limit holds arbitrary rows.';
  const found = { rule: 'unbounded-rows', field: 'sql_query', message } as const;
  const first = columns?.[0];
  const end = pieces.at(-1)?.end ?? sql.length;
  if (first === undefined || ['json', 'bytes', 'array'].includes(first.kind)) return [found];
  const written = `${sql.slice(0, end)}\norder by 1\nlimit 100${sql.slice(end)}`;
  return [{ ...found, fix: { label: 'Order by the first column, at most 100 rows', changes: { sql_query: written } } }];
}

function orderRule({ sql }: SubjectQuery, pieces: readonly Piece[]): RuleFinding[] {
  const values = pieces.flatMap(({ text }, n) =>
    text === 'by' && pieces[n - 1]?.text === 'order' ? sortedValues(pieces, n + 1) : [],
  );
  const names = new Set(values.map(({ start, end }) => sql.slice(start, end)));
  return [...names].map((name) => {
    const message = `order by ${name} sorts nothing, because a parameter is a value, not the name of a column. Give ${name.slice(1)} an enum of names, and write order by case ${name} when 'name' then name … end.`;
    return { rule: 'order-by-value', field: 'sql_query', message };
  });
}

/** Words that end ORDER BY, in a statement, a window or an aggregate. */
const AFTER_ORDER = new Set(
  'limit offset fetch for union intersect except returning with settings format rows range groups separator'.split(' '),
);

/** Parameters that are a whole expression of an ORDER BY. @param start index of its first piece. */
function sortedValues(pieces: readonly Piece[], start: number): Piece[] {
  const depth = pieces[start - 1]?.depth ?? 0;
  const list = pieces.slice(start);
  const end = list.findIndex((piece) => piece.depth < depth || (piece.depth === depth && AFTER_ORDER.has(piece.text)));
  const items: Piece[][] = [[]];
  for (const piece of end === -1 ? list : list.slice(0, end)) {
    if (piece.depth === depth && piece.text === ',') items.push([]);
    else if (!'()[]'.includes(piece.text)) items.at(-1)?.push(piece);
  }
  return items.flatMap((item) => {
    const [value, next] = item[0]?.text === 'cast' ? item.slice(1) : item;
    const alone = next === undefined || AFTER_VALUE.has(next.text);
    return value?.kind === 'parameter' && alone ? [value] : [];
  });
}
const AFTER_VALUE = new Set(['asc', 'desc', 'nulls', 'collate', 'as', '::', ':']);

function optionalRule({ sql, parameters }: SubjectQuery, pieces: readonly Piece[]): RuleFinding[] {
  const optional = new Set(
    parameters
      .filter(({ required, from, default: fallback = null }) => !required && from === undefined && fallback === null)
      .map(({ name }) => `:${name}`.toLowerCase()),
  );
  // `:a is null or x = :a` handles a missing value.
  const known = new Set(pieces.flatMap(({ text }, n) => (pieces[n + 1]?.text === 'is' ? [text] : [])));
  const reported = new Set<string>();
  return pieces.flatMap((piece, n): RuleFinding[] => {
    const { kind, text, in_block } = piece;
    if (kind !== 'parameter' || in_block || !optional.has(text) || known.has(text) || reported.has(text)) return [];
    if (pieces[n - 1]?.text !== '=' && pieces[n + 1]?.text !== '=') return [];
    reported.add(text);
    const name = sql.slice(piece.start, piece.end);
    const message = `${name} is optional and compared with =. When it is not given, it is NULL and no row matches. Write the comparison in [[ ]].`;
    const written = inBlock(sql, pieces, n);
    const fix = written === null ? {} : { fix: { label: 'Make the comparison optional', changes: { sql_query: written } } };
    return [{ rule: 'optional-equals', field: 'sql_query', message, ...fix }];
  });
}

/** Tokens that may follow a condition that can be put in a block. */
const FOLLOWS = new Set(['and', 'order', 'group', 'limit', 'having', 'fetch', ')', '[']);

/** The statement with `column = :name` in an optional block; null when the comparison is part of a longer expression. */
function inBlock(sql: string, pieces: readonly Piece[], n: number): string | null {
  const follows = pieces[n + 1];
  if (pieces[n - 1]?.text !== '=' || (follows !== undefined && !FOLLOWS.has(follows.text))) return null;
  let first = n - 2;
  while (pieces[first]?.is_name === true && pieces[first - 1]?.text === '.') first -= 2;
  const [column, word, last] = [pieces[first], pieces[first - 1], pieces[n]];
  if (column?.is_name !== true || word === undefined || last === undefined) return null;
  // In `between a and b = :c`, and after OR, a block would change the meaning.
  if (pieces[first - 3]?.text === 'between') return null;
  const condition = sql.slice(column.start, last.end);
  const [before, after] = [sql.slice(0, word.start), sql.slice(last.end)];
  if (word.text === 'and') return `${before}[[and ${condition}]]${after}`;
  return word.text === 'where' ? `${before}where 1 = 1 [[and ${condition}]]${after}` : null;
}
