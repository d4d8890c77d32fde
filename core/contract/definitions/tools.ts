import * as v from 'valibot';
import { byId, Id, integerBetween, definitionTags, SqlText, stored, template, texts, Unchanged, Warnings } from '../fields.ts';
import { field, labelOf } from '../marks.ts';
import { Findings } from '../lint.ts';
import { entityOperations, ownedFilters } from '../entity-operations.ts';
import { operation } from '../operation.ts';
import { masks } from './masks.ts';
import { maxTokens, planLimits, resultShape } from './pages.ts';
import { Parameters } from './parameters.ts';
import { View } from './view.ts';
import { writeGuard } from './write-guard.ts';

export const ReturnType = v.picklist(['rows', 'row', 'column', 'value', 'text', 'markdown', 'csv', 'image', 'audio']);
const RETURN_CHOICES = {
  rows: { label: 'Rows', help: 'All rows with their count, structured' },
  row: { label: 'One row', help: 'The first row, or null' },
  column: { label: 'One column', help: 'The values of the first column' },
  value: { label: 'One value', help: 'The first cell' },
  text: { label: 'Text', help: 'Lines with tab-separated columns' },
  markdown: { label: 'Markdown', help: 'A table, or the text of a single cell' },
  csv: { label: 'CSV', help: 'With a header line' },
  image: { label: 'Image', help: 'The bytes of the first cell' },
  audio: { label: 'Audio', help: 'The bytes of the first cell' },
};
export type ReturnType = v.InferOutput<typeof ReturnType>;

export const Annotations = v.strictObject({
  destructive_hint: v.optional(v.boolean()),
  idempotent_hint: v.optional(v.boolean()),
  open_world_hint: v.optional(v.boolean()),
});
export type Annotations = v.InferOutput<typeof Annotations>;

const CONNECTION_DEFAULT = { null: { label: 'Connection default' } };

/** Numeric limits that the host enforces. Each is frozen under its name; null is omitted. */
export const hostLimits = {
  cache_ttl_seconds: field(integerBetween(0, 86_400), {
    label: 'Cache lifetime',
    unit: 's',
    help: 'Identical calls reuse the result for this long. 0 turns caching off.',
    choices: { 0: { label: 'Off' } },
    open: true,
    bundled: { workers: 'has no effect', process: 'holds in each process' },
    default: 0,
  }),
  rate_limit_per_minute: field(v.nullable(integerBetween(1, 100_000)), {
    label: 'Rate limit',
    unit: 'calls per minute',
    help: 'Calls of all callers together. Defaults to SVC_TOOL_RATE_LIMIT.',
    choices: { null: { label: 'Server default' } },
    open: true,
    bundled: { workers: 'holds in each isolate', process: 'holds in each process' },
    default: null,
  }),
};

/** Limits that only tools have, in the order of the form. */
export const toolLimits = {
  read_only: field(v.nullable(v.boolean()), {
    label: 'Read-only',
    help: 'A read-only tool runs in a session that the database keeps read-only.',
    choices: {
      null: { label: 'Detect from SQL' },
      true: { label: 'Read only' },
      false: { label: 'Read and write' },
    },
    open: true,
    default: null,
  }),
  timeout_ms: field(v.nullable(integerBetween(1, 600_000)), {
    label: 'Timeout',
    unit: 'ms',
    help: 'Defaults to the timeout of the connection.',
    choices: CONNECTION_DEFAULT,
    open: true,
    default: null,
  }),
  max_rows: field(v.nullable(integerBetween(1, 1_000_000)), {
    label: 'Row limit',
    unit: 'rows',
    help: 'Defaults to the row limit of the connection.',
    choices: CONNECTION_DEFAULT,
    open: true,
    default: null,
  }),
  max_bytes: field(v.nullable(integerBetween(1_024, 512 * 1024 * 1024)), {
    label: 'Size limit',
    unit: 'bytes',
    help: 'Of the rows as JSON. Defaults to the size limit of the connection.',
    choices: CONNECTION_DEFAULT,
    open: true,
    default: null,
  }),
  max_tokens: maxTokens,
  ...planLimits,
  ...hostLimits,
  ask_missing: field(v.boolean(), {
    label: 'Ask for missing arguments',
    help: 'Clients with forms ask a person for required arguments that a model left out.',
    open: true,
    default: false,
  }),
  log_arguments: field(v.boolean(), {
    label: 'Log arguments',
    help: 'Keeps the arguments of each call in the request log, encrypted, for people with the role editor or higher. Administrators turn it on. Defaults to off.',
    default: false,
  }),
};

const draft = {
  connection_id: field(Id, { label: 'Connection', open: true }),
  ...texts,
  sql_query: field(SqlText, { label: 'SQL', control: 'code', open: true }),
  parameters: field(Parameters, { label: 'Parameters', open: true, default: [] }),
  tags: definitionTags,
  return_type: field(ReturnType, {
    label: 'Return type',
    open: true,
    choices: RETURN_CHOICES,
    breaking: (now, old) => `The return type is “${labelOf(RETURN_CHOICES, now)}” instead of “${labelOf(RETURN_CHOICES, old)}”.`,
    default: 'rows',
  }),
  transform_template: template,
  masks,
  view: field(v.nullable(View), {
    label: 'View',
    help: 'How clients with MCP Apps draw a structured result. Defaults to what fits its rows.',
    open: true,
    default: null,
  }),
  enabled: field(v.boolean(), {
    label: 'Enabled',
    help: 'Disabled tools are left out of the next deploy.',
    open: true,
    default: true,
  }),
  ...resultShape,
  annotations: field(Annotations, { label: 'Annotations', open: true, default: {} }),
  ...toolLimits,
  ...writeGuard,
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
  tokens: v.pipe(v.number(), v.description('What its entry in the list of tools costs a model, estimated')),
  ...stored,
  findings: Findings,
  unchanged: Unchanged,
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
  'tools.duplicate': operation('POST /tools/{id}/duplicate', 'write', {
    input: byId,
    output: Tool,
    status: 201,
    agent: 'duplicate_tool',
    summary: 'Copy a tool under the name <name>_copy',
  }),
};
