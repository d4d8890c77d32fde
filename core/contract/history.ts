import * as v from 'valibot';
import { CONFIGURED, byPlural, CASCADED_KINDS } from './entities.ts';
import { Id, Timestamp, listOf, textBetween, listInput, Version } from './fields.ts';
import { type Choice, valuesOf } from './marks.ts';
import { operation } from './operation.ts';

/** What the history records: what is configured, then the rest. */
export const RECORD_CHOICES = {
  connection: { label: 'Connection' },
  tool: { label: 'Tool' },
  resource: { label: 'Resource' },
  prompt: { label: 'Prompt' },
  toolset: { label: 'Toolset' },
  test: { label: 'Test' },
  server_config: { label: 'Server configuration' },
  mcp_token: { label: 'Access token' },
  agent_token: { label: 'Agent token' },
  oauth_client: { label: 'OAuth client' },
  oauth_app: { label: 'OAuth app' },
  grant: { label: 'Sign-in' },
  signing_key: { label: 'Signing key' },
  notice: { label: 'Webhook' },
  identity_provider: { label: 'Identity provider' },
  admin: { label: 'Person' },
  snapshot: { label: 'Version' },
  file: { label: 'File' },
} as const satisfies Readonly<Record<(typeof CONFIGURED)[number], Choice>> & Readonly<Record<string, Choice>>;
export const EntityType = v.picklist(valuesOf(RECORD_CHOICES));

export type EntityType = v.InferOutput<typeof EntityType>;

/**
 * Changes of the configuration and of deploys. Other entries, about people and credentials, are only for signed-in
 * administrators.
 */
export const OF_DEFINITIONS: readonly EntityType[] = [...CONFIGURED, 'snapshot', 'file'];

export const ACTION_CHOICES = {
  create: { label: 'Created' },
  update: { label: 'Changed' },
  delete: { label: 'Deleted' },
  rollback: { label: 'Rolled back' },
  import: { label: 'Imported' },
  deploy: { label: 'Deployed' },
  blocked: { label: 'Blocked' },
};
export const Action = v.picklist(valuesOf(ACTION_CHOICES));

export type Action = v.InferOutput<typeof Action>;

/** Shown instead of a secret. */
export const REDACTED = '[redacted]';

/** A stored record with redacted secrets. */
const StoredRecord = v.record(v.string(), v.unknown());

export const HistoryEntry = v.object({
  id: Id,
  entity_type: EntityType,
  entity_id: v.string(),
  entity_name: v.string(),
  action: Action,
  actor: v.object({
    type: v.picklist(['admin', 'agent_token', 'oauth_client', 'system']),
    id: v.nullable(v.string()),
    name: v.string(),
    proposal: v.optional(
      v.pipe(
        v.object({ id: Id, author: v.string() }),
        v.description('The approved proposal that the change comes from, and who proposed it'),
      ),
    ),
  }),
  ip: v.nullable(v.string()),
  changes: v.pipe(
    v.record(v.string(), v.object({ old: v.unknown(), new: v.unknown() })),
    v.description('The fields that differ; secrets are shown as "[redacted]"'),
  ),
  snapshot: v.pipe(v.nullable(StoredRecord), v.description('The record after the change; for a deleted one, before it')),
  version_before: v.nullable(v.number()),
  version_after: v.nullable(v.number()),
  batch_id: v.pipe(v.nullable(v.string()), v.description('Shared by all entries of a change to several records')),
  created_at: Timestamp,
  secrets_unavailable: v.pipe(
    v.optional(v.literal(true)),
    v.description('No key decrypts a secret of the state before this entry, so it cannot be rolled back'),
  ),
});

export type HistoryEntry = v.InferOutput<typeof HistoryEntry>;

/** Names of records that are deleted with another one, by the plural of their kind. */
export const Cascaded = v.object(byPlural(CASCADED_KINDS, () => v.array(v.string())));

export type Cascaded = v.InferOutput<typeof Cascaded>;

const History = listOf(HistoryEntry);

/** Filters of the history. */
export const historyFilters = {
  history_id: v.optional(v.pipe(textBetween(1, 64), v.description('Only the entry with this id'))),
  entity_type: v.optional(EntityType),
  entity_id: v.optional(textBetween(1, 64)),
  action: v.optional(Action),
  actor: v.optional(v.pipe(textBetween(1, 255), v.description('Name of the person or token that made the change'))),
  search: v.optional(v.pipe(textBetween(1, 200), v.description('Words in the name of the record'))),
};

export const history = {
  'history.list': operation('GET /history', 'read', {
    input: v.strictObject({ ...listInput(100), ...historyFilters }),
    output: History,
    summary: 'List changes, newest first; total counts up to 10 001',
  }),
  'history.entity': operation('GET /history/{entity_type}/{entity_id}', 'read', {
    input: v.strictObject({ ...listInput(100), entity_type: v.string(), entity_id: v.string() }),
    output: History,
    summary: 'List changes of one record, newest first; total counts up to 10 001',
  }),
  'history.rollback': operation('POST /history/{history_id}/rollback', 'write', {
    input: v.strictObject({
      history_id: Id,
      dry_run: v.optional(v.boolean(), false),
      version: v.optional(v.pipe(Version, v.description('The version that the record must currently have'))),
    }),
    output: v.object({
      entry: v.pipe(HistoryEntry, v.description('The entry that the rollback adds to the history (on a dry run: would add)')),
      entity: v.pipe(v.nullable(StoredRecord), v.description('The record after the rollback; null if it is deleted')),
      cascaded: v.pipe(
        Cascaded,
        v.description('Records that belong to what the rollback deletes and are deleted with it, or would be on a dry run'),
      ),
      total: v.pipe(v.number(), v.description('Records that the rollback changes, including the cascaded ones')),
    }),
    agent: 'rollback',
    summary: 'Restore the state before an entry',
  }),
};
