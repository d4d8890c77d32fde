import type * as v from 'valibot';
import { ENTITIES, ENTITY_KINDS } from '#core/contract/entities.ts';
import type { HistoryEntry } from '#core/contract/history.ts';
import { agentAccess } from '#core/contract/identity/agent-access.ts';
import { IdentityProviderDraft } from '#core/contract/identity/identity-providers.ts';
import { mcpTokens } from '#core/contract/identity/mcp-tokens.ts';
import { oauth } from '#core/contract/identity/oauth.ts';
import { PersonDraft } from '#core/contract/identity/people.ts';
import { type Marks, marksOf } from '#core/contract/marks.ts';
import { NoticeDraft } from '#core/contract/observe/notices.ts';
import { ServerConfigPatch } from '#core/contract/settings/config.ts';
import { plainSettings } from '#core/contract/settings/settings.ts';
import { fieldName } from '#ui/src/kernel/words.ts';

type Entries = Readonly<Record<string, v.GenericSchema>>;

export interface FieldInfo {
  readonly label: string;
  readonly marks: Marks | undefined;
  readonly schema: v.GenericSchema | undefined;
}

const entriesOf = (schema: object): Entries => ('entries' in schema ? (schema.entries as Entries) : {});

const OF_DEFINITIONS = Object.fromEntries(ENTITY_KINDS.map((kind) => [kind, ENTITIES[kind].draft.entries as Entries]));

/** The editable fields of each kind of record, from the contract. */
const WRITTEN: Readonly<Partial<Record<string, Entries>>> = {
  ...OF_DEFINITIONS,
  // `plainSettings` has the settings that are not optional, with their defaults.
  server_config: { ...(ServerConfigPatch.entries as Entries), ...(plainSettings as Entries) },
  admin: PersonDraft.entries,
  notice: NoticeDraft.entries,
  identity_provider: IdentityProviderDraft.entries,
  mcp_token: entriesOf(mcpTokens['mcp_tokens.create'].input),
  oauth_app: entriesOf(oauth['oauth_apps.create'].input),
  agent_token: entriesOf(agentAccess['agent_tokens.create'].input),
  oauth_client: entriesOf(agentAccess['oauth_clients.create'].input),
};

/** Fields without a form: set by Sluice, or part of a token or a deploy. */
const RECORDED: Readonly<Record<string, string>> = {
  output_schema: 'Result',
  passthrough: 'SQL from the caller',
  timeout_ms: 'Timeout',
  max_rows: 'Row limit',
  max_bytes: 'Size limit',
  token_prefix: 'Token',
  secret: 'Secret',
  client_id: 'Client ID',
  idle_timeout_minutes: 'Idle timeout',
  scopes: 'Scopes',
  revoked: 'Revoked',
  expires_at: 'Expires at',
  rotation_ends_at: 'Old secret works until',
  checksum: 'Checksum',
  note: 'Note',
  reason: 'Reason',
  allowed: 'Gates passed',
  candidate: 'Candidate',
  canary: 'Canary',
  minutes: 'Duration',
  min_calls: 'Minimum calls',
  max_error_rate: 'Error rate limit',
  max_p95_ratio: 'p95 ratio limit',
  percent: 'Share of callers',
  bytes: 'Size',
  person: 'Person',
  client: 'Client',
  resource: 'Resource',
  kid: 'Key ID',
  sign_in: 'Sign-in method',
  can_sign_in: 'Can sign in',
  invite_expires_at: 'Invitation expires at',
  invitation_accepted: 'Invitation accepted',
  linked_account: 'Linked account',
  totp_enabled: 'Second factor',
  recovery_codes_changed: 'New recovery codes',
  sessions_ended: 'Sessions ended',
  server_name: 'Server name',
};
const RECORDED_MARKS: Readonly<Record<string, Partial<Marks>>> = {
  timeout_ms: { unit: 'ms' },
  max_rows: { unit: 'rows' },
  max_bytes: { unit: 'bytes' },
  bytes: { unit: 'bytes' },
  minutes: { unit: 'min' },
  idle_timeout_minutes: { unit: 'min' },
  percent: { unit: '%' },
};

const anywhere = (name: string): v.GenericSchema | undefined =>
  [...Object.values(OF_DEFINITIONS), WRITTEN['server_config'] ?? {}].find((entries) => Object.hasOwn(entries, name))?.[name];

/**
 * Label, value format and default of a field.
 * @param entity_type undefined: any type with such a field.
 */
export function infoOf(entity_type: HistoryEntry['entity_type'] | undefined, name: string): FieldInfo {
  const entries = WRITTEN[entity_type ?? ''] ?? {};
  const written = Object.hasOwn(entries, name) ? entries[name] : undefined;
  const known = written ?? (Object.hasOwn(RECORDED, name) ? undefined : anywhere(name));
  const marks = known && marksOf(known);
  const label = marks?.label ?? RECORDED[name] ?? fieldName(undefined, name);
  const also = RECORDED_MARKS[name];
  return { label, marks: marks === undefined && also === undefined ? undefined : { ...also, ...marks, label }, schema: written };
}

/** Fields in form order; fields without a form come last. */
export function inFormOrder(entity_type: HistoryEntry['entity_type'] | undefined, names: readonly string[]): string[] {
  const order = Object.keys(WRITTEN[entity_type ?? ''] ?? {});
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return names.toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

/** The editable fields of a kind of record. */
export const writtenFields = (entity_type: string): Entries => WRITTEN[entity_type] ?? {};
