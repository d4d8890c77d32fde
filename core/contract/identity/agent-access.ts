import * as v from 'valibot';
import { Id, integerBetween, listInput, listOf, shownText, textBetween, Timestamp } from '../fields.ts';
import { Period } from '../observe/metrics.ts';
import { field, valuesOf } from '../marks.ts';
import { deletion, operation } from '../operation.ts';
import { expiresInDays, ROTATION_HOURS, tokenEnds } from './token-ends.ts';

/** What a token or a client may do, in the order in which people choose it. */
export const SCOPE_CHOICES = {
  read: { label: 'Read', help: 'Read everything except secrets.' },
  write: { label: 'Write', help: 'Create, change, test, export and roll back.' },
  propose: {
    label: 'Propose',
    help: 'Read, test and propose changes, which wait for approval. With Write, the agent makes changes directly unless it asks for a proposal.',
  },
  deploy: { label: 'Deploy', help: 'Deploy and stop serving, without approval.' },
};

export const Scopes = v.pipe(
  v.array(v.picklist(valuesOf(SCOPE_CHOICES))),
  v.minLength(1),
  v.maxLength(4),
  v.description(
    'read: view; write: change, test, preview, export; deploy: deploy and stop; propose: read, test, preview, and changes that wait for the approval of a person',
  ),
);
const draft = {
  name: field(shownText(255), { label: 'Name', help: 'Shown in the history with everything it does.' }),
  scopes: v.optional(field(Scopes, { label: 'Permissions', choices: SCOPE_CHOICES }), ['read', 'write', 'deploy']),
};

const record = {
  id: Id,
  name: v.string(),
  scopes: Scopes,
  revoked: v.boolean(),
  last_used_at: v.nullable(Timestamp),
  last_ip: v.nullable(v.string()),
  created_at: Timestamp,
};

export const AgentToken = v.object({ ...record, token_prefix: v.string(), expires_at: Timestamp });
export type AgentToken = v.InferOutput<typeof AgentToken>;
export const OauthClient = v.object({ ...record, ...tokenEnds, client_id: v.string(), idle_timeout_minutes: v.number() });
export type OauthClient = v.InferOutput<typeof OauthClient>;

export const AgentActivity = v.object({
  timestamp: Timestamp,
  token_prefix: v.string(),
  token_name: v.string(),
  tool_name: v.pipe(v.string(), v.description('Name of the tool, or of the operation if it is not a tool')),
  client_ip: v.nullable(v.string()),
  country: v.pipe(v.nullable(v.string()), v.description('ISO 3166-1 alpha-2; null if the address is private or unknown')),
  success: v.boolean(),
  duration_ms: v.number(),
  error: v.pipe(v.nullable(v.string()), v.description('The error code; never arguments or values')),
});
export type AgentActivity = v.InferOutput<typeof AgentActivity>;

const counts = { calls: v.number(), errors: v.number() };
const AgentStats = v.object({
  period: Period,
  ...counts,
  error_rate: v.pipe(v.number(), v.description('0 to 1')),
  avg_ms: v.number(),
  tokens: v.array(v.object({ token_prefix: v.string(), token_name: v.string(), ...counts, last_called_at: Timestamp })),
  tools: v.array(v.object({ tool_name: v.string(), ...counts, avg_ms: v.number() })),
  countries: v.array(v.object({ country: v.nullable(v.string()), ...counts })),
  complete: v.pipe(v.boolean(), v.description('false: the period has more calls than are kept')),
});
export type AgentStats = v.InferOutput<typeof AgentStats>;

/** One week. */
const LONGEST_TOKEN_MINUTES = 10_080;
const LONGEST_IDLE_MINUTES = 1_440;
const SHORTEST_MINUTES = 15;

const WithSecret = v.object({
  ...OauthClient.entries,
  client_secret: v.pipe(v.string(), v.description('Shown only once; stored as a digest')),
});

/** Credentials of agents and scripts, and their activity. */
export const agentAccess = {
  'agent_tokens.list': operation('GET /agent-tokens', 'session', {
    input: v.strictObject(listInput(100)),
    output: listOf(AgentToken),
    summary: 'List temporary tokens of agents, newest first; expired and revoked ones for 30 days',
  }),
  'agent_tokens.create': operation('POST /agent-tokens', 'session', {
    input: v.strictObject({
      name: draft.name,
      duration_minutes: field(integerBetween(SHORTEST_MINUTES, LONGEST_TOKEN_MINUTES), {
        label: 'Valid for',
        unit: 'minutes',
        presets: [15, 60, 480, 1_440, 4_320, 10_080],
      }),
      scopes: draft.scopes,
    }),
    output: v.object({
      ...AgentToken.entries,
      token: v.pipe(v.string(), v.description('Shown only once; stored as a digest')),
    }),
    status: 201,
    summary: 'Create a temporary token for an agent or a script',
  }),
  'agent_tokens.delete': deletion('DELETE /agent-tokens/{id}', 'session', 'Revoke a temporary token at once'),
  'oauth_clients.list': operation('GET /oauth-clients', 'session', {
    input: v.strictObject(listInput(100)),
    output: listOf(OauthClient),
    summary: 'List OAuth clients of the agent endpoint, newest first; revoked ones for 30 days after their last use',
  }),
  'oauth_clients.create': operation('POST /oauth-clients', 'session', {
    input: v.strictObject({
      name: draft.name,
      idle_timeout_minutes: field(integerBetween(SHORTEST_MINUTES, LONGEST_IDLE_MINUTES), {
        label: 'Idle timeout',
        unit: 'minutes',
        presets: [15, 60, 480, 1_440],
      }),
      scopes: draft.scopes,
      ...expiresInDays,
    }),
    output: WithSecret,
    status: 201,
    summary: 'Create an OAuth client of the agent endpoint',
  }),
  'oauth_clients.rotate': operation('POST /oauth-clients/{id}/rotate', 'session', {
    input: v.strictObject({ id: Id, ...expiresInDays }),
    output: WithSecret,
    summary: `Give an OAuth client of the agent endpoint a new secret and a new end; the secret before works for ${ROTATION_HOURS} hours more`,
  }),
  'oauth_clients.delete': deletion('DELETE /oauth-clients/{id}', 'session', 'Revoke an OAuth client and its live tokens'),
  'agent_activity.list': operation('GET /agent-activity', 'session', {
    input: v.strictObject({
      ...listInput(100),
      tool_name: v.optional(textBetween(1, 255)),
      token_prefix: v.optional(textBetween(1, 64)),
      success: v.optional(v.boolean()),
    }),
    output: listOf(AgentActivity),
    summary: 'List calls of agents and scripts, newest first; the last 10 000 are kept',
  }),
  'agent_activity.stats': operation('GET /agent-activity/stats', 'session', {
    input: v.strictObject({ period: v.optional(Period, '24h') }),
    output: AgentStats,
    summary: 'Count the last 10 000 calls of agents and scripts by token, tool and country, busiest first',
  }),
};
