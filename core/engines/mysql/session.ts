import type { RunOptions, SessionMode } from '#core/engines/shared/source.ts';
import type { PooledSession } from '#core/engines/shared/session-pool.ts';
import type { QueryResult, Column } from '#core/lib/sql/result.ts';
import { type MysqlField, toColumn, Types } from './values.ts';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Connection } from 'mysql2';
import { AppError } from '#core/errors.ts';
import { deferred } from '#core/lib/with-timeout.ts';
import type { MysqlDialer } from './dial.ts';
import { toStatementError } from './errors.ts';
import type { MysqlExtras } from './extras.ts';
import { createMysqlRows, keepGeometry } from './rows.ts';
import { uniqueNames } from '#core/engines/shared/rows.ts';
import { OWN_BYTES } from './wire.ts';
import { STOP_GRACE } from '#core/engines/shared/stop.ts';
import { untilAborted, within } from '#core/engines/shared/deadline.ts';

/** What the server says to one session at its login. */
export interface MysqlServer {
  readonly version: string;
  readonly is_mariadb: boolean;
  /** The modes that the account has there, and strict in any case: a value that does not fit is never cut. */
  readonly sql_mode: string;
  /** The name of the grammar that these modes make. */
  readonly dialect: string;
  /** The variable that ends statements, and after how many milliseconds; 0: never. */
  readonly time_limit: { readonly name: string; readonly ms: number };
}

/** Milliseconds for a killed statement to end before its connection is cut. */
const KILL_MS = 2_000;

/** Milliseconds for saying goodbye. */
const CLOSE_MS = 1_000;

export interface MysqlRun {
  readonly text: string;
  /** The grammar that it was read in; absent: any. */
  readonly dialect?: string | undefined;
  readonly values: readonly unknown[];
  readonly timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
  readonly rollback?: boolean | undefined;
  readonly review?: RunOptions['review'];
  /** Variables of the session and what the caller has for each. */
  readonly variables: readonly (readonly [name: string, value: string | null])[];
}

export interface MysqlSession extends PooledSession {
  readonly server: MysqlServer;
  /** Runs one statement of the binary protocol; aborted, it is killed in the server and the session ends. */
  run(request: MysqlRun, signal: AbortSignal): Promise<QueryResult>;
  describe(text: string, stop: AbortSignal): Promise<MysqlDescription>;
  /** Rows that the session wrote, changed or deleted so far, those of triggers and functions too; attempts that failed count. */
  rowsTouched(stop: AbortSignal): Promise<number>;
  /** One of our own statements, without result. */
  command(text: string): Promise<void>;
  /** Forgets everything that statements left in the session: variables, locks, temporary tables, prepared statements. */
  reset(): Promise<void>;
  /** The pool does not hand the session out again. */
  retire(): void;
  /** Cuts the connection: its state is not known. */
  discard(): void;
}

export interface MysqlDescription {
  readonly columns: readonly Column[];
  /** The name of each in its table; null: it is computed. */
  readonly origins: readonly (string | null)[];
}

interface PreparedStatement {
  readonly columns: readonly MysqlField[];
}

const READ_ONLY = 'START TRANSACTION READ ONLY';

const BEGIN: Readonly<Record<SessionMode, string>> = { fixed: READ_ONLY, read: READ_ONLY, write: 'START TRANSACTION' };

const ROWS_TOUCHED = "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete')";

/** Columns of ANALYZE, CHECK, OPTIMIZE and REPAIR TABLE, which a read-only transaction lets through. */
const ADMINISTRATION = 'Table,Op,Msg_type,Msg_text';

export async function openMysqlSession(
  dialer: MysqlDialer,
  { mode, extras }: { readonly mode: SessionMode; readonly extras: MysqlExtras },
  server: (connection: Connection) => Promise<MysqlServer>,
  signal: AbortSignal,
): Promise<MysqlSession> {
  const { connection, meter } = await dialer.dial(signal);
  let usable = true;
  let settings = '';
  /** Who is to be told when the server sends more than anybody asked for; the driver would tell nobody. */
  const listening = new Set<(error: AppError) => void>();
  let flooded: AppError | undefined;
  let ending: Promise<void> | undefined;
  // The socket, or the TLS stream over it.
  const { stream } = connection as unknown as { stream: Socket };
  allowOwn();
  const known = await untilAborted(signal, unlessFlooded(server(connection))).catch((error: unknown) => {
    connection.destroy();
    stream.destroy();
    throw error;
  });
  let whenLost: ((error: unknown) => void) | undefined;
  connection.on('error', (error) => {
    usable = false;
    whenLost?.(error);
  });
  connection.on('end', () => (usable = false));

  function cut(): void {
    usable = false;
    connection.destroy();
    // The driver only says goodbye, and would read what the server still sends.
    stream.destroy();
  }

  function fail(error: AppError): void {
    flooded = error;
    for (const tell of listening) tell(error);
    cut();
  }

  function unlessFlooded<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (flooded !== undefined) reject(flooded);
      listening.add(reject);
      work.then(resolve, reject).finally(() => listening.delete(reject));
    });
  }

  /** What the server may send to anything but a statement that gives rows. */
  function allowOwn(): void {
    const detail = 'The server sent an answer that is too large; check the host and the port.';
    meter.allow(OWN_BYTES, OWN_BYTES, () => fail(new AppError('database_unreachable', detail, { reason: 'failed' })));
  }

  async function command(text: string): Promise<void> {
    allowOwn();
    await unlessFlooded(askMysql(connection, text));
  }

  /** Everything in one statement, sent only when something differs from what the session has. */
  async function prepareSession(request: MysqlRun): Promise<void> {
    const limit = mode === 'write' ? 'DEFAULT' : String(request.max_rows + 1);
    const { name, ms } = known.time_limit;
    // The administrator's own limit holds where it is the smaller one.
    const most = ms > 0 ? Math.min(ms, request.timeout_ms) : request.timeout_ms;
    const time = `${name} = ${known.is_mariadb ? most / 1_000 : Math.ceil(most)}`;
    const access = `${known.is_mariadb ? 'tx_read_only' : 'transaction_read_only'} = ${mode === 'write' ? 0 : 1}`;
    const collation = extras.collation === null ? '' : `collation_connection = '${extras.collation}', `;
    const wanted = `SET SESSION time_zone = '${extras.offset}', ${collation}sql_mode = '${known.sql_mode}', ${access}, ${time}, sql_select_limit = ${limit}`;
    if (wanted === settings) return;
    await command(wanted);
    settings = wanted;
  }

  function prepare(text: string): Promise<PreparedStatement> {
    allowOwn();
    return new Promise((resolve, reject) => {
      const options = { sql: text, rowsAsArray: true } as unknown as string;
      connection.prepare(options, (error, statement) => {
        if (error) reject(toStatementError(error, text));
        else resolve(statement as unknown as PreparedStatement);
      });
    });
  }

  async function run(request: MysqlRun, stop: AbortSignal): Promise<QueryResult> {
    if (request.dialect !== undefined && request.dialect !== known.dialect) throw new AppError('sql_error', OTHER_GRAMMAR);
    await prepareSession(request);
    if (request.variables.length > 0) await command(setVariables(request.variables));
    await command(BEGIN[mode]);
    const { columns } = await prepare(request.text);
    if (mode !== 'write') checkReading(request.text, columns);
    stop.throwIfAborted();
    return execute(request, columns);
  }

  function execute(request: MysqlRun, prepared: readonly MysqlField[]): Promise<QueryResult> {
    const { promise, resolve, reject } = deferred<QueryResult>();
    const rows = createMysqlRows(request.max_rows, request.max_bytes, extras.offset);
    const most = request.max_bytes * 4 + 1024 * 1024;
    // A writing statement has to run to its end to be committed, so what is too much is only dropped.
    const enough = () => {
      if (mode === 'write') return;
      cut();
      settle(() => resolve(rows.result()));
    };
    const settle = (how: () => void) => {
      whenLost = undefined;
      allowOwn();
      how();
    };
    meter.allow(mode === 'write' ? Number.POSITIVE_INFINITY : most, most, () => {
      const detail = 'The statement returned a row beyond the byte limit, so it was rolled back; return less.';
      if (mode === 'write') return fail(new AppError('too_large', detail));
      rows.truncate();
      enough();
    });
    // A lost connection is told to the statement only when it has a callback.
    whenLost = (error) => settle(() => reject(toStatementError(error, request.text)));
    const hasGeometry = prepared.some((column) => column.columnType === Types.GEOMETRY);
    const options = {
      sql: request.text,
      values: request.values,
      rowsAsArray: true,
      ...(hasGeometry ? { typeCast: keepGeometry } : {}),
    };
    const running = connection.execute(options as never) as unknown as EventEmitter;
    running.on('fields', (fields: readonly MysqlField[] | undefined) => fields && rows.begin(fields));
    running.on('result', (row: unknown) => rows.add(row) || enough());
    running.on('error', (error: unknown) => settle(() => reject(toStatementError(error, request.text))));
    running.on('end', () => settle(() => resolve(rows.result())));
    return promise;
  }

  /** Aborted, the work is killed in the server, and the session ends; the caller does not wait long for that. */
  async function stoppable<Result>(stop: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    stop.throwIfAborted();
    const { promise, resolve, reject } = deferred<Result>();
    const working = unlessFlooded(work());
    let late: ReturnType<typeof setTimeout> | undefined;
    const abandon = () => {
      usable = false;
      late = setTimeout(() => reject(stop.reason), STOP_GRACE);
      ending = kill(working).then(() => {
        cut();
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

  /** Ends the running statement from another connection: closing ours would leave it running in the server. */
  async function kill(working: Promise<unknown>): Promise<void> {
    const limit = AbortSignal.timeout(KILL_MS);
    // If it fails, the server's own time limit remains.
    await untilAborted(limit, sendKill(limit)).catch(() => undefined);
    await untilAborted(limit, working).catch(() => undefined);
  }

  async function sendKill(limit: AbortSignal): Promise<void> {
    const { connection: killer } = await dialer.dial(limit);
    try {
      await untilAborted(limit, askMysql(killer, `KILL QUERY ${connection.threadId}`));
    } finally {
      killer.destroy();
    }
  }

  return {
    server: known,
    get usable() {
      return usable;
    },
    run: (request, stop) =>
      stoppable(stop, () => run(request, stop).catch((error: unknown) => Promise.reject(withLimit(error, request, known)))),
    async describe(text, stop) {
      const { columns } = await stoppable(stop, () => prepare(text));
      connection.unprepare({ sql: text, rowsAsArray: true } as unknown as string);
      const names = uniqueNames(columns.map((column) => column.name));
      return {
        columns: columns.map((column, i) => toColumn(names[i]!, column)),
        origins: columns.map(({ orgName }) => orgName || null),
      };
    },
    command,
    async rowsTouched(stop) {
      allowOwn();
      const rows = await stoppable(stop, () => askMysql(connection, ROWS_TOUCHED));
      return rows.reduce((sum, row) => sum + Number(row['Value']), 0);
    },
    async reset() {
      settings = '';
      allowOwn();
      await new Promise<void>((resolve, reject) => connection.reset((error) => (error ? reject(error) : resolve())));
    },
    retire: () => void (usable = false),
    discard: cut,
    async close() {
      // Its place in the pool is free once the server knows that nobody waits, or does not take the message.
      await ending;
      if (usable) await within(CLOSE_MS, new Promise<void>((resolve) => connection.end(() => resolve()))).catch(() => undefined);
      cut();
    },
  };
}

const OTHER_GRAMMAR =
  'The SQL mode of the database server was changed after this statement was saved, and quotes in it would mean something else now. Save it again.';

/** A statement that the administrator's limit ended did not use up the time of its tool. */
function withLimit(error: unknown, { timeout_ms }: MysqlRun, { time_limit: { name, ms } }: MysqlServer): unknown {
  if (!(error instanceof AppError) || error.code !== 'timeout' || ms === 0 || ms >= timeout_ms) return error;
  const detail = `The statement reached the time limit that the server has for this account (${name}: ${ms / 1_000} s) and was stopped.`;
  return new AppError('timeout', detail, { cause: error.cause });
}

/** In hexadecimal no value can end its text, in whatever mode the server reads it. */
const setVariables = (variables: MysqlRun['variables']): string =>
  `SET ${variables.map(([name, value]) => `@${name} = ${value === null ? 'NULL' : `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`}`).join(', ')}`;

/** The rows of one of our own statements, over the text protocol. */
export function askMysql(connection: Connection, text: string): Promise<Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    connection.query(text, (error, rows) => {
      if (error) reject(toStatementError(error, text));
      else resolve(rows as Record<string, unknown>[]);
    });
  });
}

/**
 * The server says before it runs a statement which columns its rows will have. One without any writes, changes the session or
 * sends its rows elsewhere (INTO OUTFILE, INTO @variable), whatever comments or spelling hide it; only SHOW has none sometimes.
 */
function checkReading(text: string, columns: readonly MysqlField[]): void {
  const names = columns.map((column) => column.name).join(',');
  if (names !== ADMINISTRATION && (columns.length > 0 || /^\s*show\s/i.test(text))) return;
  throw new AppError('not_read_only', 'The statement returns no rows, but this session is read-only.');
}
