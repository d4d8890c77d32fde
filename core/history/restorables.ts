import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { Restorable } from '#core/records/restorable.ts';
import { AppError } from '#core/errors.ts';
import { CONFIG_ID } from '#core/contract/settings/config.ts';
import { configHandlers, prepareEarlierSettings, restoreSettings } from '#core/server-config/server-config.ts';
import { readSettings, type Settings } from '#core/settings/settings.ts';
import { oauthAppRestore } from '#core/identity/oauth/clients/restore-apps.ts';
import { providerRestore } from '#core/identity/providers/restore.ts';
import { IN_WRITE_ORDER } from '#core/definitions/entity-services.ts';

/** The app of functions about the history. */
export type HistoryApp = WithSources & WithHosts & WithProviders & WithSnapshots;

const settings: Restorable<HistoryApp> = {
  entity_type: 'server_config',
  noun: {
    async getAll({ app }, _, tx) {
      const { settings, version } = await readSettings(app, tx ?? app.store.db);
      return new Map([[CONFIG_ID, { id: CONFIG_ID, name: settings.server_name, version, created_at: '' }]]);
    },
    async restoreAll(context, tx, restored) {
      for (const { expected, values } of restored)
        await restoreSettings(context, tx, expected ?? 1, values as unknown as Settings);
    },
  },
  prepareEarlier: async (context, earlier) => ({
    values: { ...(await prepareEarlierSettings(context, earlier)) },
    compiled: null,
  }),
  // The history has no entry about the creation of the settings, so there is nothing to delete.
  removeAll: () => Promise.reject(new AppError('invalid', 'The server configuration cannot be deleted.')),
  read: async (context) => configHandlers['config.get'](context, {}),
};

/**
 * All restorable records in the order of writing. Providers come before settings, because people without passwords need one to
 * sign in.
 */
export const RESTORABLES: readonly Restorable<HistoryApp>[] = [...IN_WRITE_ORDER, providerRestore, oauthAppRestore, settings];
