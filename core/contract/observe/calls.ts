import * as v from 'valibot';
import { OWNED_KINDS } from '../entities.ts';
import { CanaryState } from './canary-state.ts';
import { Empty, Id, listInput, listOf, Nothing, textBetween, Timestamp } from '../fields.ts';
import { valuesOf } from '../marks.ts';
import { operation } from '../operation.ts';
import { CALL_OUTCOMES } from './outcomes.ts';

export const UsageKind = v.picklist(OWNED_KINDS);
export type UsageKind = v.InferOutput<typeof UsageKind>;

const NO_TIME = 'must be a time with its zone, such as 2026-01-31T12:00:00Z';

/** A time with its zone, transformed to the stored ISO 8601 text. */
export const Time = v.pipe(
  v.string(),
  v.maxLength(64),
  v.isoTimestamp(NO_TIME),
  v.check((text) => !Number.isNaN(Date.parse(text)), NO_TIME),
  v.transform((text) => new Date(text).toISOString()),
);

/** State of the confirmation that a tool call requires. */
export const CONFIRMATION_CHOICES = {
  asked: { label: 'Asked' },
  accepted: { label: 'Accepted' },
  declined: { label: 'Declined' },
  expired: { label: 'Expired, asked again' },
  changed: { label: 'Rows changed, asked again' },
  checked: { label: 'Checked by token' },
};
export const Confirmation = v.picklist(valuesOf(CONFIRMATION_CHOICES));
export type Confirmation = v.InferOutput<typeof Confirmation>;

/** The end of a call, for counting. */
export const Outcome = v.picklist(CALL_OUTCOMES);

export const TokenName = v.pipe(
  v.nullable(v.string()),
  v.description('Name of the access token; null: the call came without one, or it was deleted since'),
);

export const RequestLog = v.object({
  id: v.string(),
  timestamp: Timestamp,
  kind: UsageKind,
  name: v.string(),
  connection_id: v.nullable(v.string()),
  client: v.nullable(v.string()),
  token_prefix: v.pipe(
    v.nullable(v.string()),
    v.description('How an access token begins, or the name of an OAuth caller; in the playground `playground:` and a name'),
  ),
  token_name: TokenName,
  duration_ms: v.number(),
  wait_ms: v.number(),
  rows: v.number(),
  success: v.boolean(),
  outcome: Outcome,
  error: v.pipe(v.nullable(v.string()), v.description('The error code; never arguments or values')),
  snapshot_version: v.nullable(v.number()),
  canary: v.pipe(v.nullable(v.string()), v.description('The canary that answered, in place of a version')),
  confirmation: v.pipe(
    v.nullable(Confirmation),
    v.description('`changed` and `expired`: asked again; `checked`: a token of a two-step call; null: no one was asked'),
  ),
});
export type RequestLog = v.InferOutput<typeof RequestLog>;

/** Failed calls of one definition with the same error. */
export const Failure = v.object({
  kind: UsageKind,
  name: v.string(),
  error: v.string(),
  outcome: Outcome,
  error_message: v.pipe(v.nullable(v.string()), v.description('What the callers got, as in `GET logs/{call_id}`')),
  calls: v.number(),
  callers: v.pipe(
    v.array(v.string()),
    v.description('At most five: names of access tokens, people or OAuth clients; without a credential the name of the client'),
  ),
  last_at: Timestamp,
  call_id: v.pipe(v.string(), v.description('The latest of the calls')),
});
export type Failure = v.InferOutput<typeof Failure>;

/** Why a request did not become a call. */
export const REFUSAL_CHOICES = {
  unauthenticated: { label: 'No valid token' },
  forbidden: { label: 'Not allowed' },
  not_found: { label: 'Not found' },
  too_large: { label: 'Too large' },
  rate_limited: { label: 'Too many attempts' },
  protocol: { label: 'Protocol error' },
};
export const RefusalKind = v.picklist(valuesOf(REFUSAL_CHOICES));
export type RefusalKind = v.InferOutput<typeof RefusalKind>;

export const RefusedRequest = v.object({
  id: v.string(),
  timestamp: Timestamp,
  kind: RefusalKind,
  status: v.pipe(v.number(), v.description('Of HTTP; 200: refused in an answer of the protocol')),
  reason: v.string(),
  address: v.nullable(v.string()),
  client: v.nullable(v.string()),
  called: v.pipe(v.nullable(v.string()), v.description('The tool, resource or prompt that the request named')),
});

/** Whether the arguments of a call are available, or why not. */
export const ArgumentState = v.pipe(
  v.picklist(['logged', 'not_logged', 'removed', 'hidden', 'key_missing']),
  v.description(
    '`not_logged`: the tool does not log them; `removed`: they were older than log_arguments_hours; `hidden`: only for signed-in people with the role editor or higher; `key_missing`: no key of SVC_ENCRYPTION_KEY opens them',
  ),
);
export type ArgumentState = v.InferOutput<typeof ArgumentState>;
const names = v.array(v.string());

/** Outcome of a canary, and the version that it was promoted to. */
const CanaryEnd = v.object({ status: CanaryState.entries.status, version: v.nullable(v.number()) });

/** All stored data of one call. */
export const CallDetail = v.object({
  ...RequestLog.entries,
  error_message: v.pipe(
    v.nullable(v.string()),
    v.description(
      'What the caller got, with the hint of the database; values of arguments and of masked columns are left out. Tokens learn of what a database said that there was an error, and its SQLSTATE',
    ),
  ),
  sqlstate: v.nullable(v.string()),
  queue_ms: v.number(),
  database_ms: v.number(),
  bytes: v.number(),
  tokens: v.pipe(v.number(), v.description('Estimated')),
  truncated: v.pipe(v.boolean(), v.description('A limit of rows, bytes or tokens cut the result off')),
  person: v.pipe(v.nullable(v.string()), v.description('Subject of a signed-in person')),
  token: v.pipe(v.nullable(v.string()), v.description('Id of an access token')),
  client_id: v.nullable(v.string()),
  session: v.nullable(v.string()),
  trace_id: v.nullable(v.string()),
  arguments_state: ArgumentState,
  arguments: v.pipe(
    v.nullable(v.record(v.string(), v.unknown())),
    v.description('What the caller sent, if arguments_state is `logged`; never values that come from its credential'),
  ),
  arguments_masked: v.pipe(names, v.description('Arguments that are shown as the masks of the tool show their columns')),
  ignored_arguments: v.pipe(
    names,
    v.description('The first 20 arguments that the tool does not declare, when it was answered without them'),
  ),
  arguments_left_out: v.pipe(names, v.description('Arguments that were too large to keep: 16 KiB per call')),
  session_id: v.pipe(v.nullable(v.string()), v.description('Of `GET sessions/mcp/{id}`')),
  canary_state: v.pipe(v.nullable(CanaryEnd), v.description('Of the canary, unless 20 ran since')),
});
export type CallDetail = v.InferOutput<typeof CallDetail>;

/**
 * The current step of a call: waiting for a slot, running its statement, waiting for a person's confirmation, or writing its
 * result.
 */
export const RUN_CHOICES = {
  waiting: { label: 'Waiting for a slot' },
  running: { label: 'Statement running' },
  asking: { label: 'Asking a person' },
  finishing: { label: 'Writing the result' },
};
export const RunState = v.picklist(valuesOf(RUN_CHOICES));

export const RunningCallShown = v.object({
  id: v.string(),
  kind: UsageKind,
  name: v.string(),
  connection_id: v.nullable(v.string()),
  client: v.nullable(v.string()),
  token_prefix: v.nullable(v.string()),
  token_name: TokenName,
  person: v.nullable(v.string()),
  host: v.string(),
  since: Timestamp,
  state: RunState,
});

export const calls = {
  'calls.running': operation('GET /calls/running', 'read', {
    input: Empty,
    output: v.object({ items: v.array(RunningCallShown) }),
    summary: 'List the calls that have run for a quarter of a second or longer on any host, as last reported, the oldest first',
  }),
  'calls.cancel': operation('POST /calls/{id}/cancel', 'deploy', {
    audited: 'call',
    input: v.strictObject({ id: textBetween(1, 128) }),
    output: Nothing,
    summary:
      'Cancel a running call: its statement is cancelled in the database and its caller is told. A commit that was sent is not undone',
  }),
  'logs.list': operation('GET /logs', 'session', {
    role: 'viewer',
    input: v.strictObject({
      ...listInput(200),
      kind: v.optional(UsageKind),
      name: v.optional(textBetween(1, 255)),
      connection_id: v.optional(textBetween(1, 64)),
      canary: v.pipe(v.optional(Id), v.description('Only calls that this canary answered')),
      client: v.pipe(
        v.optional(textBetween(0, 255)),
        v.description('Name of the client, with its version or without; empty: it gave no name'),
      ),
      success: v.optional(v.boolean()),
      outcome: v.optional(Outcome),
      since: v.optional(Time),
      until: v.pipe(v.optional(Time), v.description('Only calls before this time')),
    }),
    output: listOf(RequestLog),
    summary: 'Read the request log, newest first; total counts up to 10 001',
  }),
  // These must come before the operation that has an ID in the same position of its path.
  'logs.failures': operation('GET /logs/failures', 'session', {
    role: 'viewer',
    input: v.strictObject({
      ...listInput(200),
      since: v.optional(Time),
      until: v.pipe(v.optional(Time), v.description('Only calls before this time')),
    }),
    output: listOf(Failure),
    summary: 'Group the newest 10 000 failed calls by definition and error, the latest first',
  }),
  'logs.refusals': operation('GET /logs/refusals', 'session', {
    input: v.strictObject({ ...listInput(200), kind: v.optional(RefusalKind) }),
    output: v.object({
      ...listOf(RefusedRequest).entries,
      counts: v.pipe(v.record(RefusalKind, v.number()), v.description('All since `counted_since`')),
      counted_since: v.pipe(Timestamp, v.description('The full hour 24 to 25 hours ago')),
    }),
    summary: 'List the last 1 000 requests that were refused before they became a call, newest first',
  }),
  'logs.get': operation('GET /logs/{call_id}', 'read', {
    input: v.strictObject({ call_id: v.pipe(textBetween(1, 64), v.description('The id of an entry of the request log')) }),
    output: CallDetail,
    agent: 'get_call',
    summary: 'Read one call: what the caller got, how long each part took, and who called',
  }),
};
