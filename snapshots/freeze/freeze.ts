import type { Compiled } from './compile.ts';
import {
  type ConnectionDefinition,
  type PromptDefinition,
  type ResourceDefinition,
  type ToolDefinition,
  freezeConnection,
} from './entities.ts';
import type { FrozenServer, SnapshotContent } from '#snapshots/format/format.ts';
import type { ToolsetDefinition } from '#snapshots/format/toolsets.ts';
import type { DefinitionKind } from '#core/contract/entities.ts';
import { type ErrorCode, AppError } from '#core/errors.ts';
import { type Tree, type Leaf, type Blob, toBlob, compare, toTree, toContent } from '#snapshots/format/tree.ts';
import { type FreezeResult, type DefinitionOf, freezeOne } from './freeze-one.ts';
import { leafAt, firstWhere } from '#snapshots/format/order.ts';

const sortKey = ({ entity_type: kind, name }: FreezeResult) => ({ kind, name });

export interface Configuration {
  readonly server: FrozenServer;
  readonly connections: readonly ConnectionDefinition[];
  readonly tools: readonly ToolDefinition[];
  readonly resources: readonly ResourceDefinition[];
  readonly prompts: readonly PromptDefinition[];
  readonly toolsets?: readonly ToolsetDefinition[];
  /** Stored artifacts by entity ID. If the key differs, the definition is compiled again. */
  readonly compiled: ReadonlyMap<string, Compiled>;
  readonly allow_passthrough_sql: boolean;
}

/** Why an entity cannot be served, in one sentence. */
export interface Problem {
  readonly entity_type: DefinitionKind | 'connection' | 'server_config';
  readonly name: string;
  readonly message: string;
  /** Error code of the control that refused it. */
  readonly control?: ErrorCode;
}

export interface Frozen {
  readonly tree: Tree;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

/** Maximum tools in a snapshot. */
export const MOST_TOOLS = 10_000;

/** The frozen configuration at one moment. */
export interface FrozenView {
  readonly server: FrozenServer;
  /** In tree order. */
  readonly outcomes: readonly FreezeResult[];
  readonly connections: ReadonlyMap<string, ConnectionDefinition>;
  /** Changes with every `put` that changes the configuration. */
  readonly revision: number;
  /** The canonical text of a hash, unless it was forgotten before. */
  readonly textOf: (hash: string) => string | undefined;
  /** @param instead outcomes that replace the stored ones. */
  frozen(instead?: ReadonlyMap<string, FreezeResult>): Frozen;
}

/**
 * The configuration, frozen entity by entity: unchanged entities are not frozen, hashed or read again. The same configuration
 * gives the same tree, regardless of the order and number of `put` calls.
 */
export interface FrozenState {
  putServer(server: FrozenServer): void;
  /** Tools and resources depend on their connection. After it is replaced, they must be frozen again. */
  putConnection(connection: ConnectionDefinition): void;
  removeConnection(id: string): void;
  put<K extends DefinitionKind>(kind: K, definition: DefinitionOf[K], stored: Compiled | undefined): Promise<void>;
  remove(id: string): void;
  outcomes(): Iterable<FreezeResult>;
  outcome(id: string): FreezeResult | undefined;
  view(): FrozenView;
  /**
   * Drops texts that are unused or already stored in this tree. Texts of connections stay: an unused connection is not part
   * of a tree, and it can return without another `put`.
   */
  forget(stored: readonly Leaf[]): void;
}

/** The text of an entity with its leaf. */
interface Written {
  readonly text: string;
  readonly leaf: Leaf;
  readonly isNeeded: () => boolean;
}

export function createFrozenState(allow_passthrough_sql: boolean): FrozenState {
  const connections = new Map<string, ConnectionDefinition>();
  const connection_leaves = new Map<string, Leaf>();
  const outcomes = new Map<string, FreezeResult>();
  const texts = new Map<string, Written>();
  /** All outcomes in tree order; copied before a change if a view uses the array. */
  let order: FreezeResult[] = [];
  let viewed = false;
  let server: { readonly leaf: Leaf; readonly frozen: FrozenServer; readonly text: string } | null = null;
  let revision = 0;
  let last: { readonly revision: number; readonly frozen: Frozen } | null = null;

  const remember = ({ text, ...leaf }: Blob, isNeeded: () => boolean): Leaf => {
    texts.set(leaf.hash, { text, leaf, isNeeded });
    return leaf;
  };
  /** A separate function, because a closure over the input would retain it. */
  const isOutcome = (id: string, hash: string) => (): boolean => outcomes.get(id)?.leaf?.hash === hash;
  const replaceOutcome = (before: FreezeResult | undefined, after: FreezeResult | undefined): void => {
    revision++;
    if (viewed) [order, viewed] = [order.slice(), false];
    const at = before === undefined ? -1 : indexOf(order, before);
    const stays = after !== undefined && before?.name === after.name && before.entity_type === after.entity_type;
    if (stays) order[at] = after;
    else if (at >= 0) order.splice(at, 1);
    if (after !== undefined && !stays) order.splice(insertionIndex(order, after), 0, after);
  };
  return {
    putServer(frozen) {
      const blob = toBlob('server', '', frozen);
      // Its secrets may have been encrypted again.
      if (blob.hash === server?.leaf.hash && blob.text === server.text) return;
      if (blob.hash !== server?.leaf.hash) revision++;
      server = { leaf: remember(blob, () => server?.leaf.hash === blob.hash), frozen, text: blob.text };
    },
    putConnection(connection) {
      const { id, name, enabled } = connection;
      revision++;
      connections.set(id, connection);
      if (enabled) {
        const blob = toBlob('connection', name, freezeConnection(connection));
        const leaf = remember(blob, () => connection_leaves.get(id)?.hash === blob.hash);
        connection_leaves.set(id, leaf);
      } else connection_leaves.delete(id);
    },
    removeConnection(id) {
      revision++;
      connections.delete(id);
      connection_leaves.delete(id);
    },
    async put(kind, definition, stored) {
      const { id } = definition;
      const { outcome, blob } = await freezeOne(kind, definition, connections, stored, allow_passthrough_sql);
      const before = outcomes.get(id);
      const fresh = blob && remember(blob, isOutcome(id, blob.hash));
      const same = before?.leaf?.hash === fresh?.hash && before?.name === definition.name;
      const now = { ...outcome, leaf: (same ? before?.leaf : fresh) ?? null };
      replaceOutcome(before, now);
      outcomes.set(id, now);
    },
    remove(id) {
      replaceOutcome(outcomes.get(id), undefined);
      outcomes.delete(id);
    },
    outcomes: () => outcomes.values(),
    outcome: (id) => outcomes.get(id),
    view() {
      if (server === null) throw new AppError('internal', 'The server configuration was not read.');
      const { leaf, frozen } = server;
      const [now, at] = [order, revision];
      viewed = true;
      const leaves = new Map(connection_leaves);
      const known = new Map(texts);
      return {
        server: frozen,
        outcomes: now,
        connections: new Map(connections),
        revision,
        textOf: (hash) => known.get(hash)?.text,
        frozen(instead = NOTHING) {
          if (instead.size === 0 && last?.revision === at) return last.frozen;
          const whole = collect(leaf, leaves, now, instead, last?.frozen.tree ?? null);
          if (instead.size === 0 && revision === at) last = { revision: at, frozen: whole };
          return whole;
        },
      };
    },
    forget(stored) {
      for (const [hash, { leaf, isNeeded }] of texts) {
        const is_stored = leaf.kind !== 'connection' && leafAt(stored, leaf)?.hash === hash;
        if (is_stored || !isNeeded()) texts.delete(hash);
      }
    },
  };
}

const NOTHING: ReadonlyMap<string, FreezeResult> = new Map();

function tooMany(tools: number): Problem[] {
  if (tools <= MOST_TOOLS) return [];
  const message = `${tools} tools are enabled, but a snapshot can have at most ${MOST_TOOLS}. Disable some of them.`;
  return [{ entity_type: 'server_config', name: '', message }];
}

function collect(
  server: Leaf,
  connections: ReadonlyMap<string, Leaf>,
  outcomes: readonly FreezeResult[],
  instead: ReadonlyMap<string, FreezeResult>,
  before: Tree | null,
): Frozen {
  const leaves: Leaf[] = [];
  const used = new Set<string>();
  const problems: Problem[] = [];
  const warnings: string[] = [];
  let tools = 0;
  let owner: string | null = null;
  for (const put of outcomes) {
    const { entity_type, name, connection_id, leaf, problem, control, left_out } =
      instead.size === 0 ? put : (instead.get(put.id) ?? put);
    if (problem !== null) problems.push({ entity_type, name, message: problem, ...(control && { control }) });
    if (left_out) warnings.push(`The ${entity_type} ${name} is left out: its connection is disabled.`);
    if (leaf === null) continue;
    leaves.push(leaf);
    if (entity_type === 'tool') tools++;
    // Usually the same connection as for the previous definition.
    if (connection_id === null || connection_id === owner || entity_type === 'prompt') continue;
    used.add(connection_id);
    owner = connection_id;
  }
  const owners = [...used].flatMap((id) => connections.get(id) ?? []).sort(compare);
  const treeOf = (definitions: readonly Leaf[]) => toTree([server, ...owners, ...definitions], before);
  if (tools <= MOST_TOOLS) return { tree: treeOf(leaves), problems, warnings };
  problems.push(...tooMany(tools));
  return { tree: treeOf(leaves.filter(({ kind }) => kind !== 'tool')), problems, warnings };
}

/** Freezes the whole configuration. Pure: the same configuration gives the same bytes. */
export async function freeze(configuration: Configuration): Promise<Frozen & { readonly content: SnapshotContent }> {
  const state = createFrozenState(configuration.allow_passthrough_sql);
  state.putServer(configuration.server);
  for (const connection of configuration.connections) state.putConnection(connection);
  const enabled = new Set(configuration.connections.flatMap((connection) => (connection.enabled ? [connection.id] : [])));
  const served = configuration.tools.filter((tool) => tool.enabled && enabled.has(tool.connection_id)).length;
  // Too many tools are refused, so none are frozen.
  const tools = served > MOST_TOOLS ? [] : configuration.tools;
  for (const tool of tools) await state.put('tool', tool, configuration.compiled.get(tool.id));
  for (const resource of configuration.resources) await state.put('resource', resource, configuration.compiled.get(resource.id));
  for (const prompt of configuration.prompts) await state.put('prompt', prompt, undefined);
  for (const toolset of configuration.toolsets ?? []) await state.put('toolset', toolset, undefined);
  const view = state.view();
  const frozen = view.frozen();
  const problems = [...frozen.problems, ...tooMany(served)];
  return { ...frozen, problems, content: toContent(frozen.tree.leaves, view.textOf) };
}

/** Index of the first outcome that sorts after this one; names compare as in a tree. */
function insertionIndex(order: readonly FreezeResult[], outcome: FreezeResult): number {
  const placed = sortKey(outcome);
  return firstWhere(order, (one) => compare(sortKey(one), placed) > 0);
}

function indexOf(order: readonly FreezeResult[], { id, ...outcome }: FreezeResult): number {
  const placed = sortKey({ id, ...outcome });
  let at = firstWhere(order, (one) => compare(sortKey(one), placed) >= 0);
  // During a rename, two outcomes can have the same name.
  while (order[at] !== undefined && order[at]?.id !== id) at++;
  return at;
}
