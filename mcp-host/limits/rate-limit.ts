import { AppError } from '#core/errors.ts';
import { createRecentMap } from '#core/lib/recent-map.ts';
import type { RedisLimits } from '#core/cluster/redis-limits.ts';

/** Calls a minute; 0: no limit. */
export interface RateSettings {
  readonly tool_per_minute: number;
  readonly caller_per_minute: number;
}

/** A tool with a limit of its own, or one that the general limit is for. */
export interface RateSubject {
  readonly id: string;
  readonly name: string;
  readonly rate_limit_per_minute?: number;
}

/** How often each tool and resource may be called, and how often each caller may call. */
export interface RateLimits {
  /**
   * Counts a call. Nothing is answered when it may go on at once; a promise when the hosts share the limit and this one's
   * part is used up. Throws, or rejects with, `rate_limited`.
   */
  take(subject: RateSubject, caller: () => string): Promise<void> | undefined;
  /** The same for what has no limit of its own. */
  takeCaller(caller: () => string): Promise<void> | undefined;
  /** Calls that were refused. */
  refused(): { readonly tool: number; readonly caller: number };
}

export interface RateLimitOptions extends RateSettings {
  /** Where the hosts of an installation share their limits; without it each host has its own. */
  readonly redis?: RedisLimits | null;
  /** Monotonic, in ms. */
  readonly clock?: () => number;
}

/** What is known of one tool or caller in its present minute. */
interface Window {
  limit: number;
  ends: number;
  /** Calls that went on. */
  used: number;
  /** Of the shared limit: taken for this host, not used yet. */
  permits: number;
  /** The shared limit has nothing left. */
  closed: boolean;
  asking: Promise<void> | null;
}

const WINDOW_MS = 60_000;
/** Windows that are kept at least; beyond that, those not used for longest are forgotten. */
const KEPT = 10_000;
/** Permits are taken a few at once: what a host that is killed had left is lost until the minute ends. */
const LARGEST_BLOCK = 50;
const blockOf = (limit: number): number => Math.min(LARGEST_BLOCK, Math.max(1, Math.ceil(limit / 20)));

/** The limit of a tool counts instead of the general one. */
export function createRateLimits(options: RateLimitOptions): RateLimits {
  const { tool_per_minute, caller_per_minute, redis = null, clock = () => performance.now() } = options;
  const by_tool = createWindows('tool', redis, clock);
  const by_caller = createWindows('caller', redis, clock);
  const refused = { tool: 0, caller: 0 };

  const takeTool = ({ id, name, rate_limit_per_minute: limit = tool_per_minute }: RateSubject): Promise<void> | undefined => {
    if (limit === 0) return undefined;
    return by_tool.take(id, limit, (seconds) => {
      refused.tool++;
      return tooOften(`${name} has a rate limit of ${perMinute(limit)} for all callers together`, seconds);
    });
  };
  const takeCaller = (caller: () => string): Promise<void> | undefined => {
    if (caller_per_minute === 0) return undefined;
    return by_caller.take(caller(), caller_per_minute, (seconds) => {
      refused.caller++;
      return tooOften(`Each caller has a rate limit of ${perMinute(caller_per_minute)}`, seconds);
    });
  };
  return {
    takeCaller,
    take(subject, caller) {
      // The caller first: who calls too often uses up nothing of what others share.
      const turn = takeCaller(caller);
      return turn === undefined ? takeTool(subject) : turn.then(() => takeTool(subject));
    },
    refused: () => refused,
  };
}

const perMinute = (limit: number): string => `${limit} call${limit === 1 ? '' : 's'} per minute`;
const tooOften = (rule: string, seconds: number): AppError =>
  new AppError('rate_limited', `${rule}, which is used up. Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`, {
    retry_after: seconds,
  });

type Refuse = (seconds: number) => AppError;

/** A deploy in the middle of a minute: what was used stays used, what is left is asked for anew. */
function changeLimit(window: Window, limit: number): void {
  window.limit = limit;
  window.permits = 0;
  window.closed = false;
}

function createWindows(kind: string, redis: RedisLimits | null, clock: () => number) {
  const windows = createRecentMap<Window>(KEPT);
  const windowOf = (key: string, limit: number, now: number): Window => {
    const found = windows.get(key);
    if (found !== undefined && now < found.ends) {
      if (found.limit !== limit) changeLimit(found, limit);
      return found;
    }
    const fresh: Window = { limit, ends: now + WINDOW_MS, used: 0, permits: 0, closed: false, asking: null };
    windows.set(key, fresh);
    return fresh;
  };
  const ask = (key: string, window: Window, redis: RedisLimits): Promise<void> => {
    const { limit } = window;
    const block = blockOf(limit);
    return (window.asking ??= redis
      .permits(`${kind}:${key}`, block, limit, WINDOW_MS)
      .then(({ granted, resets_in_ms }) => {
        window.permits += granted;
        window.closed = granted < block && window.limit === limit;
        window.ends = clock() + resets_in_ms;
      })
      // RedisLimits reports the loss itself; from then on this host counts alone.
      .catch(() => undefined)
      .finally(() => {
        window.asking = null;
      }));
  };

  const alone = (window: Window, now: number, refuse: Refuse): void => {
    if (window.used >= window.limit) throw refuse(secondsUntil(window.ends, now));
    window.used++;
  };
  /** Whether one of the permits at hand was used. */
  const use = (key: string, window: Window, redis: RedisLimits): boolean => {
    if (window.permits === 0) return false;
    window.permits--;
    window.used++;
    if (window.permits <= blockOf(window.limit) >> 2 && !window.closed) void ask(key, window, redis);
    return true;
  };
  const waitFor = async (key: string, limit: number, redis: RedisLimits, refuse: Refuse): Promise<void> => {
    // Others may take what was granted: everybody asks again until there is nothing left.
    while (redis.up()) {
      const window = windowOf(key, limit, clock());
      if (use(key, window, redis)) return;
      if (window.closed) throw refuse(secondsUntil(window.ends, clock()));
      await ask(key, window, redis);
    }
    alone(windowOf(key, limit, clock()), clock(), refuse);
  };

  return {
    take(key: string, limit: number, refuse: Refuse): Promise<void> | undefined {
      const now = clock();
      const window = windowOf(key, limit, now);
      if (redis === null || !redis.up()) {
        alone(window, now, refuse);
        return undefined;
      }
      if (use(key, window, redis)) return undefined;
      if (window.closed) throw refuse(secondsUntil(window.ends, now));
      return waitFor(key, limit, redis, refuse);
    },
  };
}

const secondsUntil = (ends: number, now: number): number => Math.max(1, Math.ceil((ends - now) / 1_000));
