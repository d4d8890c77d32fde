import { asc } from 'drizzle-orm';
import * as v from 'valibot';
import { OauthAppItem } from '#core/contract/identity/oauth.ts';
import { AppError } from '#core/errors.ts';
import { randomToken } from '#core/lib/random-token.ts';
import type { Context } from '#core/context/context.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { APP_PREFIX } from './clients.ts';
import { NOT_ROTATED } from '#core/identity/ends/token-ends.ts';
import { type AppRow, canBeTrusted, checkRedirects, insertApp, MOST_APPS, NO_END, updateApp } from './stored-apps.ts';

/** OAuth apps in an export. They are part of the settings, which only administrators can export. */
export const OauthAppItems = v.pipe(
  v.array(OauthAppItem),
  v.maxLength(MOST_APPS),
  v.check((items) => new Set(items.map(({ name }) => name)).size === items.length, 'must have each name once'),
);
type Item = v.InferOutput<typeof OauthAppItem>;

const rowsOf = async ({ app: { store } }: Context): Promise<AppRow[]> =>
  store.db.select().from(store.tables.oauth_apps).orderBy(asc(store.tables.oauth_apps.name));

/** Exports apps without their secrets. */
export async function exportOauthApps(context: Context): Promise<Item[]> {
  return (await rowsOf(context)).map(toItem);
}

const toItem = ({ name, client_id, redirect_uris, confidential, trusted }: AppRow): Item => ({
  name,
  client_id,
  redirect_uris,
  confidential,
  trusted,
});

/** Matches apps by name. An existing app keeps its client ID and its secret. */
export async function importOauthApps(
  inside: Context,
  items: readonly Item[],
  overwrite: boolean,
): Promise<{ changed: boolean; warnings: string[]; needs_secrets: string[] }> {
  const { app } = inside;
  const { db } = app.store;
  const rows = await rowsOf(inside);
  const stored = new Map(rows.map((row) => [row.name, row]));
  const taken = new Set(rows.map(({ client_id }) => client_id));
  const report = { changed: false, warnings: [] as string[], needs_secrets: [] as string[] };
  for (const { client_id = randomToken(APP_PREFIX), ...given } of items) {
    checkRedirects(given.redirect_uris);
    const item = { ...given, trusted: given.trusted && canBeTrusted(given.redirect_uris) };
    if (given.trusted && !item.trusted)
      report.warnings.push(`The OAuth app ${item.name} has no https address, so its consent page is not skipped.`);
    const row = stored.get(item.name);
    if (row === undefined) {
      if (taken.has(client_id)) {
        const message = `Another OAuth app already has the client ID of ${item.name}. Remove client_id from the file to get a new one.`;
        throw new AppError('conflict', message, { errors: [{ field: 'oauth_apps', message }] });
      }
      taken.add(client_id);
      report.changed = true;
      await insertApp(inside, db, app.ids(), { ...item, ...NOT_ROTATED, ...NO_END, client_id, secret_digest: null });
      if (item.confidential) report.needs_secrets.push(`oauth_apps.${item.name}.client_secret`);
      continue;
    }
    if (!overwrite) continue;
    if (row.confidential !== item.confidential) {
      report.warnings.push(
        `The OAuth app ${item.name} ${row.confidential ? 'has a secret' : 'is a public client'} here and stays so. Delete it first to import it anew.`,
      );
    }
    const { redirect_uris, trusted } = item;
    if (canonical({ redirect_uris, trusted }) === canonical({ redirect_uris: row.redirect_uris, trusted: row.trusted })) continue;
    report.changed = true;
    await updateApp(inside, db, row.id, row.version, { redirect_uris, trusted });
  }
  return report;
}
