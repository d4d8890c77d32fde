import type { FileSettings } from '#core/contract/definitions/file-settings.ts';
import type { TableName } from './plan.ts';

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
export const tableOf = ({ schema, name }: TableName): string => `${quoted(schema)}.${quoted(name)}`;

/** The path of a file is nothing for a table. */
export const FILENAME = 'parse_filename(filename) AS filename';

/** The functions that read files take patterns: what is one in a name is put in brackets. */
export const pathsOf = (paths: readonly string[]): string =>
  `[${paths.map((path) => literal(path.replaceAll(/[*?[]/g, '[$&]'))).join(', ')}]`;

/** A way to read the files, and what to say when it was the one that worked. */
export interface SourceText {
  /** @param paths of files in UTF-8. */
  sql(paths: readonly string[]): string;
  readonly encoding: FileSettings['encoding'];
  readonly note: string | null;
  /** Lines may be left out, and DuckDB says which. */
  readonly rejects: boolean;
}
