import type { Change } from '#core/contract/deploy/deploy.ts';
import { ENTITY_KINDS } from '#core/contract/entities.ts';
import { shownIn } from '#core/contract/fields.ts';
import { ToolDraft } from '#core/contract/tools.ts';
import { plural } from './words.ts';

/** The noun of a change as people say it. */
export const NOUNS = {
  connection: 'connection',
  tool: 'tool',
  resource: 'resource',
  prompt: 'prompt',
  server_config: 'server',
} as const satisfies Record<Change['entity_type'], string>;

const ORDER: readonly Change['entity_type'][] = ['server_config', ...ENTITY_KINDS];
const KINDS: readonly Change['change'][] = ['removed', 'changed', 'added'];

/** Those first that may break a client; then in the order in which one reads a configuration. */
export function sortChanges(changes: readonly Change[]): Change[] {
  const rank = (change: Change) => ORDER.indexOf(change.entity_type) * KINDS.length + KINDS.indexOf(change.change);
  return changes.toSorted(
    (a, b) => Number(b.breaking.length > 0) - Number(a.breaking.length > 0) || rank(a) - rank(b) || a.name.localeCompare(b.name),
  );
}

/** `2 added, 1 changed`; an empty text when there is nothing. */
export function summary(changes: readonly Change[]): string {
  return (['added', 'changed', 'removed'] as const)
    .map((kind) => ({ kind, count: changes.filter(({ change }) => change === kind).length }))
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => `${count.toLocaleString('en')} ${kind}`)
    .join(', ');
}

export const breakingCount = (changes: readonly Change[]): number => changes.filter(({ breaking }) => breaking.length > 0).length;

/** One line for each change, for a confirmation. */
export function changeLines(changes: readonly Change[], most = 8): string[] {
  const sorted = sortChanges(changes);
  const lines = sorted.slice(0, most).map(({ entity_type, name, change, breaking }) => {
    const what = `${NOUNS[entity_type]} ${name}: ${change}`;
    return breaking.length === 0 ? what : `${what}, may break clients`;
  });
  const rest = sorted.length - lines.length;
  return rest > 0 ? [...lines, `and ${plural(rest, 'other change')}`] : lines;
}

/** What fields are called where people see them. */
export const FIELD_LABELS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(shownIn(ToolDraft.entries).map(([name, { label }]) => [name, label])),
  sql_query: 'SQL',
  transform_template: 'Transform template',
  description: 'Description',
  title: 'Title',
  name: 'Name',
  parameters: 'Parameters',
  arguments: 'Arguments',
  messages: 'Messages',
  template: 'Template',
  output_schema: 'Output schema',
  annotations: 'Annotations',
  return_type: 'Return type',
  read_only: 'Read-only',
  tags: 'Tags',
  enabled: 'Enabled',
  cache_ttl_seconds: 'Cache, seconds',
  timeout_ms: 'Time limit, ms',
  max_rows: 'Most rows',
  max_bytes: 'Most bytes',
  uri_template: 'Address',
  mime_type: 'Media type',
  connection_id: 'Connection',
  host: 'Host',
  port: 'Port',
  database: 'Database',
  username: 'Username',
  password: 'Password',
  ssl_mode: 'TLS',
  extra_params: 'Further settings',
  pool_size: 'Pool size',
  max_concurrency: 'Calls at the same time',
  queue_limit: 'Queue length',
  queue_timeout_ms: 'Longest wait in the queue, ms',
  query_timeout_ms: 'Longest query, ms',
  server_name: 'Server name',
  transport: 'Transport',
  log_level: 'Log level',
  otel_enabled: 'OpenTelemetry',
  auth_type: 'Authentication',
  oauth_clients: 'OAuth clients',
  token_ttl_seconds: 'Life of a token, seconds',
  introspection_url: 'Introspection address',
  introspection_client_id: 'Introspection client',
  introspection_client_secret: 'Introspection secret',
  introspection_cache_ttl_seconds: 'Introspection cache, seconds',
  introspection_issuer: 'Issuer',
  introspection_scopes: 'Scopes',
  introspection_audience: 'Audience',
  cors_origins: 'Allowed origins',
  global_variables: 'Variables',
  ssl_enabled: 'TLS',
  ui_domain: 'Domain of the interface',
  mcp_domain: 'Domain of the MCP server',
  mcp_proxy: 'MCP on the front port',
  acme_email: 'Contact address',
  acme_challenge: 'Challenge',
  dns_provider: 'DNS provider',
  dns_credentials: 'DNS credentials',
  auto_renew: 'Automatic renewal',
  prompt_guard_enabled: 'Prompt guard',
  prompt_guard_threshold: 'Guard threshold',
  prompt_guard_allow: 'Allowed rules',
  agent_enabled: 'Agent endpoint',
  agent_rate_limit: 'Agent calls a minute',
  ssl_ca: 'Certificate authority',
  ssl_cert: 'Client certificate',
  ssl_key: 'Client key',
  token_prefix: 'Token',
  idle_timeout_minutes: 'Idle time, minutes',
  scopes: 'Scopes',
  revoked: 'Revoked',
  checksum: 'Checksum',
  note: 'Note',
};
