import { and, eq } from 'drizzle-orm';
import { entityTable, type StoredEntity, type EntityValues } from '#core/store/entity-table.ts';
import type { Store } from '#core/store/store.ts';
import type { Context } from '#core/context/context.ts';
import type { Restorable } from './restorable.ts';

/** Unique fields. Not every table has all of them. */
const UNIQUE = ['name', 'uri_template', 'client_id'] as const;

interface PlannedWrite {
  readonly entity_type: Restorable['entity_type'];
  readonly id: string;
  /** Its stored state; null when it is new. */
  readonly stored: StoredEntity | null;
  readonly values: EntityValues;
}

/**
 * Frees the names and addresses that some records of a batch give up and others take, so that the order of writing does not matter.
 * Until a record is written it has a temporary name that no request can use.
 */
export async function parkTaken({ app: { store }, batch }: Context, planned: readonly PlannedWrite[]): Promise<void> {
  const parked = new Map<string, StoredEntity>();
  const keyOf = (entity_type: string, field: string, value: unknown): string => JSON.stringify([entity_type, field, value]);
  const taken = new Set(
    planned.flatMap(({ entity_type, values }) => UNIQUE.map((field) => keyOf(entity_type, field, values[field]))),
  );
  for (const { entity_type, id, stored, values } of planned) {
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
    // A record that changed since it was read is refused when it is written.
    if (found.length > 0) parked.set(id, stored);
  }
  if (batch !== undefined) batch.cache.parked = parked;
}

/** The table of a record, or null for the settings, which have no name or address. */
function tableOf(store: Store, entity_type: Restorable['entity_type']) {
  if (entity_type === 'server_config') return null;
  if (entity_type === 'identity_provider') return store.tables.identity_providers;
  return entity_type === 'oauth_app' ? store.tables.oauth_apps : entityTable(store, entity_type);
}
