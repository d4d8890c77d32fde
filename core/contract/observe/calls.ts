import * as v from 'valibot';
import { OWNED_KINDS } from '../entities.ts';
import { CanaryState } from '../deploy/canary-state.ts';
import { Empty, Id, listInput, listOf, Nothing, textBetween, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';
import { CALL_OUTCOMES } from './outcomes.ts';

export const UsageKind = v.picklist(OWNED_KINDS);
export type UsageKind = v.InferOutput<typeof UsageKind>;

const NO_TIME = 'must be a time with its zone, such as 2026-01-31T12:00:00Z';

/** A time with its zone, as the ISO 8601 text that is stored. */
export const Time = v.pipe(
  v.string(),
  v.maxLength(64),
  v.isoTimestamp(NO_TIME),
  v.check((text) => !Number.isNaN(Date.parse(text)), NO_TIME),
  v.transform((text) => new Date(text).toISOString()),
);

/** How a call of a tool that asks a person went on. */
export const Confirmation = v.picklist(['asked', 'accepted', 'declined', 'expired', 'changed', 'checked']);
export type Confirmation = v.InferOutput<typeof Confirmation>;

/** How a call ended, for whoever counts. */
export const Outcome = v.picklist(CALL_OUTCOMES);

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
    v.description('`changed` and `expired`: asked again; `checked`: a token of a two-step call; null: nobody was asked'),
  ),
});
export type RequestLog = v.InferOutput<typeof RequestLog>;

/** Why a request never became a call. */
export const RefusalKind = v.picklist(['unauthenticated', 'forbidden', 'not_found', 'too_large', 'rate_limited', 'protocol']);
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

/** What became of the arguments of a call. */
export const ArgumentState = v.pipe(
  v.picklist(['logged', 'not_logged', 'removed', 'hidden', 'key_missing']),
  v.description(
    '`not_logged`: the tool does not log them; `removed`: they were older than log_arguments_hours; `hidden`: only for signed-in people with the role editor or higher; `key_missing`: no key of SVC_ENCRYPTION_KEY opens them',
  ),
);
export type ArgumentState = v.InferOutput<typeof ArgumentState>;
const names = v.array(v.string());

/** What became of a canary, and the version that it was promoted to. */
const CanaryEnd = v.object({ status: CanaryState.entries.status, version: v.nullable(v.number()) });

/** All that is kept of one call. */
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

/** What a call does now: it waits for a slot, its statement runs, a person is asked, or its result is written. */
export const RunState = v.picklist(['waiting', 'running', 'asking', 'finishing']);

export const RunningCallShown = v.object({
  id: v.string(),
  kind: UsageKind,
  name: v.string(),
  connection_id: v.nullable(v.string()),
  client: v.nullable(v.string()),
  token_prefix: v.nullable(v.string()),
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
    input: v.strictObject({ id: textBetween(1, 128) }),
    output: Nothing,
    summary:
      'Cancel a running call: its statement is cancelled in the database and its caller is told. A commit that was sent is not undone',
  }),
  'logs.list': operation('GET /logs', 'admin', {
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
  // Before what takes an id at the same place of its path.
  'logs.refusals': operation('GET /logs/refusals', 'admin', {
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
