import type { Platform } from '#core/platform/platform.ts';
import type { OauthApp } from '#core/contract/identity/oauth.ts';
import { VersionedRecords, type EarlierVersion } from '#core/records/versioned.ts';
import { AppError, type FieldError, refuseFields } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { removeGrantsOf } from '../grants.ts';
import { redirectKindOf } from './redirects.ts';

export type AppRow = Schema['oauth_apps']['$inferSelect'];
/** The stored columns of an app, except those that the store sets. */
export type AppValues = Omit<AppRow, 'id' | 'version' | 'created_at' | 'updated_at'>;

/** The same limit as for registrations. */
export const MOST_APPS = 1_000;

/** The associated data of the encrypted digest of an app's secret in the history. */
export const secretPath = (id: string): string => `oauth_app/${id}/client_secret`;

/** The columns of an app without a secret. */
export const NO_END = { expires_at: null, warned_days: null };

export const toApp = ({ secret_digest, previous_digest: _, warned_days: _warned, ...row }: AppRow): OauthApp => ({
  ...row,
  client_secret_set: secret_digest !== null,
});

const records = new VersionedRecords({ table: 'oauth_apps', entity_type: 'oauth_app', label: 'OAuth app', toRecord });

/** The record in the history. A rollback restores the encrypted secret, which is never shown. */
function toRecord(
  { app: { keyring } }: Context,
  { secret_digest, previous_digest: _, warned_days: _warned, ...row }: AppRow,
): object {
  const client_secret = secret_digest === null ? null : { $sealed: keyring.seal(secret_digest, secretPath(row.id)) };
  return { ...row, client_secret };
}

export const appById = (app: Platform, id: string, tx?: Db): Promise<AppRow> => records.get({ app }, id, tx);
export const appsById: typeof records.getAll = (context, ids, tx) => records.getAll(context, ids, tx);

/** @param past the earlier version of a restored app, whose version number continues. */
export async function insertApp(context: Context, tx: Db, id: string, values: AppValues, past?: EarlierVersion): Promise<AppRow> {
  const { store } = context.app;
  await lockEntityWrites(store, tx);
  if ((await tx.$count(store.tables.oauth_apps)) >= MOST_APPS) {
    throw new AppError('conflict', `There can be at most ${MOST_APPS} OAuth apps. Delete one that is not used.`);
  }
  return records.insert(context, tx, values, id, past);
}

/** @param expected the version that the change is based on; undefined skips the check. */
export async function updateApp(
  context: Context,
  tx: Db,
  id: string,
  expected: number | undefined,
  values: Partial<AppValues>,
): Promise<AppRow> {
  await lockEntityWrites(context.app.store, tx);
  return (await records.update(context, tx, id, expected, values)).after;
}

/** Also ends the grants of the app. Call `pushIdentity` after the commit. */
export async function deleteApp(context: Context, tx: Db, id: string): Promise<AppRow> {
  await lockEntityWrites(context.app.store, tx);
  const row = await records.remove(context, tx, id);
  await removeGrantsOf(context.app, tx, row.client_id);
  return row;
}

/** An administrator may enter any private scheme, but no address that runs in a browser and no unencrypted one. */
export function checkRedirects(redirect_uris: readonly string[]): void {
  const errors = redirect_uris.flatMap((uri, index): FieldError[] => {
    const target = redirectKindOf(uri);
    if (target !== null && target !== 'dangerous') return [];
    const field = `redirect_uris.${index}`;
    return [
      {
        field,
        message:
          target === 'dangerous'
            ? `${field} has a scheme that runs code or reads files.`
            : `${field} must be an https address, an http address of this computer, or one with the scheme of an app, without a fragment or credentials.`,
      },
    ];
  });
  refuseFields(errors);
}

/** Skipping the consent page is allowed only for redirects to an https address. */
export const canBeTrusted = (redirect_uris: readonly string[]): boolean =>
  redirect_uris.some((uri) => redirectKindOf(uri) === 'https');

export function checkTrusted(trusted: boolean, redirect_uris: readonly string[]): void {
  if (!trusted || canBeTrusted(redirect_uris)) return;
  const message =
    'The consent page can be skipped only for an app with an https address: any program of the computer can take what goes to the others.';
  refuseFields([{ field: 'trusted', message }]);
}
