import { AppError, invalidField } from '#core/errors.ts';
import { withAuthor, changesAny, checkVersion, StaleVersion, toDraft } from '#core/records/versioned.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { entityTable, type StoredEntity, type EntityValues } from '#core/store/entity-table.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import { fewAtATime } from '#core/lib/slices.ts';
import { recordBlocked } from '#core/records/blocked.ts';
import { type EntityService, ENTITY_SERVICES } from '#core/definitions/entity-services.ts';
import { storeCompiled } from '#core/sources/statements.ts';

export const bulkHandlers: Pick<Handlers, 'definitions.update' | 'definitions.tags'> = {
  'definitions.update': async (context, { kind, items }) => {
    if (kind === 'connection' && items.some(({ tags }) => tags !== undefined))
      throw invalidField('items', 'Connections have no tags. Leave out tags.');
    const record = ENTITY_SERVICES[kind];
    const stored = await record.noun.getAll(
      context,
      items.map(({ id }) => id),
    );
    const errors = new Map<string, { id: string; error: string }>();
    const changed = new Map<string, { id: string; version: number }>();
    /** Checks end in any order. History, answer and errors follow the order of the request. */
    const inRequestOrder = <T>(found: ReadonlyMap<string, T>): T[] => items.flatMap(({ id }) => found.get(id) ?? []);
    /** An error concerns only its record. */
    const alone = async (id: string, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        const { detail } = error instanceof StaleVersion ? await withAuthor(context.app, error) : error;
        errors.set(id, { id, error: detail });
      }
    };
    const ready = new Map<string, Ready>();
    await fewAtATime(items, CONCURRENCY, ({ id, version, ...change }) =>
      alone(id, async () => {
        const before = stored.get(id);
        if (before === undefined) throw new AppError('not_found', `There is no ${kind} with this id.`);
        checkVersion(kind, before, version);
        const sent = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
        if (changesAny(sent, before, Object.keys(sent))) ready.set(id, await prepared(context, record, before, sent));
        else changed.set(id, { id, version: before.version });
      }),
    );
    for (const one of await writeAll(context, record, inRequestOrder(ready), alone)) changed.set(one.id, one);
    return { items: inRequestOrder(changed), errors: inRequestOrder(errors) };
  },
  'definitions.tags': async ({ app }, { kind }) => {
    const table = entityTable(app.store, kind);
    const rows = await app.store.db.selectDistinct({ tags: table.tags }).from(table);
    const items = [...new Set(rows.flatMap(({ tags }) => tags))].toSorted();
    return { items, total: items.length };
  },
};

/** Each check may wait for a database. */
const CONCURRENCY = 8;

type Ready = Awaited<ReturnType<EntityService['prepare']>> & { readonly before: StoredEntity };

/** Applies the checks of a single change, and records in history that a control blocked it. */
async function prepared(context: Context, kind: EntityService, before: StoredEntity, sent: EntityValues): Promise<Ready> {
  const draft = { ...toDraft(before), ...sent };
  try {
    return { ...(await kind.prepare(context, before.id, draft, before)), before };
  } catch (error) {
    if (error instanceof AppError) await recordBlocked(context, kind.entity_type, draft, error);
    throw error;
  }
}

/** Writes in one transaction, in which nothing else is written. Records that were changed or deleted since the check are refused. */
const writeAll = (
  context: Context,
  { entity_type, noun }: EntityService,
  ready: readonly Ready[],
  alone: (id: string, work: () => Promise<void>) => Promise<void>,
): Promise<{ id: string; version: number }[]> =>
  context.app.store.write(async (tx) => {
    await lockEntityWrites(context.app.store, tx);
    const now = await noun.getAll(
      context,
      ready.map(({ before }) => before.id),
      tx,
    );
    const same: Ready[] = [];
    for (const one of ready) {
      const { id, version } = one.before;
      await alone(id, async () => {
        const found = now.get(id);
        if (found === undefined) throw new AppError('not_found', `This ${entity_type} was deleted.`);
        checkVersion(entity_type, found, version);
        same.push(one);
      });
    }
    if (same.length === 0) return [];
    const written = await noun.updateAll(
      context,
      tx,
      same.map(({ before, values }) => ({ id: before.id, expected: before.version, values })),
    );
    await storeCompiled(
      context.app,
      tx,
      same.map(({ before, compiled }) => ({ id: before.id, compiled })),
    );
    return written.map(({ id, version }) => ({ id, version }));
  });
