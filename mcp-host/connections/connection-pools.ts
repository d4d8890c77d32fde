import type { FrozenConnection } from '#snapshots/format/format.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import { openReferenced } from '#core/engines/referenced-source.ts';
import type { SecretReader } from '#core/lib/secrets.ts';
import type { Source } from '#core/engines/shared/source.ts';
import type { QueueGauge } from '#core/contract/observe/usage-batch.ts';
import type { Log } from '#core/process/log.ts';
import { createQueue, type Queue, type QueueCounters } from './queue.ts';

export type OpenPool = (settings: ConnectionSettings) => Promise<Source>;

export interface ConnectionPoolsOptions {
  readonly open: OpenPool;
  readonly secrets: SecretReader;
  readonly log: Log;
}

/** One call's hold on a pool: the pool stays open until every hold is released, even if a swap removed its connection. */
export interface PoolHold {
  readonly queue: Queue;
  readonly source: () => Promise<Source>;
  /** The open source, without waiting; undefined while it is opening. */
  readonly opened: () => Source | undefined;
  release(): void;
}

export interface ConnectionPools {
  hold(connection: FrozenConnection): PoolHold;
  /**
   * Replaces the connections: equal ones keep their pool, others drain and close. If several connections have one id, the limits
   * of the last one apply.
   */
  use(connections: readonly FrozenConnection[]): void;
  counters(): { id: string; name: string; sessions: number; queue: QueueCounters }[];
  /** The queue of each connection, by its id. */
  queues(): Iterable<readonly [string, Queue]>;
  /** The state of the queues, for reports to the server. */
  gauges(): QueueGauge[];
  /** Waits for every pool to close. */
  close(): Promise<void>;
}

interface Pool {
  readonly connection: FrozenConnection;
  source: Promise<Source> | undefined;
  opened: Source | undefined;
  holds: number;
}

export function createConnectionPools({ open, secrets, log }: ConnectionPoolsOptions): ConnectionPools {
  const pools = new Map<string, Pool>();
  const queues = new Map<string, { name: string; queue: Queue }>();
  const closing = new Set<Promise<void>>();
  let keys_in_use = new Set<string>();

  const queueOf = (connection: FrozenConnection): Queue => {
    const found = queues.get(connection.id);
    if (found !== undefined) return found.queue;
    const queue = createQueue(connection);
    queues.set(connection.id, { name: connection.name, queue });
    return queue;
  };
  const start = (pool: Pool, connection: FrozenConnection): Promise<Source> => {
    const source = openReferenced(connection, secrets, open);
    pool.source = source;
    // If a secret does not open, the promise is already rejected here. `pool.source` is set above, so that this handler can clear
    // it.
    source.then(
      (opened) => {
        pool.opened = opened;
      },
      () => {
        pool.source = undefined;
      },
    );
    return source;
  };
  const closeIfUnused = (key: string, pool: Pool) => {
    if (pool.holds > 0 || keys_in_use.has(key)) return;
    pools.delete(key);
    if (pool.source === undefined) return;
    const closed = pool.source
      .then((source) => source.close())
      .catch((error: unknown) => log.warning('pool_close_failed', { connection: pool.connection.name, error: String(error) }))
      .finally(() => closing.delete(closed));
    closing.add(closed);
  };

  return {
    hold(connection) {
      const key = keyOf(connection);
      let pool = pools.get(key);
      if (pool === undefined) {
        pool = { connection, source: undefined, opened: undefined, holds: 0 };
        pools.set(key, pool);
      }
      const held = pool;
      held.holds++;
      return {
        queue: queueOf(connection),
        // Uses the connection of this call: its settings are equal, but its secret may have been resealed after the pool was
        // created.
        source: () => held.source ?? start(held, connection),
        opened: () => held.opened,
        release() {
          held.holds--;
          if (held.holds === 0) closeIfUnused(key, held);
        },
      };
    },
    use(connections) {
      keys_in_use = new Set(connections.map(keyOf));
      for (const connection of connections) queueOf(connection).configure(connection);
      for (const [key, pool] of pools) closeIfUnused(key, pool);
      const ids = new Set(connections.map(({ id }) => id));
      for (const [id, { queue }] of queues) {
        const { active, waiting } = queue.counters();
        if (!ids.has(id) && active + waiting === 0) queues.delete(id);
      }
    },
    counters() {
      const open_sessions = new Map<string, number>();
      for (const { connection, opened } of pools.values()) {
        open_sessions.set(connection.id, (open_sessions.get(connection.id) ?? 0) + (opened?.sessions() ?? 0));
      }
      return [...queues].map(([id, { name, queue }]) => ({
        id,
        name,
        sessions: open_sessions.get(id) ?? 0,
        queue: queue.counters(),
      }));
    },
    *queues() {
      for (const [id, { queue }] of queues) yield [id, queue] as const;
    },
    gauges: () => [...queues].map(([id, { queue }]) => ({ id, ...queue.gauge() })),
    async close() {
      keys_in_use = new Set();
      for (const [key, pool] of pools) closeIfUnused(key, pool);
      while (closing.size > 0) await Promise.all(closing);
    },
  };
}

/** Includes the id, because two connections with equal settings have separate limits, and so separate sessions. */
const keyOf = ({ id, pool_key }: FrozenConnection): string => `${id}/${pool_key}`;
