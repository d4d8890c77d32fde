import { AppError } from '#core/errors.ts';
import { deferred } from '#core/lib/with-timeout.ts';
import type { StopSignal } from './stop.ts';

/**
 * Milliseconds within which a dead idle session fails its statement. If it fails later, the statement itself may have ended it.
 */
export const NOTICED_MS = 1_000;

export interface PooledSession {
  /** False once it is closed or in an unknown state; the pool then closes it instead of reusing it. */
  readonly usable: boolean;
  close(): Promise<void>;
}

export interface SessionPool<Kind extends string, Session extends PooledSession, Signal extends StopSignal = AbortSignal> {
  /** Runs `work` with an exclusive session. `signal` aborts waiting and opening, and its reason is the error. */
  use<Result>(kind: Kind, signal: Signal, work: (session: Session) => Promise<Result>): Promise<Result>;
  /**
   * Returns a session for one more short piece of work without waiting: an idle one while fewer than `sessions` are in use, else
   * one with less than `depth` such pieces. Null when there is none, or when a call waits for an exclusive session.
   */
  share(
    kind: Kind,
    limits: { readonly sessions: number; readonly depth: number },
    fits: (session: Session) => boolean,
  ): Session | null;
  /** Ends one piece of shared work. */
  unshare(session: Session): void;
  /** Number of open sessions, including those being opened or closed. */
  sessions(): number;
  /** Serves the calls that already wait, then closes every session. */
  close(): Promise<void>;
}

export interface SessionPoolOptions<Kind extends string, Session extends PooledSession, Signal extends StopSignal = AbortSignal> {
  readonly limit: number;
  readonly idle_ms: number;
  readonly open: (kind: Kind, signal: Signal) => Promise<Session>;
}

interface IdleSession<Kind, Session> {
  readonly kind: Kind;
  readonly session: Session;
  readonly since: number;
}

interface SharedSession<Kind, Session> {
  readonly kind: Kind;
  readonly session: Session;
  users: number;
}

interface Waiter<Kind, Session, Signal> {
  readonly kind: Kind;
  readonly signal: Signal;
  readonly take: (session: Session) => void;
  readonly refuse: (error: unknown) => void;
}

export const createSessionPool = <Kind extends string, Session extends PooledSession, Signal extends StopSignal = AbortSignal>(
  options: SessionPoolOptions<Kind, Session, Signal>,
): SessionPool<Kind, Session, Signal> => new OpenSessions(options);

/**
 * Sessions are opened on demand, first come first served, with at most `limit` of all kinds together. A session never changes its
 * kind: when the limit is reached and only another kind is idle, that one is closed first.
 */
class OpenSessions<
  Kind extends string,
  Session extends PooledSession,
  Signal extends StopSignal = AbortSignal,
> implements SessionPool<Kind, Session, Signal> {
  readonly #options: SessionPoolOptions<Kind, Session, Signal>;
  readonly #idle: IdleSession<Kind, Session>[] = [];
  readonly #shared: SharedSession<Kind, Session>[] = [];
  readonly #waiting: Waiter<Kind, Session, Signal>[] = [];
  #open = 0;
  #closing = 0;
  #sweeper: ReturnType<typeof setTimeout> | undefined;
  #ended: PromiseWithResolvers<void> | undefined;

  constructor(options: SessionPoolOptions<Kind, Session, Signal>) {
    this.#options = options;
  }

  async use<Result>(kind: Kind, signal: Signal, work: (session: Session) => Promise<Result>): Promise<Result> {
    if (this.#ended) throw new AppError('unavailable', 'This connection is being closed; try again.');
    signal.throwIfAborted();
    const session = (this.#waiting.length === 0 ? this.#takeIdle(kind) : undefined) ?? (await this.#wait(kind, signal));
    try {
      return await work(session);
    } finally {
      this.#giveBack(kind, session);
    }
  }

  share(
    kind: Kind,
    { sessions, depth }: { readonly sessions: number; readonly depth: number },
    fits: (session: Session) => boolean,
  ): Session | null {
    if (this.#ended || this.#waiting.length > 0) return null;
    const in_use = this.#open - this.#idle.length;
    if (in_use < sessions) {
      const isFree = (entry: IdleSession<Kind, Session>) => entry.kind === kind && entry.session.usable;
      const index = this.#idle.findLastIndex((entry) => isFree(entry) && fits(entry.session));
      const [entry] = index < 0 ? [] : this.#idle.splice(index, 1);
      if (entry !== undefined) {
        this.#shared.push({ kind, session: entry.session, users: 1 });
        return entry.session;
      }
      // The caller then prepares an idle session that does not fit yet, or opens one.
      if (this.#open < this.#options.limit || this.#idle.some(isFree)) return null;
    }
    let least: SharedSession<Kind, Session> | null = null;
    // `sessions` may have decreased. Sessions beyond it get no more work until they are idle.
    const most = this.#shared.length - Math.max(0, in_use - sessions);
    for (let n = 0; n < most; n++) {
      const entry = this.#shared[n]!;
      if (entry.kind !== kind || entry.users >= (least?.users ?? depth)) continue;
      if (entry.session.usable && fits(entry.session)) least = entry;
    }
    if (least === null) return null;
    least.users++;
    return least.session;
  }

  unshare(session: Session): void {
    const index = this.#shared.findIndex((entry) => entry.session === session);
    const entry = this.#shared[index];
    if (entry === undefined || --entry.users > 0) return;
    this.#shared.splice(index, 1);
    this.#giveBack(entry.kind, session);
  }

  close(): Promise<void> {
    if (this.#ended) return this.#ended.promise;
    this.#ended = deferred();
    clearTimeout(this.#sweeper);
    for (const { session } of this.#idle.splice(0)) void this.#shut(session);
    this.#serve();
    return this.#ended.promise;
  }

  sessions(): number {
    return this.#open;
  }

  #wait(kind: Kind, signal: Signal): Promise<Session> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        const index = this.#waiting.indexOf(waiter);
        if (index >= 0) this.#waiting.splice(index, 1);
        reject(signal.reason);
      };
      const settled = () => signal.removeEventListener('abort', leave);
      const waiter: Waiter<Kind, Session, Signal> = {
        kind,
        signal,
        take(session) {
          settled();
          resolve(session);
        },
        refuse(error) {
          settled();
          reject(error);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiter);
      this.#serve();
    });
  }

  #serve(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const session = this.#takeIdle(next.kind);
      if (session) {
        this.#waiting.shift();
        next.take(session);
        continue;
      }
      if (this.#open >= this.#options.limit) {
        const other = this.#closing < this.#waiting.length ? this.#idle.shift() : undefined;
        if (other) void this.#shut(other.session);
        return;
      }
      this.#waiting.shift();
      void this.#openFor(next);
    }
    if (this.#ended && this.#open === 0) this.#ended.resolve();
  }

  #takeIdle(kind: Kind): Session | undefined {
    for (let index = this.#idle.length - 1; index >= 0; index--) {
      const entry = this.#idle[index]!;
      if (entry.session.usable && entry.kind !== kind) continue;
      this.#idle.splice(index, 1);
      if (entry.session.usable) return entry.session;
      void this.#shut(entry.session);
    }
    return undefined;
  }

  async #openFor(waiter: Waiter<Kind, Session, Signal>): Promise<void> {
    this.#open++;
    try {
      const session = await this.#options.open(waiter.kind, waiter.signal);
      if (waiter.signal.aborted) this.#giveBack(waiter.kind, session);
      else waiter.take(session);
    } catch (error) {
      this.#open--;
      waiter.refuse(error);
      this.#serve();
    }
  }

  #giveBack(kind: Kind, session: Session): void {
    if (!session.usable || (this.#ended && this.#waiting.length === 0)) {
      void this.#shut(session);
      return;
    }
    this.#idle.push({ kind, session, since: performance.now() });
    this.#sweeper ??= this.#sweepLater();
    this.#serve();
  }

  async #shut(session: Session): Promise<void> {
    this.#closing++;
    try {
      await session.close();
    } catch {
      // A session that fails to close cleanly is lost anyway.
    } finally {
      this.#closing--;
      this.#open--;
      this.#serve();
    }
  }

  #sweepLater(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => this.#sweep(), this.#options.idle_ms);
    timer.unref();
    return timer;
  }

  #sweep(): void {
    const oldest = performance.now() - this.#options.idle_ms;
    while (this.#idle[0] && this.#idle[0].since <= oldest) void this.#shut(this.#idle.shift()!.session);
    this.#sweeper = this.#idle.length > 0 ? this.#sweepLater() : undefined;
  }
}
