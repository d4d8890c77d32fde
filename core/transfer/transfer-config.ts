import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { Platform } from '#core/platform/platform.ts';
import * as v from 'valibot';
import { ServerConfigPatch } from '#core/contract/settings/config.ts';
import { AppError } from '#core/errors.ts';
import { toInvalid } from '#core/process/issues.ts';
import { readValue } from '#core/process/read-value.ts';
import type { Actor, Context } from '#core/context/context.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { unknownToolsets } from '#core/context/toolset-names.ts';
import { configHandlers } from '#core/server-config/server-config.ts';
import { readSettings, type Settings as StoredSettings } from '#core/settings/settings.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { isAdministrator } from '#core/context/roles.ts';
import { exportOauthApps, importOauthApps, OauthAppItems } from '#core/identity/oauth/clients/transfer-apps.ts';
import { requireWorkingProvider } from '#core/identity/providers/way-in.ts';
import { exportProviders, importProviders, type ProviderItem, ProviderItems } from '#core/identity/providers/transfer.ts';

const { version: _version, ...entries } = ServerConfigPatch.entries;
const Settings = v.strictObject({
  ...entries,
  identity_providers: v.optional(ProviderItems),
  oauth_apps: v.optional(OauthAppItems),
});

/** Validated settings of an import. */
export interface SentConfig {
  readonly settings: Omit<v.InferOutput<typeof Settings>, 'identity_providers' | 'oauth_apps'>;
  readonly providers: readonly ProviderItem[];
  /** The raw providers of the import. */
  readonly sent_providers: readonly unknown[];
  readonly apps: v.InferOutput<typeof OauthAppItems>;
}

/** The settings in the form of `config.update`, without secrets. @param whole includes what only administrators can read. */
export async function exportServerConfig(
  context: Context<WithSources & WithProviders & WithSnapshots>,
  whole = isAdministrator(context.actor),
): Promise<EntityValues> {
  const shown = await configHandlers['config.get'](context, {});
  const { version: _, updated_at: _updated, warnings: _warnings, token_max_days: _most, oauth_clients, ...rest } = shown;
  const exported = Object.entries(rest).filter(([name]) => !name.endsWith('_set'));
  // If the environment disables the guard here, it must not be disabled where this is imported.
  const { prompt_guard_enabled } = (await readSettings(context.app)).settings;
  return {
    ...Object.fromEntries(exported),
    prompt_guard_enabled,
    oauth_clients: oauth_clients.map(({ client_id, client_secret, toolsets, claims }) => ({
      client_id,
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(toolsets === null ? {} : { toolsets }),
      // A client without a secret in the file keeps its stored one.
      ...(Object.keys(claims).length === 0 || !whole ? {} : { claims }),
    })),
    // Only administrators decide who can sign in.
    ...(isAdministrator(context.actor)
      ? { identity_providers: await exportProviders(context), oauth_apps: await exportOauthApps(context) }
      : {}),
  };
}

/** Tokens can import the settings that are open to tokens. All others, and those for signing in, require an administrator. */
export function refuseImportedSettings(actor: Actor | null, sent: EntityValues): void {
  const signs_in = sent['identity_providers'] !== undefined || sent['oauth_apps'] !== undefined;
  if (isAdministrator(actor) || (actor?.role === undefined && !signs_in)) return;
  throw new AppError('admin_only', 'Only a signed-in administrator can import the server configuration.');
}

/** Throws `invalid` with all faults of the settings. */
export function readServerConfig(sent: EntityValues): SentConfig {
  const result = readValue(Settings, sent);
  if (!result.success) throw toInvalid(result.issues, Object.keys(Settings.entries));
  const { identity_providers: providers = [], oauth_apps: apps = [], ...settings } = result.output;
  return { settings, providers, apps, sent_providers: (sent['identity_providers'] as readonly unknown[] | undefined) ?? [] };
}

export interface ImportedConfig {
  /** False when all settings were equal. */
  readonly changed: boolean;
  readonly warnings: readonly string[];
  /** Missing secrets without which the settings are unlikely to work. */
  readonly needs_secrets: readonly string[];
}

/**
 * Changes the imported settings. Skips with a warning: clients without a secret in the file and in the store, unknown toolsets, the
 * guard when the environment disables it, and disabling passwords when no owner could sign in without one.
 */
export async function importServerConfig(
  inside: Context<WithSources & WithProviders & WithSnapshots>,
  { settings: sent, providers, sent_providers, apps }: SentConfig,
  overwrite: boolean,
): Promise<ImportedConfig> {
  const imported = await importProviders(inside, providers, sent_providers, overwrite);
  const imported_apps = await importOauthApps(inside, apps, overwrite);
  const { oauth_clients: clients } = (await readSettings(inside.app)).settings;
  const stored = new Map(clients.map(({ client_id, toolsets }) => [client_id, toolsets ?? null]));
  const complete = sent.oauth_clients?.filter(
    ({ client_id, client_secret }) => client_secret !== undefined || stored.has(client_id),
  );
  const left_out = sent.oauth_clients?.filter((client) => complete?.includes(client) === false) ?? [];
  const lost: string[] = [];
  const limited = [];
  for (const { toolsets, ...client } of complete ?? []) {
    const unknown = await unknownToolsets(inside.app, toolsets ?? null, stored.get(client.client_id) ?? null);
    lost.push(
      ...unknown.map(
        (name) => `The OAuth client ${client.client_id} named the toolset ${name}, which is not here; it was left out.`,
      ),
    );
    limited.push({
      ...client,
      ...(toolsets === undefined ? {} : { toolsets: toolsets?.filter((name) => !unknown.includes(name)) ?? null }),
    });
  }
  // `config.update` refuses a setting that a token cannot change, instead of skipping it.
  const may_set = isAdministrator(inside.actor);
  const guard_is_off = may_set && sent.prompt_guard_enabled === true && !inside.app.env.SVC_PROMPT_GUARD_ENABLED;
  const locked_out = may_set ? await passwordsNeeded(inside.app, sent.password_sign_in) : null;
  const patch = {
    ...sent,
    ...(locked_out === null ? {} : { password_sign_in: undefined }),
    ...(complete === undefined ? {} : { oauth_clients: limited }),
    ...(guard_is_off ? { prompt_guard_enabled: undefined } : {}),
  };
  const now = await exportServerConfig(inside, true);
  const same = Object.entries(patch).every(([name, value]) => value === undefined || canonical(value) === canonical(now[name]));
  const { warnings } = same ? { warnings: [] } : await configHandlers['config.update'](inside, patch);
  return {
    changed: !same || imported.changed || imported_apps.changed,
    warnings: [
      ...lost,
      ...left_out.map(({ client_id }) => `The OAuth client ${client_id} was left out. Add it with its secret.`),
      ...warnings,
      ...imported_apps.warnings,
      ...(locked_out === null ? [] : [`Passwords were left on. ${locked_out}`]),
      ...(guard_is_off ? ['prompt_guard_enabled was left out: SVC_PROMPT_GUARD_ENABLED turned the guard off here.'] : []),
    ],
    needs_secrets: [
      ...missingSecrets((await readSettings(inside.app)).settings),
      ...left_out.map(({ client_id }) => `oauth_clients.${client_id}`),
      ...imported.needs_secrets,
      ...imported_apps.needs_secrets,
    ],
  };
}

/** Why passwords stay enabled although the file disables them: otherwise no owner could sign in. Null when they can be disabled. */
async function passwordsNeeded(app: Platform & WithProviders, password_sign_in: boolean | undefined): Promise<string | null> {
  if (password_sign_in !== false || !(await readSettings(app)).settings.password_sign_in) return null;
  try {
    await requireWorkingProvider(app);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.detail;
    throw error;
  }
}

function missingSecrets(settings: StoredSettings): string[] {
  const { introspection_client_id, introspection_client_secret, dns_provider, dns_credentials } = settings;
  return [
    ...(introspection_client_id !== null && introspection_client_secret === null ? ['introspection_client_secret'] : []),
    ...(dns_provider !== null && dns_credentials === null ? ['dns_credentials'] : []),
  ];
}

/** The errors of a check, as fields of `server_config`. */
export function configFaults(error: unknown): { field: string | null; message: string }[] {
  if (!(error instanceof AppError)) throw error;
  return error.errors.length === 0 ? [{ field: null, message: error.detail }] : [...error.errors];
}
