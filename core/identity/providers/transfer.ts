import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import { asc } from 'drizzle-orm';
import * as v from 'valibot';
import { IdentityProviderDraft } from '#core/contract/identity/identity-providers.ts';
import { toDraft } from '#core/records/versioned.ts';
import type { Context } from '#core/context/context.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { isReference, isSealed } from '#core/lib/sealed-values.ts';
import { prepareProvider } from './draft.ts';
import { insertProvider, type ProviderRow, updateProvider } from './stored.ts';

const MOST = 100;

/** Identity providers in an export. They are part of the settings, which only administrators can export. */
export const ProviderItems = v.pipe(
  v.array(IdentityProviderDraft),
  v.maxLength(MOST),
  v.check((items) => new Set(items.map(({ name }) => name)).size === items.length, 'must have each name once'),
);
export type ProviderItem = v.InferOutput<typeof IdentityProviderDraft>;

async function rowsOf({ app }: Context): Promise<ProviderRow[]> {
  const { identity_providers: table } = app.store.tables;
  return app.store.db.select().from(table).orderBy(asc(table.name));
}

/** Exports providers without their secrets. The field is omitted for a provider with a secret, and null for one without; a reference stays. */
export async function exportProviders(context: Context): Promise<Record<string, unknown>[]> {
  return (await rowsOf(context)).map(toItem);
}

function toItem(row: ProviderRow): Record<string, unknown> {
  const { client_secret, ...rest } = toDraft(row);
  return client_secret === null || isReference(client_secret) ? { ...rest, client_secret } : rest;
}

/** @param sent the raw import, in which a missing secret differs from null. */
export async function importProviders(
  inside: Context<WithSources & WithProviders>,
  items: readonly ProviderItem[],
  sent: readonly unknown[],
  overwrite: boolean,
): Promise<{ changed: boolean; needs_secrets: string[] }> {
  const stored = new Map((await rowsOf(inside)).map((row) => [row.name, row]));
  const { app } = inside;
  const { db } = app.store;
  let changed = false;
  for (const [index, item] of items.entries()) {
    const { client_secret, ...draft } = item;
    // Only null means that the provider has no secret.
    const has_secret = Object.hasOwn(sent[index] as object, 'client_secret');
    const row = stored.get(item.name);
    if (row === undefined) {
      changed = true;
      const id = app.ids();
      const values = await prepareProvider(inside, id, item, null);
      await insertProvider(inside, db, has_secret ? values : { ...values, client_secret: 'missing' }, id);
      continue;
    }
    const { client_secret: _, ...now } = toDraft(row);
    const same =
      canonical(now) === canonical(draft) && (!has_secret || canonical(client_secret) === canonical(row.client_secret));
    if (!overwrite || same) continue;
    changed = true;
    const moved = (isSealed(row.client_secret) || isReference(row.client_secret)) && !has_secret && row.issuer !== draft.issuer;
    const values = await prepareProvider(inside, row.id, { ...draft, ...(has_secret || moved ? { client_secret } : {}) }, row);
    app.providers.forget(row.issuer);
    await updateProvider(inside, db, row.id, row.version, moved ? { ...values, client_secret: 'missing' } : values);
  }
  const lacking = (await rowsOf(inside)).filter(
    ({ name, client_secret }) => client_secret === 'missing' && items.some((item) => item.name === name),
  );
  return { changed, needs_secrets: lacking.map(({ name }) => `identity_providers.${name}.client_secret`) };
}
