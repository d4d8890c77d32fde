import type { Network, DialledFetch } from './network.ts';
import type { BoundStatement, Column, BoundType, QueryResult } from '#core/lib/sql/result.ts';
import type { ParameterType } from '#core/lib/sql/statement.ts';
import type { StopSignal } from './stop.ts';
import type { Table, TableColumn } from '#core/contract/definitions/schema.ts';
import type { AppError } from '#core/errors.ts';
import type { ConnectionSettings } from './connection-settings.ts';

/** Where something of this installation listens; with a database, only that one is ours. */
export interface OwnAddress {
  readonly host: string;
  readonly port: number;
  readonly database?: string;
}

/** What the process that dials allows; the same for every source in it. */
export interface DialPolicy {
  /** The way out of where there are no sockets and no name server of our own; absent: those of the machine. */
  readonly network?: Network;
  readonly allow_private_networks: boolean;
  /** Refused always, whatever is allowed: our own ports, Redis and metadata database. */
  readonly forbidden: readonly OwnAddress[];
  /** The same, for addresses that a deploy or a new configuration changes. */
  readonly forbiddenNow?: () => Promise<readonly OwnAddress[]>;
  /** Folder that holds every file database, absolute. */
  readonly sqlite_dir: string;
  /** Folder for what can be made again from the files of connections, absolute. Absent: beside them. */
  readonly cache_dir?: string;
  /** Files of our own that no connection may open, absolute: the metadata database and what lies beside it. */
  readonly forbidden_files?: readonly string[];
  /** Sends what goes to a checked address, where `fetch` cannot. */
  readonly fetch?: DialledFetch;
}

/** What the database is told of the caller for one statement, and nothing of it is left for the next. */
export interface SessionState {
  /** In the order of the connection's `session_values`; null: the caller has none. */
  readonly values: readonly (string | null)[];
  /** The role that it runs as; null: the account's own. */
  readonly role: string | null;
}

/** A text to describe. */
export interface DescribedText extends Pick<BoundStatement, 'text' | 'types' | 'declared'> {
  /** The parameter of each placeholder; absent: each has one of its own. */
  readonly names?: readonly string[];
}

export interface Description {
  readonly columns: readonly Column[];
  /** How the database reads each placeholder. Absent: it infers the types of all. */
  readonly reads?: readonly ParameterType[];
  /** The type that the database gives each placeholder; null where it gives none that a parameter has. Absent: it does not say. */
  readonly parameters?: readonly (BoundType | null)[];
}

/**
 * `fixed`: a read-only transaction, rolled back, in a session that keeps what is prepared; only for text of the snapshot that the
 * classifier calls fixed. A source runs it as `read` when the database holds anything of its names that could run other code.
 * `read`: the same with a reset of the session after it. `write`: own session, committed, then reset.
 */
export type SessionMode = 'fixed' | 'read' | 'write';

export interface RunOptions {
  readonly mode: SessionMode;
  readonly timeout_ms: number;
  /** Rows and bytes (of JSON text, about) after which fetching stops and `truncated` is set. */
  readonly max_rows: number;
  readonly max_bytes: number;
  /** Absent: nobody calls, so every session value is empty. */
  readonly session?: SessionState | undefined;
  /** With `write`: rolled back where it would be committed. Only for a source that says it can (`cannotRollBack`). */
  readonly rollback?: boolean;
  /**
   * With `write`: every row that changed is counted before the commit, and only true commits. Only where `cannotCount` says that it can;
   * the statement has then run to its end, with what is deferred to the commit.
   */
  readonly review?: ((changes: Changes) => boolean) | undefined;
  /** Aborted: the statement is cancelled in the database and the promise rejects with `cancelled`. */
  readonly signal?: StopSignal | undefined;
}

/** Rows that one writing statement changed. */
export interface Changes {
  /** Those that the database counts for the statement itself; null: it does not say. */
  readonly direct: number | null;
  /** Those of cascades, triggers and functions too. */
  readonly all: number;
}

/** Room for one statement behind other fast ones on a session that they share. Used once, by the caller that has it. */
export interface PipelineSlot {
  /** Rejects as `Source.query` does. Null: the statement has to wait for a session of its own, run it by `Source.query`. */
  query(options: RunOptions): Promise<QueryResult | null>;
}

/** A time limit that the database has for every statement of the account. */
export interface ServerLimit {
  /** As the database calls it. */
  readonly name: string;
  readonly value: string;
  readonly source: 'server' | 'database' | 'account';
}

export interface TestReport {
  readonly server_version: string;
  /** Limits that hold where they are smaller than those of a tool. Absent: none. */
  readonly limits?: readonly ServerLimit[];
  /** Dangerous rights of the account, in sentences. */
  readonly warnings: readonly string[];
  /** The account passes every check of rights that the database has. */
  readonly superuser: boolean;
}

export interface TableFilter {
  readonly schema?: string;
  readonly search?: string;
  readonly skip: number;
  readonly limit: number;
}

/**
 * One connected database. Every method rejects with an AppError whose detail a person can act on:
 * `database_unreachable` (with `reason`), `sql_error` (the database's own message and position), `timeout`, `cancelled`,
 * `private_network_blocked`.
 */
export interface Source {
  /** Asks the database about a statement without running it. `types` are the declared types of its placeholders. */
  describe(text: string, types: readonly BoundType[], signal?: StopSignal): Promise<Description>;
  /** The same of many statements, where a database can be asked about them at once; a refusal stands in its place. */
  describeAll?(statements: readonly DescribedText[], signal?: StopSignal): Promise<(Description | AppError)[]>;
  /** The name that each column of a statement has in its table; null for what is computed. Absent: the database does not say. */
  origins?(statement: DescribedText, signal?: StopSignal): Promise<(string | null)[]>;
  /** Another text after any change of what statements may name, where the database can tell that for less than preparing them; else null. */
  schemaMark?(): Promise<string | null>;
  query(statement: BoundStatement, options: RunOptions): Promise<QueryResult>;
  /** The name of the grammar that the server's settings make. Absent: the engine has one. */
  grammar?(): Promise<string>;
  /**
   * The plan of a reading statement: what `prefix` of its `PlanReader` before it answers, under the limits of a read. Absent: `query`
   * takes the two together.
   */
  explain?(statement: BoundStatement, prefix: string, options: RunOptions): Promise<QueryResult>;
  /** For a fixed statement that was measured as fast; null when there is no room now. At most `sessions` are used so. */
  pipelineSlot?(statement: BoundStatement, sessions: number): PipelineSlot | null;
  tables(filter: TableFilter): Promise<{ items: Table[]; total: number }>;
  /** Rejects with `not_found` when the table is not there. */
  columns(table: { schema?: string; name: string }, filter: TableFilter): Promise<{ items: TableColumn[]; total: number }>;
  /** Why a statement that writes cannot be run and rolled back, as a sentence; null: it can. Absent: never. */
  cannotRollBack?(text: string): Promise<string | null>;
  /** Why the rows that a writing statement changes cannot be counted and undone, as a sentence; null: they can. Absent: never. */
  cannotCount?(text: string): Promise<string | null>;
  /** Sluice itself has changed a file below the connection: whoever asks next sees it. Absent: changes are always seen at once. */
  filesChanged?(): void;
  test(): Promise<TestReport>;
  /** Sessions open now, for leak tests and gauges. */
  sessions(): number;
  /** Waits for running statements, then closes every session. */
  close(): Promise<void>;
}

export type OpenSource = (settings: ConnectionSettings, policy: DialPolicy) => Source;
