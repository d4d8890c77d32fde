import * as v from 'valibot';

/** A column type: one or two words, optionally with a length or precision, or as a list. */
const TYPE = /^[A-Za-z][A-Za-z0-9_ ]{0,60}(?:\(\d{1,3}(?:, ?\d{1,3})?\))?(?:\[\])?$/;

/** Thousands separators: `1,234.50`, `1.234,50`, `1 234,50`, `1'234.50`. */
export const Thousands = v.picklist([',', '.', ' ', "'"]);
export type Thousands = v.InferOutput<typeof Thousands>;

const ColumnName = v.pipe(v.string(), v.maxLength(256));

/** How to read a file of the folder, where it differs from the detected format. */
export const FileSettings = v.strictObject({
  table: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[\p{L}_][\p{L}\p{N}_]{0,62}$/u, 'must begin with a letter and hold letters, digits and underscores'),
    ),
  ),
  delimiter: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(4))),
  /** Whether the first line contains the column names. */
  header: v.optional(v.boolean()),
  encoding: v.optional(v.picklist(['utf-8', 'utf-16', 'latin-1'])),
  /** Decimal separator. Absent: detected, unless fields are separated by commas. */
  decimal: v.optional(v.picklist(['.', ','])),
  /** Date format, such as `%d.%m.%Y`. */
  dates: v.optional(v.pipe(v.string(), v.regex(/^[-%\w./: ]{2,40}$/, 'must be a format such as %d.%m.%Y'))),
  /** Reads all columns as text. */
  as_text: v.optional(v.boolean()),
  /** Column types by name. */
  types: v.optional(v.record(ColumnName, v.pipe(v.string(), v.regex(TYPE, 'must be a type such as DATE or DECIMAL(10,2)')))),
  /** Thousands separators by column name: these columns contain numbers. */
  thousands: v.optional(v.record(ColumnName, Thousands)),
  /** Columns that are not read. */
  leave_out: v.optional(v.pipe(v.array(ColumnName), v.maxLength(1_000))),
});
export type FileSettings = v.InferOutput<typeof FileSettings>;

/** Keys are file names below the folder, or patterns with `*` in the last part, whose files become one table. */
export const FolderSettings = v.record(v.pipe(v.string(), v.minLength(1), v.maxLength(255)), FileSettings);
export type FolderSettings = v.InferOutput<typeof FolderSettings>;
