import * as v from 'valibot';
import { type Prompt, PromptDraft } from '#core/contract/definitions/prompts.ts';
import { type Resource, ResourceDraft } from '#core/contract/definitions/resources.ts';
import { type Tool, ToolDraft } from '#core/contract/definitions/tools.ts';
import { parameterNames, optionalBlocks, scanSql, type Dialect } from './sql/scan.ts';

type Draft<E extends v.ObjectEntries> = v.StrictObjectSchema<E, undefined>;

/** A draft with every default, and nothing in what has none but these texts. A form writes into it, so it is a copy. */
const blank = <E extends v.ObjectEntries>(schema: Draft<E>) =>
  ({ ...structuredClone(v.getDefaults(schema)), name: '', description: '' }) as v.InferOutput<Draft<E>>;

export const blankTool = (connection_id: string): ToolDraft => ({
  ...blank(ToolDraft),
  connection_id,
  sql_query: '',
});

export const blankResource = (connection_id: string): ResourceDraft => ({
  ...blank(ResourceDraft),
  connection_id,
  uri_template: '',
  sql_query: '',
});

export const blankPrompt = (): PromptDraft => blank(PromptDraft);

/** What a person can change of a stored record: the fields of a draft. */
const draftOf =
  <E extends v.ObjectEntries>({ entries }: Draft<E>) =>
  (record: v.InferOutput<Draft<E>>): v.InferOutput<Draft<E>> =>
    Object.fromEntries(Object.entries(record).filter(([name]) => Object.hasOwn(entries, name))) as typeof record;

export const toToolDraft: (tool: Tool) => ToolDraft = draftOf(ToolDraft);
export const toResourceDraft: (resource: Resource) => ResourceDraft = draftOf(ResourceDraft);
export const toPromptDraft: (prompt: Prompt) => PromptDraft = draftOf(PromptDraft);

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
  masks,
}: Resource): ToolDraft {
  return { ...blankTool(connection_id), name, title, description, sql_query, parameters, tags, transform_template, masks };
}

/** The fields that differ from the stored record: only they are sent, so that changes by other people stay. */
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
