import type { WithSources } from '#core/sources/source-pool.ts';
import type { Compiled } from '#snapshots/freeze/compile.ts';
import type { EntityKind } from '#core/contract/entities.ts';
import type { Db } from '#core/store/store.ts';
import type { Context } from '#core/context/context.ts';
import type { Restored } from './versioned.ts';
import type { StoredEntity, EntityValues } from '#core/store/entity-table.ts';

/** A record that passed every check of a write, and what was derived from it. */
export interface CheckedRecord<V = Readonly<Record<string, unknown>>> {
  readonly values: V;
  /** Null: nothing new was derived. */
  readonly compiled: Compiled | null;
}

/** What a rollback needs of something that history records. */
export interface Restorable<A extends WithSources = WithSources> {
  readonly entity_type: EntityKind | 'server_config' | 'identity_provider' | 'oauth_app';
  /** Its part of the names of operations. */
  readonly noun: {
    /** Those that are stored, by id. */
    getAll(context: Context<A>, ids: readonly string[], tx?: Db): Promise<ReadonlyMap<string, StoredEntity>>;
    restoreAll(context: Context<A>, tx: Db, restored: readonly Restored<StoredEntity, EntityValues>[]): Promise<void>;
  };
  /** Every check of a write for a state that was stored before. @param stored what the id holds now. */
  prepareEarlier(context: Context<A>, earlier: StoredEntity, stored: StoredEntity | null): Promise<CheckedRecord>;
  /** Deletes records, and what they own. */
  removeAll(context: Context<A>, tx: Db, ids: readonly string[]): Promise<unknown>;
  /** The record as a response shows it. */
  read(context: Context<A>, id: string): Promise<Record<string, unknown>>;
  /** What follows the commit of a rollback. */
  settle?(context: Context<A>): Promise<void>;
}
