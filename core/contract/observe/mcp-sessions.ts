import * as v from 'valibot';
import { listInput, listOf, textBetween, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';
import { Outcome, Time, TokenName, UsageKind } from './calls.ts';

const text = v.nullable(v.string());

/** The activity of one client without a break of 30 minutes, or in one protocol session. */
export const McpSession = v.object({
  id: v.string(),
  started_at: Timestamp,
  last_at: Timestamp,
  client: text,
  token_prefix: text,
  token_name: TokenName,
  person: text,
  token: text,
  client_id: text,
  session: v.pipe(text, v.description('null: the caller has no session; its calls are grouped')),
  lists: v.number(),
  calls: v.number(),
  errors: v.number(),
  rows: v.number(),
  tokens: v.number(),
  last_error: v.nullable(v.object({ call_id: v.string(), name: v.string(), error: v.string(), error_message: text })),
});
export type McpSession = v.InferOutput<typeof McpSession>;

/** One event of a session: a list request or a call. */
export const SessionEvent = v.object({
  /** ID of the call, for its details. */
  call_id: text,
  timestamp: Timestamp,
  kind: v.union([UsageKind, v.literal('list')]),
  name: v.string(),
  outcome: Outcome,
  error: text,
  error_message: text,
  retry: v.pipe(v.boolean(), v.description('The call before it of the same name failed')),
  duration_ms: v.number(),
  wait_ms: v.number(),
  rows: v.number(),
  tokens: v.number(),
});
export type SessionEvent = v.InferOutput<typeof SessionEvent>;

const filter = v.optional(textBetween(1, 255));

export const mcpSessions = {
  'mcp_sessions.list': operation('GET /sessions/mcp', 'read', {
    input: v.strictObject({
      ...listInput(100),
      person: filter,
      token: filter,
      client: v.pipe(
        v.optional(textBetween(0, 255)),
        v.description('Name of the client, with its version or without; empty: it gave no name'),
      ),
      tool: v.pipe(filter, v.description('Sessions that called it')),
      failed: v.pipe(v.optional(v.boolean()), v.description('Whether a call failed')),
      since: v.optional(Time),
    }),
    output: listOf(McpSession),
    agent: 'list_sessions',
    summary:
      'List what clients did, the latest first: calls of one caller and client with no gap of 30 minutes, or a session; total counts up to 10 001',
  }),
  'mcp_sessions.get': operation('GET /sessions/mcp/{id}', 'read', {
    input: v.strictObject({ id: textBetween(1, 64), ...listInput(500) }),
    output: v.object({ ...McpSession.entries, events: v.array(SessionEvent) }),
    agent: 'get_session',
    summary: 'Read what one client did in order: lists, calls and errors. skip and limit count both',
  }),
};
