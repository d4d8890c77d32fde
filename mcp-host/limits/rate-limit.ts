import { AppError } from '#core/errors.ts';
import { createRecentMap } from '#core/lib/recent-map.ts';
import type { RedisLimits } from '#core/cluster/redis-limits.ts';

/** Calls a minute; 0: no limit. */
export interface RateSettings {
  readonly tool_per_minute: number;
  readonly caller_per_minute: number;
}

/** A tool or resource with a separate limit, or one to which the general limit applies. */
export interface RateSubject {
  readonly id: string;
  readonly name: string;
  readonly rate_limit_per_minute?: number;
}

/** How often each tool and resource may be called, and how often each caller may call. */
export interface RateLimits {
  /**
   * Counts a call. Returns undefined when it may go on at once, or a promise when the hosts share the limit and this host's
   * permits are used up. Throws, or rejects with, `rate_limited`.
   */
  take(subject: RateSubject, caller: () => string): Promise<void> | undefined;
  /** Counts a call of something without a separate limit. */
  takeCaller(caller: () => string): Promise<void> | undefined;
  /** Numbers of refused calls. */
  refused(): { readonly tool: number; readonly caller: number };
}

export interface RateLimitOptions extends RateSettings {
  /** The Redis in which the hosts of an installation share their limits; null: each host counts alone. */
  readonly redis?: RedisLimits | null;
  /** Monotonic, in ms. */
  readonly clock?: () => number;
}

/** The current minute of one tool or caller. */
interface Window {
  limit: number;
  ends: number;
  /** Calls that were admitted. */
  used: number;
  /** Permits of the shared limit that this host has taken and not used. */
  permits: number;
  /** Whether the shared limit is used up. */
  closed: boolean;
  asking: Promise<void> | null;
}

const WINDOW_MS = 60_000;
/** At least this many windows are stored; beyond that, the longest unused ones are forgotten. */
const LEAST_CAPACITY = 10_000;
/** Permits are taken in small blocks: the unused permits of a killed host are lost until the minute ends. */
const LARGEST_BLOCK = 50;
const blockOf = (limit: number): number => Math.min(LARGEST_BLOCK, Math.max(1, Math.ceil(limit / 20)));

/** A tool's limit replaces the general one. */
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
      // The caller's limit comes first, so that a caller over its limit does not use up a tool's shared limit.
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

/** Applies a limit that a deploy changed within the minute: used calls stay counted, and new permits are requested. */
function changeLimit(window: Window, limit: number): void {
  window.limit = limit;
  window.permits = 0;
  window.closed = false;
}

function createWindows(kind: string, redis: RedisLimits | null, clock: () => number) {
  const windows = createRecentMap<Window>(LEAST_CAPACITY);
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
      // The Redis client reports the lost connection. This host counts alone until it is back.
      .catch(() => undefined)
      .finally(() => {
        window.asking = null;
      }));
  };

  const alone = (window: Window, now: number, refuse: Refuse): void => {
    if (window.used >= window.limit) throw refuse(secondsUntil(window.ends, now));
    window.used++;
  };
  /** Uses a permit. @returns false if there is none. */
  const use = (key: string, window: Window, redis: RedisLimits): boolean => {
    if (window.permits === 0) return false;
    window.permits--;
    window.used++;
    if (window.permits <= blockOf(window.limit) >> 2 && !window.closed) void ask(key, window, redis);
    return true;
  };
  const waitFor = async (key: string, limit: number, redis: RedisLimits, refuse: Refuse): Promise<void> => {
    // Another waiting call may use up the new permits, so each call requests again until the limit is used up.
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
