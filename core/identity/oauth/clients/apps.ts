import { desc, eq } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { OauthApp } from '#core/contract/identity/oauth.ts';
import { AppError, type FieldError } from '#core/errors.ts';
import { digestOf, randomToken } from '#core/identity/random-token.ts';
import { recordHistory } from '#core/observe/history.ts';
import type { Handlers } from '#core/run.ts';
import type { Db } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import { APP_PREFIX } from './clients.ts';
import { removeGrantsOf } from '../grants.ts';
import { tellIdentity } from '../published.ts';
import { targetOf } from './redirects.ts';

type AppRow = Schema['oauth_apps']['$inferSelect'];

/** Contract section 22: as many as there are registrations. */
const MOST = 1_000;

export const oauthAppHandlers: Pick<Handlers, Extract<keyof Handlers, `oauth_apps.${string}`>> = {
  'oauth_apps.list': async ({ app }, { skip, limit }) => {
    const { oauth_apps: table } = app.store.tables;
    const [rows, total] = await Promise.all([
      app.store.db.select().from(table).orderBy(desc(table.id)).limit(limit).offset(skip),
      app.store.db.$count(table),
    ]);
    return { items: rows.map(toApp), total };
  },
  'oauth_apps.create': async (context, { name, redirect_uris, confidential, trusted }) => {
    const { app } = context;
    checkRedirects(redirect_uris);
    const client_secret = confidential ? randomToken('svc_as_') : null;
    const now = app.clock().toISOString();
    const row: AppRow = {
      id: app.ids(),
      name,
      client_id: randomToken(APP_PREFIX),
      redirect_uris: [...new Set(redirect_uris)],
      confidential,
      trusted,
      secret_digest: client_secret === null ? null : digestOf(client_secret),
      version: 1,
      created_at: now,
      updated_at: now,
    };
    await app.store.write(async (tx) => {
      if ((await tx.$count(app.store.tables.oauth_apps)) >= MOST) {
        throw new AppError('conflict', `There can be at most ${MOST} OAuth apps. Delete one that is not used.`);
      }
      await tx.insert(app.store.tables.oauth_apps).values(row);
      await recordHistory(tx, context, { ...entryOf(row), action: 'create', before: null, after: toApp(row) });
    });
    return { ...toApp(row), client_secret };
  },
  'oauth_apps.update': async (context, { id, version, ...change }) => {
    const { app } = context;
    if (change.redirect_uris !== undefined) checkRedirects(change.redirect_uris);
    return app.store.write(async (tx) => {
      const row = await rowOf(app, tx, id);
      if (version !== undefined && version !== row.version) {
        throw new AppError('conflict', 'The OAuth app was changed meanwhile. Reload it and try again.');
      }
      const set = { ...change, version: row.version + 1, updated_at: app.clock().toISOString() };
      const [after] = await tx
        .update(app.store.tables.oauth_apps)
        .set(Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined)))
        .where(eq(app.store.tables.oauth_apps.id, id))
        .returning();
      if (after === undefined) throw missing();
      await recordHistory(tx, context, { ...entryOf(after), action: 'update', before: toApp(row), after: toApp(after) });
      return toApp(after);
    });
  },
  'oauth_apps.delete': async (context, { id }) => {
    const { app } = context;
    await app.store.write(async (tx) => {
      const row = await rowOf(app, tx, id);
      await tx.delete(app.store.tables.oauth_apps).where(eq(app.store.tables.oauth_apps.id, id));
      await removeGrantsOf(app, tx, row.client_id);
      await recordHistory(tx, context, { ...entryOf(row), action: 'delete', before: toApp(row), after: null });
    });
    await tellIdentity(app);
    return {};
  },
};

const toApp = ({ secret_digest: _, ...row }: AppRow): OauthApp => row;
const entryOf = ({ id, name }: AppRow) => ({ entity_type: 'oauth_app', entity_id: id, entity_name: name }) as const;
const missing = () => new AppError('not_found', 'There is no OAuth app with this id.');

async function rowOf({ store }: App, tx: Db, id: string): Promise<AppRow> {
  const { oauth_apps: table } = store.tables;
  const [row] = await tx.select().from(table).where(eq(table.id, id));
  if (row === undefined) throw missing();
  return row;
}

/** An administrator may name any private scheme, but nothing that runs in a browser or goes out in the clear. */
function checkRedirects(redirect_uris: readonly string[]): void {
  const errors = redirect_uris.flatMap((uri, index): FieldError[] => {
    const target = targetOf(uri);
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
  if (errors.length > 0) throw new AppError('invalid', errors.map(({ message }) => message).join(' '), { errors });
}
