import type { Shares } from '#core/cluster/shares.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Log } from '#core/log.ts';
import type { Queue } from './queue.ts';

/** The places of each connection that this host may use, where several hosts share them. Calls never wait for the exchange itself. */
export interface PlaceLeases {
  /** Asks for the places of connections that are new. */
  refresh(): void;
  close(): Promise<void>;
}

export interface PlaceLeaseOptions {
  readonly shares: Shares;
  /** Names this run of this host. */
  readonly owner: string;
  readonly queues: () => Iterable<readonly [string, Queue]>;
  readonly log: Log;
  readonly busy_ms?: number;
  readonly idle_ms?: number;
  readonly ttl_ms?: number;
}

interface Lease {
  held: number;
  renew_at: number;
  /** From then on others may have its places. */
  ends_at: number;
  used_at: number;
  asking: boolean;
  again: boolean;
}

/** A connection without a call for so long is renewed less often. */
const QUIET_MS = 60_000;

export function createPlaceLeases(options: PlaceLeaseOptions): PlaceLeases {
  const { shares, owner, queues, log, busy_ms = 100, idle_ms = 1_000, ttl_ms = 3_000 } = options;
  const leases = new Map<string, Lease>();
  let closed = false;

  const renew = async (id: string, queue: Queue, lease: Lease): Promise<void> => {
    // What happens meanwhile is told right after.
    lease.again = lease.asking;
    if (lease.asking) return;
    lease.asking = true;
    try {
      await ask(id, queue, lease);
    } finally {
      lease.asking = false;
    }
    if (lease.again && !closed) await renew(id, queue, lease);
  };
  const ask = async (id: string, queue: Queue, lease: Lease): Promise<void> => {
    const sent_at = performance.now();
    const { active, waiting } = queue.counters();
    const held = Math.max(active, lease.held);
    const limit = queue.limit();
    lease.renew_at = sent_at + idle_ms;
    const answer = await shares.places({ key: id, owner, limit, held, needed: Math.min(limit, active + waiting), ttl_ms });
    if (closed) return;
    // First this host does with less, then it says so.
    lease.held = Math.min(answer.held, answer.target);
    lease.ends_at = sent_at + ttl_ms;
    queue.grant(lease.held);
    const lively = answer.contended || answer.held > answer.target || sent_at - lease.used_at < QUIET_MS;
    lease.renew_at = sent_at + (lively ? busy_ms : idle_ms);
  };
  const due = (queue: Queue, lease: Lease, now: number): boolean => {
    const { active, waiting } = queue.counters();
    if (active + waiting > 0) lease.used_at = now;
    return now >= lease.renew_at || waiting > 0;
  };
  const exchange = async (only?: string): Promise<void> => {
    const now = performance.now();
    const seen = new Set<string>();
    const work: Promise<void>[] = [];
    for (const [id, queue] of queues()) {
      seen.add(id);
      let lease = leases.get(id);
      if (lease === undefined) {
        lease = { held: 0, renew_at: 0, ends_at: 0, used_at: now, asking: false, again: false };
        leases.set(id, lease);
      }
      if (!shares.up() || (lease.ends_at > 0 && now > lease.ends_at)) {
        // Its places may be another's by now.
        lease.ends_at = 0;
        lease.held = 0;
        lease.renew_at = 0;
      }
      // Without Redis it has the whole limit; with it, nothing before it is told its part.
      if (lease.ends_at === 0) queue.grant(shares.up() ? 0 : null);
      if (shares.up() && (id === only || due(queue, lease, now))) work.push(renew(id, queue, lease));
    }
    for (const id of leases.keys()) if (!seen.has(id)) leases.delete(id);
    for (const { status, ...rest } of await Promise.allSettled(work)) {
      if (status === 'rejected') log.debug('places_not_renewed', { error: String('reason' in rest ? rest.reason : '') });
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
      const given_back = [...leases.keys()].map((id) => shares.release(id, owner));
      await withTimeout(Promise.allSettled(given_back), 500, () => undefined);
    },
  };
}
