import type { Prompt, PromptDraft } from '#core/contract/prompts.ts';
import type { Resource, ResourceDraft } from '#core/contract/resources.ts';
import type { Tool, ToolDraft } from '#core/contract/tools.ts';
import { parameterNames, optionalBlocks, scanSql, type Dialect } from './builder-sql.ts';

export const blankTool = (connection_id: string): ToolDraft => ({
  connection_id,
  name: '',
  title: null,
  description: '',
  sql_query: '',
  parameters: [],
  tags: [],
  return_type: 'rows',
  transform_template: null,
  enabled: true,
  read_only: null,
  annotations: {},
  timeout_ms: null,
  max_rows: null,
  cache_ttl_seconds: 0,
  rate_limit_per_minute: null,
});

export const blankResource = (connection_id: string): ResourceDraft => ({
  connection_id,
  name: '',
  title: null,
  description: '',
  uri_template: '',
  sql_query: '',
  parameters: [],
  tags: [],
  mime_type: 'application/json',
  transform_template: null,
  enabled: true,
});

export const blankPrompt = (): PromptDraft => ({
  connection_id: null,
  name: '',
  title: null,
  description: '',
  template: '',
  messages: null,
  arguments: [],
  tags: [],
  enabled: true,
});

/** What a person can change of a stored record. */
export function toToolDraft(tool: Tool): ToolDraft {
  const { id: _id, connection_name: _name, output_schema: _schema, warnings: _warnings, version: _version, ...rest } = tool;
  const { created_at: _created, updated_at: _updated, ...draft } = rest;
  return draft;
}

export function toResourceDraft(resource: Resource): ResourceDraft {
  const { id: _id, connection_name: _name, warnings: _warnings, version: _version, ...rest } = resource;
  const { created_at: _created, updated_at: _updated, ...draft } = rest;
  return draft;
}

/** A tool that reads what a resource reads, with the variables of its address as parameters. */
export function toolOfResource({
  connection_id,
  name,
  title,
  description,
  sql_query,
  parameters,
  tags,
  transform_template,
}: Resource): ToolDraft {
  return { ...blankTool(connection_id), name, title, description, sql_query, parameters, tags, transform_template };
}

export function toPromptDraft(prompt: Prompt): PromptDraft {
  const { id: _id, connection_name: _name, version: _version, created_at: _created, updated_at: _updated, ...draft } = prompt;
  return draft;
}

/** The fields that differ from what was read: only they are sent, so that what somebody else changed stays. */
export const changedFields = <T extends Record<string, unknown>>(values: T, names: readonly (keyof T & string)[]): Partial<T> =>
  Object.fromEntries(names.map((name) => [name, values[name]])) as Partial<T>;

/** The parameters that a statement names, and those that it names in optional blocks only. */
export function namesOfStatement(
  sql: string,
  dialect: Dialect,
): { readonly names: string[]; readonly optional: ReadonlySet<string> } {
  const pieces = scanSql(sql, dialect);
  const blocks = optionalBlocks(sql, pieces);
  const outside = new Set(
    pieces
      .filter(({ kind, start }) => kind === 'parameter' && !blocks.some((block) => block.start < start && start < block.end))
      .map(({ start, end }) => sql.slice(start + 1, end)),
  );
  const names = parameterNames(sql, dialect);
  return { names, optional: new Set(names.filter((name) => !outside.has(name))) };
}

/** Variables of a URI template of RFC 6570, level 1. */
export const uriVariables = (template: string): string[] => [
  ...new Set([...template.matchAll(/\{([A-Za-z_]\w*)\}/g)].map(([, name = '']) => name)),
];
