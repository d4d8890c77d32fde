import type { Platform } from '#core/platform/platform.ts';
import type { Schema } from '#core/store/schema.ts';
import { createVersioned, type EarlierVersion } from '#core/records/versioned.ts';
import type { Db } from '#core/store/store.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { keepOwner } from '#core/identity/people-rules.ts';

export type ProviderRow = Schema['identity_providers']['$inferSelect'];

/** What is stored of a provider, but for what the store adds. */
export type ProviderValues = Omit<ProviderRow, 'id' | 'version' | 'created_at' | 'updated_at'>;

const records = createVersioned({
  table: 'identity_providers',
  entity_type: 'identity_provider',
  label: 'identity provider',
});

/** Where the secret of a provider belongs: the associated data of its ciphertext. */
export const secretPlace = (id: string): string => `identity_provider/${id}/client_secret`;

export const providerById = (app: Platform, id: string, tx?: Db): Promise<ProviderRow> => records.get({ app }, id, tx);

export const providersById = records.getAll;

/** One that people can sign in through. */
export async function usableProvider(app: Platform, id: string): Promise<ProviderRow> {
  const provider = await providerById(app, id);
  if (!provider.enabled) throw new AppError('not_found', 'There is no identity provider with this id.');
  return provider;
}

/** @param past of a provider that comes back: its version counts on. */
export const insertProvider = (
  context: Context,
  tx: Db,
  values: ProviderValues,
  id: string,
  past?: EarlierVersion,
): Promise<ProviderRow> => records.insert(context, tx, values, id, past);

/** @param expected the version that the change was made on; another one stored is a conflict. */
export async function updateProvider(
  context: Context,
  tx: Db,
  id: string,
  expected: number,
  values: ProviderValues,
): Promise<ProviderRow> {
  const { after } = await keepOwner(context, tx, () => records.update(context, tx, id, expected, values));
  return after;
}

export const deleteProvider = (context: Context, tx: Db, id: string): Promise<ProviderRow> =>
  keepOwner(context, tx, () => records.remove(context, tx, id));
