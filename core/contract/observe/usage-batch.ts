import * as v from 'valibot';
import { LOG_LEVELS } from '../log-levels.ts';
import { LONGEST_SEALED } from './logged-arguments.ts';
import { Confirmation, RefusalKind, RunState, Time, UsageKind } from './calls.ts';

const count = v.pipe(v.number(), v.minValue(0), v.finite());
const whole = v.pipe(count, v.integer(), v.maxValue(2 ** 31 - 1));
const cut = (most: number) =>
  v.pipe(
    v.string(),
    // What a client calls itself is stored as it is: no NUL, no half character.
    v.transform((text) => text.replaceAll('\0', '').slice(0, most).toWellFormed()),
  );

/** What a client calls itself. A host says nothing of one without a name, or that it is empty. */
const client = v.nullish(
  v.pipe(
    cut(255),
    v.transform((name) => (name === '' ? null : name)),
  ),
  null,
);

/** Names one run of a host. */
export const BootId = v.pipe(v.string(), v.regex(/^[\w.:-]{1,64}$/));

export const CallerIds = v.object({
  person: v.nullish(cut(255), null),
  token: v.nullish(cut(64), null),
  client_id: v.nullish(cut(255), null),
});
/** At most one of person and token is known. */
export type CallerIds = v.InferOutput<typeof CallerIds>;

/** What calls of a batch have in common: what was called, and by whom. */
export const CallGroup = v.object({
  kind: UsageKind,
  name: cut(255),
  entity_id: v.nullish(cut(64), null),
  connection_id: v.nullish(cut(64), null),
  snapshot_version: v.nullish(whole, null),
  client,
  token_prefix: v.nullish(cut(32), null),
  /** While a canary runs: which one, and the side that the call was on. */
  canary: v.nullish(v.object({ id: cut(64), side: v.picklist(['live', 'canary']) })),
  /** Absent: nobody was asked. */
  confirmation: v.optional(Confirmation),
  /** Whose credential it was; absent: nobody's. */
  caller: v.optional(CallerIds),
  /** A digest of the id of its session; absent: the protocol has none. */
  session: v.optional(cut(32)),
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
    /** Time in the database, part of the duration. Hosts of an earlier version send neither this nor the next. */
    database_ms: v.optional(counts),
    /** What the answer costs a model, about. */
    tokens: v.optional(wholes(2 ** 31 - 1)),
    /** 1: the result ended at a limit. Absent: none did, or the host is of an earlier version. */
    truncated: v.optional(wholes(1)),
    /** Error code of a failed call. */
    error: column<string | null>(isCode, 'error codes or nulls'),
  }),
  v.check((calls) => new Set(Object.values(calls).map((list) => list?.length)).size === 1, 'must hold lists of one length'),
);
export type Calls = v.InferOutput<typeof Calls>;

const NO_CALLS: Calls = { group: [], timestamp: [], duration_ms: [], wait_ms: [], rows: [], bytes: [], error: [] };

/** What few calls have: what a caller got instead of a result, and the trace that the call is part of. */
export const CallNote = v.object({
  /** Place of the call in the batch. */
  at: v.pipe(whole, v.maxValue(MOST_CALLS - 1)),
  error_message: v.optional(cut(2_000)),
  sqlstate: v.optional(cut(8)),
  trace_id: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/))),
  /** Names of arguments that its tool does not declare, when it was answered without them. */
  ignored_arguments: v.optional(v.pipe(v.array(cut(64)), v.maxLength(20))),
  /** What the call sent, of a tool that logs it: encrypted by the host, and opened for nobody who may not read it. */
  arguments: v.optional(v.pipe(v.string(), v.maxLength(LONGEST_SEALED), v.regex(/^[\w-]+$/))),
});
export type CallNote = v.InferOutput<typeof CallNote>;

/** A list that a client read, or what it did to begin. */
export const ListRead = v.object({
  client,
  token_prefix: v.nullish(cut(32), null),
  caller: v.optional(CallerIds),
  session: v.optional(cut(32)),
  /** In ms since 1970. */
  timestamp: v.pipe(count, v.integer(), v.maxValue(LATEST_MS)),
  method: cut(64),
  duration_ms: count,
});
export type ListRead = v.InferOutput<typeof ListRead>;

/** A request that never became a call. */
export const Refusal = v.object({
  /** In ms since 1970. */
  timestamp: v.pipe(count, v.integer(), v.maxValue(LATEST_MS)),
  kind: RefusalKind,
  /** Of HTTP; 200: it was refused in the words of the protocol. */
  status: whole,
  reason: cut(500),
  address: v.nullable(cut(64)),
  client,
  called: v.nullable(cut(255)),
});
export type Refusal = v.InferOutput<typeof Refusal>;

/** A call that has run for a while. */
export const RunningCall = v.object({
  id: cut(128),
  kind: UsageKind,
  name: cut(255),
  connection_id: v.nullable(cut(64)),
  client,
  token_prefix: v.nullable(cut(32)),
  caller: v.optional(CallerIds),
  /** In ms since 1970. */
  since: v.pipe(count, v.integer(), v.maxValue(LATEST_MS)),
  state: RunState,
});
export type RunningCall = v.InferOutput<typeof RunningCall>;

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
    notes: v.optional(v.pipe(v.array(CallNote), v.maxLength(MOST_CALLS)), []),
    lines: v.optional(v.pipe(v.array(HostLine), v.maxLength(1_000)), []),
    /** MCP access tokens that were used since the last batch. */
    token_uses: v.optional(v.pipe(v.array(v.object({ id: cut(64), last_used_at: Time })), v.maxLength(1_000)), []),
    lists: v.optional(v.pipe(v.array(ListRead), v.maxLength(MOST_CALLS)), []),
    refusals: v.optional(v.pipe(v.array(Refusal), v.maxLength(1_000)), []),
    /** How many there were, those that are not listed included. */
    refused: v.optional(v.record(RefusalKind, count), {}),
    /** Absent: as they were. */
    queues: v.optional(v.pipe(v.array(QueueGauge), v.maxLength(10_000))),
    running: v.optional(v.pipe(v.array(RunningCall), v.maxLength(1_000))),
  }),
  v.forward(
    v.check(({ groups, calls }) => calls.group.every((place) => place < groups.length), 'names a group that is not there'),
    ['calls', 'group'],
  ),
);
export type UsageBatch = v.InferOutput<typeof UsageBatch>;
