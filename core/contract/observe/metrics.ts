import * as v from 'valibot';
import { integerBetween, textBetween, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';
import { Outcome, Time, UsageKind } from './calls.ts';
import { CALLER_KEYS, HOURS_RETENTION_DAYS, MINUTES_RETENTION_DAYS, MOST_POINTS, PERIODS } from './metric-ranges.ts';

export const Period = v.picklist(PERIODS);

const outcomes = v.record(Outcome, v.number());
/** Described only at the field that is read first. */
const NEVER_RAN = 'Refused calls and those without a slot are in no duration';

/** Durations in milliseconds; percentiles are within 2% of the measured duration. */
const counted = {
  calls: v.number(),
  errors: v.number(),
  /** Number of calls that the durations include. */
  ran: v.number(),
  avg_ms: v.number(),
  p50_ms: v.number(),
  p95_ms: v.number(),
  p99_ms: v.number(),
  outcomes,
};
const figures = {
  ...counted,
  /** From 0 to 1. */
  error_rate: v.number(),
  rows: v.number(),
  bytes: v.number(),
  last_called_at: Timestamp,
};

/** Usage of one definition within the period. */
export const UsageStats = v.object({ id: v.nullable(v.string()), ...figures });
export type UsageStats = v.InferOutput<typeof UsageStats>;

/** Usage by one client, person or access token. */
export const CallerStats = v.object({
  key: v.pipe(v.nullable(v.string()), v.description('Value for the filter; null: calls without one')),
  name: v.pipe(v.nullable(v.string()), v.description('Of the person or access token')),
  ...figures,
});
export type CallerStats = v.InferOutput<typeof CallerStats>;

const Point = v.object({ timestamp: Timestamp, ...counted });
export type Point = v.InferOutput<typeof Point>;

const byName = v.record(v.string(), UsageStats);
const named = { tools: v.pipe(byName, v.description(`By name. ${NEVER_RAN}`)), resources: byName, prompts: byName };
/** The counted period. If `until` is in the future, the last minute or interval is not complete yet. */
const span = { since: v.string(), until: v.string() };
const callers = v.pipe(
  v.optional(v.array(CallerStats)),
  v.description('With `by`: the 200 clients, persons or access tokens with the most calls'),
);

/** A version that started to be served. */
export const DeployMark = v.object({
  version: v.number(),
  from_version: v.pipe(v.nullable(v.number()), v.description('The version served before; null: none')),
  at: Timestamp,
  note: v.nullable(v.string()),
  by: v.string(),
  restored: v.pipe(v.boolean(), v.description('An earlier version was restored')),
});
export type DeployMark = v.InferOutput<typeof DeployMark>;

const filter = v.optional(textBetween(1, 255));
const range = {
  period: v.pipe(v.optional(Period), v.description('The time until now')),
  since: v.pipe(
    v.optional(Time),
    v.description(
      `Instead of a period: start of a range, at most ${HOURS_RETENTION_DAYS} days ago. Older than ${MINUTES_RETENTION_DAYS} days: widened to whole hours`,
    ),
  ),
  until: v.pipe(v.optional(Time), v.description('End of the range that begins at `since`; now if omitted')),
  client: v.pipe(
    v.optional(textBetween(0, 255)),
    v.description('Only calls of this client; name with version or without, empty: it gave no name'),
  ),
  person: v.pipe(filter, v.description('Only calls of this person; subject as in the request log')),
  token: v.pipe(filter, v.description('Only calls with this access token; id or first characters')),
  connection_id: v.pipe(v.optional(textBetween(1, 64)), v.description('Only calls on this connection')),
  compare: v.pipe(v.optional(v.boolean(), false), v.description('Adds the period of the same length before, as `previous`')),
};

export const metrics = {
  'metrics.stats': operation('GET /metrics/stats', 'read', {
    input: v.strictObject({
      ...range,
      by: v.pipe(
        v.optional(v.picklist(['tool', ...CALLER_KEYS]), 'tool'),
        v.description('Also count calls by client, person or access token, as `callers`'),
      ),
    }),
    output: v.object({
      ...span,
      ...named,
      callers,
      previous: v.optional(
        v.object({ ...span, tools: byName, resources: byName, prompts: byName, callers: v.optional(v.array(CallerStats)) }),
      ),
    }),
    agent: 'get_metrics_stats',
    summary: 'Get calls, errors and durations of everything that was called in a period or range, by definition and by caller',
  }),
  'metrics.timeseries': operation('GET /metrics/timeseries', 'read', {
    input: v.strictObject({
      ...range,
      tool: v.pipe(
        v.optional(textBetween(1, 64)),
        v.description('Name of a tool, or its id, which also finds earlier names and deleted tools; all calls if omitted'),
      ),
      kind: v.pipe(v.optional(UsageKind, 'tool'), v.description('Kind of definition that `tool` names')),
      interval_seconds: v.pipe(
        v.optional(v.pipe(integerBetween(60, 86_400), v.multipleOf(60))),
        v.description(
          `Interval between points, in whole minutes; in whole hours before the last ${MINUTES_RETENTION_DAYS} days. If omitted, 60 for a period, and at most 120 points for a range. At most ${MOST_POINTS} points`,
        ),
      ),
    }),
    output: v.object({
      period: v.pipe(v.nullable(Period), v.description('null: a range')),
      ...span,
      interval_seconds: v.number(),
      points: v.pipe(v.array(Point), v.description(NEVER_RAN)),
      deploys: v.pipe(v.array(DeployMark), v.description('Versions deployed or restored within the range')),
      previous: v.optional(v.object({ ...span, points: v.array(Point) })),
    }),
    agent: 'get_metrics_timeseries',
    summary: 'Get calls per minute or longer interval, with zeros where there were none; the last interval is not complete yet',
  }),
};
