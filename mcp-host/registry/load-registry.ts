import type {
  Snapshot,
  FrozenConnection,
  FrozenServer,
  FrozenToolset,
  FrozenPrompt,
  FrozenResource,
  FrozenTool,
} from '#snapshots/format/format.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import { AppError } from '#core/errors.ts';
import { LIST_METHODS, type ListMethod, type RenderedList, renderList } from '#mcp-host/protocol/lists.ts';
import type { Registry, Loaded, ToolEntry, ResourceEntry, SkillSource } from './registry.ts';
import { type Presentation, renderPieces } from './presentation.ts';
import type { LeafKind } from '#core/contract/entities.ts';
import { type PromptPlan, compilePrompt } from './prompt-plan.ts';
import { skillItem, skillName } from './skill.ts';
import { literalLength, normalUri, parseUriTemplate } from '#core/lib/uri-template.ts';
import { dialectNamed } from '#core/engines/index.ts';
import { planQuery } from '#core/query/query.ts';
import { FIND_TOOLS, FIND_TOOLS_ITEM } from '#snapshots/format/find-tools-item.ts';
import { toolItem } from './tool-item.ts';

const SLICE = 200;

/** A snapshot to load. `textOf` returns the canonical text of a hash; it is not called for leaves of the previous registry. */
export interface Loadable extends Omit<Snapshot, 'content'> {
  readonly leaves: readonly Leaf[];
  readonly textOf: (hash: string) => string | undefined;
}

/**
 * Builds a registry beside the running one, in slices that let other work run; unchanged definitions are reused from `before`.
 * Throws when the snapshot is incomplete.
 * @param view_uri address of the page that draws results; the same for every registry of a host.
 */
export async function loadRegistry(
  { version, checksum, leaves, textOf }: Loadable,
  before: Registry | null = null,
  now = Date.now(),
  view_uri: string | null = null,
): Promise<Registry> {
  const loaded = new Map<Leaf, Loaded>();
  const by_id = new Map<string, FrozenConnection>();
  const connectionOf = ({ connection_id, name }: FrozenQuery & { readonly name: string }): FrozenConnection => {
    const connection = by_id.get(connection_id);
    if (connection !== undefined) return connection;
    throw new AppError('cannot_deploy', `The snapshot does not contain the connection of ${name}.`);
  };
  const parsed = ({ kind, name, hash }: Leaf): never => {
    const text = textOf(hash);
    if (text === undefined) throw new AppError('cannot_deploy', `The snapshot lacks the text of the ${kind} ${name}.`);
    return JSON.parse(text) as never;
  };
  /**
   * Reuses the entry of the same leaf object. A leaf that the server sent again is another object, because its secrets may be
   * sealed with another key.
   */
  const reused = (leaf: Leaf): Loaded | undefined => {
    const known = before?.loaded.get(leaf);
    if (known === undefined) return undefined;
    const { made: entry } = known;
    return 'connection' in entry && by_id.get(entry.connection.id) !== entry.connection ? rebound(known, connectionOf) : known;
  };
  let slice = 0;
  for (const leaf of leaves) {
    let one = reused(leaf);
    if (one === undefined) {
      if (++slice % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
      one = LOADERS[leaf.kind](parsed(leaf), connectionOf, view_uri);
    }
    loaded.set(leaf, one);
    if (leaf.kind === 'connection') by_id.set((one.made as FrozenConnection).id, one.made as FrozenConnection);
  }
  const snapshot_id = `${version}-${checksum.slice(-8)}`;
  const registry = assemble({ snapshot_version: version, checksum, loaded, snapshot_id, since: now, side: null }, before);
  // Renders the lists now, so that the first request does not wait for them.
  for (const method of LIST_METHODS) void registry.lists[method];
  return registry;
}

/** `loadRegistry` with the arguments that are the same for every registry of a host. */
export type LoadRegistry = (snapshot: Loadable, before: Registry | null) => Promise<Registry>;

type Head = Pick<Registry, 'snapshot_version' | 'checksum' | 'loaded' | 'snapshot_id' | 'since' | 'side'>;

const EVERYTHING: Presentation = { path: '', is_same_for_all: true };

/**
 * Creates a registry from loaded leaves. Its lists are rendered when they are first read.
 * @param before the previous registry for the same callers.
 */
export function assemble(head: Head, before: Registry | null, part: Presentation = EVERYTHING): Registry {
  const { shown = null } = part;
  const of_kind: Record<LeafKind, Loaded[]> = { server: [], connection: [], tool: [], resource: [], prompt: [], toolset: [] };
  for (const [{ kind }, one] of head.loaded) of_kind[kind].push(one);
  const settings = of_kind.server[0]?.made as FrozenServer | undefined;
  if (settings === undefined) throw new AppError('cannot_deploy', 'The snapshot has no server configuration.');
  const tools = of_kind.tool.map(({ made }) => made as ToolEntry);
  const prompts = of_kind.prompt.map(({ made }) => made as PromptPlan);
  const toolsets = of_kind.toolset.map(({ made }) => made as FrozenToolset);
  const [fixed, variable] = [of_kind.resource.filter(isFixed), of_kind.resource.filter((one) => !isFixed(one))];
  const listed: Readonly<Record<ListMethod, readonly Loaded[]>> = {
    'tools/list': of_kind.tool,
    'resources/list': fixed,
    'resources/templates/list': variable,
    'prompts/list': of_kind.prompt,
  };
  const skill = skillSource(settings, shown);
  const is_deployed = tools.some(({ entity }) => entity.name === FIND_TOOLS);
  const finds_tools = !is_deployed && (part.finds_tools ?? shown?.find_tools === true);
  const further: Further = { skills: () => (skill === null ? [] : [skillItem(registry, skill)]), finds_tools };
  const file_toolsets = part.file_toolsets ?? (shown === null ? toolsets : [shown]).filter(({ files }) => files === true);
  const registry: Registry = {
    ...head,
    server: settings,
    connections: of_kind.connection.map(({ made }) => made as FrozenConnection),
    vars: settings.global_variables,
    tools: byName(tools),
    resources: new Map(fixed.map(({ made }) => [normalUri((made as ResourceEntry).template.text), made as ResourceEntry])),
    templates: variable
      .map(({ made }) => made as ResourceEntry)
      .sort((a, b) => literalLength(b.template) - literalLength(a.template)),
    prompts: byName(prompts),
    toolsets: new Map(toolsets.map((toolset) => [toolset.name, toolset])),
    instructions: (shown === null ? settings.instructions : shown.instructions) ?? null,
    skill,
    finds_tools,
    file_toolsets,
    lists: lazyLists(listed, further, head.snapshot_id, before),
    pieces: renderPieces(settings, head.snapshot_version, part),
  };
  return registry;
}

function byName<E extends { readonly entity: { readonly name: string } }>(entries: readonly E[]): Map<string, E> {
  const found = new Map<string, E>();
  for (const entry of entries) found.set(entry.entity.name, entry);
  return found;
}

/** The skill of a toolset with a separate address has the toolset's instructions, and mentions no other definitions. */
function skillSource({ server_name, skill }: FrozenServer, shown: FrozenToolset | null): SkillSource | null {
  if (skill === undefined) return null;
  if (shown === null) return { name: skillName(server_name), title: server_name, text: skill };
  return { name: skillName(server_name, shown.name), title: shown.title ?? shown.name, text: shown.instructions ?? '' };
}

const isFixed = ({ made }: Loaded): boolean => (made as ResourceEntry).template.variables.length === 0;

/** Items of lists that no leaf of the snapshot has. */
interface Further {
  readonly skills: () => readonly string[];
  readonly finds_tools: boolean;
}

function lazyLists(
  listed: Readonly<Record<ListMethod, readonly Loaded[]>>,
  { skills, finds_tools }: Further,
  snapshot_id: string,
  before: Registry | null,
): Registry['lists'] {
  const rendered: Partial<Record<ListMethod, RenderedList>> = {};
  // Set to null after the last list is rendered, to free the previous registry.
  let last = before;
  const render = (method: ListMethod): RenderedList => {
    const known = rendered[method];
    if (known !== undefined) return known;
    const items = listed[method].map(({ item }) => item);
    if (method === 'resources/list') items.push(...skills());
    if (method === 'tools/list' && finds_tools) items.push(FIND_TOOLS_ITEM);
    const list = (rendered[method] = renderList(method, items, snapshot_id, last?.lists[method]));
    if (LIST_METHODS.every((each) => rendered[each] !== undefined)) last = null;
    return list;
  };
  return {
    get 'tools/list'() {
      return render('tools/list');
    },
    get 'resources/list'() {
      return render('resources/list');
    },
    get 'resources/templates/list'() {
      return render('resources/templates/list');
    },
    get 'prompts/list'() {
      return render('prompts/list');
    },
  };
}

type ConnectionOf = (query: FrozenQuery & { readonly name: string }) => FrozenConnection;

const itemOf = ({ listing }: { readonly listing: object }): string => JSON.stringify(listing);

const LOADERS: Readonly<Record<LeafKind, (frozen: never, connectionOf: ConnectionOf, view_uri: string | null) => Loaded>> = {
  server: (server: FrozenServer) => ({ made: server, item: '' }),
  connection: (connection: FrozenConnection) => ({ made: connection, item: '' }),
  tool: (entity: FrozenTool, connectionOf, view_uri) => ({
    made: { entity, connection: connectionOf(entity), plan: planQuery(entity, dialectNamed(entity.statement.dialect)) },
    item: JSON.stringify(toolItem(entity, view_uri)),
  }),
  resource: (entity: FrozenResource, connectionOf) => ({
    made: {
      entity,
      connection: connectionOf(entity),
      plan: planQuery(entity, dialectNamed(entity.statement.dialect)),
      template: parseUriTemplate(entity.uri_template),
    },
    item: itemOf(entity),
  }),
  prompt: (entity: FrozenPrompt) => ({ made: compilePrompt(entity), item: itemOf(entity) }),
  toolset: (toolset: FrozenToolset) => ({ made: toolset, item: '' }),
};

/** Returns the same definition with a new connection. */
function rebound(loaded: Loaded, connectionOf: ConnectionOf): Loaded {
  const entry = loaded.made as ToolEntry | ResourceEntry;
  return { ...loaded, made: { ...entry, connection: connectionOf(entry.entity) } };
}
