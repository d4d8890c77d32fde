import { eq } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { lockedOut, type ServerConfig, type Variable, type VariableDraft } from '#core/contract/config.ts';
import type { Db } from '#core/store/open.ts';
import type { Env } from '#core/env.ts';
import { PRODUCT_NAME } from '#core/version.ts';
import type { FrozenServer, Sealed } from '#snapshots/format.ts';

type Secret = 'oauth_clients' | 'introspection_client_secret' | 'dns_credentials';
type Shown = Omit<ServerConfig, Secret | `${Secret}_set` | 'version' | 'updated_at' | 'warnings'>;

/** The server configuration as it is stored: secrets are sealed, what was never set is its default. */
export interface Settings extends Readonly<Shown> {
  readonly oauth_clients: FrozenServer['oauth_clients'];
  readonly introspection_client_secret: Sealed | null;
  /** JSON of the provider's credentials. */
  readonly dns_credentials: Sealed | null;
}

/** The settings with the version that they have. */
export interface StoredSettings {
  readonly settings: Settings;
  readonly version: number;
  readonly updated_at: string | null;
}

/** Specification 2.6. */
export const defaultSettings = (env: Env): Settings => ({
  server_name: PRODUCT_NAME,
  transport: 'http',
  host: '0.0.0.0',
  port: env.SVC_FASTMCP_PORT,
  log_level: 'INFO',
  otel_enabled: false,
  auth_type: 'none',
  oauth_clients: [],
  token_ttl_seconds: 3_600,
  introspection_url: null,
  introspection_client_id: null,
  introspection_client_secret: null,
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
  dns_credentials: null,
  auto_renew: true,
  global_variables: {},
  prompt_guard_enabled: true,
  prompt_guard_threshold: 'medium',
  prompt_guard_allow: [],
  agent_enabled: true,
  agent_rate_limit: env.SVC_AGENT_RATE_LIMIT,
});

/** The one row of the table. */
export const CONFIG_ROW = 1;

/** What is stored over the defaults. Nothing stored is version 1. */
export async function readSettings(app: App, tx: Db = app.store.db): Promise<StoredSettings> {
  const { server_config } = app.store.tables;
  const rows = await tx.select().from(server_config).where(eq(server_config.id, CONFIG_ROW));
  const { settings = {}, version = 1, updated_at = null } = rows[0] ?? {};
  return { settings: { ...defaultSettings(app.env), ...settings }, version, updated_at };
}

/** What a response shows: no secret, and the guard off when the environment turned it off. */
export function toConfig({ env }: App, { settings, version, updated_at }: StoredSettings): ServerConfig {
  const { oauth_clients, introspection_client_secret, dns_credentials, ...shown } = settings;
  const locked = lockedOut(settings);
  return {
    ...shown,
    prompt_guard_enabled: guardEnabled(env, settings),
    oauth_clients: oauth_clients.map(({ client_id }) => ({ client_id, secret_set: true })),
    introspection_client_secret_set: introspection_client_secret !== null,
    dns_credentials_set: dns_credentials !== null,
    version,
    updated_at,
    warnings: locked === null ? [] : [`${locked.message} Deploys are rejected until then.`],
  };
}

export const guardEnabled = (env: Env, settings: Settings): boolean =>
  env.SVC_PROMPT_GUARD_ENABLED && settings.prompt_guard_enabled;

/** The part that a snapshot holds; everything else takes effect at once. What an older version did not know is there only when it is set. */
export function toFrozen(settings: Settings): FrozenServer {
  const { introspection_issuer, introspection_scopes, introspection_audience } = settings;
  return {
    server_name: settings.server_name,
    transport: settings.transport,
    host: settings.host,
    port: settings.port,
    log_level: settings.log_level,
    otel_enabled: settings.otel_enabled,
    auth_type: settings.auth_type,
    oauth_clients: settings.oauth_clients,
    token_ttl_seconds: settings.token_ttl_seconds,
    introspection_url: settings.introspection_url,
    introspection_client_id: settings.introspection_client_id,
    introspection_client_secret: settings.introspection_client_secret,
    introspection_cache_ttl_seconds: settings.introspection_cache_ttl_seconds,
    ...(introspection_issuer !== null && { introspection_issuer }),
    ...(introspection_scopes.length > 0 && { introspection_scopes }),
    ...(introspection_audience !== null && { introspection_audience }),
    cors_origins: settings.cors_origins,
    global_variables: plainVariables(settings.global_variables),
  };
}

const plainVariables = (variables: Settings['global_variables']): FrozenServer['global_variables'] =>
  Object.fromEntries(Object.entries(variables).map(([name, { value }]) => [name, value]));

/** Variables as they are stored and read back, in the order of their names. */
export function toVariables(drafts: Readonly<Record<string, VariableDraft>>): Record<string, Variable> {
  const names = Object.keys(drafts).toSorted();
  return Object.fromEntries(names.map((name) => [name, toVariable(drafts[name] as VariableDraft)]));
}

function toVariable(draft: VariableDraft): Variable {
  const { value, type } = typeof draft === 'object' ? draft : { value: draft, type: undefined };
  return { value, type: type ?? inferType(value) };
}

function inferType(value: Variable['value']): Variable['type'] {
  if (typeof value !== 'number') return typeof value === 'boolean' ? 'boolean' : 'string';
  return Number.isSafeInteger(value) ? 'integer' : 'float';
}
