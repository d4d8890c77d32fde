import * as v from 'valibot';
import { Empty, integerBetween, textBetween, Timestamp } from './fields.ts';
import { Outcome, UsageKind } from './observe/calls.ts';
import { operation } from './operation.ts';

export const Period = v.picklist(['1h', '6h', '24h', '7d']);
export type Period = v.InferOutput<typeof Period>;

const outcomes = v.pipe(
  v.record(Outcome, v.number()),
  v.description('Calls by how they ended; refused, no_slot and rate_limited never ran: they are in no duration'),
);

/** What was called within the period. Durations in ms; percentiles are within 2 % of a measured duration. */
export const UsageStats = v.object({
  id: v.nullable(v.string()),
  calls: v.number(),
  errors: v.number(),
  error_rate: v.pipe(v.number(), v.description('Share of calls that failed, 0 to 1')),
  avg_ms: v.number(),
  p50_ms: v.number(),
  p95_ms: v.number(),
  p99_ms: v.number(),
  rows: v.number(),
  bytes: v.number(),
  last_called_at: Timestamp,
  outcomes,
});
export type UsageStats = v.InferOutput<typeof UsageStats>;

export const QueueMetrics = v.object({
  name: v.string(),
  active: v.number(),
  waiting: v.number(),
  limit: v.pipe(v.number(), v.description('Calls that can run at once on all hosts together')),
  completed: v.number(),
  rejected: v.pipe(v.number(), v.description('Calls rejected because the queue was full')),
  timed_out: v.pipe(v.number(), v.description('Calls that timed out waiting for a slot')),
  avg_wait_ms: v.pipe(
    v.number(),
    v.description(
      'Over the last 5 to 10 minutes; calls that did not wait count as 0, calls that wait now with their time so far',
    ),
  ),
  p95_wait_ms: v.number(),
  longest_wait_ms: v.pipe(v.number(), v.description('How long the first of the calls that wait now has waited')),
});
export type QueueMetrics = v.InferOutput<typeof QueueMetrics>;

const byName = v.record(v.string(), UsageStats);

export const monitoring = {
  'metrics.stats': operation({
    method: 'GET',
    path: '/metrics/stats',
    access: 'read',
    input: v.strictObject({ period: v.optional(Period, '24h') }),
    output: v.object({ tools: byName, resources: byName, prompts: byName }),
    agent: 'get_metrics_stats',
    summary: 'Get calls, errors and durations of everything that was called in the period',
  }),
  'metrics.timeseries': operation({
    method: 'GET',
    path: '/metrics/timeseries',
    access: 'read',
    input: v.strictObject({
      period: v.optional(Period, '1h'),
      tool: v.pipe(v.optional(textBetween(1, 64)), v.description('Name or id of a tool; all calls if omitted')),
      kind: v.pipe(v.optional(UsageKind, 'tool'), v.description('Kind of definition that `tool` names')),
      interval_seconds: v.pipe(
        v.optional(v.pipe(integerBetween(60, 86_400), v.multipleOf(60)), 60),
        v.description('Interval between points, in whole minutes'),
      ),
    }),
    output: v.object({
      period: Period,
      interval_seconds: v.number(),
      points: v.array(
        v.object({
          timestamp: Timestamp,
          calls: v.number(),
          errors: v.number(),
          avg_ms: v.number(),
          p50_ms: v.number(),
          p95_ms: v.number(),
          p99_ms: v.number(),
          outcomes: v.record(Outcome, v.number()),
        }),
      ),
    }),
    agent: 'get_metrics_timeseries',
    summary: 'Get calls per minute or longer interval, with zeros where there were none; the last interval is not complete yet',
  }),
  'queue.metrics': operation({
    method: 'GET',
    path: '/queue/metrics',
    access: 'read',
    input: Empty,
    output: v.object({ connections: v.record(v.string(), QueueMetrics) }),
    agent: 'get_queue_metrics',
    summary: 'Get the queue of each connection as last reported by its hosts, counted since they started',
  }),
};
