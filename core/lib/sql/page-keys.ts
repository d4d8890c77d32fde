import type { BoundType, Column, Json } from './result.ts';
import type { SqlNode } from './statement.ts';

/** One column that orders pages, in the notation of a dialect. */
export interface PageKey {
  /** The exact expression to sort and compare, independent of collation. Null where the column is null. */
  readonly by: string;
  /** The expression of a cursor value. @param name of the bound value. */
  readonly value: (name: SqlNode) => readonly SqlNode[];
  /** Compares a row with a cursor value. Absent: with the operator between `by` and `value`. */
  readonly compare?: (operator: string, name: SqlNode) => readonly SqlNode[];
  readonly bound: BoundType;
  /** A result cell as a bound value. */
  readonly write: (cell: Json) => Json;
}

/** How pages are ordered in one grammar. */
export interface PageRules {
  readonly quote: (name: string) => string;
  /** The operator that is true for equal values and for two nulls. */
  readonly same: string;
  /** True when result columns have the types that were described. */
  readonly same_types?: boolean;
  /** True when ORDER BY supports NULLS LAST; an index in that order is then used. */
  readonly nulls_last: boolean;
  /** Null: the column has no order, or its values cannot be bound unchanged. @param name quoted. */
  readonly key: (name: string, column: Pick<Column, 'type' | 'kind'>) => PageKey | null;
}

export const asText = (cell: Json): Json => (cell === null || typeof cell === 'string' ? cell : JSON.stringify(cell));

/** A value that the database casts to the type of its column. */
export const cast = (by: string, type: string, more: Partial<PageKey> = {}): PageKey => ({
  by,
  value: (name) => ['CAST(', name, ` AS ${type})`],
  bound: 'string',
  write: asText,
  ...more,
});

export const doubled = (sign: string) => (name: string) => `${sign}${name.replaceAll(sign, sign + sign)}${sign}`;
