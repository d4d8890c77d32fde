import type { FrozenConnection, FrozenTool, FrozenResource, FrozenServer, FrozenToolset } from '#snapshots/format/format.ts';
import type { QueryPlan } from '#core/query/query.ts';
import type { UriTemplate } from '#core/lib/uri-template.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import type { Json } from '#core/lib/sql/result.ts';
import type { PromptPlan } from './prompt-plan.ts';
import type { ListMethod, RenderedList } from '#mcp-host/protocol/lists.ts';

/** Result members that depend on the snapshot alone, rendered once. */
export interface RenderedParts {
  /** Name and version of the product, and the same with what clients show. */
  readonly server_info: string;
  readonly server_card: string;
  /** The member of `_meta` that names the snapshot. */
  readonly snapshot: string;
  /** First members of every 2026-07-28 result. */
  readonly modern: string;
  /** The same of one that asks for something first. */
  readonly input_required: string;
  /** Results that hold for a while may be kept for other callers of the address. */
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
 * What one snapshot serves, immutable: a swap replaces it as a whole, a call keeps the one it began with. What a caller may see of it
 * is such a registry too (`views.ts`): what is not in it does not exist for the caller.
 */
export interface Registry {
  readonly snapshot_version: number;
  readonly checksum: string;
  readonly server: FrozenServer;
  readonly connections: readonly FrozenConnection[];
  readonly vars: Readonly<Record<string, Json>>;
  readonly tools: ReadonlyMap<string, ToolEntry>;
  /** By URI in normal form; those without variables. */
  readonly resources: ReadonlyMap<string, ResourceEntry>;
  /** The most literal text first, so that the narrower of two templates is tried first. */
  readonly templates: readonly ResourceEntry[];
  readonly prompts: ReadonlyMap<string, PromptPlan>;
  /** Every deployed toolset, also those of others: nothing that callers read is made of them. */
  readonly toolsets: ReadonlyMap<string, FrozenToolset>;
  /** What an administrator has models told when they connect; null: a text made from the definitions. */
  readonly instructions: string | null;
  /** Null: no skill is offered. */
  readonly skill: SkillSource | null;
  readonly lists: Readonly<Record<ListMethod, RenderedList>>;
  /** Names this snapshot, and what is seen of it, in cursors. */
  readonly snapshot_id: string;
  readonly pieces: RenderedParts;
  /** When it began to serve, in milliseconds since 1970. */
  readonly since: number;
  /** While a canary runs, the side that calls with it are on; they are counted there. */
  readonly side: CallSide | null;
  /** What was made of each leaf: a tree that follows from another has the same leaves, but for those that changed. */
  readonly loaded: ReadonlyMap<Leaf, Loaded>;
}

/** A side of a canary. */
export interface CallSide {
  readonly id: string;
  readonly side: 'live' | 'canary';
}

/** What was made of one leaf, with the item that lists it. */
export interface Loaded {
  readonly made: FrozenServer | FrozenConnection | ToolEntry | ResourceEntry | PromptPlan | FrozenToolset;
  readonly item: string;
}

export type ListKind = 'tools' | 'resources' | 'prompts';

export const LIST_KINDS: readonly ListKind[] = ['tools', 'resources', 'prompts'];

/** Whose it is: the server, or a toolset that is served by itself. */
export interface SkillSource {
  readonly name: string;
  readonly title: string;
  /** What the administrator wrote. */
  readonly text: string;
}

/** The list of the toolsets that are served, made once for each registry. */
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
