import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { Platform } from '#core/platform/platform.ts';
import { asc, desc, eq } from 'drizzle-orm';
import type { Grant } from '#core/contract/identity/oauth.ts';
import { AppError } from '#core/errors.ts';
import { recordHistory } from '#core/records/history.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import { readPage } from '#core/store/pages.ts';
import type { Schema } from '#core/store/schema.ts';
import { isAdministrator } from '#core/context/roles.ts';
import { recordEndedGrants } from './ended.ts';
import { usernamesOf } from './people.ts';
import { pushIdentity } from './published.ts';

export type GrantRow = Schema['oauth_grants']['$inferSelect'];

export const MOST_GRANTS = 10_000;

export const grantHandlers: Pick<Handlers<WithSources & WithHosts>, 'grants.list' | 'grants.delete'> = {
  'grants.list': async ({ app, actor }, { skip, limit, mine }) => {
    if (!mine && !isAdministrator(actor)) {
      throw new AppError('role_required', 'Only an administrator sees the grants of others. Ask for yours with mine=true.');
    }
    const { oauth_grants: table } = app.store.tables;
    const where = mine ? eq(table.person_id, actor?.id ?? '') : undefined;
    const order = [desc(table.last_used_at), desc(table.id)];
    const { rows, total } = await readPage(app.store.db, table, { where, order, skip, limit });
    const names = await usernamesOf(app, [...new Set(rows.map(({ person_id }) => person_id))]);
    return { items: rows.map((row) => toGrant(row, names.get(row.person_id))), total };
  },
  'grants.delete': async (context, { id }) => {
    const { app } = context;
    const { oauth_grants: table } = app.store.tables;
    const [row] = await app.store.db.select().from(table).where(eq(table.id, id));
    const is_mine = row?.person_id === context.actor?.id || isAdministrator(context.actor);
    if (row === undefined || !is_mine) throw new AppError('not_found', 'There is no grant with this id.');
    const username = (await usernamesOf(app, [row.person_id])).get(row.person_id);
    await app.store.write(async (tx) => {
      if (!(await removeGrant(app, tx, id))) return;
      await recordGrant(context, tx, 'delete', row, username);
    });
    await pushIdentity(app);
    return {};
  },
};

const toGrant = ({ person_id, client_id: _, kind, ...row }: GrantRow, username = 'deleted person'): Grant => ({
  ...row,
  kind: kind ?? 'consent',
  person: { id: person_id, username },
});

/** Records in the history that a person gave a client access, or that the access ended. */
export async function recordGrant(
  context: Context,
  tx: Db,
  action: 'create' | 'delete',
  row: GrantRow,
  username: string | undefined,
): Promise<void> {
  const { client, resource, scopes, kind } = row;
  const state = {
    client: client.name,
    client_id: client.client_id,
    person: username ?? null,
    resource,
    scopes,
    ...(kind !== null && { kind }),
  };
  const subject = { entity_type: 'grant', entity_id: row.id, entity_name: client.name } as const;
  const [before, after] = action === 'create' ? [null, state] : [state, null];
  await recordHistory(tx, context, { ...subject, before, after });
}

/**
 * Ends a grant: deletes its refresh tokens and invalidates its access tokens. Call `pushIdentity` after the commit. @returns
 * whether it existed.
 */
export async function removeGrant(app: Platform, tx: Db, id: string): Promise<boolean> {
  const { oauth_grants, oauth_refresh } = app.store.tables;
  await tx.delete(oauth_refresh).where(eq(oauth_refresh.grant_id, id));
  const gone = await tx.delete(oauth_grants).where(eq(oauth_grants.id, id)).returning({ id: oauth_grants.id });
  if (gone.length === 0) return false;
  await recordEndedGrants(app, tx, { grant: id });
  return true;
}

/** Ends a grant whose code or refresh token was used twice, in a new transaction. */
export async function endStolen(app: Platform & WithHosts, id: string): Promise<void> {
  if (await app.store.write((tx) => removeGrant(app, tx, id))) await pushIdentity(app);
}

/** Ends every grant of a client. Call `pushIdentity` after the commit. */
export async function removeGrantsOf(app: Platform, tx: Db, client_id: string): Promise<void> {
  const { oauth_grants: table } = app.store.tables;
  const rows = await tx.select({ id: table.id }).from(table).where(eq(table.client_id, client_id));
  for (const { id } of rows) await removeGrant(app, tx, id);
  await recordEndedGrants(app, tx, { client_id });
}

/**
 * Stores a new grant. Beyond the limit, the least recently used grants end.
 * @returns whether one ended; then call `pushIdentity` after the commit.
 */
export async function addGrant(app: Platform, tx: Db, row: GrantRow): Promise<boolean> {
  const { oauth_grants: table } = app.store.tables;
  const over = (await tx.$count(table)) - MOST_GRANTS + 1;
  const oldest =
    over <= 0 ? [] : await tx.select({ id: table.id }).from(table).orderBy(asc(table.last_used_at), asc(table.id)).limit(over);
  for (const { id } of oldest) await removeGrant(app, tx, id);
  await tx.insert(table).values(row);
  return oldest.length > 0;
}
