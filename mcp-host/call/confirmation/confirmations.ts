import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { ANSWER_MS, type Confirmations } from './asked-call.ts';
import { createOneUse } from './one-use.ts';
import { createSealedState } from './sealed-state.ts';

/** Clocks of hosts may differ by so much. */
const SKEW_MS = 60_000;

/** @param ticks monotonic, for what this host remembers by itself. */
export const createConfirmations = (options: {
  readonly keys: readonly string[];
  readonly redis: RedisLimits | null;
  /** Names this run of this host. */
  readonly host: string;
  readonly now: () => number;
  readonly ticks: () => number;
}): Confirmations => ({
  state: createSealedState(options.keys),
  once: createOneUse(options.redis, options.host, options.ticks, ANSWER_MS + SKEW_MS),
  now: options.now,
});
