import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { readFolder } from '#core/engines/duckdb/files/folder.ts';
import type { ManifestEntry } from '#core/engines/duckdb/files/manifest.ts';
import { openDuckdb } from '#core/engines/duckdb/source.ts';
import { childrenOf, createFileFolder, type FileFolder } from '../shared/files.ts';

const LARGE = 16 * 1024 ** 2;

export interface DuckdbFolder extends FileFolder {
  /** Creates a `.duckdb` file in the folder and runs the statements in it. */
  create(name: string, script: string): Promise<string>;
  write(name: string, content: string | Uint8Array): string;
  /** Reads the file with an engine of its own, past the source under test. */
  look(name: string, sql: string): Promise<unknown[]>;
  /** What became of the files of a folder. */
  status(database: string, extra_params?: Record<string, unknown>): Promise<readonly ManifestEntry[]>;
  /** Every file below the root but the caches, with its bytes, or when a large one was written. */
  contents(): Record<string, string>;
}

export function createDuckdbFolder(): DuckdbFolder {
  const files = createFileFolder('duckdb', openDuckdb, 'own.duckdb');
  const { root, folder, policy } = files;
  return {
    ...files,
    async create(name, script) {
      const instance = await DuckDBInstance.create(join(folder, name));
      const connection = await instance.connect();
      await connection.run(script);
      connection.closeSync();
      instance.closeSync();
      return join(folder, name);
    },
    write(name, content) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    },
    async look(name, sql) {
      const instance = await DuckDBInstance.create(join(folder, name), { access_mode: 'READ_ONLY' });
      const connection = await instance.connect();
      const rows = (await connection.runAndReadAll(sql)).getRowObjectsJson();
      connection.closeSync();
      instance.closeSync();
      return rows;
    },
    status: (database, extra_params = {}) => readFolder({ database, extra_params }, policy),
    contents: () =>
      Object.fromEntries(
        filesBelow(root)
          // The locks of those that read a SQLite file with a log stand in one beside it.
          .filter((path) => !path.startsWith(join(root, 'cache')) && !path.endsWith('-shm'))
          .toSorted()
          .map((path) => [path, contentOf(path)]),
      ),
  };
}

/** The bytes of a file; of a large one when it was written, which no program can set back. */
function contentOf(path: string): string {
  const { ino, size, mode, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
  if (size > LARGE) return [ino, size, mode, mtimeNs, ctimeNs].join(' ');
  return new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex');
}

/** Without what links lead to. */
const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : [];
  });

export const children = (): number[] => childrenOf('duckdb');
