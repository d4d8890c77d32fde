import { and, eq } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/run.ts';
import type { Db } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import { readSettings } from '#core/definitions/settings/settings.ts';
import { checkVersion, named } from '#core/definitions/records.ts';
import { recordHistory } from '#core/observe/history.ts';
import { keepOwner } from '../people-rules.ts';

export type ProviderRow = Schema['identity_providers']['$inferSelect'];
/** What is stored of a provider, but for what the store adds. */
export type ProviderValues = Omit<ProviderRow, 'id' | 'version' | 'created_at' | 'updated_at'>;

const NOUN = 'identity provider';

/** Where the secret of a provider belongs: the associated data of its ciphertext. */
export const secretPlace = (id: string): string => `identity_provider/${id}/client_secret`;

export async function providerById(app: App, id: string, tx: Db = app.store.db): Promise<ProviderRow> {
  const { identity_providers } = app.store.tables;
  const [row] = await tx.select().from(identity_providers).where(eq(identity_providers.id, id));
  if (row === undefined) throw new AppError('not_found', 'There is no identity provider with this id.');
  return row;
}

/** One that people can sign in through. */
export async function usableProvider(app: App, id: string): Promise<ProviderRow> {
  const provider = await providerById(app, id);
  if (!provider.enabled) throw new AppError('not_found', 'There is no identity provider with this id.');
  return provider;
}

/** Where people reach this server, without a slash at the end, so far as the configuration says it. */
export async function publicUrl(app: App): Promise<string | null> {
  const { SVC_PUBLIC_URL, SVC_EXTERNAL_HTTPS_PORT: port } = app.env;
  if (SVC_PUBLIC_URL !== null) return SVC_PUBLIC_URL;
  const { ssl_enabled, ui_domain } = (await readSettings(app)).settings;
  return ssl_enabled && ui_domain !== null ? `https://${ui_domain}${port === 443 ? '' : `:${port}`}` : null;
}

/** @param past of a provider that comes back: its version counts on. */
export async function insertProvider(
  context: Context,
  tx: Db,
  id: string,
  values: ProviderValues,
  past?: Pick<ProviderRow, 'version' | 'created_at'>,
): Promise<ProviderRow> {
  const { app } = context;
  const updated_at = app.clock().toISOString();
  const row: ProviderRow = {
    ...values,
    id,
    version: (past?.version ?? 0) + 1,
    created_at: past?.created_at ?? updated_at,
    updated_at,
  };
  await named(NOUN, () => tx.insert(app.store.tables.identity_providers).values(row));
  await record(context, tx, row, 'create', null, row);
  return row;
}

/** @param expected the version that the change was made on; another one stored is a conflict. */
export async function updateProvider(
  context: Context,
  tx: Db,
  id: string,
  expected: number,
  values: ProviderValues,
): Promise<ProviderRow> {
  const { app } = context;
  const { identity_providers: table } = app.store.tables;
  const before = await providerById(app, id, tx);
  checkVersion('identity_provider', before, expected);
  const change = { ...values, version: before.version + 1, updated_at: app.clock().toISOString() };
  const write = () =>
    tx
      .update(table)
      .set(change)
      .where(and(eq(table.id, id), eq(table.version, before.version)))
      .returning();
  const [after] = await keepOwner(app, tx, () => named(NOUN, write));
  if (after === undefined) checkVersion('identity_provider', { version: before.version + 1 }, expected);
  const row = after ?? before;
  await record(context, tx, row, 'update', before, row);
  return row;
}

export async function deleteProvider(context: Context, tx: Db, id: string): Promise<ProviderRow> {
  const { app } = context;
  const row = await providerById(app, id, tx);
  const { identity_providers: table } = app.store.tables;
  await keepOwner(app, tx, () =>
    tx
      .delete(table)
      .where(eq(table.id, id))
      .then(() => undefined),
  );
  await record(context, tx, row, 'delete', row, null);
  return row;
}

const record = (
  context: Context,
  tx: Db,
  { id, name }: ProviderRow,
  action: 'create' | 'update' | 'delete',
  before: ProviderRow | null,
  after: ProviderRow | null,
): Promise<void> =>
  recordHistory(tx, context, {
    entity_type: 'identity_provider',
    entity_id: id,
    entity_name: name,
    action,
    before: before === null ? null : { ...before },
    after: after === null ? null : { ...after },
  });

export function toValues({
  id: _,
  version: _version,
  created_at: _created,
  updated_at: _updated,
  ...values
}: ProviderRow): ProviderValues {
  return values;
}
