import { sqliteSchema } from './schema.ts';

/** What the migration generator reads for the embedded dialect. */
export const {
  meta,
  admins,
  sessions,
  pending_logins,
  recovery_codes,
  connections,
  tools,
  resources,
  prompts,
  compiled,
  server_config,
  snapshots,
  deployment,
  history,
  request_logs,
  usage_series,
  host_reports,
  mcp_tokens,
  agent_tokens,
  agent_clients,
  agent_families,
  agent_grants,
  agent_activity,
} = sqliteSchema;
