import { type EntityKind, type Plural, ENTITY_KINDS } from '#core/contract/entities.ts';
import type { Db } from '#core/store/store.ts';
import type { Context } from '#core/context/context.ts';
import type { Entity } from './entity.ts';
import type { CheckedRecord, Restorable } from '#core/records/restorable.ts';
import type { ChangedRecord, NewRecord } from '#core/records/versioned.ts';
import type { StoredEntity, EntityValues } from '#core/store/entity-table.ts';
import { connection } from './connections.ts';
import { prompt } from './prompts.ts';
import { resource } from './resources.ts';
import { test } from './tests.ts';
import { tool } from './tools.ts';
import { toolset } from './toolsets/toolsets.ts';

/** An `Entity` of any kind. The types of its draft and rows are widened, so that code can treat all kinds alike. */
export interface EntityService extends Restorable, Pick<Entity<EntityKind>, 'schema' | 'delete'> {
  readonly entity_type: EntityKind;
  readonly plural: Plural;
  readonly noun: Restorable['noun'] & {
    get(context: Context, id: string, tx?: Db): Promise<StoredEntity>;
    insertAll(context: Context, tx: Db, records: readonly NewRecord<EntityValues>[]): Promise<StoredEntity[]>;
    updateAll(context: Context, tx: Db, changes: readonly ChangedRecord<EntityValues>[]): Promise<StoredEntity[]>;
  };
  prepare(context: Context, id: string, draft: EntityValues, stored: StoredEntity | null): Promise<CheckedRecord>;
}

/** The services by kind. */
export const ENTITY_SERVICES: { readonly [K in EntityKind]: EntityService & { readonly entity_type: K } } = {
  connection,
  tool,
  resource,
  prompt,
  toolset,
  test,
};

/** The services in the order of writing: kinds that others refer to come first. */
export const IN_WRITE_ORDER: readonly EntityService[] = ENTITY_KINDS.map((kind) => ENTITY_SERVICES[kind]);
