import * as v from 'valibot';
import { Id, integerBetween, SqlText, Tags, TemplateText, textBetween, Title, TransformTemplate, Warnings } from '../fields.ts';
import { GuardFinding } from '../guard.ts';
import { LintFinding } from '../lint.ts';
import { writeGuard } from './write-guard.ts';
import { operation } from '../operation.ts';
import { Masks } from './masks.ts';
import { PretendedCaller } from './pretended-caller.ts';
import { Parameters, ParameterType, ScalarType, ValueSource } from './parameters.ts';
import { PromptArgument, PromptMessage } from './prompts.ts';
import { maxTokens, planLimits, resultShape, TextFormat } from './pages.ts';
import { Annotations, ReturnType } from './tools.ts';
import { ToolsetNames } from './toolsets.ts';

/** A result or a list entry with the protocol's field names. */
const Members = v.record(v.string(), v.unknown());

export const Preview = v.object({
  columns: v.array(v.string()),
  column_types: v.array(v.string()),
  rows: v.array(v.record(v.string(), v.unknown())),
  row_count: v.number(),
  execution_time: v.number(),
  truncated: v.boolean(),
  /** Estimated tokens of a structured result's text, by `text_format`. */
  format_tokens: v.optional(v.record(TextFormat, v.number())),
  transformed_result: v.optional(v.unknown()),
  transform_error: v.optional(v.string()),
  model: v.pipe(
    v.optional(Members),
    v.description('What a client would receive: `content` and `structuredContent` of a tool, `contents` of a resource'),
  ),
});
export type Preview = v.InferOutput<typeof Preview>;

/** The caller of playground messages. Lists and calls use the toolsets that this caller sees. */
export const PlaygroundCaller = v.strictObject({
  ...PretendedCaller.entries,
  /** Names; null: everything. Absent: the toolsets of a signed-in person with these `groups`. */
  toolsets: v.optional(v.nullable(ToolsetNames)),
});
export type PlaygroundCaller = v.InferOutput<typeof PlaygroundCaller>;
const caller = v.pipe(
  v.optional(PretendedCaller),
  v.description('The caller whose values, masks and session values apply. Absent: no caller. Not for tokens'),
);

/** A text that can be empty while its author is still writing. */
const Unfinished = (max: number) => v.optional(v.pipe(v.string(), v.maxLength(max)), '');
const about = {
  id: v.pipe(v.optional(Id), v.description('The stored definition that this one would replace')),
  name: Unfinished(64),
  title: v.optional(Title, null),
  description: Unfinished(5_000),
  tags: v.optional(Tags, []),
};
const statement = {
  connection_id: Id,
  sql_query: SqlText,
  parameters: v.optional(Parameters, []),
  transform_template: v.optional(TransformTemplate, null),
  masks: v.optional(Masks, []),
};
/** A statement to run, and how to shape its result. */
const execution = {
  connection_id: Id,
  sql_query: SqlText,
  parameters: v.optional(v.record(v.string(), v.unknown()), {}),
  transform_template: v.optional(TransformTemplate),
  from: v.pipe(v.optional(v.record(v.string(), ValueSource), {}), v.description('Sources of parameters')),
  caller,
  masks: v.optional(Masks, []),
  limit: v.optional(integerBetween(1, 1_000), 100),
  definitions: v.pipe(
    v.optional(Parameters),
    v.description('Declared parameters, used to check and bind the values; without them, types are guessed'),
  ),
  return_type: v.pipe(v.optional(ReturnType), v.description('Also returns `model`, the result of a tool')),
  text_format: v.optional(TextFormat),
  ...planLimits,
  mime_type: v.pipe(v.optional(textBetween(3, 127)), v.description('Also returns `model`, the contents of a resource')),
};

/** The error that saving would return. */
const Refusal = v.object({
  code: v.string(),
  detail: v.string(),
  errors: v.array(v.object({ field: v.string(), message: v.string() })),
  position: v.optional(v.number()),
});
/** An unfinished definition is not an error: `refusal` replaces `listing`. */
const check_fields = {
  refusal: v.optional(Refusal),
  listing: v.pipe(v.optional(Members), v.description('The list entry that clients would receive')),
  findings: v.array(GuardFinding),
  lint: v.pipe(v.optional(v.array(LintFinding)), v.description('What lint finds in it, with fixes')),
};

/** Suggested parameters, from the database and its columns. The author of the tool decides. */
const Suggestion = v.object({
  name: v.string(),
  type: ParameterType,
  items: v.optional(ScalarType),
  enum: v.optional(v.array(v.union([v.string(), v.number()]))),
  description: v.pipe(v.string(), v.description('The comment of the column')),
  column: v.pipe(
    v.optional(v.object({ schema: v.nullable(v.string()), table: v.string(), name: v.string() })),
    v.description('The column that it is compared with or written to'),
  ),
});
export type Suggestion = v.InferOutput<typeof Suggestion>;
const columns = v.pipe(v.optional(v.array(v.string())), v.description('Columns of the result, as the database describes them'));
const suggested = v.pipe(v.optional(v.array(Suggestion)), v.description('What the database says of each parameter'));

export const preview = {
  'preview.execute': operation('POST /preview/execute', 'write', {
    audited: 'call',
    input: v.strictObject(execution),
    output: Preview,
    agent: 'preview_sql',
    summary: 'Run a statement read-only, for at most 10 seconds',
  }),
  'preview.trial': operation('POST /preview/trial', 'session', {
    audited: 'call',
    role: 'editor',
    input: v.strictObject(execution),
    output: v.object({
      ...Preview.entries,
      affected_rows: v.pipe(
        v.nullable(v.number()),
        v.description('Rows that a commit would have changed; null when the statement returns rows'),
      ),
    }),
    summary: 'Run a statement that writes and roll it back, for at most 10 seconds',
  }),
  'preview.tool': operation('POST /preview/tool', 'session', {
    role: 'editor',
    input: v.strictObject({
      ...statement,
      ...about,
      return_type: v.optional(ReturnType, 'rows'),
      read_only: v.optional(v.nullable(v.boolean()), null),
      annotations: v.optional(Annotations, {}),
      ...writeGuard,
      ...resultShape,
      max_tokens: maxTokens,
      ...planLimits,
      ask_missing: v.optional(v.boolean(), false),
    }),
    output: v.object({
      ...check_fields,
      read_only: v.optional(v.boolean()),
      reason: v.pipe(v.optional(v.nullable(v.string())), v.description('Why the statement is not read-only')),
      warnings: v.optional(Warnings),
      columns,
      suggested,
    }),
    summary: 'Preview a tool as a model sees it; checked like a saved tool, but nothing is stored',
  }),
  'preview.resource': operation('POST /preview/resource', 'session', {
    role: 'editor',
    input: v.strictObject({
      ...statement,
      ...about,
      uri_template: textBetween(3, 2_000),
      mime_type: v.optional(textBetween(3, 127), 'application/json'),
    }),
    output: v.object({
      ...check_fields,
      parameters: v.optional(Parameters),
      warnings: v.optional(Warnings),
      columns,
      suggested,
    }),
    summary: 'Preview a resource as a client sees it; checked like a saved one, but nothing is stored',
  }),
  'preview.prompt': operation('POST /preview/prompt', 'session', {
    role: 'editor',
    input: v.strictObject({
      ...about,
      template: v.optional(TemplateText, null),
      messages: v.optional(v.nullable(v.pipe(v.array(PromptMessage), v.minLength(1), v.maxLength(100))), null),
      arguments: v.optional(v.pipe(v.array(PromptArgument), v.maxLength(100)), []),
      values: v.pipe(
        v.optional(v.record(v.string(), v.string()), {}),
        v.description('Values of the arguments; missing ones are empty'),
      ),
      caller,
    }),
    output: v.object({
      ...check_fields,
      messages: v.optional(v.array(v.object({ role: v.picklist(['user', 'assistant']), text: v.string() }))),
      template_error: v.optional(v.string()),
      variables: v.pipe(
        v.optional(v.array(v.string())),
        v.description('Names that the templates read; each must be an argument'),
      ),
    }),
    summary: 'Preview the messages of a prompt with values for its arguments; nothing is stored',
  }),
};
