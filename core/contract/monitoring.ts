import * as v from 'valibot';
import { OWNED_KINDS } from './entities.ts';
import { Empty, integerBetween, listInput, listOf, textBetween, Timestamp } from './fields.ts';
import { LOG_LEVELS } from './log-levels.ts';
import { operation } from './operation.ts';

export const UsageKind = v.picklist(OWNED_KINDS);
export type UsageKind = v.InferOutput<typeof UsageKind>;

export const Period = v.picklist(['1h', '6h', '24h', '7d']);
export type Period = v.InferOutput<typeof Period>;

/** How a call of a tool that asks before it writes went on. */
export const Confirmation = v.picklist(['asked', 'accepted', 'declined', 'expired', 'changed', 'checked']);
export type Confirmation = v.InferOutput<typeof Confirmation>;

/** A time with its zone, as the ISO 8601 text that is stored. */
const Time = v.pipe(
  v.string(),
  v.maxLength(64),
  v.isoTimestamp(),
  v.check((text) => !Number.isNaN(Date.parse(text))),
  v.transform((text) => new Date(text).toISOString()),
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

export const RequestLog = v.object({
  id: v.string(),
  timestamp: Timestamp,
  kind: UsageKind,
  name: v.string(),
  connection_id: v.nullable(v.string()),
  client: v.nullable(v.string()),
  token_prefix: v.pipe(
    v.nullable(v.string()),
    v.description(
      'The first characters of an access token, or the name of an OAuth caller: its client id, or its subject; `playground:` and a name for an administrator in the playground',
    ),
  ),
  duration_ms: v.number(),
  wait_ms: v.number(),
  rows: v.number(),
  success: v.boolean(),
  error: v.pipe(v.nullable(v.string()), v.description('The error code; never arguments or values')),
  snapshot_version: v.nullable(v.number()),
  confirmation: v.pipe(
    v.nullable(Confirmation),
    v.description(
      'Of a tool that asks before it writes; `changed` and `expired`: asked again, `checked`: a token of a two-step call. null: nobody was asked',
    ),
  ),
});
export type RequestLog = v.InferOutput<typeof RequestLog>;

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
  'logs.list': operation({
    method: 'GET',
    path: '/logs',
    access: 'admin',
    input: v.strictObject({
      ...listInput(200),
      kind: v.optional(UsageKind),
      name: v.optional(textBetween(1, 255)),
      connection_id: v.optional(textBetween(1, 64)),
      success: v.optional(v.boolean()),
      since: v.optional(Time),
      until: v.pipe(v.optional(Time), v.description('Only calls before this time')),
    }),
    output: listOf(RequestLog),
    summary: 'Read the request log, newest first',
  }),
};

const count = v.pipe(v.number(), v.minValue(0), v.finite());
const whole = v.pipe(count, v.integer(), v.maxValue(2 ** 31 - 1));
const cut = (most: number) =>
  v.pipe(
    v.string(),
    // What a client calls itself is stored as it is: no NUL, no half character.
    v.transform((text) => text.replaceAll('\0', '').slice(0, most).toWellFormed()),
  );

/** Names one run of a host. */
export const BootId = v.pipe(v.string(), v.regex(/^[\w.:-]{1,64}$/));

/** What calls of a batch have in common: what was called, and by whom. */
export const CallGroup = v.object({
  kind: UsageKind,
  name: cut(255),
  entity_id: v.nullish(cut(64), null),
  connection_id: v.nullish(cut(64), null),
  snapshot_version: v.nullish(whole, null),
  client: v.nullish(cut(255), null),
  token_prefix: v.nullish(cut(32), null),
  /** While a canary runs: which one, and the side that the call was on. */
  canary: v.nullish(v.object({ id: cut(64), side: v.picklist(['live', 'canary']) })),
  /** Absent: nobody was asked. */
  confirmation: v.optional(Confirmation),
});
export type CallGroup = v.InferOutput<typeof CallGroup>;

const MOST_CALLS = 10_000;
/** 9999-12-31: the last day that sorts as text. */
const LATEST_MS = 253_402_300_799_999;
/** Beyond every duration and size there is; below it a number has at most 16 digits with its microseconds. */
const LARGEST = 1e12;

/** A list that is looked through once: a schema for every one of its members would cost more than storing them. */
const column = <T>(isMember: (value: unknown) => boolean, members: string) =>
  v.custom<readonly T[]>(
    (list) => Array.isArray(list) && list.length <= MOST_CALLS && list.every(isMember),
    `must be a list of at most ${MOST_CALLS} ${members}`,
  );
const wholes = (most: number) =>
  column<number>((value) => Number.isInteger(value) && isBetween(value, most), `whole numbers from 0 to ${most}`);
const counts = column<number>((value) => isBetween(value, LARGEST), `numbers from 0 to ${LARGEST}`);
const isBetween = (value: unknown, most: number): boolean => typeof value === 'number' && value >= 0 && value <= most;
const isCode = (value: unknown): boolean => value === null || (typeof value === 'string' && /^[\w.:-]{1,64}$/.test(value));

/** Calls, the first to end first: every list has one member for each call. */
export const Calls = v.pipe(
  v.object({
    /** Place in the groups of the batch. */
    group: wholes(MOST_CALLS - 1),
    /** When it ended, in ms since 1970. */
    timestamp: wholes(LATEST_MS),
    duration_ms: counts,
    /** Time in the queue, part of the duration. */
    wait_ms: counts,
    rows: wholes(2 ** 31 - 1),
    /** Characters of the answer. */
    bytes: counts,
    /** Error code of a failed call. */
    error: column<string | null>(isCode, 'error codes or nulls'),
  }),
  v.check((calls) => new Set(Object.values(calls).map(({ length }) => length)).size === 1, 'must hold lists of one length'),
);
export type Calls = v.InferOutput<typeof Calls>;

const NO_CALLS: Calls = { group: [], timestamp: [], duration_ms: [], wait_ms: [], rows: [], bytes: [], error: [] };

/** A connection's queue on one host. */
export const QueueGauge = v.object({
  id: cut(64),
  name: cut(255),
  limit: whole,
  active: whole,
  waiting: whole,
  completed: count,
  rejected: count,
  timed_out: count,
  /** Hosts of an earlier version do not send it. */
  longest_wait_ms: v.optional(count, 0),
  /** Of the last 5 to 10 minutes. */
  waits: v.object({ count, total_ms: count, histogram: v.record(v.pipe(v.string(), v.digits()), count) }),
});
export type QueueGauge = v.InferOutput<typeof QueueGauge>;

/** A line of a host's own log. */
export const HostLine = v.object({
  timestamp: Time,
  level: v.picklist(LOG_LEVELS),
  message: cut(500),
  fields: v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.null()])),
});
export type HostLine = v.InferOutput<typeof HostLine>;

/**
 * What a host sends in a row: a batch is stored once for each boot id and sequence, and sequences grow. What is not known here
 * is refused: a batch that is taken without its calls would lose them without a word.
 */
export const UsageBatch = v.pipe(
  v.strictObject({
    boot_id: BootId,
    seq: v.pipe(whole, v.minValue(1)),
    groups: v.optional(v.pipe(v.array(CallGroup), v.maxLength(MOST_CALLS)), []),
    calls: v.optional(Calls, NO_CALLS),
    lines: v.optional(v.pipe(v.array(HostLine), v.maxLength(1_000)), []),
    /** MCP access tokens that were used since the last batch. */
    token_uses: v.optional(v.pipe(v.array(v.object({ id: cut(64), last_used_at: Time })), v.maxLength(1_000)), []),
    /** Absent: as they were. */
    queues: v.optional(v.pipe(v.array(QueueGauge), v.maxLength(10_000))),
  }),
  v.forward(
    v.check(({ groups, calls }) => calls.group.every((place) => place < groups.length), 'names a group that is not there'),
    ['calls', 'group'],
  ),
);
export type UsageBatch = v.InferOutput<typeof UsageBatch>;
