import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { createExpiringMap } from '#core/lib/recent-map.ts';

/** Counts how often an address was used. */
export interface FileUses {
  /** False: it was used too often. */
  take(nonce: string): Promise<boolean>;
}

/** Chats and mail programs open an address to show a preview of it, so a single use would be lost to them. */
const MOST_USES = 5;
const LASTS_MS = 24 * 3_600_000;
const MOST_NONCES = 20_000;

/** @param redis counts for all hosts together; null: each host counts alone. */
export function createFileUses(redis: RedisLimits | null, now: () => number): FileUses {
  if (redis !== null) {
    return {
      async take(nonce) {
        const { granted } = await redis.permits(`file:${nonce}`, 1, MOST_USES, LASTS_MS);
        return granted === 1;
      },
    };
  }
  const used = createExpiringMap<number>(now, MOST_NONCES);
  return {
    async take(nonce) {
      const before = used.get(nonce) ?? 0;
      if (before >= MOST_USES) return false;
      used.set(nonce, before + 1, now() + LASTS_MS);
      return true;
    },
  };
}
