import { LOGGED_ARGUMENTS, LONGEST_SEALED } from '#core/contract/observe/logged-arguments.ts';
import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { createSealing } from '#core/lib/sealing.ts';
import type { Log } from '#core/process/log.ts';
import type { Auth } from '#mcp-host/auth/authorise.ts';
import type { RunningCalls } from './requests/running-calls.ts';
import type { Observe } from './requests/request-record.ts';
import type { RateLimits } from '#mcp-host/limits/rate-limit.ts';
import type { Sessions } from './requests/sessions.ts';
import type { Streams } from './dispatch/streams.ts';
import type { ServingState } from './dispatch/serving.ts';
import type { Control } from './control/control.ts';
import type { Registry } from './registry/registry.ts';
import type { ConnectionPools } from './connections/connection-pools.ts';
import { createLines } from './observe/lines.ts';
import { createMetrics, type Metrics } from './observe/metrics.ts';
import { createTracing } from './observe/tracing.ts';
import { listRead } from './observe/list-read.ts';
import { createRefusals, type Refusals } from './observe/refusals.ts';
import { createUsage, type Usage } from './observe/usage.ts';

/** Everything that sees requests after they have ended. */
export interface Observation {
  readonly usage: Usage;
  readonly metrics: Metrics;
  readonly observe: Observe;
  readonly refused: Refusals['refused'];
  use(registry: Registry): void;
  close(): Promise<void>;
}

export interface ObservationOptions {
  readonly id: string;
  readonly boot_id: string;
  readonly otlp_endpoint: string | null;
  readonly now: () => number;
  /** `SVC_ENCRYPTION_KEY`. */
  readonly keys: readonly string[];
  readonly log: Log;
  readonly control: Control;
  readonly running: Pick<RunningCalls, 'report'>;
  readonly sources: ConnectionPools;
  readonly limits: RateLimits;
  readonly redis: RedisLimits | null;
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly serving: ServingState;
  readonly auth: Auth;
}

export function createObservation(options: ObservationOptions): Observation {
  const { id, boot_id, otlp_endpoint, now, keys, log, control, running } = options;
  const { sources, limits, redis, sessions, streams, serving, auth } = options;
  const lines = createLines();
  log.tap((line) => lines.add(line));
  const refusals = createRefusals(now);
  const usage = createUsage({
    send: (batch) => control.post('usage', { boot_id, ...batch }),
    log,
    lines,
    sealing: createSealing(keys, LOGGED_ARGUMENTS, LONGEST_SEALED),
    queues: () => sources.gauges(),
    running: () => running.report(),
    takeUses: () => auth.takeUses(),
    takeRefusals: () => refusals.take(),
  });
  const tracing = createTracing({ endpoint: otlp_endpoint, id, log });
  const metrics = createMetrics({
    sources,
    limits,
    state: () => ({
      snapshot_version: serving.held()?.snapshot_version ?? null,
      checksum: serving.held()?.checksum ?? null,
      sessions: sessions.count(),
      streams: streams.count(),
      usage_dropped: usage.dropped(),
      connected: control.state().connected,
      shared_limits: redis && redis.up(),
    }),
  });
  return {
    usage,
    metrics,
    observe(record) {
      metrics.add(record);
      tracing.add(record);
      refusals.add(record);
      const list = listRead(record, now());
      if (list !== null) usage.addList(list);
    },
    refused(status, ...rest) {
      metrics.refuse(status);
      refusals.refused(status, ...rest);
    },
    use(registry) {
      metrics.use(registry);
      tracing.use(registry.server);
    },
    async close() {
      await Promise.all([usage.flush(), tracing.close()]);
    },
  };
}
