import { asc } from 'drizzle-orm';
import * as v from 'valibot';
import { IdentityProviderDraft } from '#core/contract/identity/identity-providers.ts';
import { toDraft } from '#core/definitions/versioned.ts';
import type { Context } from '#core/run.ts';
import { canonical } from '#snapshots/canonical.ts';
import { providerHandlers } from './providers.ts';
import type { ProviderRow } from './stored.ts';

const MOST = 100;

/** Identity providers in an export: part of its settings, for an administrator alone. */
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

/** Without secrets; one that had a secret lacks the field, one that signs in without has null. */
export async function exportProviders(context: Context): Promise<Record<string, unknown>[]> {
  return (await rowsOf(context)).map(toItem);
}

function toItem(row: ProviderRow): Record<string, unknown> {
  const { client_secret, ...rest } = toDraft(row);
  return client_secret === null ? { ...rest, client_secret } : rest;
}

/** @param sent as it stands in the import, where a secret that is missing can be told from none. */
export async function importProviders(
  inside: Context,
  items: readonly ProviderItem[],
  sent: readonly unknown[],
  overwrite: boolean,
): Promise<{ changed: boolean; needs_secrets: string[] }> {
  const stored = new Map((await rowsOf(inside)).map((row) => [row.name, row]));
  let changed = false;
  const needs_secrets: string[] = [];
  for (const [index, item] of items.entries()) {
    const { client_secret, ...draft } = item;
    const has_secret = Object.hasOwn(sent[index] as object, 'client_secret');
    const row = stored.get(item.name);
    if (row === undefined) {
      changed = true;
      await providerHandlers['identity_providers.create'](inside, item);
      if (!has_secret) needs_secrets.push(`identity_providers.${item.name}.client_secret`);
      continue;
    }
    const { client_secret: _, ...now } = toDraft(row);
    const same = canonical(now) === canonical(draft) && (!has_secret || (client_secret === null && row.client_secret === null));
    if (!overwrite || same) continue;
    changed = true;
    const moved = row.client_secret !== null && !has_secret && row.issuer !== draft.issuer;
    if (moved) needs_secrets.push(`identity_providers.${item.name}.client_secret`);
    const secret = has_secret || moved ? { client_secret } : {};
    await providerHandlers['identity_providers.update'](inside, { id: row.id, ...draft, ...secret });
  }
  return { changed, needs_secrets };
}
