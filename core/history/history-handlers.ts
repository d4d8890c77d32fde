import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { and, desc, eq, inArray, or, type SQL } from 'drizzle-orm';
import { isAdministrator } from '#core/context/roles.ts';
import { EntityType, OF_DEFINITIONS } from '#core/contract/history.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { foundIn } from '#core/store/search.ts';
import { toEntry } from '#core/records/history-entry.ts';
import { rollback } from './rollback.ts';

export const historyHandlers: Pick<
  Handlers<WithSources & WithHosts & WithProviders & WithSnapshots>,
  Extract<keyof Handlers<WithSources & WithHosts & WithProviders & WithSnapshots>, `history.${string}`>
> = {
  'history.list': (context, { skip, limit, history_id, entity_type, entity_id, action, actor, search }) => {
    const { history } = context.app.store.tables;
    const where = and(
      visibleTo(context),
      entity_type === undefined ? undefined : eq(history.entity_type, entity_type),
      history_id === undefined ? undefined : eq(history.id, history_id),
      entity_id === undefined ? undefined : ofRecord(context, entity_id),
      action === undefined ? undefined : eq(history.action, action),
      actor === undefined ? undefined : eq(history.actor_name, actor),
      foundIn({ name: history.entity_name }, search),
    );
    return page(context, where, skip, limit);
  },
  'history.entity': async (context, { entity_type, entity_id, skip, limit }) => {
    const { history } = context.app.store.tables;
    const known = EntityType.options.find((type) => type === entity_type);
    const found =
      known === undefined
        ? { items: [], total: 0 }
        : await page(context, and(visibleTo(context), eq(history.entity_type, known), ofRecord(context, entity_id)), skip, limit);
    // The server configuration always exists, even if it was never changed.
    if (found.total === 0 && known !== 'server_config') throw new AppError('not_found', 'There is no history of this record.');
    return found;
  },
  'history.rollback': rollback,
};

/** Undefined: everything is visible. */
const visibleTo = ({ app, actor }: Context): SQL | undefined =>
  isAdministrator(actor) ? undefined : inArray(app.store.tables.history.entity_type, [...OF_DEFINITIONS]);

/** Agents may send the name of a record instead of its id, even of a deleted record. */
function ofRecord({ app, by_name }: Context, entity_id: string): SQL | undefined {
  const { history } = app.store.tables;
  return or(eq(history.entity_id, entity_id), by_name ? eq(history.entity_name, entity_id) : undefined);
}

/** A row contains its record twice. So the ids of a page are read from an index first, and then only the rows of this page. */
async function page({ app }: Context, where: SQL | undefined, skip: number, limit: number) {
  const { db, tables } = app.store;
  const { history } = tables;
  // Ids increase over time.
  const newest = desc(history.id);
  const ids = db.select({ id: history.id }).from(history).where(where).orderBy(newest).limit(limit).offset(skip);
  const [rows, total] = await Promise.all([
    db.select().from(history).where(inArray(history.id, ids)).orderBy(newest),
    db.$count(history, where),
  ]);
  return { items: rows.map((row) => toEntry(app, row)), total };
}
