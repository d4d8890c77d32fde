import type { OwnedKind } from '#core/contract/entities.ts';
import type { Selection } from '#core/contract/definitions/toolsets.ts';
import type { FrozenPrompt, FrozenResource, FrozenTool, FrozenToolset, Snapshot } from './format.ts';

/** The fields of a definition that decide which toolsets hold it. */
export interface Selectable {
  readonly kind: OwnedKind;
  readonly id: string;
  readonly connection_id: string | null;
  readonly tags: readonly string[];
  /** Changes no data. */
  readonly reads: boolean;
}

/** The fields of a toolset that decide which definitions it holds. */
export interface SelectionRule {
  readonly include: Selection;
  readonly exclude: Selection;
  readonly read_only: boolean;
}

/** Whether a toolset holds a definition. */
export type Holds = (definition: Selectable) => boolean;

export function holdsOf({ include, exclude, read_only }: SelectionRule): Holds {
  const [included, excluded] = [matcherOf(include), matcherOf(exclude)];
  return (definition) => included(definition) && !excluded(definition) && (!read_only || definition.reads);
}

function matcherOf({ tags, connection_ids, tool_ids, resource_ids, prompt_ids }: Selection): Holds {
  const [tagged, owned] = [new Set(tags), new Set(connection_ids)];
  const named = { tool: new Set(tool_ids), resource: new Set(resource_ids), prompt: new Set(prompt_ids) };
  return (definition) =>
    named[definition.kind].has(definition.id) ||
    (definition.connection_id !== null && owned.has(definition.connection_id)) ||
    (tagged.size > 0 && definition.tags.some((tag) => tagged.has(tag)));
}

export const ofTool = ({ id, connection_id, tags, mode }: FrozenTool): Selectable => ({
  kind: 'tool',
  id,
  connection_id,
  tags,
  reads: mode !== 'write',
});
export const ofResource = ({ id, connection_id, tags = [] }: FrozenResource): Selectable => ({
  kind: 'resource',
  id,
  connection_id,
  tags,
  reads: true,
});
export const ofPrompt = ({ id, connection_id, tags = [] }: FrozenPrompt): Selectable => ({
  kind: 'prompt',
  id,
  connection_id: connection_id ?? null,
  tags,
  reads: true,
});

/** Whether a person with these groups has a toolset. A toolset without groups is for everyone who signs in. */
export const isOpenTo = ({ groups }: { readonly groups: readonly string[] }, caller_groups: readonly string[]): boolean =>
  groups.length === 0 || groups.some((group) => caller_groups.includes(group));

/** The toolsets of a signed-in person with these groups. Null: there are no toolsets at all, so the person has everything. */
export const toolsetsOfPerson = <T extends { readonly groups: readonly string[] }>(
  toolsets: readonly T[],
  groups: readonly string[],
): readonly T[] | null => (toolsets.length === 0 ? null : toolsets.filter((toolset) => isOpenTo(toolset, groups)));

/** Whether any of the toolsets holds a definition. @param rules null: everything is held. */
export function heldByAny(rules: readonly SelectionRule[] | null): Holds {
  if (rules === null) return () => true;
  const each = rules.map(holdsOf);
  return (definition) => each.some((holds) => holds(definition));
}

/** A stored toolset. */
export interface ToolsetDefinition extends FrozenToolset {
  readonly enabled: boolean;
  readonly version: number;
}

/** Freezes the rule and not the members, so a changed definition does not change any toolset. */
export const freezeToolset = (toolset: ToolsetDefinition): FrozenToolset => ({
  id: toolset.id,
  name: toolset.name,
  title: toolset.title,
  description: toolset.description,
  instructions: toolset.instructions,
  include: toolset.include,
  exclude: toolset.exclude,
  read_only: toolset.read_only,
  groups: toolset.groups,
  ...(toolset.token_budget === null || toolset.token_budget === undefined ? {} : { token_budget: toolset.token_budget }),
  ...(toolset.find_tools === true ? { find_tools: true } : {}),
  ...(toolset.files === true ? { files: true } : {}),
});

/** A snapshot reduced to one toolset with its members and texts; null if the toolset does not exist. */
export function onlyToolset(snapshot: Snapshot, name: string): Snapshot | null {
  const { content } = snapshot;
  const toolset = content.toolsets.find((candidate) => candidate.name === name);
  if (toolset === undefined) return null;
  const holds = holdsOf(toolset);
  const tools = content.tools.filter((tool) => holds(ofTool(tool)));
  const resources = content.resources.filter((resource) => holds(ofResource(resource)));
  const prompts = content.prompts.filter((prompt) => holds(ofPrompt(prompt)));
  const { instructions: _, ...rest } = content.server;
  const server = toolset.instructions === null ? rest : { ...rest, instructions: toolset.instructions };
  return { ...snapshot, content: { ...content, server, tools, resources, prompts } };
}
