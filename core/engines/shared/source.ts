import type { Socket } from 'node:net';
import type { Network, DialledFetch } from './network.ts';
import type { BoundStatement, Column, BoundType, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { ParameterType } from '#core/lib/sql/statement.ts';
import type { StopSignal } from './stop.ts';
import type { Table, TableColumn, TableIndex } from '#core/contract/definitions/schema.ts';
import type { AppError } from '#core/errors.ts';
import type { HostState } from '#core/contract/definitions/connections.ts';
import type { ConnectionSettings } from './connection-settings.ts';

/** An address of this installation. With `database`, only that database of the server is forbidden. */
export interface InstallationAddress {
  readonly host: string;
  readonly port: number;
  readonly database?: string;
}

/** Opens sockets to a database through SSH servers. */
export interface Tunnel {
  /**
   * Rejects with `tunnel_unreachable`, `tunnel_refused`, `tunnel_host_key`, `database_unreachable`, `private_network_blocked`, or
   * with the reason of `signal`.
   */
  dial(host: string, port: number, signal: AbortSignal, database: string): Promise<TunnelledSocket>;
}

export interface TunnelledSocket {
  readonly socket: Socket;
  /** True when the address behind the tunnel is private, or is a name that only the SSH server resolves. */
  readonly private: boolean;
}

/** The rules for dialling of a process, the same for all of its sources but for `tunnel`. */
export interface DialPolicy {
  /** The network of a platform without sockets and DNS. Absent: the operating system's. */
  readonly network?: Network;
  readonly allow_private_networks: boolean;
  /** Always refused: the ports, the Redis and the metadata database of this installation. */
  readonly forbidden: readonly InstallationAddress[];
  /** Like `forbidden`, for addresses that a deploy or a new configuration changes. */
  readonly forbiddenNow?: () => Promise<readonly InstallationAddress[]>;
  /** Absolute path of the folder that contains all file databases. */
  readonly sqlite_dir: string;
  /** Absolute path of the folder for data derived from connection files. Absent: beside the files. */
  readonly cache_dir?: string;
  /** Absolute paths of files that no connection may open: the metadata database and the files beside it. */
  readonly forbidden_files?: readonly string[];
  /** The tunnel of the source that is opened. Absent: its sockets are dialled from here. */
  readonly tunnel?: Tunnel;
  /** Sends requests to a checked address, where `fetch` cannot. */
  readonly fetch?: DialledFetch;
}

/** Values about the caller for one statement. The next statement on the session does not see them. */
export interface SessionState {
  /** In the order of the connection's `session_values`. Null: the caller has no value. */
  readonly values: readonly (string | null)[];
  /** The role that the statement runs as. Null: the role of the account. */
  readonly role: string | null;
}

/** A statement to describe. */
export interface DescribedText extends Pick<BoundStatement, 'text' | 'types' | 'declared'> {
  /** The parameter of each placeholder. Absent: each placeholder has a separate parameter. */
  readonly names?: readonly string[];
}

export interface Description {
  readonly columns: readonly Column[];
  /** How the database reads each placeholder. Absent: it infers all types. */
  readonly reads?: readonly ParameterType[];
  /**
   * The type that the database infers for each placeholder; null where no parameter type matches. Absent: it does not report
   * types.
   */
  readonly parameters?: readonly (BoundType | null)[];
}

/**
 * `fixed`: a read-only transaction, rolled back, in a session that caches prepared statements; only for text of the snapshot that
 * the classifier calls fixed. A source runs it as `read` when the database contains anything of its names that could run other
 * code. `read`: the same, and the session is reset afterwards. `write`: a separate session, committed, then reset.
 */
export type SessionMode = 'fixed' | 'read' | 'write';

export interface RunOptions {
  readonly mode: SessionMode;
  readonly timeout_ms: number;
  /** Rows and bytes (of JSON text, approximately) after which fetching stops and `truncated` is set. */
  readonly max_rows: number;
  readonly max_bytes: number;
  /** Absent: there is no caller, so every session value is empty. */
  readonly session?: SessionState | undefined;
  /** With `read`: the statement asks for a plan, so nothing is compiled for its execution. */
  readonly plans?: boolean;
  /** With `write`: rolls back instead of committing. Only when `cannotRollBack` of the source returns null. */
  readonly rollback?: boolean;
  /**
   * With `write`: called with the number of changed rows before the commit; only true commits. Only when `cannotCount` returns
   * null. The statement has then completed, with the checks that are deferred to the commit.
   */
  readonly review?: ((changes: Changes) => boolean) | undefined;
  /** When aborted, the statement is cancelled in the database and the promise rejects with `cancelled`. */
  readonly signal?: StopSignal | undefined;
}

/** Rows that one writing statement changed. */
export interface Changes {
  /** Rows that the database reports for the statement itself. Null: it does not report them. */
  readonly direct: number | null;
  /** Including the rows of cascades, triggers and functions. */
  readonly all: number;
}

/** Receives the whole result of a statement in parts. */
export interface RowReceiver {
  /** Called once, before any rows. The same array describes every part. */
  begin(columns: readonly Column[]): void;
  /** The next part is fetched once the promise resolves; a rejection ends the statement. */
  rows(part: readonly Row[]): Promise<void>;
}

export type StreamOptions = Pick<RunOptions, 'timeout_ms' | 'session' | 'signal'>;

/** A slot for one statement behind other fast statements on a shared session. A slot is used once. */
export interface PipelineSlot {
  /** Rejects as `Source.query` does. Null: the statement needs an exclusive session; run it with `Source.query`. */
  query(options: RunOptions): Promise<QueryResult | null>;
}

/** A time limit that the database applies to every statement of the account. */
export interface ServerLimit {
  /** The database's name for it. */
  readonly name: string;
  readonly value: string;
  readonly source: 'server' | 'database' | 'account';
}

export interface TestReport {
  readonly server_version: string;
  /** The account's limits, which apply when they are lower than those of a tool. Absent: none. */
  readonly limits?: readonly ServerLimit[];
  /** Dangerous privileges of the account, as sentences. */
  readonly warnings: readonly string[];
  /** True when the account bypasses all permission checks of the database. */
  readonly superuser: boolean;
}

/** Without a schema: the table that the name alone reads. */
export interface TableName {
  readonly schema?: string;
  readonly name: string;
}

export interface TableFilter {
  readonly schema?: string;
  readonly search?: string;
  readonly skip: number;
  readonly limit: number;
}

/** What a database expects of a statement before it runs. */
export interface PlanEstimate {
  /** Rows of the largest step. Null: the plan has no row counts. */
  readonly rows: number | null;
  /** In units of the database. Null: the plan has no costs. */
  readonly cost: number | null;
}

/**
 * One connected database. Every method rejects with an AppError whose detail says what to do: `database_unreachable` (with
 * `reason`), `sql_error` (the database's message and position), `timeout`, `cancelled`, `private_network_blocked`.
 */
export interface Source {
  /** Describes a statement without running it. `types` are the declared types of its placeholders. */
  describe(text: string, types: readonly BoundType[], signal?: StopSignal): Promise<Description>;
  /** Describes many statements at once, where the database can; an error takes the position of its statement. */
  describeAll?(statements: readonly DescribedText[], signal?: StopSignal): Promise<(Description | AppError)[]>;
  /** The name of each result column in its table; null when it is computed. Absent: the database does not report it. */
  origins?(statement: DescribedText, signal?: StopSignal): Promise<(string | null)[]>;
  /**
   * A text that changes with every schema change that can affect statements. Null when it would cost more than preparing them.
   */
  schemaMark?(): Promise<string | null>;
  query(statement: BoundStatement, options: RunOptions): Promise<QueryResult>;
  /**
   * Runs a statement in a read-only session and hands over all of its rows, a part at a time. When it rejects, rows may have been
   * handed over. Errors of the receiver are passed on.
   */
  stream(statement: BoundStatement, options: StreamOptions, receiver: RowReceiver): Promise<void>;
  /** The name of the grammar that the server's settings select. Absent: the engine has one grammar. */
  grammar?(): Promise<string>;
  /**
   * Returns the plan of a reading statement: the answer to `prefix` of its `PlanReader` plus the statement, under the limits of a
   * read. Absent: `query` takes prefix and statement together.
   */
  explain?(statement: BoundStatement, prefix: string, options: RunOptions): Promise<QueryResult>;
  /** Estimates a reading statement without running it. Absent: the plans of the engine have no row counts. */
  estimate?(statement: BoundStatement, options: RunOptions): Promise<PlanEstimate>;
  /** For a fixed statement that was measured as fast. Null when there is no free slot. Uses at most `sessions` sessions. */
  pipelineSlot?(statement: BoundStatement, sessions: number): PipelineSlot | null;
  tables(filter: TableFilter): Promise<{ items: Table[]; total: number }>;
  /** Rejects with `not_found` when the table does not exist. */
  columns(table: TableName, filter: TableFilter): Promise<{ items: TableColumn[]; total: number }>;
  /** The primary key first. Rejects with `not_found` when the table does not exist. */
  indexes(table: TableName): Promise<TableIndex[]>;
  /** Why a writing statement cannot be run and rolled back, as a sentence. Null: it can. Absent: it never can. */
  cannotRollBack?(text: string): Promise<string | null>;
  /**
   * Why the rows that a writing statement changes cannot be counted and rolled back, as a sentence. Null: they can. Absent: they
   * never can.
   */
  cannotCount?(text: string): Promise<string | null>;
  /** Called when Sluice has changed a file of the connection: the next call sees the change. Absent: calls always see changes. */
  filesChanged?(): void;
  /** Asks each host of a connection that has several, or a `target`. Absent: it has neither. */
  hosts?(): Promise<readonly HostState[]>;
  test(): Promise<TestReport>;
  /** Number of open sessions, for leak tests and gauges. */
  sessions(): number;
  /** Waits for running statements, then closes every session. */
  close(): Promise<void>;
}

/** What a source reads from the catalogue of its database. */
export type Catalogue = Pick<Source, 'tables' | 'columns' | 'indexes'>;

export type OpenSource = (settings: ConnectionSettings, policy: DialPolicy) => Source;
