export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type Row = Record<string, Json>;

/** The JSON form of a column's values; every column can also be null. */
export type ValueKind = 'boolean' | 'integer' | 'bigint' | 'number' | 'string' | 'bytes' | 'json' | 'array';

export interface Column {
  readonly name: string;
  /** The database's name of the type, for people. */
  readonly type: string;
  readonly kind: ValueKind;
}

/** Types of single values that statements take. */
export type ScalarType = 'string' | 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'uuid' | 'json' | 'bytes';

/** Type of a bound value, declared by the tool and never guessed from the value. */
export type BoundType = ScalarType | { readonly array: ScalarType };

/** A statement for the driver: text with the dialect's placeholders and the values in order. */
export interface BoundStatement {
  readonly text: string;
  readonly values: readonly Json[];
  readonly types: readonly BoundType[];
  /** The declared type of each value, by the database's name; null: it infers one. Absent: it infers all. */
  readonly declared?: readonly (string | null)[] | undefined;
  /** The grammar that it was parsed with. Absent: any grammar of the engine. */
  readonly dialect?: string;
}

export interface QueryResult {
  readonly columns: readonly Column[];
  /** Values that are ready for JSON; a repeated column name gets `_2`, `_3` … */
  readonly rows: Row[];
  readonly truncated: boolean;
  /** Rows changed by a writing statement that returns none; null for a statement that returns rows. */
  readonly affected_rows: number | null;
  /** Number of results of a procedure, of which this is the first with rows. Absent: one. */
  readonly results?: number;
}
