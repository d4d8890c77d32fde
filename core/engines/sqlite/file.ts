import { invalidField } from '#core/errors.ts';
import { resolveFile } from '#core/engines/shared/files/file-location.ts';
import type { DialPolicy } from '../shared/source.ts';

/** The real path of the SQLite file that `database` names. Throws as `resolveFile` does. */
export function resolveSqliteFile(database: string, policy: DialPolicy): string {
  const { path, found } = resolveFile(database, policy, 'SQLite file');
  if (!found.isFile()) throw invalidField('database', 'The SQLite database must be a regular file.');
  return path;
}
