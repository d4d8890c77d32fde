import type { DefinitionKind } from '#core/contract/entities.ts';
import type { LintFinding } from '#core/contract/lint.ts';
import type { LintRule } from '#core/contract/settings/lint-rules.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { PromptArgument, PromptMessage } from '#core/contract/definitions/prompts.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import type { Confirm } from '#core/contract/definitions/write-guard.ts';
import { dialectNamed } from '#core/engines/index.ts';
import type { Column } from '#core/lib/sql/result.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import type { SqlNode, Statement } from '#core/lib/sql/statement.ts';
import type { FrozenPrompt, FrozenResource, FrozenTool, FrozenToolset } from '#snapshots/format/format.ts';

/** A definition as the rules read it: from a stored record, an unsaved draft or a frozen entity. */
export interface Subject {
  readonly kind: DefinitionKind;
  readonly id: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly query: SubjectQuery | null;
  readonly arguments: readonly Pick<PromptArgument, 'name' | 'description'>[];
  /** Other texts that people wrote, by field. */
  readonly texts: Readonly<Record<string, string>>;
}

export interface SubjectQuery {
  readonly sql: string;
  readonly dialect: SqlDialect;
  readonly parameters: readonly Parameter[];
  readonly returns: ReturnType;
  readonly reads: boolean;
  /** Whether a person confirms writes. */
  readonly confirms: boolean;
  /** Whether it returns rows in pages, in a defined order. */
  readonly pages: boolean;
  /** As the database described them. Null when they are unknown, or when the SQL differs from what the author wrote. */
  readonly columns: readonly Column[] | null;
}

/** A finding of a rule. The contract has its severity. */
export type RuleFinding = Pick<LintFinding, 'field' | 'message' | 'fix'> & { readonly rule: LintRule };

interface LintDraft {
  readonly id: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
}
interface QueryDraft extends LintDraft {
  readonly sql_query: string;
  readonly parameters: readonly Parameter[];
  readonly transform_template: string | null;
}
/** The known facts about the statement of a draft. */
interface KnownStatement {
  readonly statement: Pick<Statement, 'dialect'>;
  readonly columns: readonly Column[] | null;
}

const about = ({ id, name, title, description }: LintDraft) => ({ id, name, title, description, arguments: [], texts: {} });
const filled = (texts: Readonly<Record<string, string | null | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).flatMap(([field, text]) => (text ? [[field, text]] : [])));

export const ofToolDraft = (
  tool: QueryDraft & {
    readonly return_type: ReturnType;
    readonly read_only: boolean;
    readonly confirm?: Confirm | undefined;
    readonly page_by?: readonly object[] | undefined;
  },
  { statement, columns }: KnownStatement,
): Subject => ({
  ...about(tool),
  kind: 'tool',
  texts: filled({ transform_template: tool.transform_template }),
  query: {
    sql: tool.sql_query,
    dialect: dialectNamed(statement.dialect),
    parameters: tool.parameters,
    returns: tool.return_type,
    reads: tool.read_only,
    confirms: (tool.confirm ?? 'never') !== 'never',
    pages: (tool.page_by ?? []).length > 0,
    columns,
  },
});

/** A resource always only reads, and returns rows. */
export const ofResourceDraft = (resource: QueryDraft, known: KnownStatement): Subject => ({
  ...ofToolDraft({ ...resource, return_type: 'rows', read_only: true }, known),
  kind: 'resource',
});

export const ofPromptDraft = (
  prompt: LintDraft & {
    readonly template: string | null;
    readonly messages: readonly PromptMessage[] | null;
    readonly arguments: readonly PromptArgument[];
  },
): Subject => ({
  ...about(prompt),
  kind: 'prompt',
  query: null,
  arguments: prompt.arguments,
  texts: filled({
    template: prompt.template,
    ...Object.fromEntries((prompt.messages ?? []).map(({ template }, n) => [`messages.${n}.template`, template])),
  }),
});

export const ofToolsetDraft = (toolset: LintDraft & { readonly instructions: string | null }): Subject => ({
  ...about(toolset),
  kind: 'toolset',
  query: null,
  texts: filled({ instructions: toolset.instructions }),
});

type Listing = Readonly<Record<string, unknown>>;
const textIn = (listing: Listing, name: string): string => {
  const value = listing[name];
  return typeof value === 'string' ? value : '';
};
const listed = (id: string, name: string, listing: Listing): LintDraft => ({
  id,
  name,
  title: textIn(listing, 'title') || null,
  description: textIn(listing, 'description'),
});

const READ = {
  tool: (tool: FrozenTool) =>
    ofToolDraft(
      {
        ...listed(tool.id, tool.name, tool.listing),
        ...frozenQuery(tool),
        return_type: tool.return_type,
        read_only: tool.mode !== 'write',
        confirm: tool.confirm,
        page_by: tool.page_by,
      },
      { statement: tool.statement, columns: null },
    ),
  resource: (resource: FrozenResource) =>
    ofResourceDraft(
      { ...listed(resource.id, resource.name, resource.listing), ...frozenQuery(resource) },
      { statement: resource.statement, columns: null },
    ),
  prompt: (prompt: FrozenPrompt) =>
    ofPromptDraft({
      ...listed(prompt.id, prompt.name, prompt.listing),
      template: null,
      messages: [...prompt.messages],
      // A listing omits blank fields.
      arguments: (prompt.listing['arguments'] as Partial<PromptArgument>[]).map(({ name = '', description = '' }) => ({
        name,
        description,
        required: false,
      })),
    }),
  toolset: (toolset: FrozenToolset) => ofToolsetDraft(toolset),
};

/** A frozen entity as the rules read it. */
export const ofFrozen = (kind: DefinitionKind, frozen: object): Subject => READ[kind](frozen as never);

const frozenQuery = ({ statement, parameters, transform_template }: FrozenTool | FrozenResource) => ({
  sql_query: textOf(statement.nodes),
  parameters,
  transform_template,
});

/** The text of a parsed statement: equivalent to what the author wrote, but not identical. */
const textOf = (nodes: readonly SqlNode[]): string =>
  nodes
    .map((node) => {
      if (typeof node === 'string') return node;
      if ('block' in node) return `[[${textOf(node.block)}]]`;
      return node.in === undefined ? `:${node.name}` : `${node.in === 'in' ? 'in' : 'not in'} (:${node.name})`;
    })
    .join('');
