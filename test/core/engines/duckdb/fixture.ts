import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { readFolder } from '#core/engines/duckdb/files/folder.ts';
import type { ManifestEntry } from '#core/engines/duckdb/files/manifest.ts';
import { openDuckdb } from '#core/engines/duckdb/source.ts';
import type { ConnectionSettings, DialPolicy, Source } from '#core/engines/shared/source.ts';

export interface DuckdbFolder {
  readonly root: string;
  readonly folder: string;
  readonly policy: DialPolicy;
  /** Creates a `.duckdb` file in the folder and runs the statements in it. */
  create(name: string, script: string): Promise<string>;
  write(name: string, content: string | Uint8Array): string;
  open(database: string, settings?: Partial<ConnectionSettings>): Source;
  /** Reads the file with an engine of its own, past the source under test. */
  look(name: string, sql: string): Promise<unknown[]>;
  /** What became of the files of a folder. */
  status(database: string, extra_params?: Record<string, unknown>): Promise<readonly ManifestEntry[]>;
  /** Every file below the root but the caches, with its bytes. */
  contents(): Record<string, string>;
  /** Closes every source and removes the folder. */
  remove(): Promise<void>;
}

export function createDuckdbFolder(): DuckdbFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-duckdb-')));
  const folder = join(root, 'databases');
  mkdirSync(folder);
  const policy = {
    allow_private_networks: true,
    forbidden: [],
    sqlite_dir: folder,
    cache_dir: join(root, 'cache'),
    forbidden_files: [join(folder, 'own.duckdb')],
  };
  const sources: Source[] = [];
  return {
    root,
    folder,
    policy,
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
    open(database, settings = {}) {
      const source = openDuckdb({ ...SETTINGS, database, ...settings }, policy);
      sources.push(source);
      return source;
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
        readdirSync(root, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(root, 'cache')))
          .map((entry) => join(entry.parentPath, entry.name))
          .toSorted()
          .map((path) => [path, new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex')]),
      ),
    async remove() {
      await Promise.all(sources.map((source) => source.close()));
      rmSync(root, { recursive: true });
    },
  };
}

const SETTINGS: ConnectionSettings = {
  db_type: 'duckdb',
  host: null,
  port: null,
  database: '',
  username: null,
  password: null,
  ssl_mode: null,
  ssl_ca: null,
  ssl_cert: null,
  ssl_key: null,
  extra_params: {},
  pool_size: 2,
};

/** Process ids of the programs that were started by this one. */
export function children(): number[] {
  const found = Bun.spawnSync(['ps', '-o', 'pid=,args=', '--ppid', String(process.pid)]).stdout.toString();
  return found
    .split('\n')
    .filter((line) => /duckdb.child/.test(line))
    .map((line) => Number.parseInt(line, 10));
}
