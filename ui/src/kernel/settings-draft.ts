import type { ServerConfig, ServerConfigPatch } from '#core/contract/config.ts';
import type { Change } from '#core/contract/deploy/deploy.ts';
import { same } from './merge.ts';

export const PARTS = ['general', 'auth', 'tls', 'variables', 'guard', 'agent'] as const;
export type Part = (typeof PARTS)[number];

export const generalDraft = ({ server_name, transport, host, port, log_level, otel_enabled }: ServerConfig) => ({
  server_name,
  transport,
  host,
  port,
  log_level,
  otel_enabled,
});

/** Secrets are written, never read: null or nothing keeps what is stored. */
export const authDraft = (config: ServerConfig) => ({
  auth_type: config.auth_type,
  oauth_clients: config.oauth_clients.map(({ client_id, secret_set }): OauthClientRow => ({ client_id, secret_set })),
  token_ttl_seconds: config.token_ttl_seconds,
  introspection_url: config.introspection_url,
  introspection_client_id: config.introspection_client_id,
  introspection_client_secret: noSecret(),
  introspection_cache_ttl_seconds: config.introspection_cache_ttl_seconds,
  introspection_issuer: config.introspection_issuer,
  introspection_scopes: config.introspection_scopes,
  introspection_audience: config.introspection_audience,
  cors_origins: config.cors_origins,
});

export interface OauthClientRow {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly secret_set: boolean;
}

const noSecret = (): string | null => null;
type DnsCredentials = NonNullable<ServerConfigPatch['dns_credentials']>;

export const tlsDraft = (config: ServerConfig) => ({
  ssl_enabled: config.ssl_enabled,
  ui_domain: config.ui_domain,
  mcp_domain: config.mcp_domain,
  mcp_proxy: config.mcp_proxy,
  acme_email: config.acme_email,
  acme_challenge: config.acme_challenge,
  dns_provider: config.dns_provider,
  dns_credentials: noCredentials(),
  auto_renew: config.auto_renew,
});

const noCredentials = (): Partial<Record<CredentialName, string>> | null => null;
export type CredentialName =
  | keyof (DnsCredentials & { api_token: string })
  | 'access_key_id'
  | 'secret_access_key'
  | 'hosted_zone_id';

/** Which credentials a DNS provider wants. */
export const CREDENTIALS = {
  cloudflare: [{ name: 'api_token', label: 'API token', optional: false }],
  route53: [
    { name: 'access_key_id', label: 'Access key id', optional: false },
    { name: 'secret_access_key', label: 'Secret access key', optional: false },
    { name: 'hosted_zone_id', label: 'Hosted zone id', optional: true },
  ],
} as const satisfies Record<
  NonNullable<ServerConfig['dns_provider']>,
  readonly { name: CredentialName; label: string; optional: boolean }[]
>;

/** The credentials with one of them changed; null when none is left, which keeps what is stored. */
export function withCredential(
  now: Readonly<Partial<Record<CredentialName, string>>> | null,
  name: CredentialName,
  value: string,
): Partial<Record<CredentialName, string>> | null {
  const entries = Object.entries({ ...now, [name]: value }).filter(([, text]) => text !== '');
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

export const guardDraft = ({ prompt_guard_enabled, prompt_guard_threshold, prompt_guard_allow }: ServerConfig) => ({
  prompt_guard_enabled,
  prompt_guard_threshold,
  prompt_guard_allow,
});

export const agentDraft = ({ agent_enabled, agent_rate_limit }: ServerConfig) => ({ agent_enabled, agent_rate_limit });

/** Only what differs from what is stored is sent. */
export const changesOf = (
  stored: Readonly<Record<string, unknown>>,
  values: Readonly<Record<string, unknown>>,
): ServerConfigPatch => Object.fromEntries(Object.entries(values).filter(([name, value]) => !same(value, stored[name])));

/** What the deployed version has where the working copy says something else. */
export const pendingOf = (changes: readonly Change[]): Change['values'] =>
  changes.find(({ entity_type }) => entity_type === 'server_config')?.values ?? {};
