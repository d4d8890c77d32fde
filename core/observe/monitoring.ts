import { gte } from 'drizzle-orm';
import type { QueueMetrics } from '#core/contract/observe/monitoring.ts';
import { type Histogram, mergeInto, quantile } from '#core/lib/histogram.ts';
import type { Handlers } from '#core/context/context.ts';
import { REPORT_MS } from './running-calls.ts';

export const monitoringHandlers: Pick<Handlers, 'queue.metrics'> = {
  'queue.metrics': async ({ app }) => {
    const { host_reports } = app.store.tables;
    const recent = new Date(app.clock().getTime() - REPORT_MS).toISOString();
    const reports = await app.store.db.select().from(host_reports).where(gte(host_reports.reported_at, recent));
    const merged = new Map<string, Merged>();
    for (const gauge of reports.flatMap(({ queues }) => queues)) {
      const queue = merged.get(gauge.id) ?? { ...EMPTY_QUEUE, histogram: {} };
      queue.name = gauge.name;
      for (const field of ADDED) queue[field] += gauge[field];
      queue.longest_wait_ms = Math.max(queue.longest_wait_ms, gauge.longest_wait_ms || 0);
      queue.waits += gauge.waits.count;
      queue.waited_ms += gauge.waits.total_ms;
      mergeInto(queue.histogram, gauge.waits.histogram);
      merged.set(gauge.id, queue);
    }
    return { connections: Object.fromEntries([...merged].map(([id, queue]) => [id, toQueue(queue)])) };
  },
};

const ADDED = ['limit', 'active', 'waiting', 'completed', 'rejected', 'timed_out'] as const;
const EMPTY_QUEUE = {
  name: '',
  limit: 0,
  active: 0,
  waiting: 0,
  completed: 0,
  rejected: 0,
  timed_out: 0,
  longest_wait_ms: 0,
  waits: 0,
  waited_ms: 0,
};
type Merged = typeof EMPTY_QUEUE & { histogram: Histogram };

const toQueue = ({ waits, waited_ms, histogram, ...queue }: Merged): QueueMetrics => ({
  ...queue,
  avg_wait_ms: waits === 0 ? 0 : round(waited_ms / waits),
  p95_wait_ms: quantile(histogram, 0.95),
});

const round = (value: number): number => Math.round(value * 1_000) / 1_000;
