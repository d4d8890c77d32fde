import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy, OpenSource, Source } from '#core/engines/shared/source.ts';

export interface FileFolder {
  readonly root: string;
  readonly folder: string;
  readonly policy: DialPolicy;
  open(database: string, settings?: Partial<ConnectionSettings>): Source;
  /** Closes every source and removes the folder. */
  remove(): Promise<void>;
}

/** A folder for the databases of an engine that reads files. @param own a file that belongs to the product. */
export function createFileFolder(db_type: 'sqlite' | 'duckdb', openSource: OpenSource, own: string): FileFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), `sluice-${db_type}-`)));
  const folder = join(root, 'databases');
  mkdirSync(folder);
  const policy = {
    allow_private_networks: true,
    forbidden: [],
    sqlite_dir: folder,
    cache_dir: join(root, 'cache'),
    forbidden_files: [join(folder, own)],
  };
  const sources: Source[] = [];
  return {
    root,
    folder,
    policy,
    open(database, settings = {}) {
      const source = openSource({ ...SETTINGS, db_type, database, ...settings }, policy);
      sources.push(source);
      return source;
    },
    async remove() {
      await Promise.all(sources.map((source) => source.close()));
      rmSync(root, { recursive: true });
    },
  };
}

const SETTINGS: Omit<ConnectionSettings, 'db_type'> = {
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

/** Process ids of the programs of an engine that were started by this one. */
export const childrenOf = (engine: string): number[] =>
  Bun.spawnSync(['ps', '-o', 'pid=,args=', '--ppid', String(process.pid)])
    .stdout.toString()
    .split('\n')
    .filter((line) => new RegExp(`${engine}.child`).test(line))
    .map((line) => Number.parseInt(line, 10));
