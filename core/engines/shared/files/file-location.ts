import { type BigIntStats, realpathSync, statSync } from 'node:fs';
import { isAbsolute, resolve, sep } from 'node:path';
import { AppError, invalidField } from '#core/errors.ts';
import type { DialPolicy } from '../source.ts';

/** The file or folder below `policy.sqlite_dir` that a connection's `database` names. */
export interface FileLocation {
  /** Absolute, with links resolved. */
  readonly path: string;
  readonly found: BigIntStats;
}

/**
 * Finds an existing path below `policy.sqlite_dir`, with all links resolved. Files of this installation are refused. Throws
 * `invalid` (field `database`) or `database_unreachable` (`database_missing`).
 * @param what such as "SQLite file".
 */
export function resolveFile(database: string, policy: DialPolicy, what: string): FileLocation {
  const outside = (): AppError => invalidField('database', `The database must be a ${what} inside the folder of SVC_SQLITE_DIR.`);
  const missing = (): AppError =>
    new AppError('database_unreachable', `There is no ${what} with this name in the folder of SVC_SQLITE_DIR.`, {
      reason: 'database_missing',
      errors: [{ field: 'database', message: `There is no ${what} with this name.` }],
    });
  if (database.includes('\0') || database.split(/[/\\]/).includes('..')) throw outside();
  const folder = realPath(policy.sqlite_dir);
  if (folder === null) throw missing();
  const path = realPath(isAbsolute(database) ? database : resolve(folder, database));
  if (path === null) throw isAbsolute(database) && !isInside(database, policy.sqlite_dir) ? outside() : missing();
  // The folder itself contains the databases of other connections.
  if (!isInside(path, folder)) throw outside();
  const found = statSync(path, { bigint: true });
  for (const forbidden of policy.forbidden_files ?? []) {
    const ours = statSync(forbidden, { bigint: true, throwIfNoEntry: false });
    // Compared by inode, because a hard link has a different path. A folder that contains one of them would show it as a table.
    if (ours && ((ours.dev === found.dev && ours.ino === found.ino) || isInside(realPath(forbidden) ?? forbidden, path)))
      throw outside();
  }
  return { path, found };
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

const isInside = (path: string, folder: string): boolean => path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
