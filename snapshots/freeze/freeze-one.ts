import type { DbType } from '#core/contract/definitions/connections.ts';
import type { DefinitionKind } from '#core/contract/entities.ts';
import { AppError, CONTROLS, type ErrorCode } from '#core/errors.ts';
import { type Compiled, currentArtifact } from './compile.ts';
import {
  type ConnectionDefinition,
  type Freezer,
  freezePrompt,
  type PromptDefinition,
  refuse,
  type ResourceDefinition,
  resourceFreezer,
  type ToolDefinition,
  toolFreezer,
} from './entities.ts';
import type { FrozenResource, FrozenTool } from '#snapshots/format/format.ts';
import { freezeToolset, type ToolsetDefinition } from '#snapshots/format/toolsets.ts';
import { type Blob, type Leaf, toBlob } from '#snapshots/format/tree.ts';

export interface DefinitionOf {
  readonly tool: ToolDefinition;
  readonly resource: ResourceDefinition;
  readonly prompt: PromptDefinition;
  readonly toolset: ToolsetDefinition;
}

/** The outcome of freezing one definition. */
export interface FreezeResult {
  readonly entity_type: DefinitionKind;
  readonly id: string;
  readonly name: string;
  /** Version of the stored record. */
  readonly version: number;
  readonly connection_id: string | null;
  /** The served leaf; null if the definition is disabled, left out or has a problem. */
  readonly leaf: Leaf | null;
  readonly problem: string | null;
  /** Error code of the control that refused it. */
  readonly control?: ErrorCode;
  readonly left_out: boolean;
  /** The artifact that was used, if it differs from the stored one. */
  readonly renewed: { readonly before: Compiled | undefined; readonly after: Compiled } | null;
}

/** Freezes one definition. A fault of the definition is part of the outcome and is not thrown. */
export async function freezeOne<K extends DefinitionKind>(
  kind: K,
  definition: DefinitionOf[K],
  connections: ReadonlyMap<string, ConnectionDefinition>,
  stored: Compiled | undefined,
  allow_passthrough_sql: boolean,
): Promise<{ outcome: Omit<FreezeResult, 'leaf'>; blob: Blob | null }> {
  const { id, name, version, enabled } = definition;
  const connection_id = 'connection_id' in definition ? definition.connection_id : null;
  const outcome = { entity_type: kind, id, name, version, connection_id, problem: null, left_out: false, renewed: null };
  if (!enabled) return { outcome, blob: null };
  const connection = connection_id === null ? null : connections.get(connection_id);
  if (connection?.enabled === false || connection === undefined) return { outcome: { ...outcome, left_out: true }, blob: null };
  try {
    if (kind === 'prompt') return { outcome, blob: toBlob(kind, name, freezePrompt(definition as PromptDefinition)) };
    if (kind === 'toolset') return { outcome, blob: toBlob(kind, name, freezeToolset(definition as ToolsetDefinition)) };
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
    const control = CONTROLS.includes(error.code) ? { control: error.code } : {};
    return { outcome: { ...outcome, problem: error.detail, ...control }, blob: null };
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
  refuse({ ...definition, read_only: read_only(definition) }, compiled, connection, allow_passthrough_sql);
  return { frozen: make(definition, compiled, connection), compiled };
}
