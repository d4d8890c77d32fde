import * as v from 'valibot';
import { integerBetween, textBetween } from '../fields.ts';
import { field } from '../marks.ts';

/** A column of the result that orders its pages. */
export const PageBy = v.strictObject({
  column: textBetween(1, 128),
  desc: v.optional(v.boolean(), false),
});
export type PageBy = v.InferOutput<typeof PageBy>;

const MOST_COLUMNS = 4;

/** How the text beside structured content is written. */
export const TextFormat = v.picklist(['json', 'markdown', 'csv', 'tsv']);
export type TextFormat = v.InferOutput<typeof TextFormat>;

/** How much of a result a call returns, and in which form. */
export const resultShape = {
  page_by: field(
    v.pipe(
      v.array(PageBy),
      v.maxLength(MOST_COLUMNS),
      v.check((list) => new Set(list.map(({ column }) => column)).size === list.length, 'must name each column once'),
    ),
    {
      label: 'Page by',
      help: 'Columns that together tell the rows apart. A cut result then says how to get the rest.',
      open: true,
      breaking: (now) =>
        Array.isArray(now) && now.length === 0 ? 'This tool has no pages any more: it no longer takes after.' : null,
      default: [],
    },
  ),
  text_format: field(TextFormat, {
    label: 'Text format',
    help: 'Of the text beside the structured result.',
    open: true,
    choices: {
      json: { label: 'JSON', help: 'The structured result itself' },
      markdown: { label: 'Markdown', help: 'A table' },
      csv: { label: 'CSV', help: 'With a header line' },
      tsv: { label: 'TSV', help: 'Columns between tabs, with a header line' },
    },
    breaking: (now, old) => `The text of this tool's results is ${String(now)} instead of ${String(old)}.`,
    default: 'json',
  }),
};

export const maxTokens = field(v.nullable(integerBetween(100, 10_000_000)), {
  label: 'Token limit',
  unit: 'tokens',
  help: 'Of the rows, estimated. Defaults to no limit.',
  open: true,
  default: null,
});
