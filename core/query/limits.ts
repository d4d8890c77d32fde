import type { QueryResult } from '#core/lib/sql/result.ts';

/** Limits of a result, named like the settings of its tool or connection. */
export interface Limits {
  readonly max_rows: number;
  readonly max_bytes: number;
  readonly max_tokens?: number;
}
export type Limit = keyof Limits;

export interface LimitedResult extends QueryResult {
  /** The limit that cut the result. Absent: the result is complete. */
  readonly limit?: Limit;
  /** A sentence about a plan above the limit of its tool. Absent: none. */
  readonly plan_note?: string;
}

/** Fetching stops at this many characters per token; `estimateTokens` then cuts the fetched rows. */
const CHARACTERS = 16;

/** Fetching stops after this many bytes. */
export const fetchedBytes = ({ max_bytes, max_tokens = Infinity }: Limits): number =>
  Math.min(max_bytes, max_tokens * CHARACTERS);

/** The limit at which fetching stopped. */
export function fetchLimit({ rows }: QueryResult, limits: Limits): Limit {
  if (rows.length >= limits.max_rows) return 'max_rows';
  return fetchedBytes(limits) < limits.max_bytes ? 'max_tokens' : 'max_bytes';
}

/** Adds the limit that cut a fetched result. */
export const limited = (result: QueryResult, limits: Limits): LimitedResult =>
  result.truncated ? { ...result, limit: fetchLimit(result, limits) } : result;
