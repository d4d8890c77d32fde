import type { ScalarType } from '#core/contract/definitions/parameters.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type Row = Record<string, Json>;

/** What a column's values look like in JSON; every column may also be null. */
export type ValueKind = 'boolean' | 'integer' | 'bigint' | 'number' | 'string' | 'bytes' | 'json' | 'array';

export interface Column {
  readonly name: string;
  /** The database's own name of the type, for people. */
  readonly type: string;
  readonly kind: ValueKind;
}

/** Type of a bound value: declared by the tool, never guessed from the value. */
export type BoundType = ScalarType | { readonly array: ScalarType };

/** A statement as it goes to the driver: text with the dialect's placeholders and the values in their order. */
export interface BoundStatement {
  readonly text: string;
  readonly values: readonly Json[];
  readonly types: readonly BoundType[];
  /** The type that the database is told for each value, by its own name; null: it infers one. Absent: it infers all. */
  readonly declared?: readonly (string | null)[] | undefined;
  /** The grammar that it was read in. Absent: any of the engine. */
  readonly dialect?: string;
}

export interface QueryResult {
  readonly columns: readonly Column[];
  /** JSON-ready values in the encoding of contract section 4; a repeated column name gets `_2`, `_3` … */
  readonly rows: Row[];
  readonly truncated: boolean;
  /** Rows changed by a writing statement that returns none; null for a statement that returns rows. */
  readonly affected_rows: number | null;
  /** How many results a procedure gave, of which this is the first that has rows. Absent: one. */
  readonly results?: number;
}
