import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import type { Restorable } from '#core/records/restorable.ts';
import { AppError } from '#core/errors.ts';
import { isAdministrator } from '#core/context/roles.ts';
import { isSealed } from '#core/lib/sealed-values.ts';
import type { Context } from '#core/context/context.ts';
import { pushIdentity } from '../published.ts';
import { newEnd, NOT_ROTATED } from '#core/identity/ends/token-ends.ts';
import {
  appById,
  appsById,
  type AppValues,
  canBeTrusted,
  checkRedirects,
  deleteApp,
  insertApp,
  NO_END,
  secretPath,
  toApp,
  updateApp,
} from './stored-apps.ts';

/** Tokens can roll back other changes, but only an administrator decides which clients get tokens of people. */
function refuseTokens({ actor }: Context): void {
  if (isAdministrator(actor)) return;
  throw new AppError('admin_only', 'Only a signed-in administrator can change OAuth apps, not a token.');
}

/** The rollback of OAuth apps. Grants that a deletion ended are not restored. */
export const oauthAppRestore: Restorable<WithSources & WithHosts> = {
  entity_type: 'oauth_app',
  noun: {
    getAll: appsById,
    async restoreAll(context, tx, restored) {
      for (const { earlier, expected, values } of restored) {
        const stored = values as AppValues;
        if (expected === null) await insertApp(context, tx, earlier.id, stored, earlier);
        else await updateApp(context, tx, earlier.id, expected, stored);
      }
    },
  },
  async prepareEarlier(context, earlier) {
    refuseTokens(context);
    const { name, client_id, redirect_uris, confidential, trusted, client_secret, expires_at } =
      earlier as unknown as AppValues & {
        readonly client_secret?: unknown;
      };
    checkRedirects(redirect_uris);
    const is_trusted = trusted && canBeTrusted(redirect_uris);
    const secret_digest = isSealed(client_secret)
      ? context.app.keyring.open(client_secret.$sealed, secretPath(earlier.id))
      : null;
    // An entry from before secrets had an end gets one like a new secret.
    const end =
      secret_digest === null ? NO_END : expires_at == null ? await newEnd(context.app, undefined) : { ...NO_END, expires_at };
    const values = { name, client_id, redirect_uris, confidential, trusted: is_trusted, secret_digest, ...NOT_ROTATED, ...end };
    return { values, compiled: null };
  },
  async removeAll(context, tx, ids) {
    refuseTokens(context);
    for (const id of ids) await deleteApp(context, tx, id);
  },
  read: async ({ app }, id) => toApp(await appById(app, id)),
  settle: ({ app }) => pushIdentity(app),
};
