import { and, eq } from 'drizzle-orm';
import { type EntityKind, ENTITY_KINDS } from '#core/contract/entities.ts';
import { entityTable, type StoredEntity, type EntityValues } from '#core/store/entity-table.ts';
import type { Store } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import type { Context } from '#core/context/context.ts';
import type { Restorable } from './restorable.ts';

/** Fields that no two records of a table share; not every table has all of them. */
const UNIQUE = ['name', 'uri_template', 'client_id'] as const;

/** A record that is about to be changed. */
interface Coming {
  readonly entity_type: Restorable['entity_type'];
  readonly id: string;
  /** What is stored of it; null: nothing. */
  readonly stored: StoredEntity | null;
  readonly values: EntityValues;
}

/**
 * Frees the names and addresses that records of a batch give up and others take, in whatever order they are written: they have some
 * that nobody could have until then.
 */
export async function parkTaken({ app: { store }, batch }: Context, coming: readonly Coming[]): Promise<void> {
  const parked = new Map<string, StoredEntity>();
  const keyOf = (entity_type: string, field: string, value: unknown): string => JSON.stringify([entity_type, field, value]);
  const taken = new Set(
    coming.flatMap(({ entity_type, values }) => UNIQUE.map((field) => keyOf(entity_type, field, values[field]))),
  );
  for (const { entity_type, id, stored, values } of coming) {
    const table = tableOf(store, entity_type);
    if (stored === null || table === null) continue;
    const given_up = UNIQUE.filter(
      (field) => values[field] !== stored[field] && taken.has(keyOf(entity_type, field, stored[field])),
    );
    if (given_up.length === 0) continue;
    const found = await store.db
      .update(table)
      .set(Object.fromEntries(given_up.map((field) => [field, `parked:${id}`])))
      .where(and(eq(table.id, id), eq(table.version, stored.version)))
      .returning({ id: table.id });
    // One that is at another version is refused where it is written.
    if (found.length > 0) parked.set(id, stored);
  }
  if (batch !== undefined) batch.cache.parked = parked;
}

/** As it is kept with its version, or null: the settings have neither name nor address of their own. */
function tableOf(store: Store, entity_type: Restorable['entity_type']): Schema['tools'] | null {
  const others = { identity_provider: store.tables.identity_providers, oauth_app: store.tables.oauth_apps, server_config: null };
  const isEntity = (type: string): type is EntityKind => ENTITY_KINDS.some((kind) => kind === type);
  return isEntity(entity_type) ? entityTable(store, entity_type) : (others[entity_type] as unknown as Schema['tools'] | null);
}
