import { ConnectionDraft } from './definitions/connections.ts';
import { PromptDraft } from './definitions/prompts.ts';
import { ResourceDraft } from './definitions/resources.ts';
import { ToolDraft } from './definitions/tools.ts';
import { TestDraft } from './definitions/tests.ts';
import { MOST_TOOLSETS, ToolsetDraft } from './definitions/toolsets.ts';

/** What a snapshot is made of, in the order in which it is listed. */
export const LEAF_KINDS = ['server', 'connection', 'tool', 'resource', 'prompt', 'toolset'] as const;

export type LeafKind = (typeof LEAF_KINDS)[number];

/**
 * What people write, by the name of one, in the order of writing: what others refer to comes first. Handlers, history, export,
 * import, names and counts follow from here; what a noun has of its own stands in `core/definitions/<nouns>.ts`.
 */
export const ENTITIES = {
  connection: { plural: 'connections', draft: ConnectionDraft, owner: null, most_imported: 1_000 },
  // A snapshot holds as many tools (contract section 13).
  tool: { plural: 'tools', draft: ToolDraft, owner: 'connection', most_imported: 10_000 },
  resource: { plural: 'resources', draft: ResourceDraft, owner: 'connection', most_imported: 10_000 },
  prompt: { plural: 'prompts', draft: PromptDraft, owner: 'connection', most_imported: 10_000 },
  toolset: { plural: 'toolsets', draft: ToolsetDraft, owner: null, most_imported: MOST_TOOLSETS },
  // Never frozen: a deploy runs them.
  test: { plural: 'tests', draft: TestDraft, owner: null, most_imported: 10_000 },
} as const;

export type EntityKind = keyof typeof ENTITIES;

export type Plural<K extends EntityKind = EntityKind> = (typeof ENTITIES)[K]['plural'];

/** What belongs to a connection. */
export type OwnedKind = { [K in EntityKind]: (typeof ENTITIES)[K]['owner'] extends null ? never : K }[EntityKind];

/** What a snapshot holds. */
export type FrozenKind = Exclude<EntityKind, 'test'>;

/** What is frozen one by one: everything but what others are frozen with. */
export type DefinitionKind = Exclude<FrozenKind, 'connection'>;

export const ENTITY_KINDS = Object.keys(ENTITIES) as readonly EntityKind[];

export const isOwned = (kind: EntityKind): kind is OwnedKind => ENTITIES[kind].owner !== null;

export const OWNED_KINDS: readonly OwnedKind[] = ENTITY_KINDS.filter(isOwned);

/** What is deleted with something else: what belongs to a connection, and the tests of a definition. */
export const CASCADED_KINDS: readonly (OwnedKind | 'test')[] = [...OWNED_KINDS, 'test'];

export const FROZEN_KINDS = ENTITY_KINDS.filter((kind): kind is FrozenKind => kind !== 'test');

export const DEFINITION_KINDS: readonly DefinitionKind[] = FROZEN_KINDS.filter((kind) => kind !== 'connection');

/** Everything that a deploy serves, the settings of the server included. */
export const SERVED = [...FROZEN_KINDS, 'server_config'] as const;

/** Everything that is configured, the settings of the server included. */
export const CONFIGURED = [...ENTITY_KINDS, 'server_config'] as const;

/** How a sentence about one of them begins: `Tool search`. */
export const subjectOf = (kind: (typeof CONFIGURED)[number], name: string): string => {
  const noun = kind === 'server_config' ? 'settings' : kind;
  return `${noun.charAt(0).toUpperCase()}${noun.slice(1)}${name === '' ? '' : ` ${name}`}`;
};

export const kindOf = (plural: string): EntityKind | undefined => ENTITY_KINDS.find((kind) => ENTITIES[kind].plural === plural);

/** One value a noun, under its plural. */
export const byPlural = <K extends EntityKind, T>(kinds: readonly K[], make: (kind: K) => T) =>
  Object.fromEntries(kinds.map((kind) => [ENTITIES[kind].plural, make(kind)])) as { [P in Plural<K>]: T };
