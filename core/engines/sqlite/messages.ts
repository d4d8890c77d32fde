import type { Column } from '#core/lib/sql/result.ts';
import type { SqliteValue } from './values.ts';

/** What the parent asks; one question at a time, so an answer needs no number. */
export type SqliteQuestion =
  | { readonly ask: 'open'; readonly path: string; readonly writable: boolean }
  | ({ readonly ask: 'run' } & SqliteRun)
  | { readonly ask: 'commit' }
  | { readonly ask: 'rollback' }
  | { readonly ask: 'describe'; readonly texts: readonly string[] };

export interface SqliteRun {
  readonly text: string;
  readonly values: readonly SqliteValue[];
  /** `trusted` is for our own catalogue statements. */
  readonly policy: 'read' | 'write' | 'trusted';
  readonly max_rows: number;
  readonly max_bytes: number;
  /** Every row that changes is counted. */
  readonly counts?: boolean;
}

export interface SqliteRows {
  readonly columns: readonly Column[];
  /** JSON text of the list of row objects: one string crosses to the parent faster than its parts. */
  readonly rows: string;
  readonly truncated: boolean;
  readonly affected_rows: number | null;
  /** Where it was asked for. */
  readonly changes?: { readonly direct: number; readonly all: number };
}

export interface SqliteFault {
  readonly message: string;
  /** SQLite's extended result code; null when the fault is ours. */
  readonly code: number | null;
  /** What the guard refused, in words. */
  readonly refused: string | null;
}

/** The columns of a statement, or why it does not compile. */
export type SqliteDescribed = { readonly columns: readonly Column[] } | { readonly fault: SqliteFault };

export type SqliteAnswer =
  | { readonly answer: 'opened' }
  | { readonly answer: 'rows'; readonly result: SqliteRows }
  | { readonly answer: 'committed' }
  | { readonly answer: 'rolled back' }
  | { readonly answer: 'described'; readonly statements: readonly SqliteDescribed[] }
  | { readonly answer: 'fault'; readonly fault: SqliteFault };
