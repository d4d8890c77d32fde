import { statSync } from 'node:fs';
import { invalidField } from '#core/errors.ts';
import { resolveFile } from '#core/engines/shared/files/file-location.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';

/** What a connection's `database` names, with links followed. */
export interface DuckdbTarget {
  readonly kind: 'file' | 'folder';
  readonly path: string;
}

/** An existing `.duckdb` file or a folder. Throws as `resolveFile` does. */
export function resolveDuckdb(database: string, policy: DialPolicy): DuckdbTarget {
  const { path, found } = resolveFile(database, policy, 'folder or .duckdb file');
  if (found.isDirectory() && !isDuckdbFile(path)) return { kind: 'folder', path };
  if (found.isFile() && isDuckdbFile(path)) return { kind: 'file', path };
  throw invalidField('database', 'The database must be a folder of files, or a file that ends in .duckdb.');
}

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
  /** Sluice itself has changed a file: the next look comes at once. */
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
    isMade: () => true,
    // Each session looks at the file itself.
    filesChanged: () => undefined,
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
