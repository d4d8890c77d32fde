import type { ParameterType } from '#core/lib/sql/statement.ts';
import type { BoundType, Column, Json } from '#core/lib/sql/result.ts';

export interface DuckdbText {
  readonly text: string;
  readonly types: readonly BoundType[];
  /** Types that are already declared. Absent: none. */
  readonly declared?: readonly (string | null)[];
  /** The parameter of each placeholder. Absent: each has a separate parameter. */
  readonly names?: readonly string[];
}

export interface DuckdbRun extends DuckdbText {
  readonly values: readonly Json[];
  /** `trusted` is for internal statements about the catalogue. */
  readonly policy: 'read' | 'trusted';
  /** Explains the statement instead of running it. */
  readonly prefix?: string | undefined;
  readonly max_rows: number;
  readonly max_bytes: number;
}

export interface DuckdbRows {
  readonly columns: readonly Column[];
  /** JSON text of the list of row objects: one string is faster to send than its parts. */
  readonly rows: string;
  readonly truncated: boolean;
}

/** The next rows of a streamed statement. */
export interface DuckdbPart {
  /** JSON text, as in `DuckdbRows`. */
  readonly rows: string;
  readonly is_last: boolean;
}

export interface DuckdbFault {
  /** DuckDB's message; its kind and position are in JSON. */
  readonly message: string;
  /** Why the statement is not allowed, as a sentence. Null: DuckDB refused it. */
  readonly refused: string | null;
  /** True when the statement would change something. */
  readonly writes: boolean;
}

export interface DuckdbDescribed {
  readonly columns: readonly Column[];
  /** How DuckDB reads each placeholder. */
  readonly reads: readonly ParameterType[];
}
