import type { Column } from '#core/lib/sql/result.ts';
import type { SqliteValue } from './values.ts';

/** Requests of the parent. There is one at a time, so an answer needs no number. */
export type SqliteQuestion =
  | { readonly ask: 'open'; readonly path: string; readonly writable: boolean }
  | ({ readonly ask: 'run' } & SqliteRun)
  /** Starts a statement whose rows `part` fetches. */
  | ({ readonly ask: 'stream' } & SqliteRun)
  | { readonly ask: 'part' }
  | { readonly ask: 'commit' }
  | { readonly ask: 'rollback' }
  | { readonly ask: 'describe'; readonly texts: readonly string[] };

export interface SqliteRun {
  readonly text: string;
  readonly values: readonly SqliteValue[];
  /** `trusted` is for internal statements about the catalogue. */
  readonly policy: 'read' | 'write' | 'trusted';
  readonly max_rows: number;
  readonly max_bytes: number;
  /** When true, all changed rows are counted. */
  readonly counts?: boolean;
}

export interface SqliteRows {
  readonly columns: readonly Column[];
  /** JSON text of the list of row objects: one string is faster to send than its parts. */
  readonly rows: string;
  readonly truncated: boolean;
  readonly affected_rows: number | null;
  /** Present when `counts` was set. */
  readonly changes?: { readonly direct: number; readonly all: number };
}

/** The next rows of a streamed statement. */
export interface SqlitePart {
  /** JSON text, as in `SqliteRows`. */
  readonly rows: string;
  readonly is_last: boolean;
}

export interface SqliteFault {
  readonly message: string;
  /** SQLite's extended result code. Null: the error was raised by Sluice. */
  readonly code: number | null;
  /** The action that the guard refused, as text. */
  readonly refused: string | null;
}

/** The columns of a statement, or why it does not compile. */
export type SqliteDescribed = { readonly columns: readonly Column[] } | { readonly fault: SqliteFault };

export type SqliteAnswer =
  | { readonly answer: 'opened' }
  | { readonly answer: 'rows'; readonly result: SqliteRows }
  | { readonly answer: 'streaming'; readonly columns: readonly Column[] }
  | { readonly answer: 'part'; readonly part: SqlitePart }
  | { readonly answer: 'committed' }
  | { readonly answer: 'rolled back' }
  | { readonly answer: 'described'; readonly statements: readonly SqliteDescribed[] }
  | { readonly answer: 'fault'; readonly fault: SqliteFault };
