import * as v from 'valibot';
import { integerBetween, textBetween } from '../fields.ts';
import { field, labelOf, type Marks } from '../marks.ts';

/** A column of the result that orders its pages. */
export const PageBy = v.strictObject({
  column: textBetween(1, 128),
  desc: v.optional(v.boolean(), false),
});
export type PageBy = v.InferOutput<typeof PageBy>;

const MOST_COLUMNS = 4;

/** Format of the text beside structured content. */
export const TextFormat = v.picklist(['json', 'markdown', 'csv', 'tsv']);
export type TextFormat = v.InferOutput<typeof TextFormat>;
const TEXT_CHOICES = {
  json: { label: 'JSON', help: 'The structured result itself' },
  markdown: { label: 'Markdown', help: 'A table' },
  csv: { label: 'CSV', help: 'With a header line' },
  tsv: { label: 'TSV', help: 'Tab-separated columns with a header line' },
};

/** Format of a file with the whole result. */
export const FileFormat = v.picklist(['csv', 'jsonl', 'parquet', 'xlsx']);
export type FileFormat = v.InferOutput<typeof FileFormat>;
const FILE_CHOICES = {
  null: { label: 'None' },
  csv: { label: 'CSV' },
  jsonl: { label: 'JSON Lines' },
  parquet: { label: 'Parquet' },
  xlsx: { label: 'XLSX' },
};

/** Size and format of a call's result. */
export const resultShape = {
  page_by: field(
    v.pipe(
      v.array(PageBy),
      v.maxLength(MOST_COLUMNS),
      v.check((list) => new Set(list.map(({ column }) => column)).size === list.length, 'must name each column once'),
    ),
    {
      label: 'Page by',
      help: 'Columns that together identify a row. A result that is cut off then says how to read on.',
      open: true,
      breaking: (now) =>
        Array.isArray(now) && now.length === 0
          ? 'This tool no longer has pages, so it no longer accepts the argument after.'
          : null,
      default: [],
    },
  ),
  text_format: field(TextFormat, {
    label: 'Text format',
    help: 'Of the text beside the structured result.',
    open: true,
    choices: TEXT_CHOICES,
    breaking: (now, old) => `The text of the result is ${labelOf(TEXT_CHOICES, now)} instead of ${labelOf(TEXT_CHOICES, old)}.`,
    default: 'json',
  }),
  files: field(v.nullable(FileFormat), {
    label: 'File',
    help: 'Offers all rows as a download, if a toolset of the caller has files.',
    choices: FILE_CHOICES,
    open: true,
    breaking: (now) => (now === null ? 'This tool no longer offers its whole result as a file.' : null),
    default: null,
  }),
};

export const maxTokens = field(v.nullable(integerBetween(100, 10_000_000)), {
  label: 'Token limit',
  unit: 'tokens',
  help: 'Of the rows, estimated. Defaults to no limit.',
  choices: { null: { label: 'No limit' } },
  open: true,
  default: null,
});

/** What happens when the plan of a call is above a limit. */
export const PlanLimit = v.picklist(['warn', 'refuse']);
export type PlanLimit = v.InferOutput<typeof PlanLimit>;

const MOST = 2 ** 31 - 1;
const NO_LIMIT = { null: { label: 'No limit' } };

/** Whether a limit is set or lowered, or begins to refuse. */
const refusesMore: Marks['breaking'] = (now, old, { now: tool }) =>
  tool['plan_limit'] === 'refuse' && now !== null && !(Number(now) >= Number(old ?? NaN))
    ? 'This tool now refuses calls above its plan limits.'
    : null;

/** Limits on what the database estimates for a call of a reading tool. */
export const planLimits = {
  max_plan_rows: field(v.nullable(integerBetween(1, MOST)), {
    label: 'Plan row limit',
    unit: 'rows',
    help: 'Estimated rows of the largest step. Defaults to no limit.',
    choices: NO_LIMIT,
    open: true,
    breaking: refusesMore,
    default: null,
  }),
  max_plan_cost: field(v.nullable(integerBetween(1, MOST)), {
    label: 'Plan cost limit',
    help: 'Only PostgreSQL estimates it. Defaults to no limit.',
    choices: NO_LIMIT,
    open: true,
    breaking: refusesMore,
    default: null,
  }),
  plan_limit: field(PlanLimit, {
    label: 'Above a plan limit',
    choices: { warn: { label: 'Warn' }, refuse: { label: 'Refuse' } },
    open: true,
    breaking: refusesMore,
    default: 'warn',
  }),
};

export type PlanLimits = v.InferOutput<v.ObjectSchema<typeof planLimits, undefined>>;
/** The frozen form: fields with their default are absent. */
export type FrozenPlanLimits = { readonly [K in keyof PlanLimits]?: NonNullable<PlanLimits[K]> };
