import type { BoundType } from './result.ts';

/** A parameter that is all of a LIMIT or an OFFSET. */
export type LimitPlace = 'limit' | 'offset';

/** How the database reads one use of a parameter, as it was found when the statement was described. */
export interface ParameterType {
  /** The database's own name of the type that it is told; absent: it infers one. */
  readonly as?: string;
  /** Uses of one name that the database infers different types for have different numbers; absent: 0. */
  readonly apart?: number;
}

/**
 * A piece of a parsed statement. Text is sent as it stands; `name` is a bound value; with `in` the node replaces the whole
 * `IN (:name)` or `NOT IN (:name)` of an array parameter; a `block` is kept only when every name in it was given.
 */
export type SqlNode =
  | string
  | ({ readonly name: string; readonly in?: 'in' | 'not_in'; readonly place?: LimitPlace } & ParameterType)
  | { readonly block: readonly SqlNode[]; readonly names: readonly string[] };

/** A statement as JSON, ready to be bound: what a snapshot keeps. */
export interface Statement {
  /** The name of its grammar; every kind of database has one. */
  readonly dialect: string;
  readonly nodes: readonly SqlNode[];
  /** Every parameter name in order of first appearance. */
  readonly names: readonly string[];
  /** Declared type of each name that appears. */
  readonly types: Readonly<Record<string, BoundType>>;
  /** Names that always have a value; absent: it makes no difference in this grammar. */
  readonly given?: readonly string[];
}

export interface Classification {
  /** First keyword in lower case: select, with, insert, explain … */
  readonly command: string;
  /** The statement claims to read only; the session enforces it. */
  readonly read_only: boolean;
  /** Only built-ins of the closed list: may run in a `fixed` session. */
  readonly fixed: boolean;
  /** The whole statement is one parameter. */
  readonly passthrough: boolean;
  /** Set when no tool may hold such a statement, reading or writing: a sentence for its author. */
  readonly forbidden?: string | null;
  /** Present when it has effects that a rollback does not undo: a sentence for its author. */
  readonly lasting?: string;
  /** Why it is not read-only, in a sentence. */
  readonly reason: string | null;
}
