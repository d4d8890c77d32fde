import postgres from 'postgres';
import { AppError } from '#core/errors.ts';
import { translateError } from './errors.ts';
import { sessionSettings } from './extras.ts';
import { type Lane, openLane } from './lane.ts';
import { openLink, sendCancel } from './link.ts';
import { driverTypes, type TextCounter } from './types.ts';
import { meterRows, notPostgres, type RowMeter } from './wire.ts';
import type { PooledSession } from '../shared/session-pool.ts';
import type { ConnectionSettings, DialPolicy, SessionMode } from '../shared/source.ts';
import { within } from '../shared/within.ts';

/**
 * Options of a statement: both use the extended protocol, which takes one statement at most. `simple` is what makes it so;
 * without values the driver would choose the simple protocol, and stacked statements would run.
 */
export const UNNAMED = { simple: false, prepare: false };
export const NAMED = { simple: false, prepare: true };

/** One physical connection. It executes one statement at a time, so that a cancel request meets the right one. */
export interface PostgresSession extends PooledSession {
  readonly sql: postgres.Sql;
  readonly encrypted: boolean;
  /** The database itself says that every transaction of this session only reads. */
  readonly read_only: boolean;
  readonly counter: TextCounter;
  readonly meter: RowMeter;
  /** True once rows came in beyond what the meter allowed; the session is then over. */
  readonly flooded: () => boolean;
  /** Milliseconds that the database gives a statement outside of an explicit transaction. */
  timeout_ms: number;
  /** Of a session for fixed statements: what runs them. */
  readonly lane: Lane | null;
  /** What could not be set at the login, so it is set in every transaction. */
  readonly settings: Readonly<Record<string, string>>;
  /** When it was opened, of `performance.now()`. */
  readonly since: number;
  /** The database can keep something in a session that no reset ends. */
  readonly lasting: boolean;
  /** The statement that runs is fetched in chunks. */
  in_portal: boolean;
  /** Statements executed so far. */
  uses: number;
  /** The pool does not hand the session out again. */
  retire(): void;
  /** Cuts the connection without a word. */
  abandon(): void;
  /** Asks the database to cancel what runs, and never uses the session again. Settles soon, whatever happens. */
  stop(): Promise<void>;
}

export interface SessionStart {
  readonly mode: SessionMode;
  readonly timeout_ms: number;
  /** A pooler in between refuses or forgets settings at the start; the recipe of each call makes them instead. */
  readonly plain: boolean;
}

/** What every session is set to, whatever the account's or the database's defaults are. */
export const SESSION_SETTINGS = { TimeZone: 'UTC', DateStyle: 'ISO, YMD', extra_float_digits: '3' } as const;

const LOGIN_SECONDS = 10;
const STOP_MS = 5_000;
const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);

/** Dials, encrypts, logs in. Rejects with `database_unreachable` and its reason, or with the reason of the signal. */
export async function openPostgresSession(
  settings: ConnectionSettings,
  policy: DialPolicy,
  start: SessionStart,
  signal: AbortSignal,
): Promise<PostgresSession> {
  const own = sessionSettings(settings.extra_params);
  const { socket, encrypted } = await openLink(settings, policy, signal);
  let retired = false;
  let closed = false;
  let stopping = false;
  let flooded = false;
  let strange: AppError | undefined;
  let given = false;
  let failure: unknown;
  let backend = { pid: 0, secret: 0 };
  let stopped: Promise<void> | undefined;
  // The driver takes the socket a moment later, and lets go of it when it closes; an error must find a listener all the time.
  const listen = () => socket.on('error', (error) => (failure ??= error));
  const forget = socket.removeAllListeners.bind(socket);
  Object.assign(socket, { removeAllListeners: () => (forget(), listen()) });
  listen();
  const abort = () => socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  const counter: TextCounter = { bytes: 0 };
  const exceeded = () => {
    flooded = true;
    // Before the login there is nothing to cancel.
    if (backend.pid !== 0) void stop();
    socket.destroy();
  };
  const meter = meterRows(socket, {
    exceeded,
    strange(error) {
      strange = error;
      socket.destroy();
    },
    // The driver waits for the end of a portal that an empty statement never has; the Sync message ends it.
    empty: () => void (session.in_portal && socket.write(SYNC)),
  });

  const options = {
    ...driverOptions(settings, counter),
    connection: startupParameters(start, own),
    onclose: () => void (closed = true),
    socket: () => {
      if (given || socket.destroyed) throw failure ?? new AppError('database_unreachable', HUNG_UP, { reason: 'failed' });
      given = true;
      return socket;
    },
  };
  // The option `socket` and custom parsers of several types are documented, but missing in the driver's types.
  const sql: postgres.Sql = postgres(options as unknown as postgres.Options<Record<string, postgres.PostgresType>>);
  let read_only = false;
  let lasting = false;
  try {
    const hello = await sql.unsafe(helloOf(settings), [], UNNAMED);
    backend = hello.state;
    lasting = hello[0]?.['lasting'] === true;
    read_only = hello[0]?.['read_only'] === 'on';
  } catch (error) {
    socket.destroy();
    if (signal.aborted) throw signal.reason;
    const translated = strange ?? translateError(error, settings);
    // Whatever the driver stumbles over here is the server's doing: nobody's statement has been sent yet.
    throw translated.code === 'internal' ? notPostgres() : translated;
  } finally {
    signal.removeEventListener('abort', abort);
  }

  const lane = start.mode === 'fixed' && read_only ? openLane(socket, exceeded) : null;
  if (lane !== null) meter.divert((chunk) => lane.take(chunk));

  /** More than once, because statements that nobody wants any more may come up behind the one that was stopped. */
  function stop(): Promise<void> {
    if (closed || stopping) return Promise.resolve();
    stopping = true;
    retired = true;
    stopped = cancel().finally(() => (stopping = false));
    return stopped;
  }

  async function cancel(): Promise<void> {
    const deadline = AbortSignal.timeout(STOP_MS);
    try {
      // Resolving a name cannot be stopped.
      await within(STOP_MS, sendCancel(settings, policy, backend, deadline));
    } catch {
      socket.destroy();
      return;
    }
    // A database that takes the request and goes on regardless is left alone after a while.
    const timer = setTimeout(() => socket.destroy(), STOP_MS);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
  }

  const session: PostgresSession = {
    sql,
    in_portal: false,
    encrypted,
    read_only,
    counter,
    meter,
    timeout_ms: start.timeout_ms,
    lane,
    settings: start.plain ? { ...own, ...SESSION_SETTINGS } : {},
    since: performance.now(),
    lasting,
    uses: 0,
    retire: () => void (retired = true),
    abandon: () => void socket.destroy(),
    flooded: () => flooded,
    get usable() {
      return !retired && !closed && !socket.destroyed;
    },
    stop,
    async close() {
      // Its place in the pool is free once the database knows that nobody waits, or does not take the message.
      await stopped;
      if (!closed && !socket.destroyed) await sql.end({ timeout: 1 });
      socket.destroy();
      closed = true;
    },
  };
  return session;
}

const HUNG_UP = 'The server closed the connection during the login; check the host, the port and ssl_mode.';
/** What DISCARD ALL does not end: connections of postgres_fdw and dblink with all that was left there, variables of other languages. */
const LASTING = `exists (select from pg_catalog.pg_foreign_server)
  or exists (select from pg_catalog.pg_extension where extname operator(pg_catalog.=) 'dblink')
  or exists (select from pg_catalog.pg_language where lanname operator(pg_catalog.<>) all (array['internal', 'c', 'sql', 'plpgsql']::name[]))`;
const READ_ONLY = `select pg_catalog.current_setting('default_transaction_read_only') as read_only`;
const helloOf = ({ db_type }: ConnectionSettings): string =>
  `${READ_ONLY}, ${db_type === 'postgresql' ? LASTING : 'false'} as lasting`;

function driverOptions(settings: ConnectionSettings, counter: TextCounter) {
  return {
    // Only words for messages: what is dialled is the socket below.
    host: 'database',
    port: 5432,
    database: settings.database,
    user: settings.username ?? 'postgres',
    // A function, because the driver would replace an empty password by one of its own environment variables.
    pass: () => settings.password ?? '',
    max: 1,
    ssl: false,
    sslnegotiation: null,
    prepare: true,
    fetch_types: false,
    idle_timeout: null,
    max_lifetime: null,
    max_pipeline: 100,
    connect_timeout: LOGIN_SECONDS,
    keep_alive: 60,
    backoff: 0,
    debug: false,
    publications: '',
    no_subscribe: true,
    types: driverTypes(counter),
    onnotice: () => {},
  };
}

function startupParameters({ mode, timeout_ms, plain }: SessionStart, own: Readonly<Record<string, string>>) {
  const { application_name } = own;
  if (plain) return { application_name };
  return {
    ...own,
    ...SESSION_SETTINGS,
    standard_conforming_strings: 'on',
    IntervalStyle: 'postgres',
    bytea_output: 'hex',
    statement_timeout: String(timeout_ms),
    ...(mode === 'write' ? {} : { default_transaction_read_only: 'on' }),
  };
}
