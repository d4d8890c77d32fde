import { FROZEN_SETTINGS, type ServerConfig, type ServerConfigPatch } from '#core/contract/settings/config.ts';
import type { SecretRef } from '#core/contract/fields.ts';
import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { plainSettings } from '#core/contract/settings/settings.ts';
import { isReference } from '#core/lib/sealed-values.ts';
import { same } from '#ui/src/kernel/form/merge.ts';

type SettingName = Exclude<keyof ServerConfigPatch, 'version'>;

/** The settings of each page. Variables have a separate table. */
export const PARTS = {
  general: {
    title: 'General',
    fields: [
      'server_name',
      'instructions',
      'skill',
      'openai_apps_challenge',
      'transport',
      'host',
      'port',
      'log_level',
      'otel_enabled',
      'undeclared_arguments',
      'min_protocol_version',
      'files_expire_minutes',
      'files_max_rows',
      'files_max_bytes',
      'files_slots',
      'replay_samples',
      'log_arguments_hours',
      'agent_enabled',
      'agent_rate_limit',
    ],
  },
  auth: {
    title: 'Security',
    fields: [
      'auth_type',
      'oauth_clients',
      'token_ttl_seconds',
      'introspection_url',
      'introspection_client_id',
      'introspection_client_secret',
      'introspection_issuer',
      'introspection_scopes',
      'introspection_audience',
      'introspection_cache_ttl_seconds',
      'accept_mcp_tokens',
      'jwt_issuers',
      'approvals',
      'token_default_days',
      'cors_origins',
      'secret_refs',
      'secret_ref_ttl_seconds',
    ],
  },
  tls: {
    title: 'HTTPS',
    fields: [
      'ssl_enabled',
      'ui_domain',
      'mcp_domain',
      'mcp_proxy',
      'min_tls_version',
      'acme_email',
      'acme_challenge',
      'dns_provider',
      'dns_credentials',
      'auto_renew',
    ],
  },
  variables: { title: 'Variables', fields: ['global_variables'] },
  guard: { title: 'Prompt guard', fields: ['prompt_guard_enabled', 'prompt_guard_threshold', 'prompt_guard_allow'] },
  sign_in: {
    title: 'Providers',
    fields: ['password_sign_in', 'oauth_access_minutes', 'oauth_refresh_days', 'oauth_grant_days', 'dynamic_registration'],
  },
  audit: { title: 'Audit log', fields: ['audit_retention_days', 'audit_syslog', 'audit_otlp'] },
  checks: { title: 'Checks', fields: ['lint_off', 'deploy_gates', 'drift_check_minutes'] },
} as const satisfies Record<string, { readonly title: string; readonly fields: readonly SettingName[] }>;

export type Part = keyof typeof PARTS;
export const PART_NAMES = Object.keys(PARTS) as readonly Part[];

export type Effect = 'save' | 'deploy' | 'both';

/** When changes of settings take effect: as soon as they are saved, at the next deploy, or some so and some so. */
export function effectOf(fields: readonly string[]): Effect {
  const frozen = fields.filter((name) => FROZEN_SETTINGS.has(name)).length;
  if (frozen === 0) return 'save';
  return frozen === fields.length ? 'deploy' : 'both';
}

/** Settings whose form values differ from the configuration; all others are the same. */
interface Written {
  readonly oauth_clients: readonly {
    readonly client_id: string;
    readonly client_secret?: string | SecretRef;
    readonly secret_set: boolean;
    /** Null: everything. */
    readonly toolsets?: readonly string[] | null;
    readonly claims?: Readonly<Record<string, unknown>>;
  }[];
  /** Secrets are write-only: null leaves the stored one unchanged. References are shown. */
  readonly introspection_client_secret: string | SecretRef | null;
  readonly dns_credentials: Credentials | SecretRef | null;
}
export type SettingsDraft = Pick<ServerConfig, keyof typeof plainSettings & keyof ServerConfig> &
  Written &
  Record<string, unknown>;

const isPlain = (name: SettingName): name is SettingName & keyof typeof plainSettings => name in plainSettings;

const WRITTEN: Partial<Record<SettingName, (config: ServerConfig) => unknown>> = {
  oauth_clients: (config) => config.oauth_clients.map((client) => ({ ...client })),
  introspection_client_secret: (config) => config.introspection_client_secret,
  dns_credentials: (config) => config.dns_credentials,
};

/** Initial values of a page's form. */
export const draftOf = (part: Part, config: ServerConfig): SettingsDraft =>
  Object.fromEntries(
    PARTS[part].fields.map((name: SettingName) => [name, isPlain(name) ? config[name] : (WRITTEN[name]?.(config) ?? null)]),
  ) as SettingsDraft;

type CredentialName = 'api_token' | 'access_key_id' | 'secret_access_key' | 'hosted_zone_id';
type Credentials = Readonly<Partial<Record<CredentialName, string>>>;

/** The credentials of each DNS provider. */
export const CREDENTIALS = {
  cloudflare: [{ name: 'api_token', label: 'API token', optional: false }],
  route53: [
    { name: 'access_key_id', label: 'Access key ID', optional: false },
    { name: 'secret_access_key', label: 'Secret access key', optional: false },
    { name: 'hosted_zone_id', label: 'Hosted zone ID', optional: true },
  ],
} as const satisfies Record<
  NonNullable<ServerConfig['dns_provider']>,
  readonly { name: CredentialName; label: string; optional: boolean }[]
>;

export const credentialsIn = (value: SettingsDraft['dns_credentials']): Credentials =>
  value === null || isReference(value) ? {} : value;

/** The credentials with one changed; null when all are empty, which leaves the stored ones unchanged. */
export function withCredential(now: Credentials | null, name: CredentialName, value: string): Credentials | null {
  const entries = Object.entries({ ...now, [name]: value }).filter(([, text]) => text !== '');
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** Only the differences from the stored settings are sent. */
export const changesOf = (
  stored: Readonly<Record<string, unknown>>,
  values: Readonly<Record<string, unknown>>,
): ServerConfigPatch => Object.fromEntries(Object.entries(values).filter(([name, value]) => !same(value, stored[name])));

/** The deployed values, where the working copy differs. */
export const pendingOf = (changes: readonly SnapshotChange[]): SnapshotChange['values'] =>
  changes.find(({ entity_type }) => entity_type === 'server_config')?.values ?? {};
