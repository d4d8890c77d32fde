import type {
  FrozenConnection,
  FrozenPrompt,
  FrozenQuery,
  FrozenResource,
  FrozenServer,
  FrozenTool,
  Snapshot,
} from '#snapshots/format.ts';
import { keyOf, type Kind, type Leaf } from '#snapshots/tree.ts';
import type { Json } from '#core/engines/shared/source.ts';
import { PRODUCT_VERSION } from '#core/version.ts';
import { AppError } from '#core/errors.ts';
import { listingInOrder } from '#core/lib/call/arguments.ts';
import { dialectNamed } from '#core/engines/index.ts';
import { planQuery, type QueryPlan } from '#core/lib/call/query.ts';
import { compilePrompt, type PromptPlan } from '#mcp-host/protocol/prompt.ts';
import { type ListMethod, type RenderedList, renderList, sameList } from '#mcp-host/protocol/lists.ts';
import { ICON } from '#mcp-host/protocol/icon.ts';
import { META, MODERN_VERSION } from '#mcp-host/protocol/messages.ts';
import { parseUriTemplate, type UriTemplate } from '#core/lib/uri-template.ts';

interface Bound<E> {
  readonly entity: E;
  readonly plan: QueryPlan;
  readonly connection: FrozenConnection;
}
export type ToolEntry = Bound<FrozenTool>;
export interface ResourceEntry extends Bound<FrozenResource> {
  readonly template: UriTemplate;
}

/** What one snapshot serves, immutable: a swap replaces it as a whole, a call keeps the one it began with. */
export interface Registry {
  readonly snapshot_version: number;
  readonly checksum: string;
  readonly server: FrozenServer;
  readonly connections: readonly FrozenConnection[];
  readonly vars: Readonly<Record<string, Json>>;
  readonly tools: ReadonlyMap<string, ToolEntry>;
  /** By URI; those without variables. */
  readonly resources: ReadonlyMap<string, ResourceEntry>;
  /** The most literal text first, so that the narrower of two templates is tried first. */
  readonly templates: readonly ResourceEntry[];
  readonly prompts: ReadonlyMap<string, PromptPlan>;
  readonly lists: Readonly<Record<ListMethod, RenderedList>>;
  /** Names this snapshot in cursors. */
  readonly edition: string;
  readonly pieces: Pieces;
  /** When it began to serve, in milliseconds since 1970. */
  readonly since: number;
  /** What was made of each leaf, by `keyOf` it. */
  readonly loaded: ReadonlyMap<string, Loaded>;
}

/** Result members that depend on the snapshot alone, rendered once. */
export interface Pieces {
  /** Name and version of the product, and the same with what clients show. */
  readonly server_info: string;
  readonly server_card: string;
  /** The member of `_meta` that names the snapshot. */
  readonly snapshot: string;
  /** First members of every 2026-07-28 result. */
  readonly modern: string;
  readonly cache_scope: string;
}

const SLICE = 200;

/** A snapshot to load. `textOf` answers the canonical text of a hash; nothing for what the registry before has loaded. */
export interface Loadable extends Omit<Snapshot, 'content'> {
  readonly leaves: readonly Leaf[];
  readonly textOf: (hash: string) => string | undefined;
}

/** What was made of one leaf, with the item that lists it. */
interface Loaded {
  readonly hash: string;
  readonly made: FrozenServer | FrozenConnection | ToolEntry | ResourceEntry | PromptPlan;
  readonly item: string;
}

/**
 * Builds a registry beside the running one, in slices that let other work through; what did not change is taken from `before`.
 * Throws when the snapshot is not whole.
 */
export async function loadRegistry(
  { version, checksum, leaves, textOf }: Loadable,
  before: Registry | null = null,
  now = Date.now(),
): Promise<Registry> {
  const loaded = new Map<string, Loaded>();
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
  /** The same leaf with the same connection is what it was. What came anew is read anew: its secrets may be sealed with another key. */
  const reused = (leaf: Leaf): Loaded | undefined => {
    const kept = before?.loaded.get(keyOf(leaf));
    if (kept?.hash !== leaf.hash || textOf(leaf.hash) !== undefined) return undefined;
    const { made } = kept;
    return 'connection' in made && by_id.get(made.connection.id) !== made.connection ? rebound(kept, connectionOf) : kept;
  };
  const of_kind: Record<Kind, Loaded[]> = { server: [], connection: [], tool: [], resource: [], prompt: [] };
  let slice = 0;
  for (const leaf of leaves) {
    let one = reused(leaf);
    if (one === undefined) {
      if (++slice % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
      one = { hash: leaf.hash, ...LOADERS[leaf.kind](parsed(leaf), connectionOf) };
    }
    loaded.set(keyOf(leaf), one);
    of_kind[leaf.kind].push(one);
    if (leaf.kind === 'connection') by_id.set((one.made as FrozenConnection).id, one.made as FrozenConnection);
  }
  const settings = of_kind.server[0]?.made as FrozenServer | undefined;
  const connections = of_kind.connection.map(({ made }) => made as FrozenConnection);
  const tools = of_kind.tool.map(({ made }) => made as ToolEntry);
  const every = of_kind.resource.map(({ made }) => made as ResourceEntry);
  const prompts = of_kind.prompt.map(({ made }) => made as PromptPlan);
  if (settings === undefined) throw new AppError('cannot_deploy', 'The snapshot has no server configuration.');
  const isFixed = ({ template }: ResourceEntry) => template.variables.length === 0;
  const resources = every.filter(isFixed);
  const templates = every.filter((entry) => !isFixed(entry));
  const edition = `${version}-${checksum.slice(-8)}`;
  const list = (method: ListMethod, listed: readonly Loaded[]) =>
    renderList(
      method,
      listed.map(({ item }) => item),
      edition,
      before?.lists[method],
    );
  return {
    snapshot_version: version,
    checksum,
    server: settings,
    connections,
    vars: settings.global_variables,
    tools: new Map(tools.map((entry) => [entry.entity.name, entry])),
    resources: new Map(resources.map((entry) => [entry.template.text, entry])),
    templates: templates.toSorted((a, b) => literalLength(b) - literalLength(a)),
    prompts: new Map(prompts.map((entry) => [entry.entity.name, entry])),
    lists: {
      'tools/list': list('tools/list', of_kind.tool),
      'resources/list': list(
        'resources/list',
        of_kind.resource.filter((_, n) => isFixed(every[n]!)),
      ),
      'resources/templates/list': list(
        'resources/templates/list',
        of_kind.resource.filter((_, n) => !isFixed(every[n]!)),
      ),
      'prompts/list': list('prompts/list', of_kind.prompt),
    },
    edition,
    pieces: renderPieces(settings, version),
    since: now,
    loaded,
  };
}

type ConnectionOf = (query: FrozenQuery & { readonly name: string }) => FrozenConnection;
type Made = Pick<Loaded, 'made' | 'item'>;

const itemOf = ({ listing }: { readonly listing: object }): string => JSON.stringify(listing);

const LOADERS: Readonly<Record<Kind, (frozen: never, connectionOf: ConnectionOf) => Made>> = {
  server: (made: FrozenServer) => ({ made, item: '' }),
  connection: (made: FrozenConnection) => ({ made, item: '' }),
  tool: (entity: FrozenTool, connectionOf) => ({
    made: { entity, connection: connectionOf(entity), plan: planQuery(entity, dialectNamed(entity.statement.dialect)) },
    item: JSON.stringify(listingInOrder(entity)),
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
};

/** The same definition on a connection that is another now. */
function rebound(kept: Loaded, connectionOf: ConnectionOf): Loaded {
  const entry = kept.made as ToolEntry | ResourceEntry;
  return { ...kept, made: { ...entry, connection: connectionOf(entry.entity) } };
}

const literalLength = ({ template }: ResourceEntry): number => template.literals.join('').length;

function renderPieces({ server_name, auth_type }: FrozenServer, version: number): Pieces {
  const identity = { name: server_name, version: PRODUCT_VERSION };
  const server_info = JSON.stringify(identity);
  const snapshot = `"${META.snapshot}":${version}`;
  return {
    server_info,
    server_card: JSON.stringify({ ...identity, title: server_name, icons: [ICON] }),
    snapshot,
    modern: `"resultType":"complete","_meta":{"${META.server}":${server_info},${snapshot}}`,
    cache_scope: auth_type === 'none' ? 'public' : 'private',
  };
}

export type ListKind = 'tools' | 'resources' | 'prompts';
export const LIST_KINDS: readonly ListKind[] = ['tools', 'resources', 'prompts'];

/** The kinds whose lists differ between two registries; a missing one has empty lists. */
export function changedLists(before: Registry | null, after: Registry | null): ListKind[] {
  const same = (method: ListMethod) => {
    const [a, b] = [before?.lists[method], after?.lists[method]];
    return a !== undefined && b !== undefined ? sameList(a, b) : (a ?? b)?.items.length === 0 || a === b;
  };
  return LIST_KINDS.filter((kind) =>
    kind === 'resources' ? !same('resources/list') || !same('resources/templates/list') : !same(`${kind}/list`),
  );
}

/** Methods whose results say how long they hold (2026-07-28, Caching). What a resource reads changes with its database. */
const HOLDS: Readonly<Record<string, boolean>> = {
  'tools/list': true,
  'resources/list': true,
  'resources/templates/list': true,
  'prompts/list': true,
  'server/discover': true,
  'resources/read': false,
};
/** Changes seldom come alone: lists that just changed are not to be kept, later for a tenth of the time they have stood. */
const SETTLING_MS = 10_000;
const LONGEST_MS = 60_000;
/** The time is told in steps, so that a list is answered with the same bytes for a while. */
const STEP_MS = 1_000;

/** The members that say how long a result holds, with a comma before them; empty for results that are not to be kept. */
export function lifetime(method: string, { pieces, since }: Registry, now: number): string {
  const holds = HOLDS[method];
  if (holds === undefined) return '';
  const age = now - since;
  const ttl = !holds || age < SETTLING_MS ? 0 : Math.min(Math.floor(age / 10 / STEP_MS) * STEP_MS, LONGEST_MS);
  return `,"ttlMs":${ttl},"cacheScope":"${pieces.cache_scope}"`;
}

/** The members of the results that open a conversation. */
export const discovery = (registry: Registry, now: number): string =>
  `"resultType":"complete","_meta":{"${META.server}":${registry.pieces.server_card},${registry.pieces.snapshot}}${lifetime('server/discover', registry, now)},"supportedVersions":["${MODERN_VERSION}"],"capabilities":${CAPABILITIES}`;
export const greeting = ({ pieces }: Registry, version: string): string =>
  `"protocolVersion":"${version}","capabilities":${CAPABILITIES},"serverInfo":${pieces.server_card},"_meta":{${pieces.snapshot}}`;

const CAPABILITIES = JSON.stringify({
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
});
