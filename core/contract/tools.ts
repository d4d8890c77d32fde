import * as v from 'valibot';
import {
  byId,
  Description,
  EntityName,
  Id,
  integerBetween,
  shownAs,
  SqlText,
  Tags,
  TemplateText,
  Timestamp,
  Title,
  Version,
  Warnings,
} from './fields.ts';
import { entityOperations, ownedFilters } from './entity-operations.ts';
import { operation } from './operation.ts';
import { Parameters } from './parameters.ts';

export const ReturnType = v.picklist(['rows', 'row', 'column', 'value', 'text', 'markdown', 'csv', 'image', 'audio']);
export type ReturnType = v.InferOutput<typeof ReturnType>;

export const Annotations = v.strictObject({
  destructive_hint: v.optional(v.boolean()),
  idempotent_hint: v.optional(v.boolean()),
  open_world_hint: v.optional(v.boolean()),
});
export type Annotations = v.InferOutput<typeof Annotations>;

/** Numbers that the host keeps to by itself. Each is frozen under its own name; null is left out. */
export const hostLimits = {
  cache_ttl_seconds: v.optional(integerBetween(0, 86_400), 0),
  /** null: SVC_TOOL_RATE_LIMIT. */
  rate_limit_per_minute: v.optional(
    v.pipe(
      v.nullable(integerBetween(1, 100_000)),
      shownAs({
        label: 'Call limit',
        unit: 'a minute',
        hint: 'Calls of all callers together. Empty: the limit of the installation.',
      }),
    ),
    null,
  ),
};

const draft = {
  connection_id: Id,
  name: EntityName,
  title: v.optional(Title, null),
  description: Description,
  sql_query: SqlText,
  parameters: v.optional(Parameters, []),
  tags: v.optional(Tags, []),
  return_type: v.optional(ReturnType, 'rows'),
  transform_template: v.optional(TemplateText, null),
  enabled: v.optional(v.boolean(), true),
  /** null: inferred from the statement. */
  read_only: v.optional(v.nullable(v.boolean()), null),
  annotations: v.optional(Annotations, {}),
  timeout_ms: v.optional(v.nullable(integerBetween(1, 600_000)), null),
  max_rows: v.optional(v.nullable(integerBetween(1, 1_000_000)), null),
  ...hostLimits,
};

export const ToolDraft = v.strictObject(draft);
export type ToolDraft = v.InferOutput<typeof ToolDraft>;

export const Tool = v.object({
  id: Id,
  ...draft,
  read_only: v.boolean(),
  connection_name: v.string(),
  output_schema: v.nullable(v.record(v.string(), v.unknown())),
  warnings: Warnings,
  version: Version,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Tool = v.InferOutput<typeof Tool>;

export const tools = {
  ...entityOperations({
    kind: 'tool',
    plural: 'tools',
    draft: ToolDraft,
    record: Tool,
    filters: ownedFilters,
    agents_list: false,
  }),
  'tools.duplicate': operation({
    method: 'POST',
    path: '/tools/{id}/duplicate',
    access: 'write',
    input: byId,
    output: Tool,
    status: 201,
    agent: 'duplicate_tool',
    summary: 'Copy a tool under the name <name>_copy',
  }),
};
