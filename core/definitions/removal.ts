import type { EntityService } from './entity-services.ts';
import type { StoredEntity } from '#core/store/entity-table.ts';
import { inArray } from 'drizzle-orm';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { checkVersion } from '#core/records/versioned.ts';
import { ownedBy } from './owners.ts';
import { OWNED_KINDS } from '#core/contract/entities.ts';

/** A record that an import deletes. */
export interface Deletion {
  readonly kind: EntityService;
  readonly index: null;
  readonly id: string;
  readonly name: string;
  readonly stored: StoredEntity;
}

/** Deletes records of one kind that have not changed since the import was checked. @returns how many tests were deleted with them. */
export async function removeUnchanged(inside: Context, items: readonly Deletion[]): Promise<number> {
  const { db, tables } = inside.app.store;
  const [first] = items;
  if (first === undefined) return 0;
  const ids = items.map(({ id }) => id);
  const now = await first.kind.noun.getAll(inside, ids, db);
  for (const { kind, id, stored } of items) {
    const current = now.get(id);
    if (current === undefined)
      throw new AppError('conflict', `Someone else deleted this ${kind.entity_type}. Read the configuration again.`);
    checkVersion(kind.entity_type, current, stored.version);
  }
  const cascaded = await db.$count(tables.tests, inArray(tables.tests.owner_id, ids));
  await first.kind.removeAll(inside, db, ids);
  return cascaded;
}

/** Deletes a connection without definitions. Definitions that the import does not name would otherwise be deleted with it. */
export async function removeEmpty(inside: Context, item: Deletion): Promise<true> {
  const { db } = inside.app.store;
  for (const owned of OWNED_KINDS) {
    const [remaining] = await ownedBy(inside, db, owned, item.id);
    if (remaining === undefined) continue;
    throw new AppError(
      'invalid',
      `The connection ${item.name} cannot be deleted: the ${owned} ${remaining.name} still uses it. Delete that too, or give it another connection.`,
    );
  }
  await removeUnchanged(inside, [item]);
  return true;
}
