import { type EntityKind, type Plural, ENTITY_KINDS } from '#core/contract/entities.ts';
import type { Db } from '#core/store/store.ts';
import type { Context } from '#core/context/context.ts';
import type { Entity } from './entity.ts';
import type { Prepared, Undoable } from '#core/records/restorable.ts';
import type { ChangedRecord, NewRecord } from '#core/records/versioned.ts';
import type { Stored, Values } from '#core/store/entity-table.ts';
import { connection } from './connections.ts';
import { prompt } from './prompts.ts';
import { resource } from './resources.ts';
import { test } from './tests.ts';
import { tool } from './tools.ts';
import { toolset } from './toolsets/toolsets.ts';

/** `Entity` of any noun: who reads the table below knows which one it is by its data alone. */
export interface Kind extends Undoable, Pick<Entity<EntityKind>, 'schema' | 'delete'> {
  readonly entity_type: EntityKind;
  readonly plural: Plural;
  readonly noun: Undoable['noun'] & {
    get(context: Context, id: string, tx?: Db): Promise<Stored>;
    insertAll(context: Context, tx: Db, records: readonly NewRecord<Values>[]): Promise<Stored[]>;
    updateAll(context: Context, tx: Db, changes: readonly ChangedRecord<Values>[]): Promise<Stored[]>;
  };
  prepare(context: Context, id: string, draft: Values, stored: Stored | null): Promise<Prepared>;
}

/** What every noun does, by its kind. */
export const KIND_OF: { readonly [K in EntityKind]: Kind & { readonly entity_type: K } } = {
  connection,
  tool,
  resource,
  prompt,
  toolset,
  test,
};

/** The nouns in the order in which they are written: what others refer to comes first. */
export const KINDS: readonly Kind[] = ENTITY_KINDS.map((kind) => KIND_OF[kind]);
