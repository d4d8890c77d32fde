import type { Rights } from '#mcp-host/auth/rights.ts';
import type { Endpoint } from '#core/edge/mcp-endpoint.ts';
import type { PromptPlan } from './prompt-plan.ts';
import { quickHash } from '#mcp-host/runtime/runtime.ts';
import type { FrozenToolset } from '#snapshots/format/format.ts';
import { type Holds, holdsOf, ofPrompt, ofResource, ofTool, type Selectable } from '#snapshots/format/toolsets.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { assemble } from './load-registry.ts';
import type { Loaded, Registry, ResourceEntry, ToolEntry } from './registry.ts';
import { type Presentation, presented } from './presentation.ts';

/** The caller's rights and the endpoint, on which a view depends. */
export interface Viewer {
  /** The current rights. */
  rights: Rights;
  readonly endpoint: Endpoint;
  /** Decides the side of a canary: the credential, else the session, else the address. Absent: the side does not matter. */
  readonly key?: string;
}

/**
 * The views that callers have of a registry. A view is a registry without the hidden definitions, so to every method these do not
 * exist. Callers with equal rights at one endpoint share a view.
 */
export interface Views {
  /** The view of a caller; null: the endpoint has nothing for this caller, even if it has something for others. */
  of(registry: Registry, viewer: Viewer): Registry | null;
}

/**
 * Most definitions in all cached views; each takes some 500 bytes in lists. Beyond that, the longest unused views are dropped.
 */
const CAPACITY = 200_000;
/** Size of a view without its definitions, in definitions. */
const BASE_SIZE = 50;

export function createViews(capacity = CAPACITY): Views {
  const of_registry = new WeakMap<Registry, (viewer: Viewer) => Registry | null>();
  return {
    of(registry, viewer) {
      // Nearly all callers need no lookup.
      if (viewer.rights.toolsets === null && viewer.endpoint.path === '') return registry;
      let views = of_registry.get(registry);
      if (views === undefined) of_registry.set(registry, (views = createViewsOf(registry, capacity)));
      return views(viewer);
    },
  };
}

function createViewsOf(registry: Registry, capacity: number): (viewer: Viewer) => Registry | null {
  /** In order of last use, oldest first. */
  const entries_by_key = new Map<string, Registry>();
  let size = 0;
  const rules = new Map<FrozenToolset, Holds>();
  const tags = new WeakMap<Registry, ReadonlySet<string>>();

  const ruleOf = (toolset: FrozenToolset): Holds => {
    const known = rules.get(toolset) ?? holdsOf(toolset);
    rules.set(toolset, known);
    return known;
  };
  const remember = (key: string, make: () => Registry): Registry => {
    const known = entries_by_key.get(key);
    if (known !== undefined) {
      entries_by_key.delete(key);
      entries_by_key.set(key, known);
      return known;
    }
    const view = make();
    entries_by_key.set(key, view);
    size += sizeOf(view);
    for (const [oldest, old] of entries_by_key) {
      if (size <= capacity || old === view) break;
      entries_by_key.delete(oldest);
      size -= sizeOf(old);
    }
    return view;
  };
  const tagsIn = (view: Registry): ReadonlySet<string> => {
    const known = tags.get(view);
    if (known !== undefined) return known;
    const found = new Set([...view.loaded].flatMap(([leaf, one]) => selectable(leaf, one)?.tags ?? []));
    tags.set(view, found);
    return found;
  };
  // All empty views share one entry; `/tag` is not a valid endpoint.
  const nothing = () =>
    remember('nothing', () => restricted(registry, 'nothing', () => false, { path: '/tag', is_same_for_all: false }));

  /** The view of all definitions that these rights allow. */
  const whole = ({ key, toolsets }: Rights): Registry => {
    if (toolsets === null) return registry;
    return remember(key, () => {
      const mine = toolsets.flatMap((name) => registry.toolsets.get(name) ?? []);
      const held = mine.map(ruleOf);
      const finds_tools = mine.some(({ find_tools }) => find_tools === true);
      const holds = (definition: Selectable) => held.some((one) => one(definition));
      const file_toolsets = mine.filter(({ files }) => files === true);
      return restricted(registry, key, holds, { path: '', is_same_for_all: false, finds_tools, file_toolsets });
    });
  };
  return ({ rights, endpoint: { path, toolset, tag, read_only, candidate } }) => {
    // A candidate's token decides who sees it, not the rights in the live version.
    if (candidate !== null) {
      const part = { path, is_same_for_all: false };
      return remember(path, () =>
        read_only ? restricted(registry, path, ({ reads }) => reads, part) : presented(registry, part),
      );
    }
    if (toolset !== null) {
      // The toolset is looked up only if the caller may see it, so that its existence does not leak.
      const is_mine = rights.toolsets === null || rights.toolsets.includes(toolset);
      const shown = is_mine ? registry.toolsets.get(toolset) : undefined;
      if (shown === undefined) return null;
      // All callers with the toolset see the same.
      return remember(path, () => restricted(registry, path, ruleOf(shown), { path, is_same_for_all: true, shown }));
    }
    const mine = whole(rights);
    if (path === '') return mine;
    // An unused tag gives the same view as a tag of hidden definitions only, and uses no extra memory.
    if (tag !== null && !tagsIn(mine).has(tag)) return nothing();
    const key = `${path} ${rights.key}`;
    const seen: Holds = tag === null ? ({ reads }) => reads : ({ tags: assigned }) => assigned.includes(tag);
    const { finds_tools, file_toolsets } = mine;
    const part = { path, is_same_for_all: rights.toolsets === null, finds_tools, file_toolsets };
    return read_only || tag !== null ? remember(key, () => restricted(mine, key, seen, part)) : mine;
  };
}

/**
 * Whether a swap may have changed a viewer's view. Only added and removed definitions are checked, without computing the contents
 * of toolsets.
 */
export function createAffectsView(before: Registry, after: Registry): (viewer: Viewer) => boolean {
  let found: { readonly definitions: readonly Selectable[]; readonly toolsets: ReadonlySet<string> } | null = null;
  const look = () => {
    const definitions: Selectable[] = [];
    const toolsets = new Set<string>();
    const note = (from: Registry, to: Registry) => {
      for (const [leaf, one] of from.loaded) {
        if (to.loaded.get(leaf) === one) continue;
        const definition = selectable(leaf, one);
        if (definition !== null) definitions.push(definition);
        else if (leaf.kind === 'toolset') toolsets.add(leaf.name);
      }
    };
    note(before, after);
    note(after, before);
    return { definitions, toolsets };
  };
  return ({ rights, endpoint }) => {
    const names = endpoint.toolset === null ? rights.toolsets : [endpoint.toolset];
    if (names === null || before.vars !== after.vars) return true;
    found ??= look();
    const { definitions, toolsets } = found;
    if (names.some((name) => toolsets.has(name))) return true;
    const held = names.flatMap((name) => after.toolsets.get(name) ?? []).map(holdsOf);
    return definitions.some((definition) => held.some((holds) => holds(definition)));
  };
}

/** @param key names the view in cursors, because a cursor is valid only in its view. */
function restricted(from: Registry, key: string, holds: Holds, part: Presentation): Registry {
  const loaded = new Map<Leaf, Loaded>();
  for (const [leaf, one] of from.loaded) {
    const definition = selectable(leaf, one);
    if (definition === null ? leaf.kind !== 'toolset' : holds(definition)) loaded.set(leaf, one);
  }
  const { snapshot_version, checksum, since, snapshot_id, side } = from;
  const seen = quickHash(key).toString(36);
  return assemble({ snapshot_version, checksum, since, side, loaded, snapshot_id: `${snapshot_id}-${seen}` }, null, part);
}

/** The facts by which toolsets select a definition; null: toolsets do not contain this kind. */
function selectable({ kind }: Leaf, { made }: Loaded): Selectable | null {
  if (kind === 'tool') return ofTool((made as ToolEntry).entity);
  if (kind === 'resource') return ofResource((made as ResourceEntry).entity);
  return kind === 'prompt' ? ofPrompt((made as PromptPlan).entity) : null;
}

const sizeOf = ({ loaded }: Registry): number => loaded.size + BASE_SIZE;
