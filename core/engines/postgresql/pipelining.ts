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
import { STOP_GRACE, type StopSignal } from '../shared/stop.ts';
import type { Timeouts } from '../shared/timeouts.ts';
import { lateAfter, timeOf } from './time-limit.ts';

/**
 * Fixed statements that were measured as fast, several on their way on one session: each has its own Sync, so that they know
 * nothing of each other. The database runs no more at once than there are sessions. Only the first one of a session can be
 * cancelled there; when it takes long or is cancelled, those behind it are displaced: they run again elsewhere, which is safe,
 * because the session only reads.
 */
export interface Pipelining {
  /** Null when the statement is not one of these, or has to wait for a session of its own. */
  slot(statement: BoundStatement, sessions: number): PipelineSlot | null;
}

export interface PipeliningOptions {
  readonly database: string;
  readonly memory: Memory;
  readonly pool: SessionPool<SessionMode, PostgresSession, StopSignal>;
  readonly timeouts: Timeouts;
}

/** Why a statement has no answer here: it is run again, by itself. */
const DISPLACED = Symbol('displaced');
/** Statements on their way on one session. */
const DEPTH = 8;

export function createPipelining(context: PipeliningOptions): Pipelining {
  const { memory, pool } = context;
  return {
    slot(statement, sessions) {
      const { text } = statement;
      if (!memory.latencies.isFast(text) || memory.large.has(text)) return null;
      const session = pool.share('fixed', { sessions, depth: DEPTH }, ({ pipeline, read_only }) => {
        if (pipeline === null || !read_only || pipeline.is_stalled()) return false;
        const kept = pipeline.keeps(statement);
        return kept !== undefined && unknownTypes(kept.columns, memory).length === 0;
      });
      if (session === null || session.pipeline === null) return null;
      return new PipelinedCall(context, session, session.pipeline, statement);
    },
  };
}

/** One statement from its sending to the end of its answer; its promise may be settled before that. */
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
  /** Why it was stopped, while the database is asked to stop it. */
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
    const kept = this.#pipeline.keeps(this.#statement);
    if (kept === undefined || !this.#session.usable || signal?.aborted === true) {
      pool.unshare(this.#session);
      return Promise.resolve(null);
    }
    this.#timeout_ms = timeout_ms;
    this.#columns = kept.columns;
    this.#oids = kept.oids;
    this.steady = memory.latencies.isSteady(this.#statement.text);
    this.enough = this.largest = enoughOf(options.max_bytes);
    this.rows = openRows(kept.columns, options, memory);
    const cancel = () => this.#stop(new AppError('cancelled', 'The caller disconnected, so the statement was cancelled.'));
    // What has not begun has had none of its time.
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
      this.#pipeline.send(kept, this.#statement, this, options.session);
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
    // It never began when the session was lost before its turn.
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

  /** Its caller left before it began: now that it takes long, it is cancelled after all. */
  linger(): void {
    if (this.#settled) void this.#session.stop();
  }

  /** The answer of the first one may wait for that of another, and that one be late. */
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

  /** What the statement itself is to blame for is its answer; all else is asked again. */
  #faultOf(error: unknown): unknown {
    if (isStale(error, this.#statement)) {
      // Whether it has to be prepared again is asked by the session that runs it by itself.
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

  /** A cancel request meets whatever the session runs: only the first one sends it, and nobody waits behind it. */
  #stop(reason: unknown): void {
    if (this.#settled || this.#stopped !== null) return;
    if (!this.#pipeline.is_first(this)) return this.#reject(reason);
    this.#stopped = reason;
    this.#pipeline.displace();
    void this.#session.stop();
    this.#context.timeouts.add(STOP_GRACE, () => this.#reject(reason));
  }
}
