import type { FileSettings } from '#core/contract/definitions/file-settings.ts';
import type { TableName } from './plan.ts';

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
export const tableOf = ({ schema, name }: TableName): string => `${quoted(schema)}.${quoted(name)}`;

/** A table column must not contain the path of a file. */
export const FILENAME = 'parse_filename(filename) AS filename';

/** Quotes paths for functions that read files. These accept patterns, so pattern characters in names are put in brackets. */
export const pathsOf = (paths: readonly string[]): string =>
  `[${paths.map((path) => literal(path.replaceAll(/[*?[]/g, '[$&]'))).join(', ')}]`;

/** A way to read files, and the note for the user when it was needed. */
export interface SourceText {
  /** @param paths of files in UTF-8. */
  sql(paths: readonly string[]): string;
  readonly encoding: FileSettings['encoding'];
  readonly note: string | null;
  /** True when lines may be rejected; DuckDB reports which. */
  readonly rejects: boolean;
}
