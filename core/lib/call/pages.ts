import type { FrozenQuery } from '#snapshots/format.ts';
import type { Json, QueryResult, Row } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import type { Paging } from '../sql/paging.ts';
import { estimateTokens } from '../tokens.ts';

type Limits = Pick<FrozenQuery, 'max_rows' | 'max_bytes' | 'max_tokens'>;

/** The cells that say where the next page begins, in the order of the tool's `page_by`. */
export type Position = readonly Json[];

/** Beyond this many characters for each token nothing more is fetched: the estimate decides about what was. */
const CHARACTERS = 16;
/** Sorting looks at no more of a text in every database, and a cursor is to stay short. */
const LONGEST_KEY = 250;

/** What to fetch: of pages a little more than is returned, to see what follows. */
export function fetchLimits(
  { max_rows, max_bytes, max_tokens }: Limits,
  paged: boolean,
): { max_rows: number; max_bytes: number } {
  const most = Math.min(max_bytes, max_tokens === undefined ? Infinity : max_tokens * CHARACTERS);
  return paged ? { max_rows: max_rows + 1, max_bytes: most * 2 } : { max_rows, max_bytes: most };
}

/** How many of the rows a call returns. */
function fitting(rows: readonly Row[], { max_rows, max_bytes, max_tokens = Infinity }: Limits): number {
  let [bytes, tokens, count] = [0, 0, 0];
  for (const row of rows.slice(0, max_rows)) {
    const text = JSON.stringify(row);
    bytes += text.length + 1;
    if (max_tokens !== Infinity) tokens += estimateTokens(text) + 1;
    if (bytes > max_bytes || tokens > max_tokens) break;
    count++;
  }
  return count;
}

/** A result without the rows that are beyond the limit of tokens. */
export function cutTokens(result: QueryResult, limits: Limits): QueryResult {
  if (limits.max_tokens === undefined) return result;
  const count = fitting(result.rows, { ...limits, max_rows: result.rows.length, max_bytes: Infinity });
  return count === result.rows.length ? result : { ...result, rows: result.rows.slice(0, count), truncated: true };
}

/**
 * One page of what was fetched. It ends where the columns of the order have other values in the next row: so every row is in one
 * page, whether they tell all rows apart or not.
 * @returns `next`: null on the last page.
 */
export function cutPage(
  result: QueryResult,
  { keys }: Paging,
  limits: Limits,
): { readonly result: QueryResult; readonly next: Position | null } {
  const { rows } = result;
  const fit = fitting(rows, limits);
  if (fit === rows.length && !result.truncated) return { result, next: null };
  const positionOf = (row: Row | undefined): Position => keys.map(({ column }) => row?.[column] ?? null);
  const textOf = (row: Row | undefined): string => JSON.stringify(positionOf(row));
  // A row that was not fetched may have the same values as the last one that was.
  const following = textOf(rows[fit] ?? rows[fit - 1]);
  let end = fit;
  while (end > 0 && textOf(rows[end - 1]) === following) end--;
  if (end === 0) throw new AppError('too_large', fit === 0 ? ROW_TOO_LARGE : tooAlike(keys.map(({ column }) => column)));
  const next = positionOf(rows[end - 1]);
  if (next.some((cell) => typeof cell === 'string' && cell.length > LONGEST_KEY)) {
    throw new AppError(
      'too_large',
      `A value of ${listed(keys.map(({ column }) => column))} is too long to page by. Page by shorter columns.`,
    );
  }
  return { result: { ...result, rows: rows.slice(0, end), truncated: true }, next };
}

const listed = (names: readonly string[]): string => names.join(', ');
const ROW_TOO_LARGE =
  'The next row is larger than a page can be. Select fewer or shorter columns, or raise the limits of the tool.';
const tooAlike = (columns: readonly string[]): string =>
  `More rows than fit on a page have the same ${listed(columns)}. Add a column to page_by that tells them apart, such as the primary key, or raise the limits of the tool.`;

/** Values that begin a page behind a position. None: the first page. */
export const positionValues = ({ keys }: Paging, after: Position | null): Readonly<Record<string, Json>> =>
  after === null ? {} : Object.fromEntries(keys.map(({ name, write }, index) => [name, write(after[index] ?? null)]));
