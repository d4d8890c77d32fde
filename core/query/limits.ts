import type { QueryResult } from '#core/lib/sql/result.ts';

/** What ends a result; its tool or connection has settings of these names. */
export interface Limits {
  readonly max_rows: number;
  readonly max_bytes: number;
  readonly max_tokens?: number;
}
export type Limit = keyof Limits;

export interface LimitedResult extends QueryResult {
  /** The one that ended it. Absent: it is whole. */
  readonly limit?: Limit;
}

/** Beyond this many characters for each token nothing more is fetched: the estimate decides about what was. */
const CHARACTERS = 16;

/** Bytes after which nothing more is fetched. */
export const fetchedBytes = ({ max_bytes, max_tokens = Infinity }: Limits): number =>
  Math.min(max_bytes, max_tokens * CHARACTERS);

/** What ended a result while it was fetched. */
export function fetchLimit({ rows }: QueryResult, limits: Limits): Limit {
  if (rows.length >= limits.max_rows) return 'max_rows';
  return fetchedBytes(limits) < limits.max_bytes ? 'max_tokens' : 'max_bytes';
}

/** A result that was fetched, with what ended it. */
export const limited = (result: QueryResult, limits: Limits): LimitedResult =>
  result.truncated ? { ...result, limit: fetchLimit(result, limits) } : result;
