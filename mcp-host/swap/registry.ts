import type { FrozenConnection, FrozenQuery, FrozenResource, FrozenServer, FrozenTool, Snapshot } from '#snapshots/format.ts';
import type { Json } from '#core/engines/shared/source.ts';
import { PRODUCT_VERSION } from '#core/version.ts';
import { AppError } from '#core/errors.ts';
import { listingInOrder } from '#core/lib/call/arguments.ts';
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

/** Builds a registry beside the running one, in slices that let other work through. Throws when the snapshot is not whole. */
export async function loadRegistry({ version, checksum, content }: Snapshot, now = Date.now()): Promise<Registry> {
  const { server, connections } = content;
  const by_id = new Map(connections.map((connection) => [connection.id, connection]));
  const bound = <E extends FrozenQuery & { readonly name: string }>(entity: E): Bound<E> => {
    const connection = by_id.get(entity.connection_id);
    if (connection === undefined) {
      throw new AppError('cannot_deploy', `The snapshot names a connection for ${entity.name} that it does not hold.`);
    }
    return { entity, connection, plan: planQuery(entity) };
  };
  const tools = await inSlices(content.tools, bound);
  const all_resources = await inSlices(content.resources, (resource): ResourceEntry => ({
    ...bound(resource),
    template: parseUriTemplate(resource.uri_template),
  }));
  const resources = all_resources.filter(({ template }) => template.variables.length === 0);
  const templates = all_resources.filter(({ template }) => template.variables.length > 0);
  const prompts = await inSlices(content.prompts, compilePrompt);
  const edition = `${version}-${checksum.slice(-8)}`;
  const list = async <E extends { readonly listing: object }>(
    method: ListMethod,
    entries: readonly { readonly entity: E }[],
    listingOf: (entity: E) => object = ({ listing }) => listing,
  ) => renderList(method, await inSlices(entries, ({ entity }) => JSON.stringify(listingOf(entity))), edition);
  return {
    snapshot_version: version,
    checksum,
    server,
    connections,
    vars: server.global_variables,
    tools: new Map(tools.map((entry) => [entry.entity.name, entry])),
    resources: new Map(resources.map((entry) => [entry.template.text, entry])),
    templates: templates.toSorted((a, b) => literalLength(b) - literalLength(a)),
    prompts: new Map(prompts.map((entry) => [entry.entity.name, entry])),
    lists: {
      'tools/list': await list('tools/list', tools, listingInOrder),
      'resources/list': await list('resources/list', resources),
      'resources/templates/list': await list('resources/templates/list', templates),
      'prompts/list': await list('prompts/list', prompts),
    },
    edition,
    pieces: renderPieces(server, version),
    since: now,
  };
}

const literalLength = ({ template }: ResourceEntry): number => template.literals.join('').length;

async function inSlices<A, B>(items: readonly A[], make: (item: A) => B): Promise<B[]> {
  const made: B[] = [];
  for (const [n, item] of items.entries()) {
    if (n > 0 && n % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
    made.push(make(item));
  }
  return made;
}

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
