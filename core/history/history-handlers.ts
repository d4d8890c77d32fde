import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { and, type Column, desc, eq, inArray, or, type SQL } from 'drizzle-orm';
import { isAdministrator } from '#core/context/roles.ts';
import { EntityType, OF_DEFINITIONS } from '#core/contract/history.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { Input } from '#core/contract/index.ts';
import { MOST_COUNTED } from '#core/contract/fields.ts';
import { countUpTo, totalOfPage } from '#core/store/pages.ts';
import { isAlso, rarest } from '#core/store/rarest.ts';
import { foundIn } from '#core/store/search.ts';
import { toEntry } from '#core/records/history-entry.ts';
import { entriesNamed } from './named.ts';
import { rollback } from './rollback.ts';

export const historyHandlers: Pick<
  Handlers<WithSources & WithHosts & WithProviders & WithSnapshots>,
  Extract<keyof Handlers<WithSources & WithHosts & WithProviders & WithSnapshots>, `history.${string}`>
> = {
  'history.list': async (context, { skip, limit, ...filter }) => page(context, await matching(context, filter), skip, limit),
  'history.entity': async (context, { entity_type, entity_id, skip, limit }) => {
    const { history } = context.app.store.tables;
    const known = EntityType.options.find((type) => type === entity_type);
    const found =
      known === undefined
        ? { items: [], total: 0 }
        : await page(
            context,
            and(visibleTo(context), isAlso(context.app.store, history.entity_type, known), ofRecord(context, entity_id)),
            skip,
            limit,
          );
    // The server configuration always exists, even if it was never changed.
    if (found.total === 0 && known !== 'server_config') throw new AppError('not_found', 'There is no history of this record.');
    return found;
  },
  'history.rollback': rollback,
};

type Filter = Omit<Input<'history.list'>, 'skip' | 'limit'>;

/** Entries with these properties, from the index that leaves the fewest entries to read. */
async function matching(context: Context, filter: Filter): Promise<SQL | undefined> {
  const { history_id, entity_type, entity_id, action, actor, search } = filter;
  const { store } = context.app;
  const { history } = store.tables;
  const equal = new Map<Column, string>();
  if (entity_type !== undefined) equal.set(history.entity_type, entity_type);
  if (action !== undefined) equal.set(history.action, action);
  if (actor !== undefined) equal.set(history.actor_name, actor);
  const is_one = entity_id !== undefined || history_id !== undefined;
  const named = is_one ? undefined : await entriesNamed(store, search);
  const conditions = new Map([...equal].map(([column, value]) => [column.name, eq(column, value)]));
  const is_found = is_one || named?.is_rare === true;
  const leading = is_found ? undefined : await rarest(store, history, conditions);
  const narrows = (column: Column) => !is_found && (leading === undefined || leading === column.name);
  return and(
    visibleTo(context),
    history_id === undefined ? undefined : eq(history.id, history_id),
    entity_id === undefined ? undefined : ofRecord(context, entity_id),
    ...[...equal].map(([column, value]) => (narrows(column) ? eq(column, value) : isAlso(store, column, value))),
    named === undefined ? foundIn({ name: history.entity_name }, search) : named.where,
  );
}

/** Undefined: everything is visible. */
const visibleTo = ({ app, actor }: Context): SQL | undefined =>
  isAdministrator(actor) ? undefined : isAlso(app.store, app.store.tables.history.entity_type, [...OF_DEFINITIONS]);

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
  const [rows, counted] = await Promise.all([
    db.select().from(history).where(inArray(history.id, ids)).orderBy(newest),
    countUpTo(app, MOST_COUNTED, db.select({ id: history.id }).from(history).where(where)),
  ]);
  return { items: rows.map((row) => toEntry(app, row)), total: totalOfPage(counted, { skip, limit }, rows.length) };
}
