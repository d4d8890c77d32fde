import * as v from 'valibot';
import { LOG_LEVELS } from '../log-levels.ts';
import { LONGEST_SEALED } from './logged-arguments.ts';
import { Confirmation, RefusalKind, RunState, Time, UsageKind } from './calls.ts';

const count = v.pipe(v.number(), v.minValue(0), v.finite());
const whole = v.pipe(count, v.integer(), v.maxValue(2 ** 31 - 1));
const cut = (most: number) =>
  v.pipe(
    v.string(),
    // Names from clients are stored without NUL and lone surrogates, which databases refuse.
    v.transform((text) => text.replaceAll('\0', '').slice(0, most).toWellFormed()),
  );

/** Name that the client reports. Null if it has none or an empty one. */
const client = v.nullish(
  v.pipe(
    cut(255),
    v.transform((name) => (name === '' ? null : name)),
  ),
  null,
);

/** Identifies one run of a host. */
export const BootId = v.pipe(v.string(), v.regex(/^[\w.:-]{1,64}$/));

export const CallerIds = v.object({
  person: v.nullish(cut(255), null),
  token: v.nullish(cut(64), null),
  client_id: v.nullish(cut(255), null),
});
/** At most one of `person` and `token` is set. */
export type CallerIds = v.InferOutput<typeof CallerIds>;

/** The fields that calls of a batch share: what was called, and by whom. */
export const CallGroup = v.object({
  kind: UsageKind,
  name: cut(255),
  entity_id: v.nullish(cut(64), null),
  connection_id: v.nullish(cut(64), null),
  snapshot_version: v.nullish(whole, null),
  client,
  token_prefix: v.nullish(cut(32), null),
  /** The running canary and the side of the call. */
  canary: v.nullish(v.object({ id: cut(64), side: v.picklist(['live', 'canary']) })),
  /** Absent: no confirmation was required. */
  confirmation: v.optional(Confirmation),
  /** The owner of the credential. Absent: no credential. */
  caller: v.optional(CallerIds),
  /** Digest of the session ID; absent: the protocol has no sessions. */
  session: v.optional(cut(32)),
  /** Revision of the protocol that the client used. Hosts of earlier versions do not report it. */
  protocol_version: v.optional(cut(32)),
  /** Columns whose mask was lifted for the caller. Absent: none. */
  unmasked: v.optional(v.pipe(v.array(cut(255)), v.maxLength(200))),
});
export type CallGroup = v.InferOutput<typeof CallGroup>;

const MOST_CALLS = 10_000;
/** 9999-12-31, the last day that sorts correctly as text. */
const LATEST_MS = 253_402_300_799_999;
/** Larger than any real duration or size; smaller numbers have at most 16 digits including microseconds. */
const LARGEST = 1e12;

/** An array that is checked in one pass: a schema for each element would cost more than storing it. */
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

/** Calls ordered by end. All arrays have one element per call. */
export const Calls = v.pipe(
  v.object({
    /** Index in the batch's groups. */
    group: wholes(MOST_CALLS - 1),
    /** End in milliseconds since 1970. */
    timestamp: wholes(LATEST_MS),
    duration_ms: counts,
    /** Time in the queue, part of the duration. */
    wait_ms: counts,
    rows: wholes(2 ** 31 - 1),
    /** Characters of the response. */
    bytes: counts,
    /** Time in the database, part of the duration. */
    database_ms: counts,
    /** Estimated tokens of the response. */
    tokens: wholes(2 ** 31 - 1),
    /** 1 if a limit cut the result. Absent: no result was cut. */
    truncated: v.optional(wholes(1)),
    /** Error code of a failed call. */
    error: column<string | null>(isCode, 'error codes or nulls'),
  }),
  v.check((calls) => new Set(Object.values(calls).map((list) => list?.length)).size === 1, 'must hold lists of one length'),
);
export type Calls = v.InferOutput<typeof Calls>;

const NO_CALLS: Calls = {
  group: [],
  timestamp: [],
  duration_ms: [],
  wait_ms: [],
  rows: [],
  bytes: [],
  database_ms: [],
  tokens: [],
  error: [],
};

/** Details that few calls have: the error that the caller received, the trace, ignored or logged arguments. */
export const CallNote = v.object({
  /** Index of the call in the batch. */
  at: v.pipe(whole, v.maxValue(MOST_CALLS - 1)),
  error_message: v.optional(cut(2_000)),
  sqlstate: v.optional(cut(8)),
  trace_id: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/))),
  /** Names of undeclared arguments that a call ignored. */
  ignored_arguments: v.optional(v.pipe(v.array(cut(64)), v.maxLength(20))),
  /** Logged arguments, encrypted by the host. Only people with access to them can decrypt them. */
  arguments: v.optional(v.pipe(v.string(), v.maxLength(LONGEST_SEALED), v.regex(/^[\w-]+$/))),
});
export type CallNote = v.InferOutput<typeof CallNote>;

/** A list request of a client, or its initialization. */
export const ListRead = v.object({
  client,
  token_prefix: v.nullish(cut(32), null),
  caller: v.optional(CallerIds),
  session: v.optional(cut(32)),
  /** Milliseconds since 1970. */
  timestamp: v.pipe(count, v.integer(), v.maxValue(LATEST_MS)),
  method: cut(64),
  protocol_version: v.optional(cut(32)),
  duration_ms: count,
});
export type ListRead = v.InferOutput<typeof ListRead>;

/** A request that did not become a call. */
export const Refusal = v.object({
  /** Milliseconds since 1970. */
  timestamp: v.pipe(count, v.integer(), v.maxValue(LATEST_MS)),
  kind: RefusalKind,
  /** HTTP status; 200: refused by a protocol error. */
  status: whole,
  reason: cut(500),
  address: v.nullable(cut(64)),
  client,
  called: v.nullable(cut(255)),
});
export type Refusal = v.InferOutput<typeof Refusal>;

/** A call that has been running for a while. */
export const RunningCall = v.object({
  id: cut(128),
  kind: UsageKind,
  name: cut(255),
  connection_id: v.nullable(cut(64)),
  client,
  token_prefix: v.nullable(cut(32)),
  caller: v.optional(CallerIds),
  /** Milliseconds since 1970. */
  since: v.pipe(count, v.integer(), v.maxValue(LATEST_MS)),
  state: RunState,
});
export type RunningCall = v.InferOutput<typeof RunningCall>;

/** State of a connection's queue on one host. */
export const QueueGauge = v.object({
  id: cut(64),
  name: cut(255),
  limit: whole,
  active: whole,
  waiting: whole,
  completed: count,
  rejected: count,
  timed_out: count,
  longest_wait_ms: count,
  /** Waits of the last 5 to 10 minutes. */
  waits: v.object({ count, total_ms: count, histogram: v.record(v.pipe(v.string(), v.digits()), count) }),
});
export type QueueGauge = v.InferOutput<typeof QueueGauge>;

/** A line of a host's log. */
export const HostLine = v.object({
  timestamp: Time,
  level: v.picklist(LOG_LEVELS),
  message: cut(500),
  fields: v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.null()])),
});
export type HostLine = v.InferOutput<typeof HostLine>;

/**
 * Reports of a host, in order: a batch is stored once per boot ID and sequence number, and sequence numbers grow. Unknown fields
 * are refused, because accepting a batch without its calls would lose them silently.
 */
export const UsageBatch = v.pipe(
  v.strictObject({
    boot_id: BootId,
    seq: v.pipe(whole, v.minValue(1)),
    groups: v.optional(v.pipe(v.array(CallGroup), v.maxLength(MOST_CALLS)), []),
    calls: v.optional(Calls, NO_CALLS),
    notes: v.optional(v.pipe(v.array(CallNote), v.maxLength(MOST_CALLS)), []),
    lines: v.optional(v.pipe(v.array(HostLine), v.maxLength(1_000)), []),
    /** MCP access tokens used since the last batch. */
    token_uses: v.optional(v.pipe(v.array(v.object({ id: cut(64), last_used_at: Time })), v.maxLength(1_000)), []),
    lists: v.optional(v.pipe(v.array(ListRead), v.maxLength(MOST_CALLS)), []),
    refusals: v.optional(v.pipe(v.array(Refusal), v.maxLength(1_000)), []),
    /** Number of refused requests, including those that are not listed. */
    refused: v.optional(v.record(RefusalKind, count), {}),
    /** Absent: unchanged. */
    queues: v.optional(v.pipe(v.array(QueueGauge), v.maxLength(10_000))),
    running: v.optional(v.pipe(v.array(RunningCall), v.maxLength(1_000))),
  }),
  v.forward(
    v.check(({ groups, calls }) => calls.group.every((index) => index < groups.length), 'names a group that is not there'),
    ['calls', 'group'],
  ),
);
export type UsageBatch = v.InferOutput<typeof UsageBatch>;
