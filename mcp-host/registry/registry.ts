import { matchUri, normalUri, typedValues, type UriTemplate } from '#core/lib/uri-template.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import type { FrozenConnection, FrozenTool, FrozenResource, FrozenServer, FrozenToolset } from '#snapshots/format/format.ts';
import type { QueryPlan } from '#core/query/query.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import type { Json } from '#core/lib/sql/result.ts';
import type { PromptPlan } from './prompt-plan.ts';
import type { ListMethod, RenderedList } from '#mcp-host/protocol/lists.ts';

/** Result members that depend on the snapshot alone, rendered once. */
export interface RenderedParts {
  /** Name and version of the product. `server_card` adds the title and icon that clients show. */
  readonly server_info: string;
  readonly server_card: string;
  /** The member of `_meta` that names the snapshot. */
  readonly snapshot: string;
  /** First members of every 2026-07-28 result. */
  readonly modern: string;
  /** First members of a result that requests input first. */
  readonly input_required: string;
  /** Cacheable results may be cached for all callers of the address. */
  readonly is_public: boolean;
}

interface Bound<E> {
  readonly entity: E;
  readonly plan: QueryPlan;
  readonly connection: FrozenConnection;
}

export type ToolEntry = Bound<FrozenTool>;

export interface ResourceEntry extends Bound<FrozenResource> {
  readonly template: UriTemplate;
}

/**
 * The definitions of one snapshot, immutable: a swap replaces the whole registry, and a call uses the one that it began with. A
 * caller's view is a registry too (`views.ts`): definitions that are not in it do not exist for the caller.
 */
export interface Registry {
  readonly snapshot_version: number;
  readonly checksum: string;
  readonly server: FrozenServer;
  readonly connections: readonly FrozenConnection[];
  readonly vars: Readonly<Record<string, Json>>;
  readonly tools: ReadonlyMap<string, ToolEntry>;
  /** Resources without variables, by URI in normal form. */
  readonly resources: ReadonlyMap<string, ResourceEntry>;
  /** Templates with more literal text come first, so that the narrower of two matches. */
  readonly templates: readonly ResourceEntry[];
  readonly prompts: ReadonlyMap<string, PromptPlan>;
  /** Every deployed toolset, even ones that this caller may not see; callers never read this list. */
  readonly toolsets: ReadonlyMap<string, FrozenToolset>;
  /** The administrator's instructions for models; null: a text is generated from the definitions. */
  readonly instructions: string | null;
  /** Null: no skill is offered. */
  readonly skill: SkillSource | null;
  /** Offers the tool that finds tools. */
  readonly finds_tools: boolean;
  /** The toolsets with `files` through which its callers have their definitions. */
  readonly file_toolsets: readonly FrozenToolset[];
  readonly lists: Readonly<Record<ListMethod, RenderedList>>;
  /** Names the snapshot and the view in cursors. */
  readonly snapshot_id: string;
  readonly pieces: RenderedParts;
  /** When the registry was first served, in milliseconds since 1970. */
  readonly since: number;
  /** While a canary runs, the side on which its calls are counted. */
  readonly side: CallSide | null;
  /** The loaded entry of each leaf. The next tree has the same leaf objects, except for changed ones. */
  readonly loaded: ReadonlyMap<Leaf, Loaded>;
}

/** A side of a canary. */
export interface CallSide {
  readonly id: string;
  readonly side: 'live' | 'canary';
}

/** The loaded entry of one leaf, with its item in the lists. */
export interface Loaded {
  readonly made: FrozenServer | FrozenConnection | ToolEntry | ResourceEntry | PromptPlan | FrozenToolset;
  readonly item: string;
}

export type ListKind = 'tools' | 'resources' | 'prompts';

export const LIST_KINDS: readonly ListKind[] = ['tools', 'resources', 'prompts'];

/** The source of a skill: the server, or a separately served toolset. */
export interface SkillSource {
  readonly name: string;
  readonly title: string;
  /** The administrator's text. */
  readonly text: string;
}

/** Returns the toolsets of the served registry; the same array until the registry changes. */
export function toolsetsOf(held: () => Registry | null): () => readonly FrozenToolset[] {
  let of: Registry | null = null;
  let list: readonly FrozenToolset[] = [];
  return () => {
    const registry = held();
    if (registry !== of) list = [...(registry?.toolsets.values() ?? [])];
    of = registry;
    return list;
  };
}

export function findResource(
  { resources, templates }: Registry,
  uri: string,
): { resource: ResourceEntry; values: Members } | null {
  const address = normalUri(uri);
  const resource = resources.get(address);
  if (resource !== undefined) return { resource, values: {} };
  for (const candidate of templates) {
    const values = matchUri(candidate.template, address);
    if (values !== null) return { resource: candidate, values: typedValues(values, candidate.entity.parameters) };
  }
  return null;
}
