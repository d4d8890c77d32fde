import { auditTables } from './tables/audit.ts';
import { usageTables } from './tables/usage.ts';
import { tlsTables } from './tables/tls.ts';
import { testTables } from './tables/tests.ts';
import { proposalTables } from './tables/proposals.ts';
import { noticeTables } from './tables/notices.ts';
import { candidateTables } from './tables/candidates.ts';
import { oauthTables, oauthKeyTables } from './tables/oauth.ts';
import { providerTables } from './tables/providers.ts';
import { peopleTables } from './tables/people.ts';
import { deployTables } from './tables/deploy.ts';
import { clusterTables } from './tables/cluster.ts';
import type { AgentActivity } from '#core/contract/identity/agent-access.ts';
import type { ConnectionDraft, HostTarget } from '#core/contract/definitions/connections.ts';
import type { Mask } from '#core/contract/definitions/masks.ts';
import type { View } from '#core/contract/definitions/view.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Claims } from '#core/query/identity.ts';
import type { Scope } from '#core/contract/operation.ts';
import type { FileFormat, PageBy, PlanLimit, TextFormat } from '#core/contract/definitions/pages.ts';
import type { PromptArgument, PromptMessage } from '#core/contract/definitions/prompts.ts';
import type { Annotations, ReturnType as ToolReturnType } from '#core/contract/definitions/tools.ts';
import type { Confirm } from '#core/contract/definitions/write-guard.ts';
import type { Selection } from '#core/contract/definitions/toolsets.ts';
import type { SealedSsh } from '#core/contract/definitions/connection-fields.ts';
import type { Sealed, StoredSecret } from '#core/contract/fields.ts';
import { endColumns, type Kit, pgKit, recordColumns, sqliteKit } from './kit.ts';

/** The tables of one dialect. */
function define(k: Kit) {
  const meta = k.table('meta', { key: k.text().primaryKey(), value: k.text().notNull() });
  const connections = k.table(
    'connections',
    {
      ...recordColumns(k),
      db_type: k.text().$type<ConnectionDraft['db_type']>().notNull(),
      host: k.text(),
      target: k.text().$type<HostTarget>().notNull().default('any'),
      port: k.int(),
      database: k.text().notNull(),
      username: k.text(),
      password: k.json<StoredSecret>(),
      ssl_mode: k.text().$type<ConnectionDraft['ssl_mode'] & string>(),
      ssl_ca: k.text(),
      ssl_cert: k.text(),
      ssl_key: k.json<StoredSecret>(),
      extra_params: k.json<Record<string, unknown>>().notNull(),
      enabled: k.bool().notNull(),
      read_only: k.bool().notNull(),
      pool_size: k.int().notNull(),
      max_concurrency: k.int(),
      queue_limit: k.int().notNull(),
      queue_timeout_ms: k.int().notNull(),
      query_timeout_ms: k.int().notNull(),
      max_rows: k.int().notNull(),
      max_bytes: k.int().notNull(),
      session_values: k.list<ConnectionDraft['session_values']>(),
      session_role: k.json<NonNullable<ConnectionDraft['session_role']>>(),
      ssh: k.json<SealedSsh>(),
    },
    (t) => [k.unique('connections_name').on(t.name)],
  );
  const tools = k.table(
    'tools',
    {
      ...recordColumns(k),
      connection_id: k.text().notNull(),
      title: k.text(),
      description: k.text().notNull(),
      sql_query: k.text().notNull(),
      parameters: k.json<Parameter[]>().notNull(),
      tags: k.json<string[]>().notNull(),
      return_type: k.text().$type<ToolReturnType>().notNull(),
      transform_template: k.text(),
      masks: k.list<Mask[]>(),
      enabled: k.bool().notNull(),
      read_only: k.bool().notNull(),
      annotations: k.json<Annotations>().notNull(),
      timeout_ms: k.int(),
      max_rows: k.int(),
      cache_ttl_seconds: k.int().notNull(),
      rate_limit_per_minute: k.int(),
      max_bytes: k.int(),
      max_tokens: k.int(),
      max_plan_rows: k.int(),
      max_plan_cost: k.int(),
      plan_limit: k.text().$type<PlanLimit>().notNull().default('warn'),
      page_by: k.list<PageBy[]>(),
      text_format: k.text().$type<TextFormat>().notNull().default('json'),
      files: k.text().$type<FileFormat>(),
      max_affected_rows: k.int(),
      confirm: k.text().$type<Confirm>().notNull().default('never'),
      confirm_rows: k.int(),
      two_step: k.flag(),
      ask_missing: k.flag(),
      log_arguments: k.flag(),
      view: k.json<View>(),
    },
    (t) => [k.unique('tools_name').on(t.name), k.index('tools_connection').on(t.connection_id)],
  );
  const resources = k.table(
    'resources',
    {
      ...recordColumns(k),
      connection_id: k.text().notNull(),
      title: k.text(),
      description: k.text().notNull(),
      uri_template: k.text().notNull(),
      sql_query: k.text().notNull(),
      parameters: k.json<Parameter[]>().notNull(),
      tags: k.json<string[]>().notNull(),
      mime_type: k.text().notNull(),
      transform_template: k.text(),
      masks: k.list<Mask[]>(),
      enabled: k.bool().notNull(),
    },
    (t) => [
      k.unique('resources_name').on(t.name),
      k.unique('resources_uri').on(t.uri_template),
      k.index('resources_connection').on(t.connection_id),
    ],
  );
  const prompts = k.table(
    'prompts',
    {
      ...recordColumns(k),
      connection_id: k.text(),
      title: k.text(),
      description: k.text().notNull(),
      template: k.text(),
      messages: k.json<PromptMessage[]>(),
      arguments: k.json<PromptArgument[]>().notNull(),
      tags: k.json<string[]>().notNull(),
      enabled: k.bool().notNull(),
    },
    (t) => [k.unique('prompts_name').on(t.name), k.index('prompts_connection').on(t.connection_id)],
  );
  const toolsets = k.table(
    'toolsets',
    {
      ...recordColumns(k),
      title: k.text(),
      description: k.text().notNull(),
      instructions: k.text(),
      include: k.json<Selection>().notNull(),
      exclude: k.json<Selection>().notNull(),
      read_only: k.bool().notNull(),
      groups: k.json<string[]>().notNull(),
      /** Null: the default budget. */
      token_budget: k.int(),
      find_tools: k.bool().notNull().default(false),
      files: k.bool().notNull().default(false),
      enabled: k.bool().notNull(),
    },
    (t) => [k.unique('toolsets_name').on(t.name)],
  );
  /** Artifacts that are derived from a single entity when it is saved. `key` is the hash of the input. */
  const compiled = k.table('compiled', {
    entity_id: k.text().primaryKey(),
    key: k.text().notNull(),
    /** Hash of the artifact, to detect a change without reading it. */
    digest: k.text().notNull(),
    artifact: k.json<unknown>().notNull(),
  });
  const server_config = k.table('server_config', {
    id: k.int().primaryKey(),
    settings: k.json<Record<string, unknown>>().notNull(),
    version: k.int().notNull(),
    updated_at: k.text().notNull(),
  });
  const history = k.table(
    'history',
    {
      id: k.text().primaryKey(),
      entity_type: k.text().notNull(),
      entity_id: k.text().notNull(),
      entity_name: k.text().notNull(),
      action: k.text().notNull(),
      actor: k.json<{ type: string; id: string | null; name: string; proposal?: { id: string; author: string } }>().notNull(),
      /** A copy of the name in `actor`, for the index. */
      actor_name: k.text().notNull().default(''),
      ip: k.text(),
      /** The row before and after, with encrypted secrets. Used by rollback and never part of a response. */
      before: k.json<Record<string, unknown>>(),
      after: k.json<Record<string, unknown>>(),
      version_before: k.int(),
      version_after: k.int(),
      batch_id: k.text(),
      created_at: k.text().notNull(),
    },
    (t) => [
      // Rows are large, so each index has all filter columns, and only rows on the page are read.
      k.index('history_filters').on(t.id, t.entity_type, t.entity_name, t.actor_name, t.action),
      k.index('history_action').on(t.action, t.id, t.entity_type, t.entity_name, t.actor_name),
      k.index('history_entity').on(t.entity_id, t.id, t.entity_type, t.entity_name, t.actor_name, t.action),
      k.index('history_actor').on(t.actor_name, t.id, t.entity_type, t.entity_name, t.action),
      k.index('history_name').on(t.entity_name, t.id, t.entity_type, t.actor_name, t.action),
      k.index('history_type').on(t.entity_type, t.id, t.entity_name, t.actor_name, t.action),
      k.index('history_batch').on(t.batch_id),
    ],
  );
  /** Access tokens of the deployed server: SHA-256 for look-up, a sealed bcrypt hash for verification. */
  const mcp_tokens = k.table(
    'mcp_tokens',
    {
      id: k.text().primaryKey(),
      name: k.text().notNull(),
      token_prefix: k.text().notNull(),
      digest: k.text().notNull(),
      secret_hash: k.json<Sealed>().notNull(),
      idle_timeout_minutes: k.int(),
      last_used_at: k.text(),
      /** Null: all toolsets. */
      toolsets: k.json<string[]>(),
      /** Null: none. */
      claims: k.json<Claims>(),
      revoked: k.bool().notNull(),
      revoked_at: k.text(),
      ...endColumns(k),
      previous_hash: k.json<Sealed>(),
      version: k.int().notNull().default(1),
      created_at: k.text().notNull(),
    },
    (t) => [k.unique('mcp_tokens_digest').on(t.digest)],
  );
  /** Temporary tokens of the agent endpoint, found by their SHA-256. */
  const agent_tokens = k.table(
    'agent_tokens',
    {
      id: k.text().primaryKey(),
      name: k.text().notNull(),
      token_prefix: k.text().notNull(),
      digest: k.text().notNull(),
      scopes: k.json<Scope[]>().notNull(),
      expires_at: k.text().notNull(),
      revoked: k.bool().notNull(),
      last_used_at: k.text(),
      last_ip: k.text(),
      created_at: k.text().notNull(),
    },
    (t) => [k.unique('agent_tokens_digest').on(t.digest)],
  );
  /** OAuth clients of the agent endpoint; the secret is 40 random characters, so its SHA-256 is enough. */
  const agent_clients = k.table(
    'agent_clients',
    {
      id: k.text().primaryKey(),
      name: k.text().notNull(),
      client_id: k.text().notNull(),
      secret_digest: k.text().notNull(),
      scopes: k.json<Scope[]>().notNull(),
      idle_timeout_minutes: k.int().notNull(),
      ...endColumns(k),
      revoked: k.bool().notNull(),
      last_used_at: k.text(),
      last_ip: k.text(),
      created_at: k.text().notNull(),
    },
    (t) => [k.unique('agent_clients_client_id').on(t.client_id)],
  );
  /** The tokens from one use of a client's secret. They expire and are revoked together. */
  const agent_families = k.table(
    'agent_families',
    {
      id: k.text().primaryKey(),
      client_row: k.text().notNull(),
      scopes: k.json<Scope[]>().notNull(),
      revoked: k.bool().notNull(),
      last_used_at: k.text().notNull(),
    },
    (t) => [k.index('agent_families_client').on(t.client_row), k.index('agent_families_used').on(t.last_used_at)],
  );
  /** Access and refresh tokens by their SHA-256. A refresh token can be used once. */
  const agent_grants = k.table(
    'agent_grants',
    {
      digest: k.text().primaryKey(),
      family_id: k.text().notNull(),
      kind: k.text().$type<'access' | 'refresh'>().notNull(),
      token_prefix: k.text().notNull(),
      spent: k.bool().notNull(),
      expires_at: k.text(),
    },
    (t) => [k.index('agent_grants_family').on(t.family_id)],
  );
  /** Calls of agents, used when the key-value store is in memory. */
  const agent_activity = k.table('agent_activity', { id: k.text().primaryKey(), entry: k.json<AgentActivity>().notNull() });
  return {
    meta,
    ...peopleTables(k),
    connections,
    tools,
    resources,
    prompts,
    toolsets,
    compiled,
    server_config,
    history,
    ...deployTables(k),
    ...candidateTables(k),
    ...usageTables(k),
    ...auditTables(k),
    ...tlsTables(k),
    ...clusterTables(k),
    ...oauthKeyTables(k),
    ...providerTables(k),
    ...oauthTables(k),
    ...testTables(k),
    ...noticeTables(k),
    ...proposalTables(k),
    mcp_tokens,
    agent_tokens,
    agent_clients,
    agent_families,
    agent_grants,
    agent_activity,
  };
}

export type Schema = ReturnType<typeof define>;
export const sqliteSchema = define(sqliteKit);
export const pgSchema = define(pgKit);
