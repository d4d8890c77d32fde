import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { Platform } from '#core/platform/platform.ts';
import { asc, eq, sql } from 'drizzle-orm';
import { CALLBACK_PATH, type IdentityProvider } from '#core/contract/identity/identity-providers.ts';
import { AppError } from '#core/errors.ts';
import { isReference, isSealed } from '#core/lib/sealed-values.ts';
import type { Handlers } from '#core/context/context.ts';
import { inTransaction } from '#core/records/batch.ts';
import { checkVersion, retryOnConflict, toDraft } from '#core/records/versioned.ts';
import { readPage } from '#core/store/pages.ts';
import { checkConnection } from './check.ts';
import { prepareProvider } from './draft.ts';
import { deleteProvider, insertProvider, providerById, type ProviderRow, updateProvider } from './stored.ts';
import { publicUrl } from '#core/settings/public-urls.ts';

export const providerHandlers: Pick<
  Handlers<WithSources & WithProviders>,
  Extract<keyof Handlers<WithSources & WithProviders>, `identity_providers.${string}`>
> = {
  'identity_providers.list': async ({ app }, { skip, limit }) => {
    const { identity_providers: table } = app.store.tables;
    const { rows, total } = await readPage(app.store.db, table, { order: [asc(table.name), asc(table.id)], skip, limit });
    return { items: await showAll(app, rows), total };
  },
  'identity_providers.create': async (context, draft) => {
    const { app } = context;
    const id = app.ids();
    const values = await prepareProvider(context, id, draft, null);
    return app.store.write(async (tx) => show(inTransaction(context, tx).app, await insertProvider(context, tx, values, id)));
  },
  'identity_providers.update': (context, { id, version, ...patch }) =>
    retryOnConflict(version, async () => {
      const { app } = context;
      const before = await providerById(app, id);
      checkVersion('identity_provider', before, version);
      const sent = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
      // An update without changes creates no version and no history entry.
      if (Object.keys(sent).length === 0) return show(app, before);
      const { client_secret: _, ...stored } = toDraft(before);
      const values = await prepareProvider(context, id, { ...stored, ...sent }, before);
      app.providers.forget(before.issuer);
      return app.store.write(async (tx) => {
        const row = await updateProvider(context, tx, id, version ?? before.version, values);
        return show(inTransaction(context, tx).app, row);
      });
    }),
  'identity_providers.delete': async (context, { id }) => {
    await context.app.store.write((tx) => deleteProvider(context, tx, id));
    return {};
  },
  'identity_providers.test': async ({ app }, { id }) => checkConnection(app, await providerById(app, id)),
};

/** The providers on the sign-in page. */
export async function offeredProviders({ store: { db, tables } }: Platform): Promise<{ id: string; name: string }[]> {
  const { identity_providers: table } = tables;
  return db.select({ id: table.id, name: table.name }).from(table).where(eq(table.enabled, true)).orderBy(asc(table.name));
}

/** Converts a row for a response. */
export async function show(app: Platform, row: ProviderRow): Promise<IdentityProvider> {
  const [shown] = await showAll(app, [row]);
  if (shown === undefined) throw new AppError('internal', 'The identity provider could not be read back.');
  return shown;
}

async function showAll(app: Platform, rows: readonly ProviderRow[]): Promise<IdentityProvider[]> {
  const { identities } = app.store.tables;
  const url = await publicUrl(app);
  const counted = await app.store.db
    .select({ issuer: identities.issuer, people: sql<number>`count(distinct ${identities.person_id})`.mapWith(Number) })
    .from(identities)
    .groupBy(identities.issuer);
  const people = new Map(counted.map((row) => [row.issuer, row.people]));
  return rows.map(({ client_secret, ...row }) => ({
    ...row,
    ...(isReference(client_secret) && { client_secret }),
    client_secret_set: isSealed(client_secret) || isReference(client_secret),
    client_secret_missing: client_secret === 'missing',
    redirect_uri: url === null ? null : `${url}${CALLBACK_PATH}`,
    people: people.get(row.issuer) ?? 0,
  }));
}
