import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { type FieldError, refuseFields } from '#core/errors.ts';
import { isSent } from '#core/query/arguments.ts';
import { AFTER } from '#core/query/page-schemas.ts';
import { hasTextFormat } from '#core/query/text-formats.ts';
import type { Classification } from '#core/lib/sql/statement.ts';

type Result = Pick<
  ToolDraft,
  'page_by' | 'ask_missing' | 'text_format' | 'files' | 'max_tokens' | 'return_type' | 'transform_template' | 'parameters'
>;

/** Commands whose rows Sluice can order and read in pages. */
const PAGED: ReadonlySet<string> = new Set(['select', 'with', 'values', 'from']);
const LISTS: ReadonlySet<ToolDraft['return_type']> = new Set(['rows', 'column', 'text', 'markdown', 'csv']);
const MEDIA: ReadonlySet<ToolDraft['return_type']> = new Set(['image', 'audio']);

/** Throws for pages, limits and formats of a result that have no effect. */
export const refuseShape = (draft: Result, read_only: boolean, classification: Classification): void =>
  refuseFields(faultsOf(draft, read_only, classification));

function faultsOf(draft: Result, read_only: boolean, classification: Classification): FieldError[] {
  const { text_format, max_tokens, return_type, transform_template } = draft;
  const no_file = draft.files === null ? null : unfiled(draft, read_only, classification);
  const paged = draft.page_by.length === 0 ? null : unpaged(draft, read_only, classification);
  const faults: (FieldError | null)[] = [
    paged === null ? null : { field: 'page_by', message: `page_by ${paged}` },
    no_file === null ? null : { field: 'files', message: `files ${no_file}` },
    text_format !== 'json' && !hasTextFormat(return_type)
      ? { field: 'text_format', message: 'text_format is for the return types rows, row and column.' }
      : null,
    text_format !== 'json' && transform_template !== null
      ? { field: 'text_format', message: 'text_format has no effect beside a template, which writes the result itself.' }
      : null,
    max_tokens !== null && MEDIA.has(return_type)
      ? { field: 'max_tokens', message: 'max_tokens is for results that are read as text. Limit images and audio by max_bytes.' }
      : null,
  ];
  return faults.filter((fault) => fault !== null);
}

/** Why a tool cannot have pages, as the rest of a sentence after the name of the field; null when it can. */
function unpaged(
  { return_type, transform_template, parameters, ask_missing }: Result,
  read_only: boolean,
  { passthrough, command }: Classification,
): string | null {
  if (!read_only) return 'is for tools that only read.';
  if (ask_missing)
    return 'does not go with ask_missing: a next page needs the same arguments, and the model does not know what was filled in.';
  if (passthrough) return 'does not go with a statement that is a parameter.';
  if (command !== '' && !PAGED.has(command)) return `needs a SELECT, and the statement is ${command.toUpperCase()}.`;
  if (!LISTS.has(return_type)) return 'is for the return types rows, column, text, markdown and csv.';
  if (transform_template !== null) return 'does not go with a template, which writes the result itself.';
  const taken = parameters.some((parameter) => isSent(parameter) && parameter.name === AFTER);
  return taken ? `adds the argument ${AFTER}, and a parameter has that name. Rename the parameter.` : null;
}

/** Return types that contain all columns: a file must not show columns that the answer leaves out. */
const WHOLE: ReadonlySet<ToolDraft['return_type']> = new Set(['rows', 'text', 'markdown', 'csv']);

/** Why a tool cannot offer its whole result as a file, as the rest of a sentence after the name of the field; null when it can. */
function unfiled(
  { return_type, transform_template }: Result,
  read_only: boolean,
  { passthrough }: Classification,
): string | null {
  if (!read_only) return 'is for tools that only read.';
  if (passthrough) return 'does not go with a statement that is a parameter.';
  if (!WHOLE.has(return_type)) return 'is for the return types rows, text, markdown and csv, which contain all columns.';
  return transform_template === null ? null : 'does not go with a template: a file would show what the template leaves out.';
}
