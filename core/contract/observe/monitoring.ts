import * as v from 'valibot';
import { Empty } from '../fields.ts';
import { operation } from '../operation.ts';

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

export const monitoring = {
  'queue.metrics': operation('GET /queue/metrics', 'read', {
    input: Empty,
    output: v.object({ connections: v.record(v.string(), QueueMetrics) }),
    agent: 'get_queue_metrics',
    summary: 'Get the queue of each connection as last reported by its hosts, counted since they started',
  }),
};
