import type { Platform } from '#core/platform/platform.ts';
import type { Db } from '#core/store/store.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { ServerConfig } from '#core/contract/settings/config.ts';
import type { StoredSecret } from '#core/contract/fields.ts';
import * as v from 'valibot';
import { plainSettings, frozenSettings, frozenWhenSet } from '#core/contract/settings/settings.ts';
import type { Env } from '#core/process/env.ts';
import { DEFAULT_AUDIT_DAYS } from '#core/contract/settings/audit-settings.ts';
import { DEFAULT_GATES } from '#core/contract/settings/deploy-gates.ts';
import { eq } from 'drizzle-orm';
import type { Variable, VariableDraft } from '#core/contract/settings/setting-values.ts';

/** The part of the server configuration that snapshots contain. */
export const readServerConfig = async (app: Platform, tx?: Db): Promise<FrozenServer> =>
  toFrozen((await readSettings(app, tx)).settings);

/** Whether a field differs. A newly sent secret always differs, so that the result does not reveal the stored one. */
export const differs = (field: keyof Settings, before: Settings, after: Settings): boolean =>
  canonical(before[field]) !== canonical(after[field]);

type Secret = 'oauth_clients' | 'introspection_client_secret' | 'dns_credentials';

type Shown = Omit<ServerConfig, Secret | `${Secret}_set` | 'version' | 'updated_at' | 'warnings' | 'token_max_days'>;

/** The stored server configuration, with encrypted secrets. Settings that were never set have their defaults. */
export interface Settings extends Readonly<Shown> {
  readonly oauth_clients: FrozenServer['oauth_clients'];
  readonly introspection_client_secret: StoredSecret | null;
  /** JSON of the provider's credentials. */
  readonly dns_credentials: StoredSecret | null;
}

/** The settings with their version. */
export interface StoredSettings {
  readonly settings: Settings;
  readonly version: number;
  readonly updated_at: string | null;
}

/** Shared by all readings, so nothing in it can be changed. */
const DEFAULTS = v.getDefaults(v.object(plainSettings));
for (const value of Object.values(DEFAULTS)) Object.freeze(value);

/** In development, a server without authentication listens only on this machine. */
export const defaultSettings = (env: Env): Settings => ({
  ...DEFAULTS,
  ...(env.SVC_ENV === 'dev' ? { host: '127.0.0.1' } : {}),
  port: env.SVC_FASTMCP_PORT,
  agent_rate_limit: env.SVC_AGENT_RATE_LIMIT,
  oauth_clients: [],
  introspection_client_secret: null,
  dns_credentials: null,
  global_variables: {},
});

/** Id of the only row of the table. */
export const CONFIG_ROW = 1;

/** Adds the defaults of gates and kinds that were introduced after the settings were stored. */
export const withGates = (settings: Settings): Settings => ({
  ...settings,
  deploy_gates: { ...DEFAULT_GATES, ...settings.deploy_gates },
  audit_retention_days: { ...DEFAULT_AUDIT_DAYS, ...settings.audit_retention_days },
});

/** The stored settings merged with the defaults. Version 1 when nothing is stored. */
export async function readSettings(app: Platform, tx: Db = app.store.db): Promise<StoredSettings> {
  const { server_config } = app.store.tables;
  const rows = await tx.select().from(server_config).where(eq(server_config.id, CONFIG_ROW));
  const { settings = {}, version = 1, updated_at = null } = rows[0] ?? {};
  return { settings: withGates({ ...defaultSettings(app.env), ...settings }), version, updated_at };
}

export const guardEnabled = (env: Env, settings: Settings): boolean =>
  env.SVC_PROMPT_GUARD_ENABLED && settings.prompt_guard_enabled;

/** The part that a snapshot contains. All other settings take effect at once. */
export function toFrozen(settings: Settings): FrozenServer {
  const { oauth_clients, introspection_client_secret, global_variables } = settings;
  return {
    ...(pick(settings, frozenSettings) as Pick<Settings, keyof typeof frozenSettings>),
    ...(pick(settings, frozenWhenSet, differsFromDefault) as Partial<Pick<FrozenServer, keyof typeof frozenWhenSet>>),
    oauth_clients,
    introspection_client_secret,
    global_variables: plainVariables(global_variables),
  };
}

const pick = (
  settings: Settings,
  fields: object,
  isIncluded: (value: unknown, name: string) => boolean = () => true,
): Partial<Settings> =>
  Object.fromEntries(Object.entries(settings).filter(([name, value]) => name in fields && isIncluded(value, name)));

const differsFromDefault = (value: unknown, name: string): boolean =>
  canonical(value) !== canonical((DEFAULTS as Readonly<Record<string, unknown>>)[name]);

const plainVariables = (variables: Settings['global_variables']): FrozenServer['global_variables'] =>
  Object.fromEntries(Object.entries(variables).map(([name, { value }]) => [name, value]));

/** Variables in their stored form, sorted by name. */
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
