import type { FrozenConnection, FrozenQuery, FrozenResource, FrozenServer, FrozenTool, Snapshot } from '#snapshots/format.ts';
import type { Json } from '#core/sources/source.ts';
import { AppError } from '#core/errors.ts';
import { planQuery, type QueryPlan } from '#core/engine/query.ts';
import { compilePrompt, type PromptPlan } from './prompt.ts';
import { type ListMethod, type RenderedList, renderList, sameList } from './lists.ts';
import { MODERN_VERSION } from './protocol.ts';
import { parseUriTemplate, type UriTemplate } from '#core/engine/uri-template.ts';

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
}

/** Result members that depend on the snapshot alone, rendered once. */
export interface Pieces {
  readonly server_info: string;
  /** First members of every 2026-07-28 result; `cached` for those that may be cached. */
  readonly modern: string;
  readonly modern_cached: string;
}

const SLICE = 200;

/** Builds a registry beside the running one, in slices that let other work through. Throws when the snapshot is not whole. */
export async function loadRegistry({ version, checksum, content }: Snapshot): Promise<Registry> {
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
  const list = (method: ListMethod, entries: readonly { entity: { listing: object } }[]) =>
    renderList(
      method,
      entries.map(({ entity }) => entity.listing),
      edition,
    );
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
      'tools/list': list('tools/list', tools),
      'resources/list': list('resources/list', resources),
      'resources/templates/list': list('resources/templates/list', templates),
      'prompts/list': list('prompts/list', prompts),
    },
    edition,
    pieces: renderPieces(server, version),
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

/** `ttlMs` 0: a deploy is seen by the next request, as the product promises; a list costs a client one cheap request. */
function renderPieces({ server_name, auth_type }: FrozenServer, version: number): Pieces {
  const server_info = JSON.stringify({ name: server_name, version: String(version) });
  const modern = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":${server_info}}`;
  const scope = auth_type === 'none' ? 'public' : 'private';
  return { server_info, modern, modern_cached: `${modern},"ttlMs":0,"cacheScope":"${scope}"` };
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

export const discovery = ({ pieces }: Registry): string =>
  `${pieces.modern_cached},"supportedVersions":["${MODERN_VERSION}"],"capabilities":${CAPABILITIES}`;
export const CAPABILITIES =
  '{"tools":{"listChanged":true},"resources":{"listChanged":true},"prompts":{"listChanged":true},"completions":{}}';
