import * as v from 'valibot';
import type { Prompt } from '#core/contract/definitions/prompts.ts';
import type { Resource } from '#core/contract/definitions/resources.ts';
import { isGuarded, type WriteGuard, writeGuard } from '#core/contract/definitions/write-guard.ts';
import { hostLimits, type Tool } from '#core/contract/definitions/tools.ts';
import { argumentMasks } from '#core/query/argument-masks.ts';
import { toRules } from '#core/query/masks.ts';
import { parseUriTemplate } from '#core/lib/uri-template.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { dialectNamed, engineOf } from '#core/engines/index.ts';
import { filedOutput, pagedInput, pagedOutput } from '#core/query/page-schemas.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import type { PageColumn } from '#core/lib/sql/paging.ts';
import type { FrozenPlanLimits, PageBy, PlanLimits } from '#core/contract/definitions/pages.ts';
import { canonical, checksum } from '#snapshots/format/canonical.ts';
import type { Compiled, QueryDefinition } from './compile.ts';
import type { FrozenConnection, FrozenPrompt, FrozenResource, FrozenTool } from '#snapshots/format/format.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';

/** A stored connection; its secrets are sealed. */
export type ConnectionDefinition = Omit<FrozenConnection, 'pool_key' | 'max_concurrency'> & {
  readonly enabled: boolean;
  readonly max_concurrency: number | null;
  readonly query_timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
};

/** A stored tool without the fields that only people see. */
export type ToolDefinition = Omit<Tool, 'connection_name' | 'output_schema' | 'warnings' | 'tokens' | 'findings'>;

export type ResourceDefinition = Omit<Resource, 'connection_name' | 'warnings' | 'tokens' | 'findings'>;
export type PromptDefinition = Omit<Prompt, 'connection_name' | 'tokens' | 'findings'>;

/** The compiler's input for a resource. The media type decides the format of its rows, so the return type is fixed. */
export const resourceDefinition = (
  resource: Pick<ResourceDefinition, 'sql_query' | 'parameters' | 'transform_template'> &
    Partial<Pick<ResourceDefinition, 'masks'>>,
): QueryDefinition => ({
  sql_query: resource.sql_query,
  parameters: resource.parameters,
  return_type: 'rows',
  transform_template: resource.transform_template,
  masks: resource.masks ?? [],
});

export function freezeConnection(row: ConnectionDefinition): FrozenConnection {
  const session = {
    id: row.id,
    db_type: row.db_type,
    host: row.host,
    port: row.port,
    database: row.database,
    username: row.username,
    password: row.password,
    ssl_mode: row.ssl_mode,
    ssl_ca: row.ssl_ca,
    ssl_cert: row.ssl_cert,
    ssl_key: row.ssl_key,
    extra_params: row.extra_params,
    pool_size: row.pool_size,
    ...(row.session_values === undefined || row.session_values.length === 0 ? {} : { session_values: row.session_values }),
    ...(row.session_role ? { session_role: row.session_role } : {}),
    ...(row.ssh ? { ssh: row.ssh } : {}),
    ...(row.target === undefined || row.target === 'any' ? {} : { target: row.target }),
  };
  return {
    ...session,
    name: row.name,
    read_only: row.read_only,
    max_concurrency: row.max_concurrency ?? row.pool_size,
    queue_limit: row.queue_limit,
    queue_timeout_ms: row.queue_timeout_ms,
    pool_key: checksum(canonical(session)),
  };
}

const HOST_LIMITS = Object.keys(hostLimits) as (keyof typeof hostLimits)[];
const limitsOf = (tool: ToolDefinition) =>
  Object.fromEntries(HOST_LIMITS.filter((name) => tool[name] !== null).map((name) => [name, tool[name]])) as Pick<
    FrozenTool,
    keyof typeof hostLimits
  >;

const GUARD = v.getDefaults(v.object(writeGuard));
/** Guard fields that differ from their defaults; omitting the others saves space in the snapshot. */
const guardOf = (tool: ToolDefinition): WriteGuard =>
  Object.fromEntries(
    (Object.keys(GUARD) as (keyof typeof GUARD)[]).flatMap((name) => (tool[name] === GUARD[name] ? [] : [[name, tool[name]]])),
  );

/** Plan limits that differ from the defaults. */
export const planLimitsOf = ({ max_plan_rows, max_plan_cost, plan_limit }: PlanLimits): FrozenPlanLimits => ({
  ...(max_plan_rows === null ? {} : { max_plan_rows }),
  ...(max_plan_cost === null ? {} : { max_plan_cost }),
  ...(plan_limit === 'warn' ? {} : { plan_limit }),
});

/** Result size and format settings that differ from the defaults. */
function shapeOf(tool: ToolDefinition, compiled: Compiled, connection: ConnectionDefinition): Partial<FrozenTool> {
  const { max_tokens, page_by, text_format, files } = tool;
  return {
    ...(max_tokens === null ? {} : { max_tokens }),
    ...planLimitsOf(tool),
    ...(page_by.length === 0 ? {} : { page_by: pageColumns(page_by, compiled, engineOf(connection.db_type).dialect) }),
    ...(text_format === 'json' ? {} : { text_format }),
    ...(files === null ? {} : { files }),
  };
}

function loggedWith(tool: ToolDefinition, { columns, statement }: Compiled): NonNullable<FrozenTool['log_arguments']> {
  const masks = argumentMasks(tool, columns, dialectNamed(statement.dialect));
  return Object.keys(masks).length === 0 ? true : masks;
}

/** The columns that order pages, with their types. Throws `invalid` for a column that cannot be ordered. */
export function pageColumns(page_by: readonly PageBy[], { columns }: Compiled, { pages }: SqlDialect): PageColumn[] {
  if (pages === null) throw invalidField('page_by', 'page_by does not work with this kind of database.');
  return page_by.map(({ column, desc }, n) => {
    const field = `page_by.${n}.column`;
    if (columns === null)
      throw invalidField('page_by', 'page_by needs the columns of the result, and the database did not say them.');
    const found = columns.filter(({ name }) => name === column);
    const [{ type, kind } = { type: '', kind: 'json' as const }] = found;
    if (found.length === 0)
      throw invalidField(field, `The result has no column ${column}. It has ${columns.map(({ name }) => name).join(', ')}.`);
    if (pages.key(column, { type, kind }) === null) {
      throw invalidField(
        field,
        `Pages cannot be ordered by ${column} of type ${type}. Page by columns with exact values, such as a key, a date or a text.`,
      );
    }
    return { column, desc, type, kind };
  });
}

function freezeTool(tool: ToolDefinition, compiled: Compiled, connection: ConnectionDefinition): FrozenTool {
  return {
    id: tool.id,
    name: tool.name,
    ...freezeQuery(tool, compiled, connection),
    mode: modeOf(tool.read_only, compiled),
    timeout_ms: tool.timeout_ms ?? connection.query_timeout_ms,
    max_rows: tool.max_rows ?? connection.max_rows,
    max_bytes: tool.max_bytes ?? connection.max_bytes,
    return_type: tool.return_type,
    ...shapeOf(tool, compiled, connection),
    ...limitsOf(tool),
    ...guardOf(tool),
    ...(tool.ask_missing ? { ask_missing: true as const } : {}),
    ...(tool.log_arguments ? { log_arguments: loggedWith(tool, compiled) } : {}),
    tags: tool.tags,
    ...(tool.view === null ? {} : { view: tool.view }),
    listing: toolListing(tool, compiled),
  };
}

function freezeResource(resource: ResourceDefinition, compiled: Compiled, connection: ConnectionDefinition): FrozenResource {
  return {
    id: resource.id,
    name: resource.name,
    ...freezeQuery(resource, compiled, connection),
    uri_template: resource.uri_template,
    mime_type: resource.mime_type,
    ...(resource.tags.length === 0 ? {} : { tags: resource.tags }),
    listing: resourceListing(resource),
  };
}

export function resourceListing(
  resource: Pick<ResourceDefinition, 'uri_template' | 'name' | 'title' | 'description' | 'mime_type'>,
): FrozenResource['listing'] {
  const { variables } = parseUriTemplate(resource.uri_template);
  return {
    [variables.length === 0 ? 'uri' : 'uriTemplate']: resource.uri_template,
    name: resource.name,
    ...(resource.title === null ? {} : { title: resource.title }),
    description: resource.description,
    mimeType: resource.mime_type,
  };
}

/** Freezes the fields that tools and resources share. A resource always reads and has the connection's limits. */
function freezeQuery(
  entity: ToolDefinition | ResourceDefinition,
  compiled: Compiled,
  connection: ConnectionDefinition,
): FrozenQuery {
  return {
    connection_id: connection.id,
    statement: compiled.statement,
    mode: modeOf(true, compiled),
    parameters: entity.parameters,
    timeout_ms: connection.query_timeout_ms,
    max_rows: connection.max_rows,
    max_bytes: connection.max_bytes,
    transform_template: entity.transform_template,
    ...(entity.masks.length === 0 ? {} : { masks: toRules(entity.masks, compiled.columns) }),
    ...(compiled.classification.passthrough ? { passthrough: true as const } : {}),
  };
}

export function freezePrompt(prompt: PromptDefinition): FrozenPrompt {
  const { id, name, title, description, template, messages } = prompt;
  const list = prompt.arguments.map(({ name, description, required }) => ({
    name,
    ...(description === '' ? {} : { description }),
    required,
  }));
  return {
    id,
    name,
    ...(prompt.connection_id === null ? {} : { connection_id: prompt.connection_id }),
    ...(prompt.tags.length === 0 ? {} : { tags: prompt.tags }),
    arguments: prompt.arguments.map(({ name, required, enum: values }) => ({
      name,
      required,
      ...(values === undefined ? {} : { enum: values }),
    })),
    messages: messages ?? [{ role: 'user', template: template ?? '' }],
    listing: { name, ...(title === null ? {} : { title }), description, arguments: list },
  };
}

/** Refuses definitions that must never be served; saving a tool makes the same checks. */
export function refuse(
  tool: { readonly read_only: boolean } & Partial<Pick<ToolDefinition, 'confirm' | 'max_affected_rows'>>,
  { classification }: Compiled,
  connection: Pick<ConnectionDefinition, 'read_only' | 'name' | 'session_values' | 'session_role'>,
  allow_passthrough_sql: boolean,
): void {
  if (classification.passthrough && !allow_passthrough_sql) {
    throw new AppError(
      'passthrough_sql_blocked',
      'The whole statement is a parameter. Write the statement and bind values, or set SVC_ALLOW_PASSTHROUGH_SQL=true.',
    );
  }
  refuseFreeSql(classification, connection);
  if (classification.forbidden) throw new AppError('invalid', classification.forbidden);
  if (!tool.read_only && connection.read_only) {
    throw new AppError('invalid', `The connection ${connection.name} is read-only, but the statement is not.`);
  }
  const { confirm = 'never', max_affected_rows = null } = tool;
  if (classification.lasting !== undefined && isGuarded({ confirm, max_affected_rows })) {
    const limits = confirm === 'never' ? 'max_affected_rows' : 'confirm';
    throw new AppError('invalid', `${limits} needs a statement that can be run and rolled back. ${classification.lasting}`);
  }
}

/** SQL text from a caller could pretend to be another caller. No connection allows statements that set session values. */
export function refuseFreeSql(
  { passthrough }: Pick<Compiled['classification'], 'passthrough'>,
  { name, session_values = [], session_role = null }: Pick<ConnectionDefinition, 'name' | 'session_values' | 'session_role'>,
): void {
  if (!passthrough || (session_values.length === 0 && session_role === null)) return;
  throw new AppError(
    'passthrough_sql_blocked',
    `The connection ${name} tells its database who calls, so a whole statement cannot be a parameter. Write the statement and bind values.`,
  );
}

export const modeOf = (read_only: boolean, { classification }: Pick<Compiled, 'classification'>): FrozenQuery['mode'] => {
  if (!read_only) return 'write';
  return classification.read_only && classification.fixed ? 'fixed' : 'read';
};

/** The output schema as callers read it. */
export const shownOutput = (
  { page_by, files }: Pick<ToolDefinition, 'page_by' | 'files'>,
  schema: Compiled['output_schema'],
): Compiled['output_schema'] => {
  const paged = page_by.length > 0 ? pagedOutput(schema) : schema;
  return files === null ? paged : filedOutput(paged);
};

export function toolListing(
  tool: Pick<ToolDefinition, 'name' | 'title' | 'description' | 'annotations' | 'read_only' | 'page_by' | 'files'>,
  compiled: Pick<Compiled, 'input_schema' | 'output_schema'>,
): FrozenTool['listing'] {
  const hints = tool.annotations;
  const output = shownOutput(tool, compiled.output_schema);
  return {
    name: tool.name,
    ...(tool.title === null ? {} : { title: tool.title }),
    description: tool.description,
    inputSchema: tool.page_by.length > 0 ? pagedInput(compiled.input_schema) : compiled.input_schema,
    ...(output === null ? {} : { outputSchema: output }),
    annotations: {
      ...(tool.title === null ? {} : { title: tool.title }),
      readOnlyHint: tool.read_only,
      destructiveHint: hints.destructive_hint ?? !tool.read_only,
      idempotentHint: hints.idempotent_hint ?? tool.read_only,
      openWorldHint: hints.open_world_hint ?? false,
    },
  };
}

/** How to freeze a kind of entity that has a statement. */
export interface Freezer<D, F> {
  readonly query: (definition: D) => QueryDefinition;
  readonly read_only: (definition: D) => boolean;
  readonly freeze: (definition: D, compiled: Compiled, connection: ConnectionDefinition) => F;
}

export const toolFreezer: Freezer<ToolDefinition, FrozenTool> = {
  query: (tool) => tool,
  read_only: (tool) => tool.read_only,
  freeze: freezeTool,
};

export const resourceFreezer: Freezer<ResourceDefinition, FrozenResource> = {
  query: resourceDefinition,
  read_only: () => true,
  freeze: freezeResource,
};
