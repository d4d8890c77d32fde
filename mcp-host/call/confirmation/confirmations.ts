import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { createAnswersElsewhere } from './answers-elsewhere.ts';
import { ANSWER_MS, type Confirmations, createSealedState } from './pending-call.ts';
import { createDecisions } from './decisions.ts';
import { createOneUse } from './one-use.ts';
import { createPageAddresses } from './page-address.ts';

/** Clocks of hosts may differ by this time. */
const SKEW_MS = 60_000;

/**
 * @param page_origin where people sign in to the server, for clients that show no forms; null: not known.
 * @param holds whether a configuration is still loaded.
 * @param ticks monotonic, for what this host remembers without Redis.
 */
export const createConfirmations = (options: {
  readonly keys: readonly string[];
  readonly redis: RedisLimits | null;
  /** Names this run of this host. */
  readonly host: string;
  readonly page_origin: () => string | null;
  readonly holds: (checksum: string) => boolean;
  readonly now: () => number;
  readonly ticks: () => number;
}): Confirmations => ({
  state: createSealedState(options.keys),
  once: createOneUse(options.redis, options.host, options.ticks, ANSWER_MS + SKEW_MS),
  pages: createPageAddresses(options.keys, options.page_origin),
  decisions: createDecisions(options.ticks, ANSWER_MS + SKEW_MS),
  elsewhere: createAnswersElsewhere(options.redis, options.keys, ANSWER_MS + SKEW_MS),
  holds: options.holds,
  now: options.now,
});
