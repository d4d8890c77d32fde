import type { Platform } from '#core/platform/platform.ts';
import type { Schema } from '#core/store/schema.ts';
import { VersionedRecords, type EarlierVersion } from '#core/records/versioned.ts';
import type { Db } from '#core/store/store.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { requireRemainingOwner } from '#core/identity/people-rules.ts';

export type ProviderRow = Schema['identity_providers']['$inferSelect'];

/** The stored columns of a provider, except those that the store sets. */
export type ProviderValues = Omit<ProviderRow, 'id' | 'version' | 'created_at' | 'updated_at'>;

const records = new VersionedRecords({
  table: 'identity_providers',
  entity_type: 'identity_provider',
  label: 'identity provider',
});

/** The associated data of a provider's encrypted secret. */
export const secretPath = (id: string): string => `identity_provider/${id}/client_secret`;

export const providerById = (app: Platform, id: string, tx?: Db): Promise<ProviderRow> => records.get({ app }, id, tx);

export const providersById: typeof records.getAll = (context, ids, tx) => records.getAll(context, ids, tx);

/** An enabled provider. Throws `not_found` for a disabled one. */
export async function usableProvider(app: Platform, id: string): Promise<ProviderRow> {
  const provider = await providerById(app, id);
  if (!provider.enabled) throw new AppError('not_found', 'There is no identity provider with this id.');
  return provider;
}

/** @param past the earlier version of a restored provider, whose version number continues. */
export const insertProvider = (
  context: Context,
  tx: Db,
  values: ProviderValues,
  id: string,
  past?: EarlierVersion,
): Promise<ProviderRow> => records.insert(context, tx, values, id, past);

/** @param expected the version that the change is based on. Throws `conflict` when another one is stored. */
export async function updateProvider(
  context: Context,
  tx: Db,
  id: string,
  expected: number,
  values: ProviderValues,
): Promise<ProviderRow> {
  const { after } = await requireRemainingOwner(context, tx, () => records.update(context, tx, id, expected, values));
  return after;
}

export const deleteProvider = (context: Context, tx: Db, id: string): Promise<ProviderRow> =>
  requireRemainingOwner(context, tx, () => records.remove(context, tx, id));
