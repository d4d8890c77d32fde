import type { WithSources } from '#core/sources/source-pool.ts';
import type { Compiled } from '#snapshots/freeze/compile.ts';
import type { EntityKind } from '#core/contract/entities.ts';
import type { Db } from '#core/store/store.ts';
import type { Context } from '#core/context/context.ts';
import type { Restored } from './versioned.ts';
import type { StoredEntity, EntityValues } from '#core/store/entity-table.ts';

/** A record that passed every check of a write. */
export interface CheckedRecord<V = Readonly<Record<string, unknown>>> {
  readonly values: V;
  /** Null when its statement was not compiled again. */
  readonly compiled: Compiled | null;
}

/** The functions that a rollback uses to restore records of one type. */
export interface Restorable<A extends WithSources = WithSources> {
  readonly entity_type: EntityKind | 'server_config' | 'identity_provider' | 'oauth_app';
  readonly noun: {
    /** The stored records with these ids, by id. */
    getAll(context: Context<A>, ids: readonly string[], tx?: Db): Promise<ReadonlyMap<string, StoredEntity>>;
    restoreAll(context: Context<A>, tx: Db, restored: readonly Restored<StoredEntity, EntityValues>[]): Promise<void>;
  };
  /** Applies every check of a write to an earlier state. @param stored the present state of the record. */
  prepareEarlier(context: Context<A>, earlier: StoredEntity, stored: StoredEntity | null): Promise<CheckedRecord>;
  /** Deletes records, and those that belong to them. */
  removeAll(context: Context<A>, tx: Db, ids: readonly string[]): Promise<unknown>;
  /** The record as a response shows it. */
  read(context: Context<A>, id: string): Promise<Record<string, unknown>>;
  /** Runs after the commit of a rollback. */
  settle?(context: Context<A>): Promise<void>;
}
