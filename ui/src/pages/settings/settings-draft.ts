import type { ServerConfig, ServerConfigPatch } from '#core/contract/settings/config.ts';
import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { plainSettings } from '#core/contract/settings/settings.ts';
import { same } from '#ui/src/kernel/form/merge.ts';

type SettingName = Exclude<keyof ServerConfigPatch, 'version'>;

/** The settings that each page shows. Variables are a table of their own. */
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
      'replay_samples',
    ],
  },
  auth: {
    title: 'Authentication',
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
      'cors_origins',
    ],
  },
  tls: {
    title: 'TLS',
    fields: [
      'ssl_enabled',
      'ui_domain',
      'mcp_domain',
      'mcp_proxy',
      'acme_email',
      'acme_challenge',
      'dns_provider',
      'dns_credentials',
      'auto_renew',
    ],
  },
  variables: { title: 'Variables', fields: ['global_variables'] },
  guard: { title: 'Guard', fields: ['prompt_guard_enabled', 'prompt_guard_threshold', 'prompt_guard_allow'] },
  sign_in: {
    title: 'Sign-in',
    fields: ['password_sign_in', 'oauth_access_minutes', 'oauth_refresh_days', 'oauth_grant_days', 'dynamic_registration'],
  },
  lint: { title: 'Lint', fields: ['lint_off'] },
  gates: { title: 'Deploy gates', fields: ['deploy_gates', 'drift_check_minutes'] },
  logs: { title: 'Logs', fields: ['log_arguments_hours'] },
  agent: { title: 'Agent', fields: ['agent_enabled', 'agent_rate_limit'] },
} as const satisfies Record<string, { readonly title: string; readonly fields: readonly SettingName[] }>;

export type Part = keyof typeof PARTS;
export const PART_NAMES = Object.keys(PARTS) as readonly Part[];

/** A setting as its form holds it; what is missing here is read as it is written. */
interface Written {
  readonly oauth_clients: readonly {
    readonly client_id: string;
    readonly client_secret?: string;
    readonly secret_set: boolean;
    /** Null: everything. */
    readonly toolsets?: readonly string[] | null;
    readonly claims?: Readonly<Record<string, unknown>>;
  }[];
  /** Secrets are written, never read: null keeps what is stored. */
  readonly introspection_client_secret: string | null;
  readonly dns_credentials: Credentials | null;
}
export type SettingsDraft = Pick<ServerConfig, keyof typeof plainSettings & keyof ServerConfig> &
  Written &
  Record<string, unknown>;

const isPlain = (name: SettingName): name is SettingName & keyof typeof plainSettings => name in plainSettings;

/** What the form of a part begins with. */
export const draftOf = (part: Part, config: ServerConfig): SettingsDraft =>
  Object.fromEntries(
    PARTS[part].fields.map((name: SettingName) => [
      name,
      isPlain(name) ? config[name] : name === 'oauth_clients' ? config.oauth_clients.map((client) => ({ ...client })) : null,
    ]),
  ) as SettingsDraft;

type CredentialName = 'api_token' | 'access_key_id' | 'secret_access_key' | 'hosted_zone_id';
type Credentials = Readonly<Partial<Record<CredentialName, string>>>;

/** Which credentials a DNS provider wants. */
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

/** The credentials with one of them changed; null when none is left, which keeps what is stored. */
export function withCredential(now: Credentials | null, name: CredentialName, value: string): Credentials | null {
  const entries = Object.entries({ ...now, [name]: value }).filter(([, text]) => text !== '');
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** Only what differs from what is stored is sent. */
export const changesOf = (
  stored: Readonly<Record<string, unknown>>,
  values: Readonly<Record<string, unknown>>,
): ServerConfigPatch => Object.fromEntries(Object.entries(values).filter(([name, value]) => !same(value, stored[name])));

/** What the deployed version has where the working copy says something else. */
export const pendingOf = (changes: readonly SnapshotChange[]): SnapshotChange['values'] =>
  changes.find(({ entity_type }) => entity_type === 'server_config')?.values ?? {};
