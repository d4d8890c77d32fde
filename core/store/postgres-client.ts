import { readFileSync } from 'node:fs';
import { withTimeout } from '#core/lib/with-timeout.ts';
import postgres from 'postgres';
import { AppError } from '#core/errors.ts';
import { openPostgresSocket, type SocketTls } from './postgres-socket.ts';

/** The database cancels a longer statement. The client gives up a little later. */
const STATEMENT_MS = 9_000;
/** Shorter than the statement timeout, so that a waiting writer gets the error of the lock. */
const LOCK_MS = 8_000;
/** A transaction whose program sends nothing for this time is rolled back: it may be paused, and others wait for its locks. */
const IDLE_MS = 20_000;
/** Not sent with the login: PgBouncer refuses logins with settings that it does not know. */
const LIMITS = `set statement_timeout = ${STATEMENT_MS}; set lock_timeout = ${LOCK_MS}; set idle_in_transaction_session_timeout = ${IDLE_MS}`;
const SILENCE_MS = 10_000;
/** A query fails after this time, including the time to connect. */
const ANSWER_MS = 10_000;
/** Only a connection that receives nothing can have more statements under way. */
const MOST_AT_ONCE = 1_000;
const CONNECTIONS = 10;
const MODES: Readonly<Record<string, SocketTls['mode']>> = {
  require: 'require',
  allow: 'require',
  prefer: 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
};

const unavailable = (cause?: unknown): AppError =>
  new AppError('unavailable', 'The metadata database does not answer. Check SVC_DATABASE_URL and the database, then try again.', {
    cause,
    retry_after: 5,
  });

/** A pool that replaces lost connections. @param patient for migrations: no statement timeout. */
export function openPostgresClient(url: string, patient = false): postgres.Sql {
  const parsed = new URL(url);
  const tls = takeTls(parsed.searchParams);
  const options = {
    ssl: false as const,
    max: patient ? 1 : CONNECTIONS,
    onnotice: () => undefined,
    connect_timeout: 3,
    // The driver would fetch the types with the first query, and a failure would go unnoticed.
    fetch_types: false,
    connection: {
      application_name: 'sluice-server',
      TimeZone: 'UTC',
    },
    socket: (target: Parameters<typeof openPostgresSocket>[0]) =>
      openPostgresSocket(
        target,
        tls,
        patient ? { silence_ms: 24 * 3_600_000, setup: null } : { silence_ms: SILENCE_MS, setup: LIMITS },
      ),
  };
  return postgres(parsed.href, options as postgres.Options<Record<string, never>>);
}

/** Takes the TLS parameters out of the URL. Sluice handles TLS, not the driver. */
function takeTls(parameters: URLSearchParams): SocketTls | null {
  const root = parameters.get('sslrootcert');
  const mode = MODES[parameters.get('sslmode') ?? parameters.get('ssl') ?? ''] ?? (root === 'system' ? 'verify-full' : null);
  for (const name of ['sslmode', 'ssl', 'sslrootcert']) parameters.delete(name);
  return mode === null ? null : { mode, ca: root === null || root === 'system' ? null : readFileSync(root, 'utf8') };
}

type Unsafe = postgres.Sql['unsafe'];
type QueryArguments = Parameters<Unsafe>;
type PendingQuery = ReturnType<Unsafe>;

/** Statements with more parameters, such as those of an import, are rarely sent twice with as many. */
const MOST_PREPARED = 32;

/**
 * The same client for drizzle. Every query settles in time, with `unavailable` when the database does not respond.
 * @param mode of its transactions, as SQL after `begin`.
 */
export function withTimeouts(sql: postgres.Sql, mode = ''): postgres.Sql {
  let under_way = 0;
  const inTime = async <T>(work: () => PromiseLike<T>, onLate: () => void = () => undefined): Promise<T> => {
    if (under_way >= MOST_AT_ONCE) throw unavailable();
    under_way += 1;
    const call = Promise.resolve(work()).finally(() => {
      under_way -= 1;
    });
    try {
      return await withTimeout(call, ANSWER_MS, () => {
        onLate();
        throw unavailable();
      });
    } catch (error) {
      throw toAnswer(error);
    }
  };
  /** Starts the query in the next microtask, because drizzle first chooses between values and records. */
  const lazy = (query: PendingQuery) => {
    const answer = inTime(() => Promise.resolve().then(() => query));
    return Object.assign(answer, { values: () => (query.values(), answer) });
  };
  /** An unnamed statement makes the driver request the parameter types first, which takes two round trips instead of one. */
  const ask = (of: Pick<postgres.Sql, 'unsafe'>, text: string, values: QueryArguments[1] = []) =>
    lazy(of.unsafe(text, values, { prepare: values.length <= MOST_PREPARED }));
  const unsafe = ((text, values) => ask(sql, text, values)) as Unsafe;
  /** A transaction has no timeout, but each of its statements does. */
  const begin = async <T>(work: (tx: postgres.TransactionSql) => Promise<T>): Promise<T> => {
    const begun = Promise.withResolvers<void>();
    let late = false;
    let lost = false;
    const refusing = () => {
      const refused = Promise.reject(unavailable());
      return Object.assign(refused, { values: () => refused });
    };
    const done = sql.begin(mode, async (tx) => {
      if (late) throw unavailable();
      begun.resolve();
      const guarded = Object.assign(Object.create(tx) as typeof tx, {
        unsafe: ((text, values) => (lost ? refusing() : ask(tx, text, values))) as Unsafe,
      });
      // The driver ends a transaction with a statement, which must not be sent once the connection is lost.
      return new Promise<T>((resolve, reject) => {
        work(guarded).then(
          (value) => lost || resolve(value),
          (error: Error) => lost || reject(error),
        );
      });
    }) as Promise<T>;
    done.catch((error: unknown) => {
      lost = true;
      begun.reject(error);
    });
    await inTime(
      () => begun.promise,
      () => {
        late = true;
      },
    );
    return done.catch((error: unknown) => {
      throw toAnswer(error);
    });
  };
  return Object.assign(Object.create(sql) as postgres.Sql, { unsafe, begin });
}

const stillWriting = (cause: unknown): AppError =>
  new AppError('unavailable', 'Another change, such as a large import, is still being written. Try again in a moment.', {
    cause,
    retry_after: 5,
  });

/** The error for the caller: another server is writing, or the database is unreachable. */
export function toAnswer(error: unknown): unknown {
  if (error instanceof Error && (error as { code?: unknown }).code === LOCK_NOT_AVAILABLE) return stillWriting(error);
  return isLost(error) ? unavailable(error) : error;
}

/** PostgreSQL's code for a lock timeout. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Codes of the driver and of PostgreSQL for a failed or lost connection, and for a statement timeout. */
const LOST =
  /^(?:CONN.*|ECONN.*|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|08...|57P0.|57014|53300|25P03|ERR_STREAM.*|ERR_SOCKET.*)$/;

function isLost(error: unknown): boolean {
  if (error instanceof AppError || !(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? LOST.test(code) : /\bthe metadata database\b/i.test(error.message);
}
