import * as v from 'valibot';
import { integerBetween, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';
import { Time, UsageKind } from './calls.ts';

const numbers = (members: string) => v.pipe(v.array(v.number()), v.description(members));

/**
 * Calls by client and definition within a time span, as flat number arrays with indexes into the response's name lists. Missing
 * entries are zero.
 */
export const TrafficSpan = v.object({
  timestamp: v.pipe(Timestamp, v.description('Start of the span')),
  seconds: v.number(),
  pairs: numbers(
    'Six for each pair: client, definition, calls, p95 in ms, ms spent waiting for a slot by all of them, the longest wait in ms',
  ),
  failures: numbers('Four for each way to fail of a pair: client, definition, outcome, calls'),
  clients: numbers('Two for each: client, p95 in ms'),
  definitions: numbers('Two for each: definition, p95 in ms'),
  connections: numbers('Two for each: connection, p95 in ms'),
  p95_ms: v.number(),
});
export type TrafficSpan = v.InferOutput<typeof TrafficSpan>;

export const Traffic = v.object({
  since: Timestamp,
  until: Timestamp,
  interval_seconds: v.number(),
  clients: v.pipe(
    v.nullable(v.array(v.string())),
    v.description(
      'Names without their version; empty: the client gave no name, *: all beyond the first 100. null: the role may not see them, and 0 stands for all',
    ),
  ),
  definitions: v.array(
    v.object({
      kind: UsageKind,
      name: v.string(),
      entity_id: v.nullable(v.string()),
      connection: v.pipe(v.number(), v.description('Place in connections; -1: it has none')),
    }),
  ),
  connections: v.pipe(v.array(v.string()), v.description('Ids')),
  outcomes: v.pipe(v.array(v.string()), v.description('Ways to fail')),
  spans: v.pipe(v.array(TrafficSpan), v.description('Those with calls, oldest first')),
  now: v.pipe(v.nullable(TrafficSpan), v.description('The last 50 to 60 seconds, if until is omitted')),
  last_called_at: v.pipe(v.nullable(Timestamp), v.description('Last call of the last 7 days')),
});
export type Traffic = v.InferOutput<typeof Traffic>;

export const traffic = {
  'flow.traffic': operation('GET /flow/traffic', 'read', {
    input: v.strictObject({
      since: v.pipe(v.optional(Time), v.description('An hour before until if omitted; at most 3 hours are kept')),
      until: v.pipe(v.optional(Time), v.description('Only calls before this time')),
      interval_seconds: v.pipe(
        v.optional(v.pipe(integerBetween(60, 10_800), v.multipleOf(60)), 60),
        v.description('Length of a span, in whole minutes, from since on'),
      ),
    }),
    output: Traffic,
    summary: 'Get which client called what, minute by minute, with failures, durations and waits',
  }),
};
