import type { Line } from '#core/lib/postgres/line.ts';
import { TERMINATE } from '#core/lib/postgres/messages.ts';
import { openReadOnlyPipeline, type ReadOnlyPipeline } from './read-only-pipeline.ts';
import { openLink, sendCancel } from './link.ts';
import { settingNames } from './session-values.ts';
import { plainSettings, type SessionStart, type SignedIn, signIn } from './sign-in.ts';
import type { PooledSession } from '../shared/session-pool.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { within } from '../shared/deadline.ts';

/** One physical connection. It executes one statement at a time, so that a cancel request meets the right one. */
export interface PostgresSession extends PooledSession {
  readonly line: Line;
  readonly encrypted: boolean;
  /** The database itself says that every transaction of this session only reads. */
  readonly read_only: boolean;
  /** True once rows came in beyond what a call may have; the session is then over. */
  readonly flooded: () => boolean;
  /** Milliseconds that the database gives a statement outside of an explicit transaction; -1: it was not set yet. */
  timeout_ms: number;
  /** Milliseconds that the account, the database or the server gives each statement; 0: no limit. */
  readonly limit_ms: number;
  /** Of the settings that each statement of a call has of its caller. */
  readonly names: readonly string[];
  /** Of a session for fixed statements: what runs them. */
  readonly pipeline: ReadOnlyPipeline | null;
  /** What could not be set at the login, so it is set in every transaction. */
  readonly settings: Readonly<Record<string, string>>;
  /** When it was opened, of `performance.now()`. */
  readonly since: number;
  /** The database can keep something in a session that no reset ends. */
  readonly lasting: boolean;
  /** Statements executed so far. */
  uses: number;
  /** The pool does not hand the session out again. */
  retire(): void;
  /** Cuts the connection without a word. */
  abandon(): void;
  /** Asks the database to cancel what runs, and never uses the session again. Settles soon, whatever happens. */
  stop(): Promise<void>;
}

const STOP_MS = 5_000;
/** Between two requests to cancel. */
const AGAIN_MS = 200;
const CLOSE_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;
/** PostgreSQL 12: the first with `rollback and chain`. */
const CHAINS_SINCE = 120_000;

/** Dials, encrypts, logs in. Rejects with `database_unreachable` and its reason, or with the reason of the signal. */
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

  /** More than once, because statements that nobody wants any more may come up behind the one that was stopped. */
  function stop(): Promise<void> {
    retired = true;
    // Before the login there is nothing to cancel.
    if (socket.destroyed || backend === null) return Promise.resolve();
    return (stopping ??= cancel(backend).finally(() => (stopping = null)));
  }

  async function cancel(running: SignedIn['backend']): Promise<void> {
    const ask = () => sendCancel(settings, policy, running, AbortSignal.timeout(STOP_MS));
    try {
      // Resolving a name cannot be stopped.
      await within(STOP_MS, ask());
    } catch {
      socket.destroy();
      return;
    }
    // A request that comes between two messages of a call meets nothing: what the second one began would run on.
    const again = setInterval(() => void ask().catch(() => {}), AGAIN_MS);
    // A database that takes the request and goes on regardless is left alone after a while.
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
      // Its place in the pool is free once the database knows that nobody waits, or does not take the message.
      await stopping;
      if (socket.destroyed) return;
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.end(TERMINATE);
      await within(CLOSE_MS, closed).catch(() => {});
      socket.destroy();
    },
  };
}
