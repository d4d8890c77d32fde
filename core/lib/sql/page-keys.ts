import type { BoundType, Column, Json } from './result.ts';
import type { SqlNode } from './statement.ts';

/** One column that orders pages, as a dialect writes it. */
export interface PageKey {
  /** What is sorted and compared: exactly, whatever the collation. Null where the column is null. */
  readonly by: string;
  /** A value of a cursor beside it. @param name of the bound value. */
  readonly value: (name: SqlNode) => readonly SqlNode[];
  /** Compares a row with a value of a cursor; absent: by the operator between `by` and `value`. */
  readonly compare?: (operator: string, name: SqlNode) => readonly SqlNode[];
  readonly bound: BoundType;
  /** A cell of a result as it is bound. */
  readonly write: (cell: Json) => Json;
}

/** How pages are ordered in one grammar. */
export interface PageRules {
  readonly quote: (name: string) => string;
  /** Whether two values are the same, or both null. */
  readonly same: string;
  /** Columns of a result have the types with which they were described. */
  readonly same_types?: boolean;
  /** Whether an order can say where nulls come: an index in that order is used then. */
  readonly nulls_last: boolean;
  /** Null: values of such a column are not ordered, or not read back as they were. @param name quoted. */
  readonly key: (name: string, column: Pick<Column, 'type' | 'kind'>) => PageKey | null;
}

export const asText = (cell: Json): Json => (cell === null || typeof cell === 'string' ? cell : JSON.stringify(cell));

/** A value that the database turns into the type of its column. */
export const cast = (by: string, type: string, more: Partial<PageKey> = {}): PageKey => ({
  by,
  value: (name) => ['CAST(', name, ` AS ${type})`],
  bound: 'string',
  write: asText,
  ...more,
});

export const doubled = (sign: string) => (name: string) => `${sign}${name.replaceAll(sign, sign + sign)}${sign}`;
