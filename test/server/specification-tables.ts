/**
 * The tables of the specification and of the wire contract, typed in. A field with `!` is required.
 * What a table of these does not say is not compared.
 */

const LIST = 'skip limit';
const CONNECTION = 'name! db_type! host port database! username password ssl_mode extra_params';
const TOOL = 'connection_id! name! description! sql_query! parameters tags return_type transform_template';
const RESOURCE = 'connection_id! name! description! uri_template! sql_query! parameters mime_type';
const PROMPT = 'name! description! template arguments';
/** Every field of a draft as PATCH takes it. */
const patch = (draft: string): string => `id! version ${draft.replaceAll('!', '')}`;

/** Specification 4.2 with the fields of 2.*: method, path, fields of the request. */
export const SPECIFIED: readonly (readonly [string, string, string])[] = [
  ['GET', '/api/health', ''],
  ['GET', '/api/v1/auth/status', ''],
  ['POST', '/api/v1/auth/setup', 'username! password!'],
  ['POST', '/api/v1/auth/login', 'username! password!'],
  ['POST', '/api/v1/auth/login/verify-2fa', 'pending_token! code! is_recovery'],
  ['POST', '/api/v1/auth/logout', ''],
  ['GET', '/api/v1/auth/me', ''],
  ['PATCH', '/api/v1/auth/me', 'username password current_password!'],
  ['POST', '/api/v1/auth/2fa/setup', 'password'],
  ['POST', '/api/v1/auth/2fa/verify-setup', 'code!'],
  ['POST', '/api/v1/auth/2fa/disable', 'password! code!'],
  ['POST', '/api/v1/auth/2fa/regenerate-recovery', 'password! code!'],
  ['GET', '/api/v1/auth/2fa/status', ''],
  ['GET', '/api/v1/connections', LIST],
  ['POST', '/api/v1/connections', CONNECTION],
  ['GET', '/api/v1/connections/{id}', 'id!'],
  ['PATCH', '/api/v1/connections/{id}', patch(CONNECTION)],
  ['DELETE', '/api/v1/connections/{id}', 'id!'],
  ['POST', '/api/v1/connections/{id}/test', 'id!'],
  ['GET', '/api/v1/tools', LIST],
  ['POST', '/api/v1/tools', TOOL],
  ['GET', '/api/v1/tools/{id}', 'id!'],
  ['PATCH', '/api/v1/tools/{id}', patch(TOOL)],
  ['DELETE', '/api/v1/tools/{id}', 'id!'],
  ['POST', '/api/v1/tools/{id}/duplicate', 'id!'],
  ['GET', '/api/v1/resources', LIST],
  ['POST', '/api/v1/resources', RESOURCE],
  ['GET', '/api/v1/resources/{id}', 'id!'],
  ['PATCH', '/api/v1/resources/{id}', patch(RESOURCE)],
  ['DELETE', '/api/v1/resources/{id}', 'id!'],
  ['GET', '/api/v1/prompts', LIST],
  ['POST', '/api/v1/prompts', PROMPT],
  ['GET', '/api/v1/prompts/{id}', 'id!'],
  ['PATCH', '/api/v1/prompts/{id}', patch(PROMPT)],
  ['DELETE', '/api/v1/prompts/{id}', 'id!'],
  ['GET', '/api/v1/schema/{connection_id}/tables', `connection_id! ${LIST}`],
  ['GET', '/api/v1/schema/{connection_id}/tables/{table}/columns', `connection_id! table! ${LIST}`],
  ['POST', '/api/v1/preview/execute', 'connection_id! sql_query! parameters transform_template'],
  ['POST', '/api/v1/deploy', ''],
  ['GET', '/api/v1/deploy/status', ''],
  ['POST', '/api/v1/deploy/stop', ''],
  ['GET', '/api/v1/server/config', ''],
  ['PATCH', '/api/v1/server/config', 'global_variables cors_origins auth_type'],
  ['GET', '/api/v1/server/health', ''],
  ['GET', '/api/v1/server/generated', ''],
  ['GET', '/api/v1/server/ssl/status', ''],
  ['POST', '/api/v1/server/ssl/issue', ''],
  ['GET', '/api/v1/history', `${LIST} entity_type entity_id action`],
  ['GET', '/api/v1/history/{entity_type}/{entity_id}', 'entity_type! entity_id!'],
  ['POST', '/api/v1/history/{history_id}/rollback', 'history_id!'],
  ['GET', '/api/v1/queue/metrics', ''],
  ['GET', '/api/v1/metrics/stats', ''],
  ['GET', '/api/v1/metrics/timeseries', 'period'],
  ['GET', '/api/v1/export-import/export', ''],
  ['POST', '/api/v1/export-import/import', 'dry_run'],
  ['POST', '/api/v1/agent-tokens', 'name!'],
  ['GET', '/api/v1/agent-tokens', LIST],
  ['DELETE', '/api/v1/agent-tokens/{id}', 'id!'],
  ['POST', '/api/v1/oauth-clients', ''],
  ['GET', '/api/v1/oauth-clients', LIST],
  ['DELETE', '/api/v1/oauth-clients/{id}', 'id!'],
  ['GET', '/api/v1/agent-activity', LIST],
];

/** What the wire contract adds to the specification's endpoints: its section, method, path. */
export const ADDED: readonly (readonly [string, string, string])[] = [
  ['section 2', 'GET', '/api/v1/auth/sessions'],
  ['section 2', 'DELETE', '/api/v1/auth/sessions/{id}'],
  ['section 3', 'GET', '/api/v1/connections/types'],
  ['section 3', 'POST', '/api/v1/connections/test'],
  ['section 3', 'POST', '/api/v1/connections/sample'],
  ['section 7', 'POST', '/api/v1/preview/tool'],
  ['section 7', 'POST', '/api/v1/preview/resource'],
  ['section 7', 'POST', '/api/v1/preview/prompt'],
  ['section 8', 'GET', '/api/v1/prompt-guard/rules'],
  ['section 8', 'POST', '/api/v1/prompt-guard/test'],
  ['section 8', 'POST', '/api/v1/prompt-guard/scan'],
  ['section 8', 'POST', '/api/v1/mcp-tokens'],
  ['section 8', 'GET', '/api/v1/mcp-tokens'],
  ['section 8', 'DELETE', '/api/v1/mcp-tokens/{id}'],
  ['section 8', 'GET', '/api/v1/server/stdio'],
  ['section 9', 'GET', '/api/v1/deploy/diff'],
  ['section 9', 'GET', '/api/v1/snapshots'],
  ['section 9', 'GET', '/api/v1/snapshots/{version}'],
  ['section 9', 'GET', '/api/v1/snapshots/{from}/diff/{to}'],
  ['section 9', 'POST', '/api/v1/snapshots/{version}/activate'],
  ['section 10', 'GET', '/api/v1/logs'],
  ['section 12', 'GET', '/api/v1/flow'],
  ['section 12', 'GET', '/api/v1/agent-activity/stats'],
];

/** Section 12: agent tools that are no endpoint of the specification are operations of their own below this path. */
export const AGENT_TOOLS = '/api/v1/agent-tools/';

/** Specified and not built yet, with the area that builds it. An entry that exists fails the comparison. */
export const NOT_BUILT: readonly (readonly [string, string, string])[] = [];

/** Fields that the contract adds to the requests of the specification's endpoints. */
export const ADDED_FIELDS: Readonly<Record<string, string>> = {
  'POST /api/v1/auth/2fa/disable': 'is_recovery',
  'GET /api/v1/connections': 'search enabled',
  'POST /api/v1/connections':
    'ssl_ca ssl_cert ssl_key enabled read_only pool_size max_concurrency queue_limit queue_timeout_ms query_timeout_ms max_rows max_bytes',
  'GET /api/v1/tools': 'search enabled connection_id tags',
  'POST /api/v1/tools': 'title enabled read_only annotations timeout_ms max_rows cache_ttl_seconds rate_limit_per_minute',
  'GET /api/v1/resources': 'search enabled connection_id tags',
  'POST /api/v1/resources': 'title tags transform_template enabled',
  'GET /api/v1/prompts': 'search enabled connection_id tags',
  'POST /api/v1/prompts': 'connection_id title messages tags enabled',
  'GET /api/v1/schema/{connection_id}/tables': 'schema search',
  'GET /api/v1/schema/{connection_id}/tables/{table}/columns': 'schema search',
  'POST /api/v1/preview/execute': 'limit definitions return_type mime_type',
  'POST /api/v1/deploy': 'note dry_run',
  'PATCH /api/v1/server/config':
    'version server_name transport host port log_level otel_enabled oauth_clients token_ttl_seconds introspection_url introspection_client_id introspection_client_secret introspection_issuer introspection_scopes introspection_audience introspection_cache_ttl_seconds ssl_enabled ui_domain mcp_domain mcp_proxy acme_email acme_challenge dns_provider dns_credentials auto_renew prompt_guard_enabled prompt_guard_threshold prompt_guard_allow agent_enabled agent_rate_limit',
  'POST /api/v1/server/ssl/issue': 'force wait',
  'GET /api/v1/server/generated': 'snapshot',
  'GET /api/v1/history': 'actor search',
  'GET /api/v1/history/{entity_type}/{entity_id}': LIST,
  'POST /api/v1/history/{history_id}/rollback': 'dry_run version',
  'GET /api/v1/metrics/stats': 'period',
  'GET /api/v1/metrics/timeseries': 'tool kind interval_seconds',
  'POST /api/v1/export-import/import':
    'mode include_server_config format! exported_at server_config connections tools resources prompts',
  'POST /api/v1/agent-tokens': 'duration_minutes! scopes',
  'POST /api/v1/oauth-clients': 'name! idle_timeout_minutes! scopes',
  'GET /api/v1/agent-activity': 'tool_name token_prefix success',
};

/** Specification 8: most entries of a page; 50 when nothing is said. */
export const PAGES: Readonly<Record<string, number>> = {
  '/api/v1/tools': 500,
  '/api/v1/connections': 500,
  '/api/v1/resources': 500,
  '/api/v1/prompts': 500,
  '/api/v1/logs': 200,
  '/api/v1/agent-activity': 100,
  '/api/v1/history': 100,
  '/api/v1/agent-tokens': 100,
  '/api/v1/oauth-clients': 100,
};

/** Fields that a specified answer must hold: method and path, fields. */
export const ANSWERS: Readonly<Record<string, string>> = {
  'GET /api/health': 'status version',
  'GET /api/v1/auth/me': 'username totp_enabled',
  'POST /api/v1/auth/2fa/setup': 'qr_svg recovery_codes',
  'POST /api/v1/auth/2fa/regenerate-recovery': 'recovery_codes',
  'GET /api/v1/auth/2fa/status': 'totp_enabled recovery_codes_remaining',
  'POST /api/v1/connections/{id}/test': 'success message latency_ms',
  'POST /api/v1/preview/execute': 'columns rows row_count execution_time transformed_result transform_error',
  'GET /api/v1/deploy/status': 'status',
  'POST /api/v1/agent-tokens': 'token',
  'POST /api/v1/oauth-clients': 'client_id client_secret',
};

/** Specification 2.6, in the words of contract section 8. */
export const DEFAULTS: Readonly<Record<string, unknown>> = {
  server_name: 'Sluice',
  transport: 'http',
  host: '0.0.0.0',
  port: 8080,
  log_level: 'INFO',
  otel_enabled: false,
  auth_type: 'none',
  oauth_clients: [],
  token_ttl_seconds: 3_600,
  introspection_url: null,
  introspection_client_id: null,
  introspection_client_secret_set: false,
  introspection_issuer: null,
  introspection_scopes: [],
  introspection_audience: null,
  introspection_cache_ttl_seconds: 60,
  cors_origins: ['http://localhost:3000', 'http://localhost:5173'],
  ssl_enabled: false,
  ui_domain: null,
  mcp_domain: null,
  mcp_proxy: false,
  acme_email: null,
  acme_challenge: 'http-01',
  dns_provider: null,
  dns_credentials_set: false,
  auto_renew: true,
  global_variables: {},
  agent_rate_limit: 120,
};
