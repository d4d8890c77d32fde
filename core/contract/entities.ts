import { ConnectionDraft } from './definitions/connections.ts';
import { PromptDraft } from './definitions/prompts.ts';
import { ResourceDraft } from './definitions/resources.ts';
import { ToolDraft } from './definitions/tools.ts';
import { TestDraft } from './definitions/tests.ts';
import { MOST_TOOLSETS, ToolsetDraft } from './definitions/toolsets.ts';

/** Kinds of entities in a snapshot, in listing order. */
export const LEAF_KINDS = ['server', 'connection', 'tool', 'resource', 'prompt', 'toolset'] as const;

export type LeafKind = (typeof LEAF_KINDS)[number];

/**
 * The kinds that people create, each after the kinds it refers to, which is the order of writing. Handlers, history, export,
 * import, names and counts are derived from this list; the code of each kind is in `core/definitions/<nouns>.ts`.
 */
export const ENTITIES = {
  connection: { plural: 'connections', draft: ConnectionDraft, owner: null, most_imported: 1_000 },
  // The maximum number of tools in a snapshot.
  tool: { plural: 'tools', draft: ToolDraft, owner: 'connection', most_imported: 10_000 },
  resource: { plural: 'resources', draft: ResourceDraft, owner: 'connection', most_imported: 10_000 },
  prompt: { plural: 'prompts', draft: PromptDraft, owner: 'connection', most_imported: 10_000 },
  toolset: { plural: 'toolsets', draft: ToolsetDraft, owner: null, most_imported: MOST_TOOLSETS },
  // Not frozen: a deploy runs the tests.
  test: { plural: 'tests', draft: TestDraft, owner: null, most_imported: 10_000 },
} as const;

export type EntityKind = keyof typeof ENTITIES;

export type Plural<K extends EntityKind = EntityKind> = (typeof ENTITIES)[K]['plural'];

/** Kinds that belong to a connection. */
export type OwnedKind = { [K in EntityKind]: (typeof ENTITIES)[K]['owner'] extends null ? never : K }[EntityKind];

/** Kinds in a snapshot. */
export type FrozenKind = Exclude<EntityKind, 'test'>;

/** Kinds that are frozen separately; connections are frozen with their definitions. */
export type DefinitionKind = Exclude<FrozenKind, 'connection'>;

export const ENTITY_KINDS = Object.keys(ENTITIES) as readonly EntityKind[];

export const isOwned = (kind: EntityKind): kind is OwnedKind => ENTITIES[kind].owner !== null;

export const OWNED_KINDS: readonly OwnedKind[] = ENTITY_KINDS.filter(isOwned);

/** Kinds that are deleted with another record: those of a connection, and the tests of a definition. */
export const CASCADED_KINDS: readonly (OwnedKind | 'test')[] = [...OWNED_KINDS, 'test'];

export const FROZEN_KINDS = ENTITY_KINDS.filter((kind): kind is FrozenKind => kind !== 'test');

export const DEFINITION_KINDS: readonly DefinitionKind[] = FROZEN_KINDS.filter((kind) => kind !== 'connection');

/** Kinds that a deploy serves, and the server's settings. */
export const SERVED = [...FROZEN_KINDS, 'server_config'] as const;

/** All configured kinds, and the server's settings. */
export const CONFIGURED = [...ENTITY_KINDS, 'server_config'] as const;

/** Starts a sentence about a record, such as `Tool search`. */
export const subjectOf = (kind: (typeof CONFIGURED)[number], name: string): string => {
  const noun = kind === 'server_config' ? 'settings' : kind;
  return `${noun.charAt(0).toUpperCase()}${noun.slice(1)}${name === '' ? '' : ` ${name}`}`;
};

export const kindOf = (plural: string): EntityKind | undefined => ENTITY_KINDS.find((kind) => ENTITIES[kind].plural === plural);

/** Creates an object with one value per kind, under its plural. */
export const byPlural = <K extends EntityKind, T>(kinds: readonly K[], make: (kind: K) => T) =>
  Object.fromEntries(kinds.map((kind) => [ENTITIES[kind].plural, make(kind)])) as { [P in Plural<K>]: T };
