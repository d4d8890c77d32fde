import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { desc } from 'drizzle-orm';
import { AppError } from '#core/errors.ts';
import { digestOf, randomToken } from '#core/lib/random-token.ts';
import type { Input } from '#core/contract/index.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { readPage } from '#core/store/pages.ts';
import { pushIdentity } from '../published.ts';
import { APP_PREFIX } from './clients.ts';
import { newEnd, NOT_ROTATED, rotationEnd } from '#core/identity/ends/token-ends.ts';
import {
  type AppRow,
  appById,
  checkRedirects,
  checkTrusted,
  deleteApp,
  insertApp,
  NO_END,
  toApp,
  updateApp,
} from './stored-apps.ts';

const newSecret = (): string => randomToken('svc_as_');

export const oauthAppHandlers: Pick<
  Handlers<WithSources & WithHosts>,
  Extract<keyof Handlers<WithSources & WithHosts>, `oauth_apps.${string}`>
> = {
  'oauth_apps.list': async ({ app }, { skip, limit }) => {
    const { oauth_apps: table } = app.store.tables;
    const { rows, total } = await readPage(app.store.db, table, { order: [desc(table.id)], skip, limit });
    return { items: rows.map(toApp), total };
  },
  'oauth_apps.create': async (context, { redirect_uris, expires_in_days, ...draft }) => {
    const { app } = context;
    checkRedirects(redirect_uris);
    checkTrusted(draft.trusted, redirect_uris);
    const client_secret = draft.confidential ? newSecret() : null;
    const end = await newEnd(app, expires_in_days);
    const values = {
      ...draft,
      ...NOT_ROTATED,
      ...(client_secret === null ? NO_END : end),
      client_id: randomToken(APP_PREFIX),
      redirect_uris: [...new Set(redirect_uris)],
      secret_digest: client_secret === null ? null : digestOf(client_secret),
    };
    const row = await app.store.write((tx) => insertApp(context, tx, app.ids(), values));
    return { ...toApp(row), client_secret };
  },
  'oauth_apps.update': async (context, { id, version, ...change }) => {
    if (change.redirect_uris !== undefined) checkRedirects(change.redirect_uris);
    if (change.trusted === true) {
      checkTrusted(true, change.redirect_uris ?? (await appById(context.app, id)).redirect_uris);
    }
    const sent = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    return toApp(await context.app.store.write((tx) => updateApp(context, tx, id, version, sent)));
  },
  'oauth_apps.renew_secret': (context, input) => replaceSecret(context, input, () => NOT_ROTATED),
  'oauth_apps.rotate': (context, input) =>
    replaceSecret(context, input, (row) => ({
      previous_digest: row.secret_digest,
      rotation_ends_at: row.secret_digest === null ? null : rotationEnd(context.app, row),
    })),
  'oauth_apps.delete': async (context, { id }) => {
    await context.app.store.write((tx) => deleteApp(context, tx, id));
    await pushIdentity(context.app);
    return {};
  },
};

/** @param before what stays of the secret that the app has. */
async function replaceSecret(
  context: Context,
  { id, version, expires_in_days }: Input<'oauth_apps.rotate'>,
  before: (row: AppRow) => Pick<AppRow, 'previous_digest' | 'rotation_ends_at'>,
) {
  const { app } = context;
  const client_secret = newSecret();
  const end = await newEnd(app, expires_in_days);
  const row = await app.store.write(async (tx) => {
    const stored = await appById(app, id, tx);
    if (!stored.confidential) throw new AppError('conflict', 'This OAuth app is a public client and has no secret.');
    return updateApp(context, tx, id, version, { secret_digest: digestOf(client_secret), ...end, ...before(stored) });
  });
  return { ...toApp(row), client_secret };
}
