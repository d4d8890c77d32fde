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

/** Whose view it is: what a caller may see, and the address that it came to. */
export interface Viewer {
  /** As they are now. */
  rights: Rights;
  readonly endpoint: Endpoint;
  /** Decides the side of a canary: the credential, else the session, else the address. Absent: nothing of it depends on one. */
  readonly key?: string;
}

/**
 * What callers see of a registry, as registries of their own: what is hidden is not in them, so no method can tell it from what
 * was never there. Made once for equal rights at one endpoint.
 */
export interface Views {
  /** Null: for this caller there is nothing at this endpoint, whether or not there is for others. */
  of(registry: Registry, viewer: Viewer): Registry | null;
}

/** Definitions in all views that are kept, whose lists take some 500 bytes each; those not used for longest go. */
const CAPACITY = 200_000;
/** What a view takes beside its definitions. */
const OWN_SIZE = 50;

export function createViews(capacity = CAPACITY): Views {
  const of_registry = new WeakMap<Registry, (viewer: Viewer) => Registry | null>();
  return {
    of(registry, viewer) {
      // Nearly everybody: nothing is looked up.
      if (viewer.rights.toolsets === null && viewer.endpoint.path === '') return registry;
      let views = of_registry.get(registry);
      if (views === undefined) of_registry.set(registry, (views = createViewsOf(registry, capacity)));
      return views(viewer);
    },
  };
}

function createViewsOf(registry: Registry, capacity: number): (viewer: Viewer) => Registry | null {
  /** In order of last use. */
  const kept = new Map<string, Registry>();
  let size = 0;
  const rules = new Map<FrozenToolset, Holds>();
  const tags = new WeakMap<Registry, ReadonlySet<string>>();

  const ruleOf = (toolset: FrozenToolset): Holds => {
    const known = rules.get(toolset) ?? holdsOf(toolset);
    rules.set(toolset, known);
    return known;
  };
  const remember = (key: string, make: () => Registry): Registry => {
    const known = kept.get(key);
    if (known !== undefined) {
      kept.delete(key);
      kept.set(key, known);
      return known;
    }
    const view = make();
    kept.set(key, view);
    size += sizeOf(view);
    for (const [oldest, old] of kept) {
      if (size <= capacity || old === view) break;
      kept.delete(oldest);
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
  // `/tag` is no address: one name for all that have nothing.
  const nothing = () =>
    remember('nothing', () => restricted(registry, 'nothing', () => false, { path: '/tag', is_same_for_all: false }));

  /** Everything that these rights give. */
  const whole = ({ key, toolsets }: Rights): Registry => {
    if (toolsets === null) return registry;
    return remember(key, () => {
      const held = toolsets.flatMap((name) => registry.toolsets.get(name) ?? []).map(ruleOf);
      const holds = (definition: Selectable) => held.some((one) => one(definition));
      return restricted(registry, key, holds, { path: '', is_same_for_all: false });
    });
  };
  return ({ rights, endpoint: { path, toolset, tag, read_only, candidate } }) => {
    // Its token decides who sees it, whoever may see the live version.
    if (candidate !== null) {
      const part = { path, is_same_for_all: false };
      return remember(path, () =>
        read_only ? restricted(registry, path, ({ reads }) => reads, part) : presented(registry, part),
      );
    }
    if (toolset !== null) {
      // Whether there is one is looked up only for those who may see it.
      const is_mine = rights.toolsets === null || rights.toolsets.includes(toolset);
      const shown = is_mine ? registry.toolsets.get(toolset) : undefined;
      if (shown === undefined) return null;
      // Whoever has it sees the same of it.
      return remember(path, () => restricted(registry, path, ruleOf(shown), { path, is_same_for_all: true, shown }));
    }
    const mine = whole(rights);
    if (path === '') return mine;
    // A tag that nothing bears and one that only hidden things bear are the same; neither takes up room.
    if (tag !== null && !tagsIn(mine).has(tag)) return nothing();
    const key = `${path} ${rights.key}`;
    const seen: Holds = tag === null ? ({ reads }) => reads : ({ tags: own }) => own.includes(tag);
    const part = { path, is_same_for_all: rights.toolsets === null };
    return read_only || tag !== null ? remember(key, () => restricted(mine, key, seen, part)) : mine;
  };
}

/**
 * Tells whether a swap can have changed what a viewer sees. What toolsets hold is not worked out for it: only what is new or gone is
 * looked at.
 */
export function createTouch(before: Registry, after: Registry): (viewer: Viewer) => boolean {
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

/** @param key names what is seen: a cursor leads on only there. */
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

/** What decides whether a toolset holds it; null for what toolsets do not hold. */
function selectable({ kind }: Leaf, { made }: Loaded): Selectable | null {
  if (kind === 'tool') return ofTool((made as ToolEntry).entity);
  if (kind === 'resource') return ofResource((made as ResourceEntry).entity);
  return kind === 'prompt' ? ofPrompt((made as PromptPlan).entity) : null;
}

const sizeOf = ({ loaded }: Registry): number => loaded.size + OWN_SIZE;
