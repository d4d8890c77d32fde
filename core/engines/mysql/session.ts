import type { Connection } from 'mysql2';
import { AppError } from '#core/errors.ts';
import { deferred } from '#core/lib/with-timeout.ts';
import type { Column, QueryResult } from '#core/lib/sql/result.ts';
import { untilAborted } from '#core/engines/shared/deadline.ts';
import { handOver, LARGEST_ROW, PART_BYTES, PART_ROWS, uniqueNames } from '#core/engines/shared/rows.ts';
import type { PooledSession } from '#core/engines/shared/session-pool.ts';
import type { RowReceiver, RunOptions, SessionMode } from '#core/engines/shared/source.ts';
import { STOP_GRACE_MS } from '#core/engines/shared/stop.ts';
import { askMysql, GuardedConnection } from './connection.ts';
import type { MysqlDialer } from './dial.ts';
import { toStatementError } from './errors.ts';
import type { MysqlExtras } from './extras.ts';
import { createMysqlRows, keepGeometry } from './rows.ts';
import type { MysqlServer } from './server.ts';
import { type MysqlField, toColumn, Types } from './values.ts';

/** Milliseconds that a killed statement gets to end before its connection is closed. */
const KILL_MS = 2_000;

export interface MysqlRun {
  readonly text: string;
  /** The grammar that the statement was parsed with. Absent: any. */
  readonly dialect?: string | undefined;
  readonly values: readonly unknown[];
  readonly timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
  readonly rollback?: boolean | undefined;
  readonly review?: RunOptions['review'];
  /** Receives all rows in parts, and the result has none. Absent: the rows are in the result. */
  readonly receiver?: RowReceiver | undefined;
  /** Session variables with the caller's values. */
  readonly variables: readonly (readonly [name: string, value: string | null])[];
}

export interface MysqlSession extends PooledSession {
  readonly server: MysqlServer;
  /** Runs one statement with the binary protocol. When aborted, it is killed in the server and the session ends. */
  run(request: MysqlRun, signal: AbortSignal): Promise<QueryResult>;
  describe(text: string, stop: AbortSignal): Promise<MysqlDescription>;
  /** Rows that the session has inserted, updated or deleted so far, including triggers, functions and failed attempts. */
  rowsTouched(stop: AbortSignal): Promise<number>;
  /** The rows of an internal statement. */
  readonly lookUp: (text: string) => Promise<Record<string, unknown>[]>;
  /** Runs an internal statement without a result. */
  command(text: string): Promise<void>;
  /** Resets all session state: variables, locks, temporary tables, prepared statements. */
  reset(): Promise<void>;
  /** After this the pool does not reuse the session. */
  retire(): void;
  /** Closes the connection at once, because its state is unknown. */
  discard(): void;
}

export interface MysqlDescription {
  readonly columns: readonly Column[];
  /** The name of each column in its table. Null: it is computed. */
  readonly origins: readonly (string | null)[];
}

interface MysqlSessionOptions {
  readonly mode: SessionMode;
  readonly extras: MysqlExtras;
}

const READ_ONLY = 'START TRANSACTION READ ONLY';

const BEGIN: Readonly<Record<SessionMode, string>> = { fixed: READ_ONLY, read: READ_ONLY, write: 'START TRANSACTION' };

const ROWS_TOUCHED = "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete')";

/** Columns of ANALYZE, CHECK, OPTIMIZE and REPAIR TABLE, which a read-only transaction permits. */
const ADMINISTRATION = 'Table,Op,Msg_type,Msg_text';

/** Logs in and reads the facts of the server. Closes the connection when that fails. */
export async function openMysqlSession(
  dialer: MysqlDialer,
  options: MysqlSessionOptions,
  server: (connection: Connection) => Promise<MysqlServer>,
  signal: AbortSignal,
): Promise<MysqlSession> {
  const connection = new GuardedConnection(await dialer.dial(signal));
  const known = await untilAborted(signal, connection.guard(connection.ask(server))).catch((error: unknown) => {
    connection.cut();
    throw error;
  });
  connection.followEnd();
  return new StatementSession(dialer, connection, known, options);
}

class StatementSession implements MysqlSession {
  readonly server: MysqlServer;
  readonly #dialer: MysqlDialer;
  readonly #connection: GuardedConnection;
  readonly #mode: SessionMode;
  readonly #extras: MysqlExtras;
  /** The statement that set the current session variables. */
  #settings = '';
  #ending: Promise<void> | undefined;

  constructor(dialer: MysqlDialer, connection: GuardedConnection, server: MysqlServer, { mode, extras }: MysqlSessionOptions) {
    this.#dialer = dialer;
    this.#connection = connection;
    this.server = server;
    this.#mode = mode;
    this.#extras = extras;
  }

  get usable(): boolean {
    return this.#connection.usable;
  }

  run(request: MysqlRun, stop: AbortSignal): Promise<QueryResult> {
    return this.#stoppable(stop, () =>
      this.#run(request, stop).catch((error: unknown) => Promise.reject(withLimit(error, request, this.server))),
    );
  }

  async describe(text: string, stop: AbortSignal): Promise<MysqlDescription> {
    const { columns } = await this.#stoppable(stop, () => this.#connection.prepare(text));
    this.#connection.unprepare(text);
    const names = uniqueNames(columns.map((column) => column.name));
    return {
      columns: columns.map((column, i) => toColumn(names[i]!, column)),
      origins: columns.map(({ orgName }) => orgName || null),
    };
  }

  async rowsTouched(stop: AbortSignal): Promise<number> {
    const rows = await this.#stoppable(stop, () => this.#connection.ask((connection) => askMysql(connection, ROWS_TOUCHED)));
    return rows.reduce((sum, row) => sum + Number(row['Value']), 0);
  }

  readonly lookUp = (text: string): Promise<Record<string, unknown>[]> =>
    this.#connection.ask((connection) => askMysql(connection, text));

  command(text: string): Promise<void> {
    return this.#connection.command(text);
  }

  async reset(): Promise<void> {
    this.#settings = '';
    await this.#connection.reset();
  }

  retire(): void {
    this.#connection.usable = false;
  }

  discard(): void {
    this.#connection.cut();
  }

  async close(): Promise<void> {
    // The pool slot is released once the server has ended the statement or cannot be reached.
    await this.#ending;
    await this.#connection.close();
  }

  async #run(request: MysqlRun, stop: AbortSignal): Promise<QueryResult> {
    if (request.dialect !== undefined && request.dialect !== this.server.dialect) throw new AppError('sql_error', OTHER_GRAMMAR);
    await this.#prepareSession(request);
    if (request.variables.length > 0) await this.command(setVariables(request.variables));
    await this.command(BEGIN[this.#mode]);
    const { columns } = await this.#connection.prepare(request.text);
    if (this.#mode !== 'write') checkReading(request.text, columns);
    stop.throwIfAborted();
    if (request.receiver !== undefined) {
      await handOver(request.receiver, (receiver) => this.#executeInParts(request, columns, receiver));
      return { columns: [], rows: [], truncated: false, affected_rows: null };
    }
    return this.#execute(request, columns);
  }

  /** Sets all session variables in one statement, sent only when a value differs from the current ones. */
  async #prepareSession(request: MysqlRun): Promise<void> {
    const { is_mariadb, sql_mode, time_limit } = this.server;
    const is_write = this.#mode === 'write';
    const limit = is_write || request.receiver !== undefined ? 'DEFAULT' : String(request.max_rows + 1);
    // The administrator's limit applies when it is lower.
    const most = time_limit.ms > 0 ? Math.min(time_limit.ms, request.timeout_ms) : request.timeout_ms;
    const time = `${time_limit.name} = ${is_mariadb ? most / 1_000 : Math.ceil(most)}`;
    const access = `${is_mariadb ? 'tx_read_only' : 'transaction_read_only'} = ${is_write ? 0 : 1}`;
    const collation = this.#extras.collation === null ? '' : `collation_connection = '${this.#extras.collation}', `;
    const next = `SET SESSION time_zone = '${this.#extras.offset}', ${collation}sql_mode = '${sql_mode}', ${access}, ${time}, sql_select_limit = ${limit}`;
    if (next === this.#settings) return;
    await this.command(next);
    this.#settings = next;
  }

  /** While a part is received, nothing is read from the server, so that it waits too. */
  #executeInParts(request: MysqlRun, prepared: readonly MysqlField[], receiver: RowReceiver): Promise<void> {
    const connection = this.#connection;
    const { promise, resolve, reject } = deferred<void>();
    const all = Number.POSITIVE_INFINITY;
    const rows = createMysqlRows(all, all, this.#extras.offset);
    let has_begun = false;
    let waiting = 0;
    const fail = (error: unknown) => {
      connection.onLost = undefined;
      connection.cut();
      reject(error);
    };
    const send = async (): Promise<void> => {
      if (!has_begun) receiver.begin(rows.result().columns);
      has_begun = true;
      waiting = 0;
      const part = rows.take();
      if (part.length > 0) await receiver.rows(part);
    };
    connection.allowRows(all, LARGEST_ROW, () => {
      const detail = `The result has a row of more than ${LARGEST_ROW / 1024 / 1024} MiB.`;
      connection.fail(new AppError('too_large', detail));
    });
    connection.onLost = (error) => reject(toStatementError(error, request.text));
    const running = this.#start(request, prepared);
    running.on('fields', (fields: readonly MysqlField[] | undefined) => fields && rows.begin(fields));
    running.on('result', (row: unknown) => {
      rows.add(row);
      if (++waiting < PART_ROWS && rows.bytes() < PART_BYTES) return;
      connection.pause();
      send().then(() => connection.resume(), fail);
    });
    running.on('error', (error: unknown) => fail(toStatementError(error, request.text)));
    running.on('end', () => {
      connection.onLost = undefined;
      connection.allowInternal();
      send().then(resolve, reject);
    });
    return promise;
  }

  #start(request: MysqlRun, prepared: readonly MysqlField[]) {
    const hasGeometry = prepared.some((column) => column.columnType === Types.GEOMETRY);
    return this.#connection.execute({
      sql: request.text,
      values: request.values,
      rowsAsArray: true,
      ...(hasGeometry ? { typeCast: keepGeometry } : {}),
    });
  }

  #execute(request: MysqlRun, prepared: readonly MysqlField[]): Promise<QueryResult> {
    const connection = this.#connection;
    const is_write = this.#mode === 'write';
    const { promise, resolve, reject } = deferred<QueryResult>();
    const rows = createMysqlRows(request.max_rows, request.max_bytes, this.#extras.offset);
    const settle = (how: () => void) => {
      connection.onLost = undefined;
      connection.allowInternal();
      how();
    };
    // A writing statement must complete before it is committed, so excess rows are dropped.
    const enough = () => {
      if (is_write) return;
      connection.cut();
      settle(() => resolve(rows.result()));
    };
    const most = request.max_bytes * 4 + 1024 * 1024;
    connection.allowRows(is_write ? Number.POSITIVE_INFINITY : most, most, () => {
      const detail = 'The statement returned a row beyond the byte limit, so it was rolled back; return less.';
      if (is_write) return connection.fail(new AppError('too_large', detail));
      rows.truncate();
      enough();
    });
    connection.onLost = (error) => settle(() => reject(toStatementError(error, request.text)));
    const running = this.#start(request, prepared);
    running.on('fields', (fields: readonly MysqlField[] | undefined) => fields && rows.begin(fields));
    running.on('result', (row: unknown) => rows.add(row) || enough());
    running.on('error', (error: unknown) => settle(() => reject(toStatementError(error, request.text))));
    running.on('end', () => settle(() => resolve(rows.result())));
    return promise;
  }

  /** When aborted, the work is killed in the server and the session ends. The caller only waits a moment for that. */
  async #stoppable<Result>(stop: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    stop.throwIfAborted();
    const { promise, resolve, reject } = deferred<Result>();
    const working = this.#connection.guard(work());
    let late: ReturnType<typeof setTimeout> | undefined;
    const abandon = () => {
      this.retire();
      late = setTimeout(() => reject(stop.reason), STOP_GRACE_MS);
      this.#ending = this.#kill(working).then(() => {
        this.#connection.cut();
        reject(stop.reason);
      });
    };
    stop.addEventListener('abort', abandon, { once: true });
    working.then(
      (result) => stop.aborted || resolve(result),
      (error: unknown) => stop.aborted || reject(error),
    );
    return promise.finally(() => {
      clearTimeout(late);
      stop.removeEventListener('abort', abandon);
    });
  }

  /** Kills the running statement from another connection. After closing this connection the server would still run it. */
  async #kill(working: Promise<unknown>): Promise<void> {
    const limit = AbortSignal.timeout(KILL_MS);
    // If it fails, the server's time limit still ends the statement.
    await untilAborted(limit, this.#sendKill(limit)).catch(() => undefined);
    await untilAborted(limit, working).catch(() => undefined);
  }

  async #sendKill(limit: AbortSignal): Promise<void> {
    const { connection: killer } = await this.#dialer.dial(limit);
    try {
      await untilAborted(limit, askMysql(killer, `KILL QUERY ${this.#connection.thread_id}`));
    } finally {
      killer.destroy();
    }
  }
}

const OTHER_GRAMMAR =
  'The SQL mode of the database server was changed after this statement was saved, and quotes in it would mean something else now. Save it again.';

/** When the administrator's limit ended the statement, the error must not blame the time limit of the tool. */
function withLimit(error: unknown, { timeout_ms }: MysqlRun, { time_limit: { name, ms } }: MysqlServer): unknown {
  if (!(error instanceof AppError) || error.code !== 'timeout' || ms === 0 || ms >= timeout_ms) return error;
  const detail = `The statement reached the time limit that the server has for this account (${name}: ${ms / 1_000} s) and was stopped.`;
  return new AppError('timeout', detail, { cause: error.cause });
}

/** A hexadecimal value cannot end its literal in any SQL mode. */
const setVariables = (variables: MysqlRun['variables']): string =>
  `SET ${variables.map(([name, value]) => `@${name} = ${value === null ? 'NULL' : `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`}`).join(', ')}`;

/**
 * Before it runs a statement, the server reports the columns of its rows. A statement without columns writes, changes the session
 * or sends its rows elsewhere (INTO OUTFILE, INTO @variable), however it is written. Only SHOW sometimes has none.
 */
function checkReading(text: string, columns: readonly MysqlField[]): void {
  const names = columns.map((column) => column.name).join(',');
  if (names !== ADMINISTRATION && (columns.length > 0 || /^\s*show\s/i.test(text))) return;
  throw new AppError('not_read_only', 'The statement returns no rows, but this session is read-only.');
}
