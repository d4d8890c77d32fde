import { AppError } from '#core/errors.ts';
import { type Exchange, FLOODED } from '#core/lib/postgres/exchange.ts';
import { type Incoming, readCount } from '#core/lib/postgres/reader.ts';
import { isCode, LOST, translateError } from './errors.ts';
import { enoughOf, isRetyping, type CachedStatement } from './fetch.ts';
import { isRefusedValue, isStale, type ReadOnlyPipeline } from './read-only-pipeline.ts';
import { type Memory, toResult, unknownTypes } from './plan.ts';
import { openRows, type RowSink } from './rows.ts';
import type { PostgresSession } from './session.ts';
import type { SessionPool } from '../shared/session-pool.ts';
import type { BoundStatement, QueryResult } from '#core/lib/sql/result.ts';
import type { RunOptions, PipelineSlot, SessionMode } from '#core/engines/shared/source.ts';
import { STOP_GRACE_MS, type StopSignal } from '../shared/stop.ts';
import type { Timeouts } from '../shared/timeouts.ts';
import { lateAfter, timeOf } from './time-limit.ts';

/**
 * Sends several fixed statements that were measured as fast on one session. Each has a separate Sync, so they are independent.
 * The database runs at most as many at once as there are sessions. Only the first statement of a session can be cancelled; when
 * it is slow or cancelled, those behind it are displaced: they run again on another session, which is safe because the session is
 * read-only.
 */
export interface Pipelining {
  /** Null when the statement does not qualify, or needs an exclusive session. */
  slot(statement: BoundStatement, sessions: number): PipelineSlot | null;
}

export interface PipeliningOptions {
  readonly database: string;
  readonly memory: Memory;
  readonly pool: SessionPool<SessionMode, PostgresSession, StopSignal>;
  readonly timeouts: Timeouts;
}

/** The statement has no result here and is run again on an exclusive session. */
const DISPLACED = Symbol('displaced');
/** Maximum of pending statements per session. */
const DEPTH = 8;

export function createPipelining(context: PipeliningOptions): Pipelining {
  const { memory, pool } = context;
  return {
    slot(statement, sessions) {
      const { text } = statement;
      if (!memory.latencies.isFast(text) || memory.large.has(text)) return null;
      const session = pool.share('fixed', { sessions, depth: DEPTH }, ({ pipeline, read_only }) => {
        if (pipeline === null || !read_only || pipeline.is_stalled()) return false;
        const cached = pipeline.cachedStatement(statement);
        return cached !== undefined && unknownTypes(cached.columns, memory).length === 0;
      });
      if (session === null || session.pipeline === null) return null;
      return new PipelinedCall(context, session, session.pipeline, statement);
    },
  };
}

/** One statement, from sending it to the end of its answer. Its promise may settle earlier. */
class PipelinedCall implements Exchange, PipelineSlot {
  rows: RowSink | null = null;
  readonly kind = 'call';
  readonly spills = true;
  enough = 0;
  largest = 0;
  since = 0;
  prelude = 0;
  settings = false;
  closes = false;
  steady = false;
  joined = false;
  error: unknown = null;
  readonly #context: PipeliningOptions;
  readonly #session: PostgresSession;
  readonly #pipeline: ReadOnlyPipeline;
  readonly #statement: BoundStatement;
  readonly #answer = Promise.withResolvers<QueryResult | null>();
  #timeout_ms = 0;
  #columns: CachedStatement['columns'] = [];
  #oids: CachedStatement['oids'] = [];
  #changed = 0;
  #settled = false;
  /** Why it was stopped, while the database is cancelling it. */
  #stopped: unknown = null;
  #forget: () => void = () => {};

  constructor(context: PipeliningOptions, session: PostgresSession, pipeline: ReadOnlyPipeline, statement: BoundStatement) {
    this.#context = context;
    this.#session = session;
    this.#pipeline = pipeline;
    this.#statement = statement;
  }

  query(options: RunOptions): Promise<QueryResult | null> {
    const { timeouts, memory, pool } = this.#context;
    const { timeout_ms, signal } = options;
    const cached = this.#pipeline.cachedStatement(this.#statement);
    if (cached === undefined || !this.#session.usable || signal?.aborted === true) {
      pool.unshare(this.#session);
      return Promise.resolve(null);
    }
    this.#timeout_ms = timeout_ms;
    this.#columns = cached.columns;
    this.#oids = cached.oids;
    this.steady = memory.latencies.isSteady(this.#statement.text);
    this.enough = this.largest = enoughOf(options.max_bytes);
    this.rows = openRows(cached.columns, options, memory);
    const cancel = () => this.#stop(new AppError('cancelled', 'The caller disconnected, so the statement was cancelled.'));
    // A statement that has not begun has not used any of its time.
    const timeout = timeouts.add(timeout_ms, () =>
      this.#stop(this.#is_running() ? lateAfter(this.#session, timeout_ms) : DISPLACED),
    );
    signal?.addEventListener('abort', cancel, { once: true });
    this.#forget = () => {
      timeout.clear();
      signal?.removeEventListener('abort', cancel);
    };
    const limit_ms = timeOf(this.#session, timeout_ms);
    if (this.#session.timeout_ms !== limit_ms) this.#pipeline.setTimeout((this.#session.timeout_ms = limit_ms));
    try {
      this.#pipeline.send(cached, this.#statement, this, options.session);
    } catch (error) {
      pool.unshare(this.#session);
      this.#reject(this.#translate(error));
    }
    return this.#answer.promise;
  }

  on(message: Incoming): void {
    if (isRetyping(message, this.#oids)) {
      this.#pipeline.forget(this.#statement);
      this.#reject(this.#stopped ?? DISPLACED);
    }
    if (message.type === 'C' && this.#columns.length === 0) this.#changed = readCount(message);
  }

  end(error: unknown): void {
    const { pool, memory } = this.#context;
    const { text } = this.#statement;
    this.#session.uses++;
    // It never began if the session was lost before its turn.
    if (this.since > 0) memory.latencies.note(text, performance.now() - this.since, this.rows?.rows.length ?? 0);
    if (error === FLOODED) memory.large.add(text);
    else if (error !== null) memory.latencies.noteFailure(text);
    if (!this.#pipeline.is_clean()) this.#session.retire();
    if (!this.#settled) this.#settle(error);
    pool.unshare(this.#session);
  }

  displace(): boolean {
    this.#reject(DISPLACED);
    return true;
  }

  /** Cancels it now that it is slow, if its caller left before it began. */
  linger(): void {
    if (this.#settled) void this.#session.stop();
  }

  /** False while the first statement waits for the answer of another one, which may be the slow one. */
  #is_running(): boolean {
    return this.#pipeline.is_first(this) && !this.joined;
  }

  #settle(error: unknown): void {
    if (this.#stopped !== null) return this.#reject(this.#stopped);
    if (error !== null && error !== FLOODED) return this.#reject(this.#faultOf(error));
    const { rows } = this;
    if (rows === null) return this.#reject(DISPLACED);
    if (error === FLOODED) rows.truncate();
    const source = this.#columns;
    const affected_rows = source.length > 0 ? null : this.#changed;
    this.#settled = true;
    this.#forget();
    this.#answer.resolve(toResult({ source, rows: rows.rows, truncated: rows.truncated(), affected_rows }, this.#context.memory));
  }

  /** Errors of the statement itself are its result; after any other error it runs again. */
  #faultOf(error: unknown): unknown {
    if (isStale(error, this.#statement)) {
      // The exclusive session decides whether it must be prepared again.
      if (!isRefusedValue(error)) this.#pipeline.forget(this.#statement);
      return DISPLACED;
    }
    if (isCode(error, '57014')) {
      const is_late = performance.now() - this.since > timeOf(this.#session, this.#timeout_ms) - 100;
      return is_late ? lateAfter(this.#session, this.#timeout_ms) : DISPLACED;
    }
    const translated = this.#translate(error);
    if (translated.reason !== LOST) return translated;
    this.#session.retire();
    return DISPLACED;
  }

  #translate(error: unknown): AppError {
    return translateError(error, { database: this.#context.database, text: this.#statement.text });
  }

  #reject(error: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    this.rows = null;
    this.#forget();
    if (error === DISPLACED) this.#answer.resolve(null);
    else this.#answer.reject(error);
  }

  /**
   * A cancel request stops whatever the session is running. Only the first statement sends it, after those behind it were
   * displaced.
   */
  #stop(reason: unknown): void {
    if (this.#settled || this.#stopped !== null) return;
    if (!this.#pipeline.is_first(this)) return this.#reject(reason);
    this.#stopped = reason;
    this.#pipeline.displace();
    void this.#session.stop();
    this.#context.timeouts.add(STOP_GRACE_MS, () => this.#reject(reason));
  }
}
