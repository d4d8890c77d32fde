import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { AppError } from '#core/errors.ts';
import { createExpiringMap } from '#core/lib/recent-map.ts';

/** Remembers which answers were used, so that each is used once. */
export interface OneUse {
  /** The host that remembers the answers; null: all hosts share the memory. */
  readonly host: string | null;
  /** True for the first use. Throws `unavailable` when that cannot be checked now. */
  use(nonce: string): Promise<boolean>;
}

/** More than the questions that are open at one time, so a nonce is remembered until its question ends. */
const MOST_NONCES = 100_000;

/** @param lasts_ms longer than an answer is accepted. */
export function createOneUse(redis: RedisLimits | null, host: string, now: () => number, lasts_ms: number): OneUse {
  if (redis !== null) {
    return {
      host: null,
      async use(nonce) {
        const { granted } = await redis.permits(`confirmation:${nonce}`, 1, 1, lasts_ms).catch((error: unknown) => {
          const detail = 'The confirmation cannot be checked right now, so nothing was changed. Try again later.';
          throw new AppError('unavailable', detail, { cause: error });
        });
        return granted === 1;
      },
    };
  }
  const used = createExpiringMap<true>(now, MOST_NONCES);
  return {
    host,
    async use(nonce) {
      if (used.get(nonce) !== undefined) return false;
      used.set(nonce, true, now() + lasts_ms);
      return true;
    },
  };
}
