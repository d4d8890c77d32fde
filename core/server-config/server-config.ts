import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { Platform } from '#core/platform/platform.ts';
import {
  readSettings,
  type Settings,
  type StoredSettings,
  differs,
  toVariables,
  CONFIG_ROW,
  withGates,
  guardEnabled,
} from '#core/settings/settings.ts';
import { type Handlers, isIdempotent, type Context } from '#core/context/context.ts';
import { retryOnConflict, checkVersion, StaleVersion } from '#core/records/versioned.ts';
import { type ServerConfigPatch, CONFIG_ID, lockedOut, type ServerConfig } from '#core/contract/settings/config.ts';
import { checkSettings } from './setting-checks.ts';
import { refuseUnknownToolsets } from '#core/context/toolset-names.ts';
import { requireWorkingProvider } from '#core/identity/providers/way-in.ts';
import { refuseReferences } from '#core/context/secret-refs.ts';
import { requireProof, settingDangers } from '#core/context/proof.ts';
import { refuseSettings } from '#core/context/token-limits.ts';
import { isReference } from '#core/lib/sealed-values.ts';
import { mergeSecrets, resealSecrets } from '#core/settings/secrets.ts';
import { invalidField } from '#core/errors.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { guardDraft } from '#core/records/prompt-guard.ts';
import type { Db } from '#core/store/store.ts';
import { requireApprovers, requireRemainingOwner } from '#core/identity/people-rules.ts';
import { and, eq } from 'drizzle-orm';
import { lockEntityWrites } from '#core/store/journal.ts';
import { recordHistory } from '#core/records/history.ts';
import { signInFault } from '#core/settings/public-urls.ts';

export const configHandlers: Pick<Handlers<WithSources & WithProviders & WithSnapshots>, `config.${'get' | 'update'}`> = {
  'config.get': async ({ app }) => toConfig(app, await readSettings(app)),
  'config.update': async (context, { version, ...patch }) => {
    const { app } = context;
    return retryOnConflict(version, async () => {
      const { stored, after } = await checkUpdate(context, version, patch);
      if (after !== null) return toConfig(app, await app.store.write((tx) => writeSettings(context, tx, stored.version, after)));
      return { ...toConfig(app, stored), ...(isIdempotent(context) && { unchanged: true as const }) };
    });
  },
};

const secretsOf = ({ oauth_clients, introspection_client_secret, dns_credentials }: Settings) => ({
  oauth_clients: oauth_clients.map(({ client_secret }) => ({ client_secret })),
  introspection_client_secret,
  dns_credentials,
});

type Patch = Omit<ServerConfigPatch, 'version'>;

/** Runs every check of a change, without storing it. @returns the settings to store; null when nothing would change. */
export async function checkUpdate(
  context: Context<WithSources & WithProviders & WithSnapshots>,
  version: number | undefined,
  patch: Patch,
): Promise<{ readonly stored: StoredSettings; readonly after: Settings | null }> {
  const { app, actor } = context;
  const stored = await readSettings(app);
  checkVersion(CONFIG_ID, stored, version);
  // An update without changes creates no version and no history entry.
  if (Object.values(patch).every((value) => value === undefined)) return { stored, after: null };
  const after = mergePatch(app, stored, patch);
  const isChanged = (Object.keys(after) as (keyof Settings)[]).some((field) => differs(field, stored.settings, after));
  if (!isChanged && isIdempotent(context)) return { stored, after: null };
  refuseSettings(actor, stored.settings, after);
  await requireProof(context, settingDangers(stored.settings, after));
  await refuseReferences(context, stored.settings, secretsOf(after), after.secret_refs);
  await checkSettings(app, stored.settings, after);
  if (after.approvals > stored.settings.approvals) await requireApprovers(app);
  if (stored.settings.password_sign_in && !after.password_sign_in) await requireWorkingProvider(app);
  for (const [index, { client_id, toolsets = null }] of after.oauth_clients.entries()) {
    const known = stored.settings.oauth_clients.find((client) => client.client_id === client_id)?.toolsets ?? null;
    await refuseUnknownToolsets(context, toolsets, known, app.store.db, `oauth_clients.${index}.toolsets`);
  }
  await guardSettings(context, stored.settings, after);
  return { stored, after };
}

/** Omitted settings stay. A setting sent back unchanged is not stored, so that its default keeps following its variable. */
function mergePatch(app: Platform, stored: StoredSettings, patch: Patch): Settings {
  const { oauth_clients, introspection_client_secret, dns_credentials, global_variables, ...rest } = patch;
  if (rest.prompt_guard_enabled === true && !app.env.SVC_PROMPT_GUARD_ENABLED) {
    const message = 'prompt_guard_enabled cannot be turned on here: SVC_PROMPT_GUARD_ENABLED turned the guard off.';
    throw invalidField('prompt_guard_enabled', message);
  }
  const shown: Readonly<Record<string, unknown>> = toConfig(app, stored);
  const { deploy_gates, audit_retention_days } = stored.settings;
  const whole = {
    ...(rest.deploy_gates && { deploy_gates: { ...deploy_gates, ...rest.deploy_gates } }),
    ...(rest.audit_retention_days && { audit_retention_days: { ...audit_retention_days, ...rest.audit_retention_days } }),
  };
  const sent = Object.entries({ ...rest, ...whole }).filter(
    ([field, value]) => value !== undefined && canonical(value) !== canonical(shown[field]),
  );
  return {
    ...stored.settings,
    ...(Object.fromEntries(sent) as Partial<Settings>),
    ...(global_variables === undefined ? {} : { global_variables: toVariables(global_variables) }),
    ...mergeSecrets(app.keyring, stored.settings, { oauth_clients, introspection_client_secret, dns_credentials }),
  };
}

/**
 * Checks the texts that models read: the name of the server, its instructions and skill, and variables in templates. Unchanged
 * texts are skipped.
 */
async function guardSettings(context: Context, before: Settings, after: Settings): Promise<void> {
  const { server_name, instructions, skill, global_variables } = after;
  const fresh = Object.entries(global_variables).filter(([name, { value }]) => before.global_variables[name]?.value !== value);
  const draft = {
    ...(server_name === before.server_name ? {} : { server_name }),
    ...(instructions === before.instructions ? {} : { instructions }),
    ...(skill === before.skill ? {} : { skill }),
    ...(fresh.length === 0 ? {} : { global_variables: Object.fromEntries(fresh) }),
  };
  if (Object.keys(draft).length > 0) await guardDraft(context, CONFIG_ID, draft);
}

/**
 * Stores changed settings as the next version, with a history entry. Throws `conflict` when another version than the expected one
 * is stored.
 */
function writeSettings(context: Context, tx: Db, expected: number, after: Settings): Promise<StoredSettings> {
  const write = () => storeSettings(context, tx, expected, after);
  return after.password_sign_in ? write() : requireRemainingOwner(context, tx, write);
}

async function storeSettings(context: Context, tx: Db, expected: number, after: Settings): Promise<StoredSettings> {
  const { app } = context;
  const { server_config } = app.store.tables;
  // An import may have checked the settings: no other write may run between that check and this one.
  await lockEntityWrites(app.store, tx);
  await tx.insert(server_config).values({ id: CONFIG_ROW, settings: {}, version: 1, updated_at: '' }).onConflictDoNothing();
  const rows = await tx.select().from(server_config).where(eq(server_config.id, CONFIG_ROW));
  const before = await readSettings(app, tx);
  checkVersion(CONFIG_ID, before, expected);
  const fields = Object.keys(after) as (keyof Settings)[];
  const change = Object.fromEntries(
    fields.filter((field) => differs(field, before.settings, after)).map((field) => [field, after[field]]),
  );
  const stored = await tx
    .update(server_config)
    .set({
      settings: { ...resealSecrets(app.keyring, { ...rows[0]?.settings, ...change }) },
      version: expected + 1,
      updated_at: app.clock().toISOString(),
    })
    .where(and(eq(server_config.id, CONFIG_ROW), eq(server_config.version, expected)))
    .returning({ id: server_config.id });
  if (stored.length === 0) throw new StaleVersion(CONFIG_ID, CONFIG_ID, 'server config', expected + 1);
  const now = await readSettings(app, tx);
  const subject = { entity_type: CONFIG_ID, entity_id: CONFIG_ID, entity_name: now.settings.server_name } as const;
  await recordHistory(tx, context, { ...subject, before: toRecord(before), after: toRecord(now) });
  return now;
}

const toRecord = ({ settings, version }: StoredSettings): Record<string, unknown> => ({ ...settings, version });

/** Runs the checks of a write on settings from the history. @returns the settings to store. */
export async function prepareEarlierSettings(
  context: Context<WithSources & WithSnapshots>,
  earlier: Readonly<Record<string, unknown>>,
): Promise<Settings> {
  const { app, actor } = context;
  const { settings } = await readSettings(app);
  const known = Object.entries(earlier).filter(([field]) => field in settings);
  const after = withGates({ ...settings, ...(Object.fromEntries(known) as Partial<Settings>) });
  refuseSettings(actor, settings, after);
  await requireProof(context, settingDangers(settings, after));
  await refuseReferences(context, settings, secretsOf(after), after.secret_refs);
  await checkSettings(app, settings, after);
  if (after.approvals > settings.approvals) await requireApprovers(app);
  await guardSettings(context, settings, after);
  return after;
}

/** Stores prepared settings over the expected version. The same rollback may restore the provider that people sign in through. */
export async function restoreSettings(
  context: Context<WithSources & WithProviders>,
  tx: Db,
  expected: number,
  after: Settings,
): Promise<void> {
  const { password_sign_in } = (await readSettings(context.app, tx)).settings;
  if (password_sign_in && !after.password_sign_in) await requireWorkingProvider(context.app);
  await writeSettings(context, tx, expected, after);
}

/** The settings for a response: without secrets, and with the guard off when the environment disables it. */
function toConfig({ env }: Platform, { settings, version, updated_at }: StoredSettings): ServerConfig {
  const { oauth_clients, introspection_client_secret, dns_credentials, ...shown } = settings;
  const faults = [lockedOut(settings)?.message, signInFault(env, settings)].filter((fault) => typeof fault === 'string');
  return {
    ...shown,
    prompt_guard_enabled: guardEnabled(env, settings),
    oauth_clients: oauth_clients.map(({ client_id, client_secret, toolsets, claims }) => ({
      client_id,
      ...(isReference(client_secret) && { client_secret }),
      secret_set: true,
      toolsets: toolsets === undefined ? null : [...toolsets],
      claims: { ...claims },
    })),
    ...(isReference(introspection_client_secret) && { introspection_client_secret }),
    introspection_client_secret_set: introspection_client_secret !== null,
    ...(isReference(dns_credentials) && { dns_credentials }),
    dns_credentials_set: dns_credentials !== null,
    token_max_days: env.SVC_TOKEN_MAX_DAYS,
    version,
    updated_at,
    warnings: faults.map((fault) => `${fault} Deploys are rejected until then.`),
  };
}
