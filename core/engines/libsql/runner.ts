import { AppError, COMMIT_UNKNOWN } from '#core/errors.ts';
import { withDeadline } from '../shared/deadline.ts';
import type { Send } from '../shared/network.ts';
import { createSessionPool } from '../shared/session-pool.ts';
import type { BoundStatement, QueryResult } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { RowReceiver, RunOptions, StreamOptions } from '#core/engines/shared/source.ts';
import { type SqliteValue, toSqliteValue } from '../sqlite/values.ts';
import { openLibsqlServer, type ServerSettings } from './http.ts';
import { handOver } from '../shared/rows.ts';
import { fetchRows, sendRows } from './rows.ts';
import { type HranaStream, openHranaStream } from './stream.ts';

/** Maximum of cached descriptions. They do not depend on the schema, so they never expire. */
const KNOWN_TEXTS = 500;
const READING: ReadonlySet<string> = new Set(['select', 'with', 'values', 'explain']);
const WRITING: ReadonlySet<string> = new Set([
  ...READING,
  'insert',
  'replace',
  'update',
  'delete',
  'create',
  'drop',
  'alter',
  'reindex',
  'analyze',
]);

type Conversation = Pick<RunOptions, 'timeout_ms' | 'signal' | 'mode'>;

interface Known {
  /** True when the statement changes nothing and returns rows. */
  readonly reads: boolean;
}

export interface LibsqlRunner {
  readonly query: (statement: BoundStatement, options: RunOptions) => Promise<QueryResult>;
  readonly stream: (statement: BoundStatement, options: StreamOptions, receiver: RowReceiver) => Promise<void>;
  /** Runs work in a separate stream. */
  converse<Result>(options: Conversation, work: (stream: HranaStream, stop: AbortSignal) => Promise<Result>): Promise<Result>;
  read(stream: HranaStream, text: string, values: readonly SqliteValue[], options: RunOptions): Promise<QueryResult>;
  readonly sessions: () => number;
  readonly close: () => Promise<void>;
}

/**
 * A libSQL server over HTTP. Every statement has a separate stream, with at most `pool_size` at once. When the client stops
 * reading, the server stops between two rows; a step that runs without returning rows ends at the server's time limit.
 * No stream is read-only: the server refuses `PRAGMA query_only`, and `BEGIN READONLY` permits writes. Three checks enforce it:
 * the server reports that the statement is read-only (sqlite3_stmt_readonly), only certain first words are allowed, and nothing
 * is committed.
 */
export function createLibsqlRunner(settings: ServerSettings & Pick<ConnectionSettings, 'pool_size'>, send: Send): LibsqlRunner {
  const known = new Map<string, Known>();
  const goodbyes = new Set<Promise<void>>();
  const pool = createSessionPool<'stream', { usable: false; close(): Promise<void> }>({
    limit: settings.pool_size,
    idle_ms: 0,
    open: async () => ({ usable: false, close: async () => undefined }),
  });

  /** Closing takes a separate request. No caller has to wait for it. */
  function leave(stream: HranaStream): void {
    const goodbye = stream.close().finally(() => goodbyes.delete(goodbye));
    goodbyes.add(goodbye);
  }

  const converse = <Result>(options: Conversation, work: (stream: HranaStream, stop: AbortSignal) => Promise<Result>) =>
    withDeadline(options.timeout_ms, options.signal, (signal) =>
      pool.use('stream', signal, async () => {
        const stream = openHranaStream(openLibsqlServer(settings, send), signal);
        try {
          return await work(stream, signal);
        } catch (error) {
          if (!(error instanceof AppError) || error.reason !== COMMIT_UNKNOWN) signal.throwIfAborted();
          throw error instanceof AppError ? error : failureOf(error, options.mode);
        } finally {
          leave(stream);
        }
      }),
    );

  /** The server prepares a statement without running it. Its errors are more precise than those of a cursor. */
  async function describeOnce(stream: HranaStream, text: string): Promise<Known> {
    const before = known.get(text);
    if (before !== undefined) return before;
    const { cols, is_readonly } = await stream.describe(text);
    if (known.size >= KNOWN_TEXTS) known.clear();
    const described = { reads: is_readonly && cols.length > 0 };
    known.set(text, described);
    return described;
  }

  async function refuseWriting(stream: HranaStream, text: string): Promise<void> {
    const { reads } = await describeOnce(stream, text);
    if (reads && READING.has(firstWord(text))) return;
    throw new AppError('not_read_only', 'The statement writes or returns no rows, but this session is read-only.');
  }

  async function read(
    stream: HranaStream,
    text: string,
    values: readonly SqliteValue[],
    options: RunOptions,
  ): Promise<QueryResult> {
    await refuseWriting(stream, text);
    return fetchRows(stream, { begin: 'BEGIN', text, values, writes: false }, options);
  }

  async function write(
    stream: HranaStream,
    text: string,
    values: readonly SqliteValue[],
    options: RunOptions,
    stop: AbortSignal,
  ): Promise<QueryResult> {
    if (!WRITING.has(firstWord(text))) {
      throw new AppError('sql_error', 'This statement is not allowed. A statement can only use the tables of its own database.');
    }
    await describeOnce(stream, text);
    const { review } = options;
    const before = review === undefined ? 0 : (await stream.changes()).all;
    const found = await fetchRows(stream, { begin: 'BEGIN IMMEDIATE', text, values, writes: true }, options);
    stop.throwIfAborted();
    if (review === undefined) {
      await stream.commit();
      return found;
    }
    const after = await stream.changes();
    const all = after.all - before;
    // Closing the stream rolls back what is not committed. After a statement that changes nothing the server still reports the
    // count of the one before.
    if (review({ direct: all === 0 ? 0 : after.last, all })) await stream.commit();
    return found;
  }

  async function query({ text, values, types }: BoundStatement, options: RunOptions): Promise<QueryResult> {
    const bound = values.map((value, i) => toSqliteValue(value, types[i] ?? 'string'));
    return converse(options, (stream, stop) =>
      options.mode === 'write' ? write(stream, text, bound, options, stop) : read(stream, text, bound, options),
    );
  }

  const stream: LibsqlRunner['stream'] = ({ text, values, types }, options, receiver) => {
    const bound = values.map((value, i) => toSqliteValue(value, types[i] ?? 'string'));
    return handOver(receiver, (to) =>
      converse({ ...options, mode: 'read' }, async (opened) => {
        await refuseWriting(opened, text);
        await sendRows(opened, { begin: 'BEGIN', text, values: bound, writes: false }, to);
      }),
    );
  };

  return {
    query,
    stream,
    converse,
    read,
    sessions: () => pool.sessions(),
    async close() {
      await pool.close();
      await Promise.all(goodbyes);
    },
  };
}

/** Network errors have a code; any other error is an answer that could not be read. */
function failureOf(cause: unknown, mode: RunOptions['mode']): AppError {
  const lost = cause instanceof Error && 'code' in cause;
  const detail = !lost
    ? 'The server at this host and port does not speak the libSQL protocol (Hrana 3); check the host and the port.'
    : mode === 'write'
      ? 'The server closed the connection while the statement ran; try again, and check that the token allows writing.'
      : 'The server closed the connection while the statement ran; try again.';
  return new AppError('database_unreachable', detail, { reason: 'failed', cause });
}

/** The keyword that determines the kind of a statement, after whitespace and comments. */
function firstWord(text: string): string {
  const start = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/.exec(text)?.[0].length ?? 0;
  return /^[a-z]+/i.exec(text.slice(start))?.[0].toLowerCase() ?? '';
}
