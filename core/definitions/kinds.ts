import { type EntityKind, ENTITY_KINDS, type Plural } from '#core/contract/entities.ts';
import type { Db } from '#core/store/open.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/run.ts';
import { CONFIG_ID } from '#core/contract/settings/config.ts';
import { configHandlers, prepareEarlierSettings, readSettings, restoreSettings } from './settings/config.ts';
import type { Settings } from './settings/settings.ts';
import { connection } from './connections.ts';
import { oauthAppUndo } from '#core/identity/oauth/clients/undo-apps.ts';
import { providerUndo } from '#core/identity/providers/undo.ts';
import type { Entity, Prepared } from './entity.ts';
import { prompt } from './prompts.ts';
import type { Restored } from './records.ts';
import type { ChangedRecord, NewRecord } from './versioned.ts';
import { resource } from './resources.ts';
import { test } from './tests/tests.ts';
import { tool } from './tools.ts';
import { toolset } from './toolsets/toolsets.ts';

/** A stored record of any noun. */
export interface Stored extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly created_at: string;
}

export type Values = Readonly<Record<string, unknown>>;

/** What a rollback needs of something that history records. */
export interface Undoable {
  readonly entity_type: EntityKind | 'server_config' | 'identity_provider' | 'oauth_app';
  /** Its part of the names of operations. */
  readonly noun: {
    /** Those that are stored, by id. */
    getAll(context: Context, ids: readonly string[], tx?: Db): Promise<ReadonlyMap<string, Stored>>;
    restoreAll(context: Context, tx: Db, restored: readonly Restored<Stored, Values>[]): Promise<void>;
  };
  /** Every check of a write for a state that was stored before. @param stored what the id holds now. */
  prepareEarlier(context: Context, earlier: Stored, stored: Stored | null): Promise<Prepared>;
  /** Deletes records, and what they own. */
  removeAll(context: Context, tx: Db, ids: readonly string[]): Promise<unknown>;
  /** The record as a response shows it. */
  read(context: Context, id: string): Promise<Record<string, unknown>>;
  /** What follows the commit of a rollback. */
  settle?(context: Context): Promise<void>;
}

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

const settings: Undoable = {
  entity_type: 'server_config',
  noun: {
    async getAll({ app }, _, tx) {
      const { settings, version } = await readSettings(app, tx ?? app.store.db);
      return new Map([[CONFIG_ID, { id: CONFIG_ID, name: settings.server_name, version, created_at: '' }]]);
    },
    async restoreAll(context, tx, restored) {
      for (const { expected, values } of restored)
        await restoreSettings(context, tx, expected ?? 1, values as unknown as Settings);
    },
  },
  prepareEarlier: async (context, earlier) => ({
    values: { ...(await prepareEarlierSettings(context, earlier)) },
    compiled: null,
  }),
  // Its entries are changes only.
  removeAll: () => Promise.reject(new AppError('invalid', 'The server configuration cannot be deleted.')),
  read: async (context) => configHandlers['config.get'](context, {}),
};

/** Everything that a rollback restores, in the order of writing: without passwords, people need a provider. */
export const UNDOABLE: readonly Undoable[] = [...KINDS, providerUndo, oauthAppUndo, settings];
