import type { ParameterType } from '#core/lib/sql/statement.ts';
import type { BoundType, Column, Json } from '#core/lib/sql/result.ts';

export interface DuckdbText {
  readonly text: string;
  readonly types: readonly BoundType[];
  /** The types that some are told already; absent: none is. */
  readonly declared?: readonly (string | null)[];
  /** The parameter of each placeholder; absent: each has one of its own. */
  readonly names?: readonly string[];
}

export interface DuckdbRun extends DuckdbText {
  readonly values: readonly Json[];
  /** `trusted` is for our own catalogue statements. */
  readonly policy: 'read' | 'trusted';
  /** What explains the statement in the place of running it. */
  readonly prefix?: string | undefined;
  readonly max_rows: number;
  readonly max_bytes: number;
}

export interface DuckdbRows {
  readonly columns: readonly Column[];
  /** JSON text of the list of row objects: one string crosses to the parent faster than its parts. */
  readonly rows: string;
  readonly truncated: boolean;
}

export interface DuckdbFault {
  /** What DuckDB says, with its kind and place in JSON. */
  readonly message: string;
  /** Why the statement is not allowed, as a sentence; null: DuckDB refused it. */
  readonly refused: string | null;
  /** It would change something. */
  readonly writes: boolean;
}

export interface DuckdbDescribed {
  readonly columns: readonly Column[];
  /** How it reads each placeholder. */
  readonly reads: readonly ParameterType[];
}
