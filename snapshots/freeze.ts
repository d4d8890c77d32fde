import type { DbType } from '#core/contract/connections.ts';
import type { OwnedKind } from '#core/contract/entities.ts';
import { AppError } from '#core/errors.ts';
import { type Compiled, currentArtifact } from './compile.ts';
import {
  type ConnectionDefinition,
  freezeConnection,
  type Freezer,
  freezePrompt,
  type PromptDefinition,
  refuse,
  type ResourceDefinition,
  resourceFreezer,
  type ToolDefinition,
  toolFreezer,
} from './entities.ts';
import type { FrozenResource, FrozenServer, FrozenTool, SnapshotContent } from './format.ts';
import { type Blob, compare, type Leaf, toBlob, toContent, toTree, type Tree } from './tree.ts';

export interface Configuration {
  readonly server: FrozenServer;
  readonly connections: readonly ConnectionDefinition[];
  readonly tools: readonly ToolDefinition[];
  readonly resources: readonly ResourceDefinition[];
  readonly prompts: readonly PromptDefinition[];
  /** Stored artifacts by entity id; one with another key is made again. */
  readonly compiled: ReadonlyMap<string, Compiled>;
  readonly allow_passthrough_sql: boolean;
}

export type DefinitionKind = OwnedKind;
interface DefinitionOf {
  readonly tool: ToolDefinition;
  readonly resource: ResourceDefinition;
  readonly prompt: PromptDefinition;
}

/** Why one entity cannot be served, in a sentence. */
export interface Problem {
  readonly entity_type: DefinitionKind | 'connection' | 'server_config';
  readonly name: string;
  readonly message: string;
}

export interface Frozen {
  readonly tree: Tree;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

/** What became of one definition. */
export interface Outcome {
  readonly entity_type: DefinitionKind;
  readonly id: string;
  readonly name: string;
  readonly connection_id: string | null;
  /** What is served; null when it is not: disabled, left out or with a problem. */
  readonly leaf: Leaf | null;
  readonly problem: string | null;
  readonly left_out: boolean;
  /** The artifact that it was frozen with, when that is another than the stored one. */
  readonly renewed: { readonly before: Compiled | undefined; readonly after: Compiled } | null;
}

/** Contract section 13. */
export const MOST_TOOLS = 10_000;

/** What is frozen at one moment. */
export interface FrozenView {
  readonly server: FrozenServer;
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly connections: ReadonlyMap<string, ConnectionDefinition>;
  /** Another number after everything that was put and is not what it was. */
  readonly revision: number;
  /** The canonical text of what was frozen and not forgotten by then. */
  readonly textOf: (hash: string) => string | undefined;
  /** @param instead outcomes that are to count in the place of what was put. */
  frozen(instead?: ReadonlyMap<string, Outcome>): Frozen;
}

/**
 * The configuration frozen entity by entity: what does not change is not frozen, hashed or read again. The same configuration
 * gives the same tree, in whatever order and however often its parts were put.
 */
export interface FrozenState {
  putServer(server: FrozenServer): void;
  /** Tools and resources of a connection depend on it: whoever puts another one puts them again. */
  putConnection(connection: ConnectionDefinition): void;
  removeConnection(id: string): void;
  put<K extends DefinitionKind>(kind: K, definition: DefinitionOf[K], stored: Compiled | undefined): Promise<void>;
  remove(id: string): void;
  outcomes(): Iterable<Outcome>;
  outcome(id: string): Outcome | undefined;
  view(): FrozenView;
  /**
   * Keeps only texts that something put has and that are not stored in this tree. A connection's stays: it is no part of a
   * tree while nothing uses it, and comes back without being put.
   */
  forget(stored: readonly Leaf[]): void;
}

export function createFrozenState(allow_passthrough_sql: boolean): FrozenState {
  const connections = new Map<string, ConnectionDefinition>();
  const connection_leaves = new Map<string, Leaf>();
  const outcomes = new Map<string, Outcome>();
  const texts = new Map<string, string>();
  /** What was put, in the order of a tree: nothing is sorted again when something changes in its place. */
  const order: Place[] = [];
  let server: { readonly leaf: Leaf; readonly frozen: FrozenServer; readonly text: string } | null = null;
  let revision = 0;

  const remember = ({ text, ...leaf }: Blob): Leaf => {
    texts.set(leaf.hash, text);
    return leaf;
  };
  return {
    putServer(frozen) {
      const blob = toBlob('server', '', frozen);
      // Its secrets may be sealed anew.
      if (blob.hash === server?.leaf.hash && blob.text === server.text) return;
      if (blob.hash !== server?.leaf.hash) revision++;
      server = { leaf: remember(blob), frozen, text: blob.text };
    },
    putConnection(connection) {
      revision++;
      connections.set(connection.id, connection);
      if (connection.enabled) {
        connection_leaves.set(connection.id, remember(toBlob('connection', connection.name, freezeConnection(connection))));
      } else connection_leaves.delete(connection.id);
    },
    removeConnection(id) {
      revision++;
      connections.delete(id);
      connection_leaves.delete(id);
    },
    async put(kind, definition, stored) {
      revision++;
      const { outcome, blob } = await freezeOne(kind, definition, connections, stored, allow_passthrough_sql);
      place(order, outcomes.get(definition.id), outcome);
      outcomes.set(definition.id, { ...outcome, leaf: blob && remember(blob) });
    },
    remove(id) {
      revision++;
      place(order, outcomes.get(id), undefined);
      outcomes.delete(id);
    },
    outcomes: () => outcomes.values(),
    outcome: (id) => outcomes.get(id),
    view() {
      if (server === null) throw new AppError('internal', 'The server configuration was not read.');
      const { leaf, frozen } = server;
      const now = new Map(outcomes);
      const ids = order.map(({ id }) => id);
      const leaves = new Map(connection_leaves);
      const known = new Map(texts);
      return {
        server: frozen,
        outcomes: now,
        connections: new Map(connections),
        revision,
        textOf: (hash) => known.get(hash),
        frozen: (instead) => collect(leaf, leaves, ids, (id) => instead?.get(id) ?? now.get(id)),
      };
    },
    forget(stored) {
      const known = new Set(stored.map(({ hash }) => hash));
      const put = [server?.leaf ?? null, ...[...outcomes.values()].map(({ leaf }) => leaf)];
      const needed = new Set(put.flatMap((leaf) => (leaf === null || known.has(leaf.hash) ? [] : [leaf.hash])));
      for (const { hash } of connection_leaves.values()) needed.add(hash);
      for (const hash of texts.keys()) if (!needed.has(hash)) texts.delete(hash);
    },
  };
}

function tooMany(tools: number): Problem[] {
  if (tools <= MOST_TOOLS) return [];
  const message = `${tools} tools are enabled, but a snapshot can have at most ${MOST_TOOLS}. Disable some of them.`;
  return [{ entity_type: 'server_config', name: '', message }];
}

interface Place {
  readonly id: string;
  readonly kind: DefinitionKind;
  readonly name: string;
}
type Placed = Pick<Outcome, 'id' | 'entity_type' | 'name'>;

/** Keeps the order of a tree: moves what has another name now, takes out what went. */
function place(order: Place[], before: Placed | undefined, after: Placed | undefined): void {
  if (before?.name === after?.name && before?.entity_type === after?.entity_type) return;
  if (before !== undefined)
    order.splice(
      order.findIndex(({ id }) => id === before.id),
      1,
    );
  if (after === undefined) return;
  const { id, entity_type: kind, name } = after;
  const placed: Place = { id, kind, name };
  let [from, to] = [0, order.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (compare(order[middle]!, placed) <= 0) from = middle + 1;
    else to = middle;
  }
  order.splice(from, 0, placed);
}

function collect(
  server: Leaf,
  connections: ReadonlyMap<string, Leaf>,
  ids: readonly string[],
  outcomeOf: (id: string) => Outcome | undefined,
): Frozen {
  const leaves: Leaf[] = [];
  const used = new Set<string>();
  const problems: Problem[] = [];
  const warnings: string[] = [];
  let tools = 0;
  for (const id of ids) {
    const outcome = outcomeOf(id);
    if (outcome === undefined) continue;
    const { entity_type, name, connection_id, leaf, problem, left_out } = outcome;
    if (problem !== null) problems.push({ entity_type, name, message: problem });
    if (left_out) warnings.push(`The ${entity_type} ${name} is left out: its connection is disabled.`);
    if (leaf === null) continue;
    leaves.push(leaf);
    if (entity_type === 'tool') tools++;
    if (connection_id !== null && entity_type !== 'prompt') used.add(connection_id);
  }
  const owners = [...used].flatMap((id) => connections.get(id) ?? []).sort(compare);
  const treeOf = (definitions: readonly Leaf[]) => toTree([server, ...owners, ...definitions]);
  if (tools <= MOST_TOOLS) return { tree: treeOf(leaves), problems, warnings };
  problems.push(...tooMany(tools));
  return { tree: treeOf(leaves.filter(({ kind }) => kind !== 'tool')), problems, warnings };
}

/** The configuration as it will be served. Pure: the same configuration gives the same bytes. */
export async function freeze(configuration: Configuration): Promise<Frozen & { readonly content: SnapshotContent }> {
  const state = createFrozenState(configuration.allow_passthrough_sql);
  state.putServer(configuration.server);
  for (const connection of configuration.connections) state.putConnection(connection);
  const enabled = new Set(configuration.connections.flatMap((connection) => (connection.enabled ? [connection.id] : [])));
  const served = configuration.tools.filter((tool) => tool.enabled && enabled.has(tool.connection_id)).length;
  // Nobody waits for what is refused.
  const tools = served > MOST_TOOLS ? [] : configuration.tools;
  for (const tool of tools) await state.put('tool', tool, configuration.compiled.get(tool.id));
  for (const resource of configuration.resources) await state.put('resource', resource, configuration.compiled.get(resource.id));
  for (const prompt of configuration.prompts) await state.put('prompt', prompt, undefined);
  const view = state.view();
  const frozen = view.frozen();
  const problems = [...frozen.problems, ...tooMany(served)];
  return { ...frozen, problems, content: toContent(frozen.tree.leaves, view.textOf) };
}

/** Freezes one definition; a fault of the definition is its outcome. */
export async function freezeOne<K extends DefinitionKind>(
  kind: K,
  definition: DefinitionOf[K],
  connections: ReadonlyMap<string, ConnectionDefinition>,
  stored: Compiled | undefined,
  allow_passthrough_sql: boolean,
): Promise<{ outcome: Omit<Outcome, 'leaf'>; blob: Blob | null }> {
  const { id, name, connection_id, enabled } = definition;
  const outcome = { entity_type: kind, id, name, connection_id, problem: null, left_out: false, renewed: null };
  if (!enabled) return { outcome, blob: null };
  const connection = connection_id === null ? null : connections.get(connection_id);
  if (connection?.enabled === false || connection === undefined) return { outcome: { ...outcome, left_out: true }, blob: null };
  try {
    if (kind === 'prompt') return { outcome, blob: toBlob(kind, name, freezePrompt(definition as PromptDefinition)) };
    const { frozen, compiled } =
      kind === 'tool'
        ? await freezeQuery(definition as ToolDefinition, toolFreezer, connection, stored, allow_passthrough_sql)
        : await freezeQuery(definition as ResourceDefinition, resourceFreezer, connection, stored, allow_passthrough_sql);
    return {
      outcome: { ...outcome, renewed: compiled === stored ? null : { before: stored, after: compiled } },
      blob: toBlob(kind, name, frozen),
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { outcome: { ...outcome, problem: error.detail }, blob: null };
  }
}

async function freezeQuery<D extends ToolDefinition | ResourceDefinition, F extends FrozenTool | FrozenResource>(
  definition: D,
  { query, read_only, freeze: make }: Freezer<D, F>,
  connection: ConnectionDefinition | null,
  stored: Compiled | undefined,
  allow_passthrough_sql: boolean,
): Promise<{ frozen: F; compiled: Compiled }> {
  if (connection === null) throw new AppError('invalid', 'It has no connection.');
  const compiled = await currentArtifact(stored, query(definition), connection.db_type satisfies DbType);
  refuse({ read_only: read_only(definition) }, compiled, connection, allow_passthrough_sql);
  return { frozen: make(definition, compiled, connection), compiled };
}
