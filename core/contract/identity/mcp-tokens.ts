import * as v from 'valibot';
import { Id, integerBetween, listInput, listOf, shownText, Timestamp, Version } from '../fields.ts';
import { ToolsetNames } from '../definitions/toolsets.ts';
import { CallerClaims } from '../settings/caller-claims.ts';
import { field } from '../marks.ts';
import { deletion, operation } from '../operation.ts';
import { expiresInDays, ROTATION_HOURS, tokenEnds } from './token-ends.ts';

export const McpToken = v.object({
  id: Id,
  name: v.string(),
  token_prefix: v.string(),
  idle_timeout_minutes: v.nullable(v.number()),
  toolsets: v.pipe(v.nullable(v.array(v.string())), v.description('The toolsets that its callers can use; null: everything')),
  claims: v.pipe(v.record(v.string(), v.unknown()), v.description('Claims of its callers')),
  last_used_at: v.nullable(Timestamp),
  ...tokenEnds,
  revoked: v.boolean(),
  version: v.number(),
  created_at: Timestamp,
});
export type McpToken = v.InferOutput<typeof McpToken>;

/** One year. */
const LONGEST_IDLE_MINUTES = 525_600;

const fields = {
  name: field(shownText(255), { label: 'Name', help: 'For example, the client or person it is for.' }),
  idle_timeout_minutes: field(v.nullable(integerBetween(1, LONGEST_IDLE_MINUTES)), {
    label: 'Idle timeout',
    unit: 'minutes',
    help: 'The token expires after this time without use.',
    presets: [60, 480, 1_440, 10_080, 43_200, 129_600],
    choices: { null: { label: 'Never' } },
  }),
  toolsets: field(v.nullable(ToolsetNames), {
    label: 'Toolsets',
    help: 'Toolsets that callers with this token can list and call. null: everything, which needs all_toolsets.',
  }),
  all_toolsets: field(v.boolean(), {
    label: 'Everything',
    help: 'The token is for everything, also for toolsets and definitions that are created later. Required when toolsets is null.',
  }),
  claims: field(CallerClaims, {
    label: 'Claims',
    help: 'Claims of the caller that statements and templates read: sub, name, email, groups and any other.',
  }),
};

const WithToken = v.object({
  ...McpToken.entries,
  token: v.pipe(v.string(), v.description('Shown only once; stored as a hash')),
});

/** Access tokens of the deployed MCP server (auth_type bearer). Creating and revoking them needs no deploy. */
export const mcpTokens = {
  'mcp_tokens.list': operation('GET /mcp-tokens', 'session', {
    input: v.strictObject(listInput(100)),
    output: listOf(McpToken),
    summary: 'List access tokens of the MCP server, newest first; revoked ones for 30 days',
  }),
  'mcp_tokens.create': operation('POST /mcp-tokens', 'session', {
    input: v.strictObject({
      name: fields.name,
      idle_timeout_minutes: v.optional(fields.idle_timeout_minutes, null),
      toolsets: v.optional(fields.toolsets, null),
      all_toolsets: v.optional(fields.all_toolsets, false),
      claims: v.optional(fields.claims, {}),
      ...expiresInDays,
    }),
    output: WithToken,
    status: 201,
    summary: 'Create an access token of the MCP server',
  }),
  'mcp_tokens.update': operation('PATCH /mcp-tokens/{id}', 'session', {
    input: v.strictObject({
      id: Id,
      version: v.optional(Version),
      name: v.optional(fields.name),
      idle_timeout_minutes: v.optional(fields.idle_timeout_minutes),
      toolsets: v.optional(fields.toolsets),
      all_toolsets: v.optional(fields.all_toolsets),
      claims: v.optional(fields.claims),
    }),
    output: McpToken,
    summary: 'Change an access token of the MCP server; the change takes effect within a second on every connected host',
  }),
  'mcp_tokens.rotate': operation('POST /mcp-tokens/{id}/rotate', 'session', {
    input: v.strictObject({ id: Id, version: v.optional(Version), ...expiresInDays }),
    output: WithToken,
    summary: `Give an access token of the MCP server a new secret and a new end; the secret before works for ${ROTATION_HOURS} hours more`,
  }),
  'mcp_tokens.delete': deletion(
    'DELETE /mcp-tokens/{id}',
    'session',
    'Revoke an access token of the MCP server; it stops working within a second on every connected host',
  ),
};
