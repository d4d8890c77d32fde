import { readFileSync } from 'node:fs';
import { withTimeout } from '#core/lib/with-timeout.ts';
import postgres from 'postgres';
import { AppError } from '#core/errors.ts';
import { openPostgresSocket, type SocketTls } from './postgres-socket.ts';

/** The database ends a statement that takes longer; the client gives up a little later. */
const STATEMENT_MS = 9_000;
/** A writer that waits for another one is told so before the database ends its statement. */
const LOCK_MS = 8_000;
const SILENCE_MS = 10_000;
/** Whoever asks is told so after this time, connections that had to be made included. */
const ANSWER_MS = 10_000;
/** More can only be under way when nothing comes back. */
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

/** A pool of connections that heal by themselves. @param patient for migrations: statements may take as long as they need. */
export function openPostgresClient(url: string, patient = false): postgres.Sql {
  const parsed = new URL(url);
  const tls = takeTls(parsed.searchParams);
  const options = {
    ssl: false as const,
    max: patient ? 1 : CONNECTIONS,
    onnotice: () => undefined,
    connect_timeout: 3,
    // The driver would ask for them beside the first query, and nobody would hear of the failure.
    fetch_types: false,
    connection: {
      application_name: 'sluice-server',
      TimeZone: 'UTC',
      ...(patient ? {} : { statement_timeout: STATEMENT_MS, lock_timeout: LOCK_MS, idle_in_transaction_session_timeout: 60_000 }),
    },
    socket: (target: Parameters<typeof openPostgresSocket>[0]) =>
      openPostgresSocket(target, tls, patient ? 24 * 3_600_000 : SILENCE_MS),
  };
  return postgres(parsed.href, options as postgres.Options<Record<string, never>>);
}

/** What the URL says of TLS, which is ours to keep and not the driver's. */
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
 * The same client for drizzle, where everything that is asked is answered in time: with `unavailable` when nothing else comes.
 * @param mode of its transactions, as SQL writes it after `begin`.
 */
export function withReconnect(sql: postgres.Sql, mode = ''): postgres.Sql {
  let under_way = 0;
  const inTime = async <T>(work: () => PromiseLike<T>, onLate: () => void = () => undefined): Promise<T> => {
    if (under_way >= MOST_AT_ONCE) throw unavailable();
    under_way += 1;
    const asked = Promise.resolve(work()).finally(() => {
      under_way -= 1;
    });
    try {
      return await withTimeout(asked, ANSWER_MS, () => {
        onLate();
        throw unavailable();
      });
    } catch (error) {
      throw toAnswer(error);
    }
  };
  /** Asked a moment later: until then the library says whether it wants values or records. */
  const lazy = (query: PendingQuery) => {
    const answer = inTime(() => Promise.resolve().then(() => query));
    return Object.assign(answer, { values: () => (query.values(), answer) });
  };
  /** Without a name the driver asks for the types of the parameters first: two round trips in the place of one, every time. */
  const ask = (of: Pick<postgres.Sql, 'unsafe'>, text: string, values: QueryArguments[1] = []) =>
    lazy(of.unsafe(text, values, { prepare: values.length <= MOST_PREPARED }));
  const unsafe = ((text, values) => ask(sql, text, values)) as Unsafe;
  /** A transaction may take as long as its statements do, of which each is answered in time. */
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
      // The driver ends a transaction with a statement of its own: not where there is no connection any more.
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

/** What a caller is told of a fault: that another one is writing, or of one of the connection, that the database is away. */
export function toAnswer(error: unknown): unknown {
  if (error instanceof Error && (error as { code?: unknown }).code === LOCK_NOT_AVAILABLE) return stillWriting(error);
  return isLost(error) ? unavailable(error) : error;
}

/** PostgreSQL's code for a lock that was not free in time. */
const LOCK_NOT_AVAILABLE = '55P03';

/** What the driver and PostgreSQL say of a connection that cannot be had, was lost, or of a statement that took too long. */
const LOST =
  /^(?:CONN.*|ECONN.*|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|08...|57P0.|57014|53300|25P03|ERR_STREAM.*|ERR_SOCKET.*)$/;

function isLost(error: unknown): boolean {
  if (error instanceof AppError || !(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? LOST.test(code) : /\bthe metadata database\b/i.test(error.message);
}
