import type { Line } from '#core/lib/postgres/line.ts';
import { simpleQuery, TERMINATE } from '#core/lib/postgres/messages.ts';
import { lastRow } from '#core/lib/postgres/reader.ts';
import type { ServerRole } from '../shared/hosts/host-choice.ts';
import { translateError } from './errors.ts';
import { openReadOnlyPipeline, type ReadOnlyPipeline } from './read-only-pipeline.ts';
import { openLink, sendCancel } from './link.ts';
import { settingNames } from './session-values.ts';
import { plainSettings, type SessionStart, type SignedIn, signIn } from './sign-in.ts';
import type { PooledSession } from '../shared/session-pool.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { within } from '../shared/deadline.ts';

/** One physical connection. It runs one statement at a time, so that a cancel request stops the right one. */
export interface PostgresSession extends PooledSession {
  readonly line: Line;
  readonly encrypted: boolean;
  /** True when the database reports that every transaction of this session is read-only. */
  readonly read_only: boolean;
  /** True once more rows arrived than a call may have; the session is then closed. */
  readonly flooded: () => boolean;
  /** The database's time limit for statements outside an explicit transaction, in milliseconds; -1: not set yet. */
  timeout_ms: number;
  /** The time limit of the account, the database or the server in milliseconds; 0: no limit. */
  readonly limit_ms: number;
  /** Names of the settings that each statement of a call has from its caller. */
  readonly names: readonly string[];
  /** Runs fixed statements; null in other sessions. */
  readonly pipeline: ReadOnlyPipeline | null;
  /** Settings that could not be set at login, so every transaction sets them. */
  readonly settings: Readonly<Record<string, string>>;
  /** `performance.now()` when it was opened. */
  readonly since: number;
  /** True when the database can store something in a session that no reset removes. */
  readonly lasting: boolean;
  /** Number of executed statements. */
  uses: number;
  /** After this the pool does not reuse the session. */
  retire(): void;
  /** Closes the connection without a terminate message. */
  abandon(): void;
  /** Asks the database to cancel the running statement; the session is not used again. Always settles soon. */
  stop(): Promise<void>;
}

const STOP_MS = 5_000;
/** Milliseconds between two cancel requests. */
const AGAIN_MS = 200;
const CLOSE_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;
/** PostgreSQL 12, the first version with `rollback and chain`. */
const CHAINS_SINCE = 120_000;

/** Dials, encrypts and logs in. Rejects with `database_unreachable` and its reason, or with the reason of the signal. */
export async function openPostgresSession(
  settings: ConnectionSettings,
  policy: DialPolicy,
  start: SessionStart,
  signal: AbortSignal,
): Promise<PostgresSession> {
  const { socket, encrypted } = await openLink(settings, policy, signal);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  const names = settingNames(settings);
  let retired = false;
  let flooded = false;
  let stopping: Promise<void> | null = null;
  let backend: SignedIn['backend'] | null = null;
  const exceeded = () => {
    flooded = true;
    void stop();
    socket.destroy();
  };
  const signed = await signIn(socket, settings, start, { signal, exceeded });
  const { line, read_only } = signed;
  backend = signed.backend;

  /** Repeats the cancel request, because abandoned statements may start after the stopped one. */
  function stop(): Promise<void> {
    retired = true;
    // Before the login there is nothing to cancel.
    if (socket.destroyed || backend === null) return Promise.resolve();
    return (stopping ??= cancel(backend).finally(() => (stopping = null)));
  }

  async function cancel(running: SignedIn['backend']): Promise<void> {
    const ask = () => sendCancel(settings, policy, running, AbortSignal.timeout(STOP_MS));
    try {
      // A DNS lookup cannot be aborted.
      await within(STOP_MS, ask());
    } catch {
      socket.destroy();
      return;
    }
    // A cancel request between two messages of a call has no effect, and the second message would start a statement.
    const again = setInterval(() => void ask().catch(() => {}), AGAIN_MS);
    // If the database ignores the requests, the socket is closed after a while.
    const timer = setTimeout(() => socket.destroy(), STOP_MS);
    for (const each of [again, timer]) each.unref();
    socket.once('close', () => {
      clearInterval(again);
      clearTimeout(timer);
    });
  }

  return {
    line,
    encrypted,
    read_only,
    timeout_ms: -1,
    limit_ms: signed.limit_ms,
    pipeline: start.mode === 'fixed' && read_only ? openReadOnlyPipeline(line, signed.version >= CHAINS_SINCE, names) : null,
    names,
    settings: start.plain ? plainSettings(settings) : {},
    since: performance.now(),
    lasting: signed.lasting,
    uses: 0,
    retire: () => void (retired = true),
    abandon: () => void socket.destroy(),
    flooded: () => flooded,
    get usable() {
      return !retired && !socket.destroyed;
    },
    stop,
    async close() {
      // The pool slot is released once the database has ended the statement or cannot be reached.
      await stopping;
      if (socket.destroyed) return;
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.end(TERMINATE);
      await within(CLOSE_MS, closed).catch(() => {});
      socket.destroy();
    },
  };
}

const ROLE = 'select pg_catalog.pg_is_in_recovery()';
/** A standby that has replayed all it received is only up to date while it receives. */
const LAG = `select (case
    when exists (select from pg_catalog.pg_stat_wal_receiver)
      and pg_catalog.pg_last_wal_receive_lsn() operator(pg_catalog.=) pg_catalog.pg_last_wal_replay_lsn() then 0
    else extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) pg_catalog.pg_last_xact_replay_timestamp())
      operator(pg_catalog.*) 1000 end)::pg_catalog.int8`;

export const roleOf = async (session: PostgresSession): Promise<ServerRole> =>
  (await cellOf(session, ROLE)) === 't' ? 'standby' : 'primary';

/** Milliseconds since the newest transaction that the standby has replayed. Null: it has replayed none. */
export async function lagOf(session: PostgresSession): Promise<number | null> {
  const lag = await cellOf(session, LAG);
  return lag === null ? null : Math.max(0, Number(lag));
}

/** In a session that runs nothing else yet. */
async function cellOf(session: PostgresSession, text: string): Promise<string | null> {
  const row = lastRow();
  try {
    await session.line.exchange(simpleQuery(text), 'alone', { rows: row });
  } catch (error) {
    throw translateError(error, { database: '' });
  }
  return row.cells[0] ?? null;
}
