import { lockedOut } from '#core/contract/config.ts';
import type { DbType } from '#core/contract/connections.ts';
import { AppError } from '#core/errors.ts';
import { canonical, canonicalFields, checksum } from './canonical.ts';
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
import { type FrozenResource, type FrozenServer, type FrozenTool, SNAPSHOT_FORMAT, type SnapshotContent } from './format.ts';

export interface Configuration {
  readonly server: FrozenServer;
  readonly connections: readonly ConnectionDefinition[];
  readonly tools: readonly ToolDefinition[];
  readonly resources: readonly ResourceDefinition[];
  readonly prompts: readonly PromptDefinition[];
  /** Stored artifacts by entity id; one with another key is made again. */
  readonly compiled: ReadonlyMap<string, Compiled>;
  readonly allow_passthrough_sql: boolean;
  /** Tools frozen before, for the same row, artifact and connection objects. Changes the time, never the bytes. */
  readonly memo?: FreezeMemo;
}

interface Piece<F> {
  readonly name: string;
  readonly id: string;
  readonly frozen: F;
  /** The canonical text of it. */
  readonly text: string;
}

interface Remembered {
  readonly compiled: Compiled;
  /** The piece is made of it; otherwise it was stale, and the piece is made of another. */
  readonly current: boolean;
  readonly db_type: DbType;
  readonly limits: string;
  readonly piece: Piece<FrozenTool | FrozenResource>;
}

export type FreezeMemo = WeakMap<object, Remembered>;

/** Whether an artifact is known to be that of a definition, without working out its key again. */
export function isRemembered(memo: FreezeMemo | undefined, definition: object, compiled: Compiled, db_type: DbType): boolean {
  const kept = memo?.get(definition);
  return kept !== undefined && kept.current && kept.compiled === compiled && kept.db_type === db_type;
}
export const createFreezeMemo = (): FreezeMemo => new WeakMap();

/** Why one entity cannot be served, in a sentence. */
export interface Problem {
  readonly entity_type: 'tool' | 'resource' | 'prompt' | 'connection' | 'server_config';
  readonly name: string;
  readonly message: string;
}

export interface Frozen {
  readonly content: SnapshotContent;
  /** The canonical text of the content: what is hashed, stored and sent. */
  readonly text: string;
  readonly checksum: string;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

/** Contract section 13. */
export const MOST_TOOLS = 10_000;

/** The configuration as it will be served. Pure: the same configuration gives the same bytes. */
export async function freeze(configuration: Configuration): Promise<Frozen> {
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const locked = lockedOut(configuration.server);
  if (locked !== null) {
    problems.push({ entity_type: 'server_config', name: configuration.server.server_name, message: locked.message });
  }
  const connections = new Map(configuration.connections.filter(({ enabled }) => enabled).map((row) => [row.id, row]));
  /** Freezes what is enabled and whose connection is; collects what cannot be. */
  const freezeAll = async <D extends Definition, F>(
    entity_type: 'tool' | 'resource' | 'prompt',
    definitions: readonly D[],
    make: (definition: D, connection: ConnectionDefinition | null) => Promise<Piece<F>>,
  ): Promise<Piece<F>[]> => {
    const pieces: Piece<F>[] = [];
    for (const definition of definitions) {
      if (!definition.enabled) continue;
      const { connection_id, name } = definition;
      const connection = connection_id === null ? null : connections.get(connection_id);
      if (connection === undefined) {
        warnings.push(`The ${entity_type} ${name} is left out: its connection is disabled.`);
        continue;
      }
      try {
        pieces.push(await make(definition, connection));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        problems.push({ entity_type, name, message: error.detail });
      }
    }
    return sortByName(pieces);
  };
  const enabled = configuration.tools.filter((tool) => tool.enabled && connections.has(tool.connection_id)).length;
  if (enabled > MOST_TOOLS) {
    const message = `${enabled} tools are enabled, and a snapshot holds at most ${MOST_TOOLS}. Disable some of them.`;
    problems.push({ entity_type: 'server_config', name: configuration.server.server_name, message });
  }
  const tools = await freezeAll('tool', enabled > MOST_TOOLS ? [] : configuration.tools, remembered(configuration, toolFreezer));
  const resources = await freezeAll('resource', configuration.resources, remembered(configuration, resourceFreezer));
  const prompts = await freezeAll('prompt', configuration.prompts, async (prompt) => toPiece(freezePrompt(prompt)));
  const used = new Set([...tools, ...resources].map(({ frozen }) => frozen.connection_id));
  const content: SnapshotContent = {
    format: SNAPSHOT_FORMAT,
    server: configuration.server,
    connections: sortByName([...connections.values()].filter(({ id }) => used.has(id)).map(freezeConnection)),
    tools: tools.map(({ frozen }) => frozen),
    resources: resources.map(({ frozen }) => frozen),
    prompts: prompts.map(({ frozen }) => frozen),
  };
  const texts = { tools: listText(tools), resources: listText(resources), prompts: listText(prompts) };
  const text = canonicalFields({ ...content, ...texts }, Object.keys(texts));
  return { content, text, checksum: checksum(text), problems, warnings };
}

interface Definition {
  readonly name: string;
  readonly enabled: boolean;
  readonly connection_id: string | null;
}

const toPiece = <F extends { readonly name: string; readonly id: string }>(frozen: F): Piece<F> => ({
  name: frozen.name,
  id: frozen.id,
  frozen,
  text: canonical(frozen),
});

const listText = (pieces: readonly Piece<unknown>[]): string => `[${pieces.map(({ text }) => text).join(',')}]`;

/** Freezes through the memo: the same row, artifact and limits of the connection give the piece made before. */
function remembered<D extends ToolDefinition | ResourceDefinition, F extends FrozenTool | FrozenResource>(
  configuration: Configuration,
  { query, read_only, freeze: make }: Freezer<D, F>,
): (definition: D, connection: ConnectionDefinition | null) => Promise<Piece<F>> {
  const { memo, allow_passthrough_sql } = configuration;
  return async (definition, connection) => {
    if (connection === null) throw new AppError('invalid', 'It names no connection.');
    const { name, db_type, query_timeout_ms, max_rows, max_bytes } = connection;
    const limits = JSON.stringify([
      name,
      db_type,
      connection.read_only,
      query_timeout_ms,
      max_rows,
      max_bytes,
      allow_passthrough_sql,
    ]);
    const stored = configuration.compiled.get(definition.id);
    const kept = memo?.get(definition);
    if (kept !== undefined && kept.compiled === stored && kept.limits === limits) return kept.piece as Piece<F>;
    const compiled = await currentArtifact(stored, query(definition), db_type);
    refuse({ read_only: read_only(definition) }, compiled, connection, allow_passthrough_sql);
    const piece = toPiece(make(definition, compiled, connection));
    if (stored !== undefined) memo?.set(definition, { compiled: stored, current: stored === compiled, db_type, limits, piece });
    return piece;
  };
}

const sortByName = <T extends { readonly name: string; readonly id: string }>(items: readonly T[]): T[] =>
  [...items].sort((a, b) => compare(a.name, b.name) || compare(a.id, b.id));

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
