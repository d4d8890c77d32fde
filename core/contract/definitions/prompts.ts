import * as v from 'valibot';
import { Id, LONGEST_STATEMENT, definitionTags, stored, TemplateText, textBetween, texts, Unchanged } from '../fields.ts';
import { field } from '../marks.ts';
import { Findings } from '../lint.ts';
import { entityOperations, ownedFilters } from '../entity-operations.ts';

/** An argument of a prompt; the values of `enum` are offered as completions. */
export const PromptArgument = v.strictObject({
  name: v.pipe(
    v.string(),
    v.regex(
      /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
      'must begin with a letter or underscore and hold at most 64 letters, digits and underscores',
    ),
  ),
  description: v.optional(v.pipe(v.string(), v.maxLength(5_000)), ''),
  required: v.optional(v.boolean(), true),
  enum: v.optional(v.pipe(v.array(textBetween(1, 1_000)), v.minLength(1), v.maxLength(1_000))),
});
export type PromptArgument = v.InferOutput<typeof PromptArgument>;

export const PromptMessage = v.strictObject({
  role: v.picklist(['user', 'assistant']),
  template: textBetween(1, LONGEST_STATEMENT),
});
export type PromptMessage = v.InferOutput<typeof PromptMessage>;

const draft = {
  connection_id: field(v.nullable(Id), {
    label: 'Connection',
    help: 'The prompt is deleted with its connection. Optional.',
    open: true,
    default: null,
  }),
  ...texts,
  /** A single message of the user. If `messages` is set, it is used instead. */
  template: field(TemplateText, { label: 'Template', control: 'code', open: true, default: null }),
  messages: field(v.nullable(v.pipe(v.array(PromptMessage), v.minLength(1), v.maxLength(100))), {
    label: 'Messages',
    open: true,
    default: null,
  }),
  arguments: field(v.pipe(v.array(PromptArgument), v.maxLength(100)), { label: 'Arguments', open: true, default: [] }),
  tags: definitionTags,
  enabled: field(v.boolean(), {
    label: 'Enabled',
    help: 'Disabled prompts are left out of the next deploy.',
    open: true,
    default: true,
  }),
};

export const PromptDraft = v.strictObject(draft);
export type PromptDraft = v.InferOutput<typeof PromptDraft>;

export const Prompt = v.object({
  id: Id,
  ...draft,
  connection_name: v.nullable(v.string()),
  tokens: v.pipe(v.number(), v.description('What its entry in the list of prompts costs a model, estimated')),
  ...stored,
  findings: Findings,
  unchanged: Unchanged,
});
export type Prompt = v.InferOutput<typeof Prompt>;

export const prompts = entityOperations({
  kind: 'prompt',
  plural: 'prompts',
  draft: PromptDraft,
  record: Prompt,
  filters: ownedFilters,
  agents_list: true,
});
