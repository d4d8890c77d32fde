import * as v from 'valibot';

/** A type as a person names it: a word or two, with a length or precision, or a list of them. */
const TYPE = /^[A-Za-z][A-Za-z0-9_ ]{0,60}(?:\(\d{1,3}(?:, ?\d{1,3})?\))?(?:\[\])?$/;

/** How a file of a folder is read, where that differs from what its contents suggest. */
export const FileSettings = v.strictObject({
  /** The name of the table. */
  table: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[\p{L}_][\p{L}\p{N}_]{0,62}$/u, 'must begin with a letter and hold letters, digits and underscores'),
    ),
  ),
  delimiter: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(4))),
  /** The first line has the names of the columns. */
  header: v.optional(v.boolean()),
  encoding: v.optional(v.picklist(['utf-8', 'utf-16', 'latin-1'])),
  /** What parts the fraction of a number; absent: it is detected where fields are not parted by commas. */
  decimal: v.optional(v.picklist(['.', ','])),
  /** How dates are written, such as `%d.%m.%Y`. */
  dates: v.optional(v.pipe(v.string(), v.regex(/^[-%\w./: ]{2,40}$/, 'must be a format such as %d.%m.%Y'))),
  /** Every column is text. */
  as_text: v.optional(v.boolean()),
  /** Types of columns by their names. */
  types: v.optional(
    v.record(
      v.pipe(v.string(), v.maxLength(256)),
      v.pipe(v.string(), v.regex(TYPE, 'must be a type such as DATE or DECIMAL(10,2)')),
    ),
  ),
});
export type FileSettings = v.InferOutput<typeof FileSettings>;

/** By the name of a file below the folder, or a pattern with `*` in its last part, whose files become one table. */
export const FolderSettings = v.record(v.pipe(v.string(), v.minLength(1), v.maxLength(255)), FileSettings);
export type FolderSettings = v.InferOutput<typeof FolderSettings>;
