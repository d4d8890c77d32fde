import { and, eq } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { OauthApp } from '#core/contract/identity/oauth.ts';
import { checkVersion, named } from '#core/definitions/records.ts';
import { AppError, type FieldError, refuseFields } from '#core/errors.ts';
import { recordHistory } from '#core/observe/history.ts';
import type { Context } from '#core/run.ts';
import { writeAlone } from '#core/store/journal.ts';
import type { Db } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import { removeGrantsOf } from '../grants.ts';
import { targetOf } from './redirects.ts';

export type AppRow = Schema['oauth_apps']['$inferSelect'];
/** What is stored of an app, but for what the store adds. */
export type AppValues = Omit<AppRow, 'id' | 'version' | 'created_at' | 'updated_at'>;

const NOUN = 'OAuth app';
/** Contract section 22: as many as there are registrations. */
export const MOST_APPS = 1_000;

/** Where the digest of an app's secret belongs when it is sealed for the history. */
export const secretPlace = (id: string): string => `oauth_app/${id}/client_secret`;

export const toApp = ({ secret_digest, ...row }: AppRow): OauthApp => ({ ...row, client_secret_set: secret_digest !== null });

export async function appById({ store }: App, id: string, tx: Db = store.db): Promise<AppRow> {
  const { oauth_apps: table } = store.tables;
  const [row] = await tx.select().from(table).where(eq(table.id, id));
  if (row === undefined) throw new AppError('not_found', 'There is no OAuth app with this id.');
  return row;
}

/** @param past of an app that comes back: its version counts on. */
export async function insertApp(
  context: Context,
  tx: Db,
  id: string,
  values: AppValues,
  past?: Pick<AppRow, 'version' | 'created_at'>,
): Promise<AppRow> {
  const { app } = context;
  const { oauth_apps: table } = app.store.tables;
  await writeAlone(app.store, tx);
  if ((await tx.$count(table)) >= MOST_APPS) {
    throw new AppError('conflict', `There can be at most ${MOST_APPS} OAuth apps. Delete one that is not used.`);
  }
  const updated_at = app.clock().toISOString();
  const version = (past?.version ?? 0) + 1;
  const row: AppRow = { ...values, id, version, created_at: past?.created_at ?? updated_at, updated_at };
  await named(NOUN, () => tx.insert(table).values(row));
  await record(context, tx, 'create', null, row);
  return row;
}

/** @param expected the version that the change was made on; undefined: whichever is stored. */
export async function updateApp(
  context: Context,
  tx: Db,
  id: string,
  expected: number | undefined,
  values: Partial<AppValues>,
): Promise<AppRow> {
  const { app } = context;
  const { oauth_apps: table } = app.store.tables;
  const before = await appById(app, id, tx);
  checkVersion('oauth_app', before, expected);
  // A change that changes nothing is no version and leaves no history.
  if (Object.keys(values).length === 0) return before;
  const change = { ...values, version: before.version + 1, updated_at: app.clock().toISOString() };
  const [after] = await named(NOUN, () =>
    tx
      .update(table)
      .set(change)
      .where(and(eq(table.id, id), eq(table.version, before.version)))
      .returning(),
  );
  if (after === undefined)
    throw new AppError('conflict', 'The OAuth app has changed since you loaded it. Reload it and try again.');
  await record(context, tx, 'update', before, after);
  return after;
}

/** Its grants end. Call `tellIdentity` after the commit. */
export async function deleteApp(context: Context, tx: Db, id: string): Promise<AppRow> {
  const { app } = context;
  const row = await appById(app, id, tx);
  await tx.delete(app.store.tables.oauth_apps).where(eq(app.store.tables.oauth_apps.id, id));
  await removeGrantsOf(app, tx, row.client_id);
  await record(context, tx, 'delete', row, null);
  return row;
}

function record(
  context: Context,
  tx: Db,
  action: 'create' | 'update' | 'delete',
  before: AppRow | null,
  after: AppRow | null,
): Promise<void> {
  const { id = '', name = '' } = after ?? before ?? {};
  return recordHistory(tx, context, {
    entity_type: 'oauth_app',
    entity_id: id,
    entity_name: name,
    action,
    before: before === null ? null : toRecord(context.app, before),
    after: after === null ? null : toRecord(context.app, after),
  });
}

/** As the history keeps it: a rollback restores the secret, which nobody can read from it. */
function toRecord({ keyring }: App, { secret_digest, ...row }: AppRow): Record<string, unknown> {
  const client_secret = secret_digest === null ? null : { $sealed: keyring.seal(secret_digest, secretPlace(row.id)) };
  return { ...row, client_secret };
}

/** An administrator may name any private scheme, but nothing that runs in a browser or goes out in the clear. */
export function checkRedirects(redirect_uris: readonly string[]): void {
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
  refuseFields(errors);
}
