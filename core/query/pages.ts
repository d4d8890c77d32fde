import type { BoundStatement, Json, QueryResult, Row } from '#core/lib/sql/result.ts';
import { AppError } from '#core/errors.ts';
import { bind, type BoundValues } from '#core/lib/sql/bind.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import type { Paging } from '#core/lib/sql/paging.ts';
import type { Statement } from '#core/lib/sql/statement.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { fetchedBytes, fetchLimit, type Limit, limited, type LimitedResult, type Limits } from './limits.ts';

/** The cell values after which the next page starts, in the order of the tool's `page_by`. */
export type Position = readonly Json[];

/** Some databases compare only the start of long texts when sorting, and a cursor should stay short. */
const LONGEST_KEY = 250;

/** Fetch limits. For pages they exceed the page slightly, to see the row after it. */
export function fetchLimits(limits: Limits, paged: boolean): { max_rows: number; max_bytes: number } {
  const { max_rows } = limits;
  const max_bytes = fetchedBytes(limits);
  return paged ? { max_rows: max_rows + 1, max_bytes: max_bytes * 2 } : { max_rows, max_bytes };
}

/** Counts the rows within the limits. `limit` is the one that the next row exceeds, or null if all rows fit. */
function fitting(
  rows: readonly Row[],
  { max_rows, max_bytes, max_tokens = Infinity }: Limits,
): { readonly count: number; readonly limit: Limit | null } {
  let [bytes, tokens, count] = [0, 0, 0];
  for (const row of rows) {
    if (count === max_rows) return { count, limit: 'max_rows' };
    const text = JSON.stringify(row);
    bytes += text.length + 1;
    if (max_tokens !== Infinity) tokens += estimateTokens(text) + 1;
    if (bytes > max_bytes) return { count, limit: 'max_bytes' };
    if (tokens > max_tokens) return { count, limit: 'max_tokens' };
    count++;
  }
  return { count, limit: null };
}

/**
 * Cuts a result at its limits, as the caller sees it.
 * @param masked the same rows after masking; the fetched rows are already within the row and byte limits.
 */
export function cutRows(result: QueryResult, masked: QueryResult, limits: Limits): LimitedResult {
  const as_fetched = masked === result;
  if (limits.max_tokens === undefined && as_fetched) return limited(result, limits);
  const cut = fitting(masked.rows, { ...limits, max_bytes: as_fetched ? Infinity : limits.max_bytes });
  if (cut.limit !== null) return { ...masked, rows: masked.rows.slice(0, cut.count), truncated: true, limit: cut.limit };
  return result.truncated ? { ...masked, limit: fetchLimit(result, limits) } : masked;
}

/**
 * Cuts one page from the fetched rows. A page ends only where the `page_by` values change, so no row is skipped or repeated even
 * if these values are not unique.
 * @param after the position at which the page starts. @param result the unmasked rows, which give the next position.
 * @param masked the rows that the caller sees, to which the limits apply.
 * @returns `next` is null on the last page.
 */
export function cutPage(
  result: QueryResult,
  masked: QueryResult,
  { keys }: Paging,
  limits: Limits,
  after: Position | null,
): { readonly result: LimitedResult; readonly next: Position | null } {
  const { rows } = result;
  const { count: fit, limit } = fitting(masked.rows, limits);
  const is_last = fit === rows.length && !result.truncated;
  if (!is_last || after !== null) refuseRetyped(result, keys);
  if (is_last) return { result: masked, next: null };
  const positionOf = (row: Row | undefined): Position => keys.map(({ column }) => row?.[column] ?? null);
  const textOf = (row: Row | undefined): string => JSON.stringify(positionOf(row));
  // The first row that was not fetched may have the same values as the last fetched one.
  const following = textOf(rows[fit] ?? rows[fit - 1]);
  let end = fit;
  while (end > 0 && textOf(rows[end - 1]) === following) end--;
  if (end === 0) {
    const reached = limit ?? fetchLimit(result, limits);
    throw new AppError('too_large', fit === 0 ? rowTooLarge(reached) : tooAlike(keys.map(({ column }) => column)));
  }
  const next = positionOf(rows[end - 1]);
  if (next.some((cell) => typeof cell === 'string' && cell.length > LONGEST_KEY)) {
    throw new AppError(
      'too_large',
      `A value of ${listed(keys.map(({ column }) => column))} is too long to page by. Page by shorter columns.`,
    );
  }
  return { result: { ...masked, rows: masked.rows.slice(0, end), truncated: true }, next };
}

/** Refuses a changed column type: positions compare in the original type, so rows would be skipped or repeated. */
function refuseRetyped({ columns }: QueryResult, keys: Paging['keys']): void {
  for (const { column, type } of keys) {
    const now = columns.find(({ name }) => name === column)?.type ?? type;
    if (type === null || now === type) continue;
    const detail = `The column ${column} is ${now} now and was ${type} when this version was deployed, so its pages cannot be continued. Deploy again.`;
    throw new AppError('sql_error', detail);
  }
}

const listed = (names: readonly string[]): string => names.join(', ');
const rowTooLarge = (limit: Limit): string =>
  `The next row is larger than a page can be. Select fewer or shorter columns, or raise ${limit} of the tool.`;
const tooAlike = (columns: readonly string[]): string =>
  `More rows than fit on a page have the same ${listed(columns)}. Add a column to page_by that tells them apart, such as the primary key, or raise the limits of the tool.`;

/** Placeholder values for the page after a position; empty for the first page. */
const positionValues = ({ keys }: Paging, after: Position | null): Readonly<Record<string, Json>> =>
  after === null ? {} : Object.fromEntries(keys.map(({ name, write }, index) => [name, write(after[index] ?? null)]));

type Send = (statement: BoundStatement) => Promise<QueryResult>;

/** Returns the statement for a page, and `complete`, which sends more statements if the rows show that they are needed. */
export function pageStatements(
  paging: Paging,
  { max_rows }: Limits,
  dialect: SqlDialect,
  values: BoundValues,
  after: Position | null,
): { readonly first: BoundStatement; readonly complete: (result: QueryResult, send: Send) => Promise<QueryResult> } {
  const all = { ...values, ...positionValues(paging, after) };
  const { statement, parts, begins_whole, keys } = paging;
  const alone = (first: Statement) => ({ first: bind(first, dialect, all), complete: async (result: QueryResult) => result });
  if (after === null && begins_whole) return alone(statement);
  // Nulls sort last, so only nulls follow a null.
  if (after !== null && (after[0] ?? null) === null) return alone(parts.nulls);
  const later = keys.slice(1).map(({ column }) => column);
  return {
    first: bind(parts.plain ?? parts.values, dialect, all),
    async complete(result, send) {
      const has_null = result.rows.some((row) => later.some((column) => (row[column] ?? null) === null));
      const part = has_null ? await send(bind(parts.values, dialect, all)) : result;
      if (part.truncated || part.rows.length > max_rows) return part;
      const { rows, truncated } = await send(bind(parts.nulls, dialect, values));
      return { ...part, rows: [...part.rows, ...rows], truncated };
    },
  };
}
