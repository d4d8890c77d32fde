import { statSync } from 'node:fs';
import { invalidField } from '#core/errors.ts';
import { resolveFile } from '#core/engines/shared/files/file-location.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';

/** The file or folder that a connection's `database` names, with links resolved. */
export interface DuckdbTarget {
  readonly kind: 'file' | 'folder';
  readonly path: string;
}

/** Finds an existing `.duckdb` file or folder. Throws as `resolveFile` does. */
export function resolveDuckdb(database: string, policy: DialPolicy): DuckdbTarget {
  const { path, found } = resolveFile(database, policy, 'folder or .duckdb file');
  if (found.isDirectory() && !isDuckdbFile(path)) return { kind: 'folder', path };
  if (found.isFile() && isDuckdbFile(path)) return { kind: 'file', path };
  throw invalidField('database', 'The database must be a folder of files, or a file that ends in .duckdb.');
}

/** Only the name counts: the name of a folder cannot have this suffix. */
export const isDuckdbFile = (database: string): boolean => /\.(?:duckdb|ddb)$/i.test(database);

/** The file that sessions currently open. */
export interface ServedFile {
  /** Called before a statement runs: reads changed files, and waits for that a few seconds at most. */
  refresh(signal: AbortSignal): Promise<void>;
  /** Waits while the file is being built for the first time. */
  current(signal: AbortSignal): Promise<{ readonly path: string; readonly isCurrent: () => boolean }>;
  /** False: it is being built for the first time. */
  isBuilt(): boolean;
  /** Called when Sluice has changed a file: the next call scans the folder. */
  filesChanged(): void;
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
    isBuilt: () => true,
    // Each session checks the file itself.
    filesChanged: () => undefined,
    close: async () => undefined,
  };
}

/** A text that changes with the file. A program that rebuilds the file may replace it with a rename. */
function fileMark(path: string): string {
  return [path, `${path}.wal`]
    .map((each) => {
      const found = statSync(each, { bigint: true, throwIfNoEntry: false });
      return found ? `${found.ino}.${found.size}.${found.mtimeNs}` : '-';
    })
    .join(' ');
}
