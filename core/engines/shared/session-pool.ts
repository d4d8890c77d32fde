import { AppError } from '#core/errors.ts';
import { deferred } from '#core/lib/with-timeout.ts';
import type { StopSignal } from './stop.ts';

/** Milliseconds within which a session that died while it was idle says so. One that dies later may have been ended for its statement. */
export const NOTICED_MS = 1_000;

export interface PooledSession {
  /** False once it is closed or in an unknown state: the pool forgets it instead of handing it out again. */
  readonly usable: boolean;
  close(): Promise<void>;
}

export interface SessionPool<Kind extends string, Session extends PooledSession, Signal extends StopSignal = AbortSignal> {
  /** Runs `work` with a session of its own. `signal` ends the waiting and the opening, with its reason as the error. */
  use<Result>(kind: Kind, signal: Signal, work: (session: Session) => Promise<Result>): Promise<Result>;
  /**
   * A session for one more short piece of work, right now: an idle one while fewer than `sessions` are in use, else one that less
   * than `depth` such pieces share. Null when there is none, or when somebody waits for a session of his own.
   */
  share(
    kind: Kind,
    limits: { readonly sessions: number; readonly depth: number },
    fits: (session: Session) => boolean,
  ): Session | null;
  /** Ends one piece of such work. */
  unshare(session: Session): void;
  /** Sessions open now, those being opened or closed included. */
  sessions(): number;
  /** Serves whoever already waits, then closes every session. */
  close(): Promise<void>;
}

export interface SessionPoolOptions<Kind extends string, Session extends PooledSession, Signal extends StopSignal = AbortSignal> {
  readonly limit: number;
  readonly idle_ms: number;
  readonly open: (kind: Kind, signal: Signal) => Promise<Session>;
}

interface Waiter<Kind, Session, Signal> {
  readonly kind: Kind;
  readonly signal: Signal;
  readonly take: (session: Session) => void;
  readonly refuse: (error: unknown) => void;
}

/**
 * Sessions opened on demand, first come first served, at most `limit` of all kinds together. A session never changes its
 * kind: when the limit is reached and only another kind is idle, that one is closed first.
 */
export function createSessionPool<Kind extends string, Session extends PooledSession, Signal extends StopSignal = AbortSignal>(
  options: SessionPoolOptions<Kind, Session, Signal>,
): SessionPool<Kind, Session, Signal> {
  const idle: { kind: Kind; session: Session; since: number }[] = [];
  const shared: { readonly kind: Kind; readonly session: Session; users: number }[] = [];
  const waiting: Waiter<Kind, Session, Signal>[] = [];
  let open = 0;
  let closing = 0;
  let sweeper: ReturnType<typeof setTimeout> | undefined;
  let ended: PromiseWithResolvers<void> | undefined;

  async function use<Result>(kind: Kind, signal: Signal, work: (session: Session) => Promise<Result>) {
    if (ended) throw new AppError('unavailable', 'This connection is being closed; try again.');
    signal.throwIfAborted();
    const session = (waiting.length === 0 ? takeIdle(kind) : undefined) ?? (await wait(kind, signal));
    try {
      return await work(session);
    } finally {
      giveBack(kind, session);
    }
  }

  function share(
    kind: Kind,
    { sessions, depth }: { readonly sessions: number; readonly depth: number },
    fits: (session: Session) => boolean,
  ): Session | null {
    if (ended || waiting.length > 0) return null;
    const in_use = open - idle.length;
    if (in_use < sessions) {
      const isFree = (entry: (typeof idle)[number]) => entry.kind === kind && entry.session.usable;
      const index = idle.findLastIndex((entry) => isFree(entry) && fits(entry.session));
      const [entry] = index < 0 ? [] : idle.splice(index, 1);
      if (entry !== undefined) {
        shared.push({ kind, session: entry.session, users: 1 });
        return entry.session;
      }
      // Whoever wants one for himself takes one that does not fit yet, or opens one.
      if (open < options.limit || idle.some(isFree)) return null;
    }
    let least: (typeof shared)[number] | null = null;
    // Sessions beyond that number, which may have become smaller, are left alone until nobody uses them.
    const most = shared.length - Math.max(0, in_use - sessions);
    for (let n = 0; n < most; n++) {
      const entry = shared[n]!;
      if (entry.kind !== kind || entry.users >= (least?.users ?? depth)) continue;
      if (entry.session.usable && fits(entry.session)) least = entry;
    }
    if (least === null) return null;
    least.users++;
    return least.session;
  }

  function unshare(session: Session): void {
    const place = shared.findIndex((entry) => entry.session === session);
    const entry = shared[place];
    if (entry === undefined || --entry.users > 0) return;
    shared.splice(place, 1);
    giveBack(entry.kind, session);
  }

  function wait(kind: Kind, signal: Signal): Promise<Session> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        const place = waiting.indexOf(waiter);
        if (place >= 0) waiting.splice(place, 1);
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
      waiting.push(waiter);
      serve();
    });
  }

  function serve(): void {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const held = takeIdle(next.kind);
      if (held) {
        waiting.shift();
        next.take(held);
        continue;
      }
      if (open >= options.limit) {
        const other = closing < waiting.length ? idle.shift() : undefined;
        if (other) void shut(other.session);
        return;
      }
      waiting.shift();
      void openFor(next);
    }
    if (ended && open === 0) ended.resolve();
  }

  function takeIdle(kind: Kind): Session | undefined {
    for (let place = idle.length - 1; place >= 0; place--) {
      const entry = idle[place]!;
      if (entry.session.usable && entry.kind !== kind) continue;
      idle.splice(place, 1);
      if (entry.session.usable) return entry.session;
      void shut(entry.session);
    }
    return undefined;
  }

  async function openFor(waiter: Waiter<Kind, Session, Signal>): Promise<void> {
    open++;
    try {
      const session = await options.open(waiter.kind, waiter.signal);
      if (waiter.signal.aborted) giveBack(waiter.kind, session);
      else waiter.take(session);
    } catch (error) {
      open--;
      waiter.refuse(error);
      serve();
    }
  }

  function giveBack(kind: Kind, session: Session): void {
    if (!session.usable || (ended && waiting.length === 0)) {
      void shut(session);
      return;
    }
    idle.push({ kind, session, since: performance.now() });
    sweeper ??= sweepLater();
    serve();
  }

  async function shut(session: Session): Promise<void> {
    closing++;
    try {
      await session.close();
    } catch {
      // A session that cannot say goodbye is gone all the same.
    } finally {
      closing--;
      open--;
      serve();
    }
  }

  function sweepLater(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(sweep, options.idle_ms);
    timer.unref();
    return timer;
  }

  function sweep(): void {
    const oldest = performance.now() - options.idle_ms;
    while (idle[0] && idle[0].since <= oldest) void shut(idle.shift()!.session);
    sweeper = idle.length > 0 ? sweepLater() : undefined;
  }

  function close(): Promise<void> {
    if (ended) return ended.promise;
    ended = deferred();
    clearTimeout(sweeper);
    for (const { session } of idle.splice(0)) void shut(session);
    serve();
    return ended.promise;
  }

  return { use, share, unshare, sessions: () => open, close };
}
