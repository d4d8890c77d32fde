import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, resolve, sep } from 'node:path';
import { AppError, invalidField } from '#core/errors.ts';
import type { DialPolicy } from '../shared/source.ts';

/**
 * The real path of the file that `database` names: an existing regular file under `policy.sqlite_dir`, after every link was
 * followed, and none of our own. Throws `invalid` (field `database`) or `database_unreachable` (`database_missing`).
 */
export function resolveSqliteFile(database: string, policy: DialPolicy): string {
  if (database.includes('\0') || database.split(/[/\\]/).includes('..')) throw outside();
  const folder = realPath(policy.sqlite_dir);
  if (folder === null) throw missing();
  const wanted = isAbsolute(database) ? database : resolve(folder, database);
  const path = realPath(wanted);
  if (path === null) throw isAbsolute(database) && !isInside(database, policy.sqlite_dir) ? outside() : missing();
  if (!isInside(path, folder)) throw outside();
  const file = statSync(path, { bigint: true });
  if (!file.isFile()) throw invalidField('database', 'The SQLite database must be a regular file.');
  for (const own of policy.forbidden_files ?? []) {
    const ours = statSync(own, { bigint: true, throwIfNoEntry: false });
    // By inode, because a hard link has a path of its own.
    if (ours && ours.dev === file.dev && ours.ino === file.ino) throw outside();
  }
  return path;
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function outside(): AppError {
  return invalidField('database', 'The SQLite database must be a file inside the folder of SVC_SQLITE_DIR.');
}

function missing(): AppError {
  return new AppError('database_unreachable', 'There is no SQLite file with this name in the folder of SVC_SQLITE_DIR.', {
    reason: 'database_missing',
    errors: [{ field: 'database', message: 'There is no file with this name.' }],
  });
}
