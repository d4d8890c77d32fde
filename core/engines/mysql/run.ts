import type { Connection } from 'mysql2';
import { AppError, commitError } from '#core/errors.ts';
import { within } from '../shared/deadline.ts';
import { openCounter } from './count.ts';
import { createMysqlDialer, type MysqlDialer } from './dial.ts';
import { LOST } from './errors.ts';
import { mysqlExtras } from './extras.ts';
import { askServer, lagOf, type MysqlServer, roleOf } from './server.ts';
import { type MysqlRun, type MysqlSession, openMysqlSession } from './session.ts';
import { toMysqlValue } from './values.ts';
import { createHostChoice, type HostStates } from '../shared/hosts/host-choice.ts';
import type { HostAddress } from '../shared/hosts/host-list.ts';
import { createSessionPool, NOTICED_MS, type SessionPool } from '../shared/session-pool.ts';
import type { BoundStatement, QueryResult } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy, RowReceiver, RunOptions, SessionMode } from '#core/engines/shared/source.ts';

const IDLE_MS = 60_000;
/** Milliseconds that a server may take for a commit, and for cleaning up a session. */
const COMMIT_MS = 60_000;
const CLEAN_MS = 2_000;

export interface MysqlRunner {
  readonly pool: SessionPool<SessionMode, MysqlSession>;
  /** Runs work in a session. A session that died while idle only fails when it is used; read-only work is then run again. */
  using<Result>(mode: SessionMode, stop: AbortSignal, work: (session: MysqlSession) => Promise<Result>): Promise<Result>;
  readonly hosts: HostStates | undefined;
  /** Undefined until the first session is open. */
  server(): MysqlServer | undefined;
  /** Runs one statement in a session of its mode, and cleans the session up. @param variables of the session, see `MysqlRun`. */
  run(
    statement: Pick<BoundStatement, 'text' | 'values' | 'types'> & { readonly dialect?: string | undefined },
    options: RunOptions,
    stop: AbortSignal,
    variables?: MysqlRun['variables'],
    receiver?: RowReceiver,
  ): Promise<QueryResult>;
}

/** The three modes never share a session. All sessions together are at most `pool_size`. */
export function createMysqlRunner(
  settings: ConnectionSettings,
  policy: DialPolicy,
  whenOpen: (mode: SessionMode, session: MysqlSession) => void = () => undefined,
): MysqlRunner {
  const dialers = new Map<HostAddress, MysqlDialer>();
  const dialerOf = (address: HostAddress): MysqlDialer => {
    const known = dialers.get(address) ?? createMysqlDialer({ ...settings, ...address }, policy);
    dialers.set(address, known);
    return known;
  };
  const extras = mysqlExtras(settings.extra_params);
  let server: MysqlServer | undefined;
  const choice = createHostChoice<MysqlSession, AbortSignal>(settings, {
    role: roleOf,
    lag: lagOf,
    async open(address, mode, signal) {
      const dialer = dialerOf(address);
      const ask = async (connection: Connection) => (server = await askServer(connection, server?.version));
      const session = await openMysqlSession(dialer, { mode, extras }, ask, signal);
      whenOpen(mode, session);
      return session;
    },
  });
  const { open } = choice;
  const pool = createSessionPool<SessionMode, MysqlSession>({ limit: settings.pool_size, idle_ms: IDLE_MS, open });
  /** Sessions that have been used before. */
  const served = new WeakSet<MysqlSession>();

  async function using<Result>(
    mode: SessionMode,
    stop: AbortSignal,
    work: (session: MysqlSession) => Promise<Result>,
  ): Promise<Result> {
    // Idle sessions often die together, so every one of them may fail once.
    for (let attempts_left = settings.pool_size; ; attempts_left--) {
      let is_reused = false;
      let began = 0;
      try {
        const result = await pool.use(mode, stop, async (session) => {
          is_reused = served.has(session);
          served.add(session);
          // A server can become a standby while sessions are open, and accept writes of some accounts.
          if (is_reused && mode === 'write' && choice.states !== undefined && (await roleOf(session)) === 'standby') {
            session.retire();
            return DEMOTED;
          }
          began = performance.now();
          try {
            return await work(session);
          } catch (error) {
            if (isLost(error)) session.discard();
            throw error;
          }
        });
        if (result !== DEMOTED) return result;
      } catch (error) {
        const is_late = performance.now() - began > NOTICED_MS;
        if (!isLost(error) || !is_reused || mode === 'write' || stop.aborted || is_late || attempts_left === 0) throw error;
      }
    }
  }

  return {
    pool,
    hosts: choice.states,
    server: () => server,
    using,
    run(
      { text, values, types, dialect },
      { mode, timeout_ms, max_rows, max_bytes, rollback, review },
      stop,
      variables = [],
      receiver,
    ) {
      const bound = values.map((value, i) => toMysqlValue(value, types[i] ?? 'string', extras.offset));
      const request = { text, dialect, values: bound, variables, timeout_ms, max_rows, max_bytes, rollback, review, receiver };
      return using(mode, stop, (session) => runIn(session, mode, request, stop));
    },
  };
}

const DEMOTED = Symbol('demoted');

const isLost = (error: unknown): boolean => error instanceof AppError && error.reason === LOST;

async function runIn(session: MysqlSession, mode: SessionMode, request: MysqlRun, stop: AbortSignal): Promise<QueryResult> {
  const { review, rollback = false } = request;
  try {
    if (mode !== 'write') return await session.run(request, stop);
    const counter = review === undefined ? null : await openCounter(session, stop);
    const result = await session.run(request, stop);
    stop.throwIfAborted();
    const commits = counter === null || review === undefined ? !rollback : review(await counter(result.affected_rows));
    stop.throwIfAborted();
    if (commits) await commit(session);
    return result;
  } finally {
    // A fixed statement leaves nothing but its transaction, because it only names plain tables.
    await clean(session, mode !== 'fixed');
  }
}

/** Rolls back and resets the session. If that fails, the session is discarded. */
async function clean(session: MysqlSession, resets: boolean): Promise<void> {
  if (!session.usable) return;
  try {
    await within(
      CLEAN_MS,
      session.command('ROLLBACK').then(() => (resets ? session.reset() : undefined)),
    );
  } catch {
    session.discard();
  }
}

async function commit(session: MysqlSession): Promise<void> {
  try {
    await within(COMMIT_MS, session.command('COMMIT'));
  } catch (error) {
    const failed = commitError(error);
    if (!session.usable || failed !== error) session.discard();
    throw failed;
  }
}
