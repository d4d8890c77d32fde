import type { Restorable } from '#core/records/restorable.ts';
import { toDraft } from '#core/records/versioned.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { isAdministrator } from '#core/context/roles.ts';
import { checkProvider } from './draft.ts';
import { show } from './providers.ts';
import {
  deleteProvider,
  insertProvider,
  providerById,
  providersById,
  type ProviderRow,
  type ProviderValues,
  updateProvider,
} from './stored.ts';

/** Tokens can roll back other changes, but only an administrator decides who can sign in. */
function refuseTokens({ actor }: Context): void {
  if (isAdministrator(actor)) return;
  throw new AppError('admin_only', 'Only a signed-in administrator can change identity providers, not a token.');
}

/** Entries of the history from before assertions were accepted lack these fields. */
const NO_ASSERTIONS = { accept_assertions: false, assertion_clients: [], assertion_algorithms: [] };

/** The rollback of identity providers. */
export const providerRestore: Restorable = {
  entity_type: 'identity_provider',
  noun: {
    getAll: providersById,
    async restoreAll(context, tx, restored) {
      for (const { earlier, expected, values } of restored) {
        const stored = values as ProviderValues;
        if (expected === null) await insertProvider(context, tx, stored, earlier.id, earlier);
        else await updateProvider(context, tx, earlier.id, expected, stored);
      }
    },
  },
  async prepareEarlier(context, earlier, stored) {
    refuseTokens(context);
    const values: ProviderValues = { ...NO_ASSERTIONS, ...(toDraft(earlier) as ProviderValues) };
    await checkProvider(context, values, stored as ProviderRow | null);
    return { values, compiled: null };
  },
  async removeAll(context, tx, ids) {
    refuseTokens(context);
    for (const id of ids) await deleteProvider(context, tx, id);
  },
  read: async ({ app }, id) => show(app, await providerById(app, id)),
};
