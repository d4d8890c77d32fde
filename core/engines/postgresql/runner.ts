import { AppError } from '#core/errors.ts';
import { openLightDeadline } from '../shared/deadline.ts';
import { createHostChoice, type HostStates } from '../shared/hosts/host-choice.ts';
import type { HostAddress } from '../shared/hosts/host-list.ts';
import { createLatencyStats } from '../shared/latency-stats.ts';
import { CATALOGUE_LIMITS } from '../shared/rows.ts';
import { createSessionPool, NOTICED_MS, type SessionPool } from '../shared/session-pool.ts';
import type { BoundStatement, QueryResult } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy, RunOptions, SessionMode } from '#core/engines/shared/source.ts';
import { type StopSignal, toAbortSignal } from '../shared/stop.ts';
import { createTimeouts, type Timeouts } from '../shared/timeouts.ts';
import { isCode, LOST } from './errors.ts';
import { createLargeTexts, learnTypes, type Memory, type SourceColumns, toResult, typesQuestion, unknownTypes } from './plan.ts';
import { type StatementRun, runStatement } from './run.ts';
import { lagOf, openPostgresSession, type PostgresSession, roleOf } from './session.ts';

const IDLE_MS = 60_000;
/**
 * protocol_violation, undefined_object, invalid_parameter_value: errors of poolers and compatible databases that refuse a setting
 * at login.
 */
const SETTING_REFUSED = ['08P01', '42704', '22023'];

export interface PostgresRunner {
  readonly memory: Memory;
  readonly pool: SessionPool<SessionMode, PostgresSession, StopSignal>;
  readonly timeouts: Timeouts;
  readonly seen: {
    readonly encrypted: boolean;
    /** True when a pooler in between refuses or ignores settings at login. */
    readonly plain: boolean;
  };
  /** Runs work in a session of its mode, within the time limit of a call. */
  readonly using: <Result>(
    mode: SessionMode,
    options: Pick<RunOptions, 'timeout_ms' | 'signal'>,
    work: (session: PostgresSession, call: StatementRun) => Promise<Result>,
  ) => Promise<Result>;
  /** Null: the session for fixed statements is not read-only. @param left_ms the remaining milliseconds of the call. */
  readonly run: (statement: BoundStatement, options: RunOptions, left_ms?: number) => Promise<QueryResult | null>;
  /** Looks up types that are not built in, once each. */
  readonly learn: (source: SourceColumns) => Promise<void>;
  readonly hosts: HostStates | undefined;
}

/** The three modes never share a session. All sessions together are at most `pool_size`. */
export function createPostgresRunner(
  settings: ConnectionSettings,
  policy: DialPolicy,
  whenOpen: (mode: SessionMode, session: PostgresSession) => void = () => undefined,
): PostgresRunner {
  const memory: Memory = { types: new Map(), plans: new WeakMap(), large: createLargeTexts(), latencies: createLatencyStats() };
  const seen = { encrypted: true, plain: false };
  const timeouts = createTimeouts();
  const choice = createHostChoice<PostgresSession, StopSignal>(settings, { open: openOn, role: roleOf, lag: lagOf });
  const { open } = choice;
  const pool = createSessionPool<SessionMode, PostgresSession, StopSignal>({ limit: settings.pool_size, idle_ms: IDLE_MS, open });

  async function openOn(address: HostAddress, mode: SessionMode, signal: StopSignal): Promise<PostgresSession> {
    const start = { mode, plain: seen.plain };
    let session: PostgresSession;
    try {
      session = await openPostgresSession({ ...settings, ...address }, policy, start, toAbortSignal(signal));
    } catch (error) {
      // A concurrent login may have found it out already.
      if (start.plain || !isSettingRefused(error)) throw error;
      seen.plain = true;
      return openOn(address, mode, signal);
    }
    seen.encrypted = session.encrypted;
    // A pooler that ignores login settings hands out sessions that are not read-only.
    if (mode !== 'write' && !session.read_only) seen.plain = true;
    whenOpen(mode, session);
    return session;
  }

  async function using<Result>(
    mode: SessionMode,
    options: Pick<RunOptions, 'timeout_ms' | 'signal'>,
    work: (session: PostgresSession, call: StatementRun) => Promise<Result>,
  ): Promise<Result> {
    const deadline = openLightDeadline(timeouts, options.timeout_ms, options.signal);
    const call: StatementRun = { database: settings.database, memory, signal: deadline.signal };
    try {
      // Idle sessions often die together, so every one of them may fail once.
      for (let attempts_left = settings.pool_size; ; attempts_left--) {
        let is_reused = false;
        let began = 0;
        try {
          return await pool.use(mode, deadline.signal, (session) => {
            is_reused = session.uses > 0;
            began = performance.now();
            return work(session, call);
          });
        } catch (error) {
          // A session that died while idle only fails when it is used. A read is then run again.
          const is_lost = error instanceof AppError && error.reason === LOST;
          const is_late = performance.now() - began > NOTICED_MS;
          if (!is_lost || !is_reused || mode === 'write' || deadline.signal.aborted || is_late || attempts_left === 0)
            throw error;
        }
      }
    } finally {
      deadline.clear();
    }
  }

  async function run(statement: BoundStatement, options: RunOptions, left_ms = options.timeout_ms): Promise<QueryResult | null> {
    const began = performance.now();
    const fetched = await using(options.mode, { ...options, timeout_ms: left_ms }, async (session, call) => {
      if (options.mode === 'fixed' && !session.read_only) {
        session.retire();
        return null;
      }
      return runStatement(session, statement, options, call);
    });
    if (fetched === null) return null;
    // A write has looked them up before its commit, because nothing may fail after it.
    if (options.mode !== 'write')
      await learn(fetched.source, { signal: options.signal, timeout_ms: Math.max(1, began + left_ms - performance.now()) });
    return toResult(fetched, memory);
  }

  async function learn(
    source: SourceColumns,
    within: Pick<RunOptions, 'timeout_ms' | 'signal'> = { timeout_ms: CATALOGUE_LIMITS.timeout_ms },
  ): Promise<void> {
    const unknown = unknownTypes(source, memory);
    if (unknown.length === 0) return;
    const found = await run(typesQuestion(unknown), { mode: 'read', ...CATALOGUE_LIMITS, ...within });
    if (found !== null) learnTypes(found.rows, memory);
  }

  return { memory, pool, timeouts, seen, using, run, learn, hosts: choice.states };
}

function isSettingRefused(error: unknown): boolean {
  return error instanceof AppError && (isCode(error, ...SETTING_REFUSED) || SETTING_REFUSED.includes(error.reason ?? ''));
}
