import { type Observe, clientOf, type RequestRecord, revisionOf, sessionDigest } from './requests/request-record.ts';
import type { Registry } from './registry/registry.ts';
import type { Readiness } from '#core/edge/probes.ts';
import { type HostHealth, healthOf, readinessOf } from './observe/health.ts';
import { type Metrics, createMetrics } from './observe/metrics.ts';
import { type Refusals, createRefusals } from './observe/refusals.ts';
import { type Usage, createLines, createUsage } from './observe/usage.ts';
import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import type { Auth } from './auth/authenticate.ts';
import type { RunningCalls } from './requests/running-calls.ts';
import type { RateLimits } from './limits/rate-limit.ts';
import type { Sessions } from './requests/sessions.ts';
import type { Streams } from './dispatch/streams.ts';
import { ENDING, type ServingState, WAITING } from './dispatch/serving.ts';
import type { Control } from './control/control.ts';
import type { ConnectionPools } from './connections/connection-pools.ts';
import { LOGGED_ARGUMENTS, LONGEST_SEALED } from '#core/contract/observe/logged-arguments.ts';
import { createSealing } from '#core/lib/sealing.ts';
import { createTracing } from './observe/tracing.ts';
import type { Collector } from './observe/tracing-recorder.ts';
import type { ListRead } from '#core/contract/observe/usage-batch.ts';

/** Methods that clients call at the beginning of a session. */
const METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
  'server/discover',
  'skills/list',
]);

/** The parts that record a request after it has ended. */
export interface Observation {
  readonly usage: Usage;
  readonly metrics: Metrics;
  readonly observe: Observe;
  readonly refused: Refusals['refused'];
  use(registry: Registry): void;
  readonly health: () => HostHealth;
  readonly readiness: () => Readiness;
  close(): Promise<void>;
}

export interface ObservationOptions {
  readonly id: string;
  readonly boot_id: string;
  readonly folder: string | null;
  readonly collector: Collector | null;
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
  readonly copies: Pick<SavedCopies, 'faults'>;
  readonly life: { readonly ending: boolean };
  /** Why the copy on disk was not used. */
  readonly disk: { readonly fault: string | null };
}

export function createObservation(options: ObservationOptions): Observation {
  const { id, boot_id, collector, now, keys, log, control, running } = options;
  const { sources, limits, redis, sessions, streams, serving, auth, copies, disk, life } = options;
  const started_at = now();
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
  const tracing = createTracing({ collector, id, log });
  const metrics = createMetrics({
    folder: options.folder,
    sources,
    limits,
    state: () => ({
      snapshot_version: serving.held()?.snapshot_version ?? null,
      checksum: serving.held()?.checksum ?? null,
      sessions: sessions.count(),
      streams: streams.count(),
      usage_dropped: usage.dropped(),
      connected: control.state().connected,
      not_saved: copies.faults().length,
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
    health: () =>
      healthOf({
        serving: serving.held(),
        idle: serving.idle(),
        waiting: serving.idle() === WAITING,
        uptime_ms: now() - started_at,
        sessions: sessions.count(),
        streams: streams.count(),
        usage_dropped: usage.dropped(),
        access_tokens: { as_of: auth.tokens_as_of(), current: control.state().connected },
        not_saved: copies.faults(),
        control: control.state(),
        connections: sources.counters(),
      }),
    readiness: () =>
      readinessOf({
        idle: serving.idle() ?? (life.ending ? ENDING : null),
        fault: disk.fault,
        not_saved: copies.faults(),
        connected: control.state().connected,
        redis,
      }),
    async close() {
      await Promise.all([usage.flush(), tracing.close()]);
    },
  };
}

/** The entry for a request of one of these methods; null: another method, or the request was refused. */
function listRead(record: RequestRecord, now: number): ListRead | null {
  const { message, exchange, session, error, started } = record;
  const { method } = message;
  if (error !== null || !METHODS.has(method)) return null;
  const { token_prefix, ids } = exchange.caller;
  return {
    client: clientOf(record),
    token_prefix,
    ...(ids !== undefined && { caller: ids }),
    ...(session !== null && { session: sessionDigest(session) }),
    timestamp: now,
    method,
    protocol_version: revisionOf(record),
    duration_ms: Math.round((performance.now() - started) * 1_000) / 1_000,
  };
}
