import type * as v from 'valibot';
import { ConnectionDraft } from '#core/contract/connections.ts';
import { PromptDraft } from '#core/contract/prompts.ts';
import { ResourceDraft } from '#core/contract/resources.ts';
import { ToolDraft } from '#core/contract/tools.ts';
import type { Db } from '#core/store/open.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/run.ts';
import type { Compiled } from '#snapshots/compile.ts';
import { CONFIG_ID, configHandlers, prepareEarlierSettings, readSettings, restoreSettings } from './settings/config.ts';
import type { Settings } from './settings/settings.ts';
import { type Draft, prepareConnection, prepareEarlier } from './connection-draft.ts';
import { connectionHandlers, connections, removeConnection } from './connections.ts';
import { type Noun, toDraft } from './records.ts';
import { prompts, resources, tools } from './nouns.ts';
import { preparePrompt, preparePromptChange, promptHandlers } from './prompts.ts';
import { prepareResource, prepareResourceChange, resourceHandlers } from './resources.ts';
import type { ConnectionRow } from './source-pool.ts';
import { prepareTool, prepareToolChange, toolHandlers } from './tools.ts';

/** A stored record of any noun. */
export interface Stored extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly created_at: string;
}

export type Values = Readonly<Record<string, unknown>>;

/** A record that passed every check of a write, and what was derived from it. */
export interface Prepared {
  readonly values: Values;
  readonly compiled: Compiled | null;
}

/** What a rollback needs of something that history records. */
export interface Undoable {
  readonly entity_type: 'connection' | 'tool' | 'resource' | 'prompt' | 'server_config';
  readonly noun: Pick<AnyNoun, 'get' | 'restore'>;
  /** Every check of a write for a state that was stored before. @param stored what the id holds now. */
  prepareEarlier(context: Context, earlier: Stored, stored: Stored | null): Promise<Prepared>;
  /** Deletes a record, and what it owns. */
  remove(context: Context, tx: Db, id: string): Promise<unknown>;
  /** The record as a response shows it. */
  read(context: Context, id: string): Promise<Record<string, unknown>>;
}

/** What an import needs of each noun besides. */
export interface Kind extends Undoable {
  readonly entity_type: Exclude<Undoable['entity_type'], 'server_config'>;
  readonly plural: 'connections' | 'tools' | 'resources' | 'prompts';
  readonly draft: { readonly entries: v.ObjectEntries };
  readonly noun: AnyNoun;
  /** Every check of a write; nothing is stored. @param stored what the id holds now. */
  prepare(context: Context, id: string, draft: Values, stored: Stored | null): Promise<Prepared>;
}

/** `Noun` without the type of its rows: the table below holds all of them. */
interface AnyNoun {
  get(context: Context, id: string, tx?: Db): Promise<Stored>;
  insert(context: Context, tx: Db, values: Values, id: string): Promise<Stored>;
  update(context: Context, tx: Db, id: string, expected: number, values: Values): Promise<Stored>;
  restore(context: Context, tx: Db, earlier: Stored, expected: number | null, values: Values): Promise<Stored>;
  remove(context: Context, tx: Db, id: string): Promise<Stored>;
}

const connection: Kind = {
  entity_type: 'connection',
  plural: 'connections',
  draft: ConnectionDraft,
  noun: connections,
  prepare: async (context, id, draft, stored) => ({
    values: await prepareConnection(context, id, draft as Draft, stored as ConnectionRow | null),
    compiled: null,
  }),
  prepareEarlier: async (context, earlier, stored) => ({
    values: await prepareEarlier(context, earlier as unknown as ConnectionRow, stored as ConnectionRow | null),
    compiled: null,
  }),
  remove: removeConnection,
  read: async (context, id) => connectionHandlers['connections.get'](context, { id }),
};

/** The nouns in the order in which they are written: what others refer to comes first. */
export const KINDS: readonly Kind[] = [
  connection,
  owned('tool', 'tools', ToolDraft, tools, prepareTool, prepareToolChange, toolHandlers['tools.get']),
  owned(
    'resource',
    'resources',
    ResourceDraft,
    resources,
    prepareResource,
    prepareResourceChange,
    resourceHandlers['resources.get'],
  ),
  owned('prompt', 'prompts', PromptDraft, prompts, preparePrompt, preparePromptChange, promptHandlers['prompts.get']),
];

const settings: Undoable = {
  entity_type: 'server_config',
  noun: {
    async get({ app }, _, tx) {
      const stored = await readSettings(app, tx ?? app.store.db);
      return { id: CONFIG_ID, name: stored.settings.server_name, version: stored.version, created_at: '' };
    },
    async restore(context, tx, earlier, expected, values) {
      await restoreSettings(context, tx, expected ?? 1, values as unknown as Settings);
      return earlier;
    },
  },
  prepareEarlier: async (context, earlier) => ({
    values: { ...(await prepareEarlierSettings(context, earlier)) },
    compiled: null,
  }),
  // Its entries are changes only.
  remove: () => Promise.reject(new AppError('invalid', 'The server configuration cannot be deleted.')),
  read: async (context) => configHandlers['config.get'](context, {}),
};

/** Everything that a rollback restores, in the order of writing. */
export const UNDOABLE: readonly Undoable[] = [...KINDS, settings];

type OwnedName = 'tools' | 'resources' | 'prompts';

function owned<T extends OwnedName>(
  entity_type: 'tool' | 'resource' | 'prompt',
  plural: T,
  draft: Kind['draft'],
  noun: Noun<T>,
  check: (context: Context, draft: never) => Promise<Prepared | Values>,
  checkChange: (context: Context, draft: never, stored: never) => Promise<Prepared | Values>,
  read: (context: Context, input: { id: string }) => Promise<Record<string, unknown>> | Record<string, unknown>,
): Kind {
  const prepare = async (context: Context, values: Values, stored: Stored | null): Promise<Prepared> => {
    const checked = await (stored === null
      ? check(context, values as never)
      : checkChange(context, values as never, stored as never));
    return 'compiled' in checked ? (checked as Prepared) : { values: checked, compiled: null };
  };
  return {
    entity_type,
    plural,
    draft,
    noun,
    prepare: (context, _, values, stored) => prepare(context, values, stored),
    prepareEarlier: (context, earlier, stored) => prepare(context, toDraft(earlier), stored),
    remove: (context, tx, id) => noun.remove(context, tx, id),
    read: async (context, id) => read(context, { id }),
  };
}
