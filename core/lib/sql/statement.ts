import type { BoundType } from './result.ts';

/** The clause whose whole operand is a parameter. */
export type LimitClause = 'limit' | 'offset';

/** How the database reads one use of a parameter, as found when the statement was described. */
export interface ParameterType {
  /** The database's name of the declared type. Absent: it infers one. */
  readonly as?: string;
  /** Distinguishes uses of one name for which the database infers different types. Absent: 0. */
  readonly apart?: number;
}

/**
 * A piece of a parsed statement. Text is sent unchanged; `name` is a bound value; with `in` the node replaces the whole `IN
 * (:name)` or `NOT IN (:name)` of an array parameter; a `block` is only included when every name in it was given.
 */
export type SqlNode =
  | string
  | ({ readonly name: string; readonly in?: 'in' | 'not_in'; readonly place?: LimitClause } & ParameterType)
  | { readonly block: readonly SqlNode[]; readonly names: readonly string[] };

/** A statement as JSON, ready to be bound, as snapshots contain it. */
export interface Statement {
  /** The name of its grammar. */
  readonly dialect: string;
  readonly nodes: readonly SqlNode[];
  /** Every parameter name in order of first appearance. */
  readonly names: readonly string[];
  /** Declared type of each name that appears. */
  readonly types: Readonly<Record<string, BoundType>>;
  /** Names that always have a value. Absent: this grammar does not need them. */
  readonly given?: readonly string[];
}

export interface Classification {
  /** First keyword in lower case: select, with, insert, explain … */
  readonly command: string;
  /** The statement is classified as read-only; the session enforces it. */
  readonly read_only: boolean;
  /** It only uses built-ins of the closed list, so it may run in a `fixed` session. */
  readonly fixed: boolean;
  /** The whole statement is one parameter. */
  readonly passthrough: boolean;
  /** A sentence for the author when no tool may contain such a statement. */
  readonly forbidden?: string | null;
  /** A sentence for the author when it has effects that a rollback does not undo. */
  readonly lasting?: string;
  /** Why it is not read-only, as a sentence. */
  readonly reason: string | null;
}
