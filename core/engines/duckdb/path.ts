import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, resolve, sep } from 'node:path';
import { AppError, invalidField } from '#core/errors.ts';
import type { ConnectionSettings, DialPolicy } from '../shared/source.ts';

/** What a connection's `database` names, with links followed. */
export interface DuckdbTarget {
  readonly kind: 'file' | 'folder';
  readonly path: string;
}

/**
 * An existing `.duckdb` file or a folder under `policy.sqlite_dir`, after every link was followed, and none of our own. Throws
 * `invalid` (field `database`) or `database_unreachable` (`database_missing`).
 */
export function resolveDuckdb(database: string, policy: DialPolicy): DuckdbTarget {
  if (database.includes('\0') || database.split(/[/\\]/).includes('..')) throw outside();
  const folder = realPath(policy.sqlite_dir);
  if (folder === null) throw missing();
  const wanted = isAbsolute(database) ? database : resolve(folder, database);
  const path = realPath(wanted);
  if (path === null) throw isAbsolute(database) && !isInside(database, policy.sqlite_dir) ? outside() : missing();
  // The folder itself holds the databases of other connections.
  if (!isInside(path, folder)) throw outside();
  const found = statSync(path, { bigint: true });
  if (found.isDirectory() && !isDuckdbFile(path)) return { kind: 'folder', path };
  if (!found.isFile() || !isDuckdbFile(path)) {
    throw invalidField('database', 'The database must be a folder of files, or a file that ends in .duckdb.');
  }
  for (const own of policy.forbidden_files ?? []) {
    const ours = statSync(own, { bigint: true, throwIfNoEntry: false });
    // By inode, because a hard link has a path of its own.
    if (ours && ours.dev === found.dev && ours.ino === found.ino) throw outside();
  }
  return { kind: 'file', path };
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

const isInside = (path: string, folder: string): boolean => path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

const outside = (): AppError =>
  invalidField('database', 'The database must be a folder or a .duckdb file inside the folder of SVC_SQLITE_DIR.');

const missing = (): AppError =>
  new AppError('database_unreachable', 'There is no folder or file with this name in the folder of SVC_SQLITE_DIR.', {
    reason: 'database_missing',
    errors: [{ field: 'database', message: 'There is no folder or file with this name.' }],
  });

/** A folder cannot be called like a file. */
export const isDuckdbFile = (database: string): boolean => /\.(?:duckdb|ddb)$/i.test(database);

/** The file that sessions open now. */
export interface ServedFile {
  /** Called before a statement runs: what changed is looked at, and waited for if that takes no longer than a moment. */
  refresh(signal: AbortSignal): Promise<void>;
  /** Waits while it is made for the first time. */
  current(signal: AbortSignal): Promise<{ readonly path: string; readonly isCurrent: () => boolean }>;
  /** False: it is being made for the first time. */
  isMade(): boolean;
  close(): Promise<void>;
}

export function serveFile(settings: ConnectionSettings, policy: DialPolicy): ServedFile {
  return {
    refresh: async () => undefined,
    async current() {
      const { path } = resolveDuckdb(settings.database, policy);
      const mark = fileMark(path);
      return { path, isCurrent: () => fileMark(path) === mark };
    },
    isMade: () => true,
    close: async () => undefined,
  };
}

/** Another text after any change of the file: a program that rebuilds it may rename a new one into its place. */
function fileMark(path: string): string {
  return [path, `${path}.wal`]
    .map((each) => {
      const found = statSync(each, { bigint: true, throwIfNoEntry: false });
      return found ? `${found.ino}.${found.size}.${found.mtimeNs}` : '-';
    })
    .join(' ');
}
