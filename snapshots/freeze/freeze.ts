import type { DefinitionKind } from '#core/contract/entities.ts';
import { AppError, type ErrorCode } from '#core/errors.ts';
import type { Compiled } from './compile.ts';
import {
  type ConnectionDefinition,
  freezeConnection,
  type PromptDefinition,
  type ResourceDefinition,
  type ToolDefinition,
} from './entities.ts';
import type { FrozenServer, SnapshotContent } from '#snapshots/format/format.ts';
import { type DefinitionOf, freezeOne, type FreezeResult } from './freeze-one.ts';
import { leafAt } from '#snapshots/format/order.ts';
import { insertionIndex, indexOf } from './outcome-order.ts';
import type { ToolsetDefinition } from '#snapshots/format/toolsets.ts';
import { type Blob, compare, type Leaf, toBlob, toContent, toTree, type Tree } from '#snapshots/format/tree.ts';

export interface Configuration {
  readonly server: FrozenServer;
  readonly connections: readonly ConnectionDefinition[];
  readonly tools: readonly ToolDefinition[];
  readonly resources: readonly ResourceDefinition[];
  readonly prompts: readonly PromptDefinition[];
  readonly toolsets?: readonly ToolsetDefinition[];
  /** Stored artifacts by entity id; one with another key is made again. */
  readonly compiled: ReadonlyMap<string, Compiled>;
  readonly allow_passthrough_sql: boolean;
}

/** Why one entity cannot be served, in a sentence. */
export interface Problem {
  readonly entity_type: DefinitionKind | 'connection' | 'server_config';
  readonly name: string;
  readonly message: string;
  /** The control that refused it. */
  readonly control?: ErrorCode;
}

export interface Frozen {
  readonly tree: Tree;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

/** Contract section 13. */
export const MOST_TOOLS = 10_000;

/** What is frozen at one moment. */
export interface FrozenView {
  readonly server: FrozenServer;
  /** In the order of a tree. */
  readonly outcomes: readonly FreezeResult[];
  readonly connections: ReadonlyMap<string, ConnectionDefinition>;
  /** Another number after everything that was put and is not what it was. */
  readonly revision: number;
  /** The canonical text of what was frozen and not forgotten by then. */
  readonly textOf: (hash: string) => string | undefined;
  /** @param instead outcomes that are to count in the place of what was put. */
  frozen(instead?: ReadonlyMap<string, FreezeResult>): Frozen;
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
  outcomes(): Iterable<FreezeResult>;
  outcome(id: string): FreezeResult | undefined;
  view(): FrozenView;
  /**
   * Keeps only texts that something put has and that are not stored in this tree. A connection's stays: it is no part of a
   * tree while nothing uses it, and comes back without being put.
   */
  forget(stored: readonly Leaf[]): void;
}

/** A text that something put has, and of what it is. */
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
  /** Every outcome in the order of a tree; copied before a change when a view has it. */
  let order: FreezeResult[] = [];
  let viewed = false;
  let server: { readonly leaf: Leaf; readonly frozen: FrozenServer; readonly text: string } | null = null;
  let revision = 0;
  let last: { readonly revision: number; readonly frozen: Frozen } | null = null;

  const remember = ({ text, ...leaf }: Blob, isNeeded: () => boolean): Leaf => {
    texts.set(leaf.hash, { text, leaf, isNeeded });
    return leaf;
  };
  /** Made apart from what was put, which it would keep. */
  const isOutcome = (id: string, hash: string) => (): boolean => outcomes.get(id)?.leaf?.hash === hash;
  const place = (before: FreezeResult | undefined, after: FreezeResult | undefined): void => {
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
      // Its secrets may be sealed anew.
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
      place(before, now);
      outcomes.set(id, now);
    },
    remove(id) {
      place(outcomes.get(id), undefined);
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
    // Nearly always that of the definition before.
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
  for (const toolset of configuration.toolsets ?? []) await state.put('toolset', toolset, undefined);
  const view = state.view();
  const frozen = view.frozen();
  const problems = [...frozen.problems, ...tooMany(served)];
  return { ...frozen, problems, content: toContent(frozen.tree.leaves, view.textOf) };
}
