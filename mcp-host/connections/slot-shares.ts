import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Log } from '#core/process/log.ts';
import type { Queue } from './queue.ts';

/**
 * This host's share of the slots of each connection, if several hosts share them through Redis. Calls never wait for the exchange
 * with Redis.
 */
export interface SlotShares {
  /** Requests slots for new connections. */
  refresh(): void;
  close(): Promise<void>;
}

export interface SlotSharesOptions {
  readonly redis: RedisLimits;
  /** Names this run of this host. */
  readonly owner: string;
  readonly queues: () => Iterable<readonly [string, Queue]>;
  readonly log: Log;
  readonly busy_ms?: number;
  readonly idle_ms?: number;
  readonly ttl_ms?: number;
}

interface Share {
  held: number;
  renew_at: number;
  /** After this time other hosts may take the slots of this share. */
  ends_at: number;
  used_at: number;
  asking: boolean;
  again: boolean;
}

/** After this time without a call, the share of a connection is renewed less often. */
const QUIET_MS = 60_000;

export function createSlotShares(options: SlotSharesOptions): SlotShares {
  const { redis, owner, queues, log, busy_ms = 100, idle_ms = 1_000, ttl_ms = 3_000 } = options;
  const shares = new Map<string, Share>();
  let closed = false;

  const renew = async (id: string, queue: Queue, share: Share): Promise<void> => {
    // Changes during a request are sent in another one, right after it.
    share.again = share.asking;
    if (share.asking) return;
    share.asking = true;
    try {
      await ask(id, queue, share);
    } finally {
      share.asking = false;
    }
    if (share.again && !closed) await renew(id, queue, share);
  };
  const ask = async (id: string, queue: Queue, share: Share): Promise<void> => {
    const sent_at = performance.now();
    const { active, waiting } = queue.counters();
    const held = Math.max(active, share.held);
    const limit = queue.limit();
    share.renew_at = sent_at + idle_ms;
    const answer = await redis.slots({ key: id, owner, limit, held, needed: Math.min(limit, active + waiting), ttl_ms });
    if (closed) return;
    // The host reduces its slots first and reports the reduction with the next request.
    share.held = Math.min(answer.held, answer.target);
    share.ends_at = sent_at + ttl_ms;
    queue.grant(share.held);
    const lively = answer.contended || answer.held > answer.target || sent_at - share.used_at < QUIET_MS;
    share.renew_at = sent_at + (lively ? busy_ms : idle_ms);
  };
  const due = (queue: Queue, share: Share, now: number): boolean => {
    const { active, waiting } = queue.counters();
    if (active + waiting > 0) share.used_at = now;
    return now >= share.renew_at || waiting > 0;
  };
  const exchange = async (only?: string): Promise<void> => {
    const now = performance.now();
    const seen = new Set<string>();
    const work: Promise<void>[] = [];
    for (const [id, queue] of queues()) {
      seen.add(id);
      let share = shares.get(id);
      if (share === undefined) {
        share = { held: 0, renew_at: 0, ends_at: 0, used_at: now, asking: false, again: false };
        shares.set(id, share);
      }
      if (!redis.up() || (share.ends_at > 0 && now > share.ends_at)) {
        // Another host may have the slots of this share by now.
        share.ends_at = 0;
        share.held = 0;
        share.renew_at = 0;
      }
      // Without Redis the host has the whole limit; with Redis it has no slots until it knows its share.
      if (share.ends_at === 0) queue.grant(redis.up() ? 0 : null);
      if (redis.up() && (id === only || due(queue, share, now))) work.push(renew(id, queue, share));
    }
    for (const id of shares.keys()) if (!seen.has(id)) shares.delete(id);
    for (const { status, ...rest } of await Promise.allSettled(work)) {
      if (status === 'rejected') log.debug('slots_not_renewed', { error: String('reason' in rest ? rest.reason : '') });
    }
  };
  const watch = () => {
    for (const [id, queue] of queues()) queue.onShort(() => void exchange(id));
  };
  const refresh = () => {
    watch();
    void exchange();
  };
  const timer = setInterval(refresh, busy_ms);
  timer.unref();
  refresh();

  return {
    refresh,
    async close() {
      closed = true;
      clearInterval(timer);
      const given_back = [...shares.keys()].map((id) => redis.release(id, owner));
      await withTimeout(Promise.allSettled(given_back), 500, () => undefined);
    },
  };
}
