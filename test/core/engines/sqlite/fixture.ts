import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ConnectionSettings, DialPolicy, Source } from '#core/engines/shared/source.ts';
import { openSqlite } from '#core/engines/sqlite/source.ts';

export interface SqliteFolder {
  readonly folder: string;
  readonly policy: DialPolicy;
  /** Creates a file in the folder and runs the script in it. */
  create(name: string, script: string): string;
  open(database: string, settings?: Partial<ConnectionSettings>): Source;
  /** Reads the file with a handle of its own, past the source under test. */
  look(name: string, sql: string): unknown[];
  /** Closes every source and removes the folder. */
  remove(): Promise<void>;
}

export function createSqliteFolder(): SqliteFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-sqlite-')));
  const folder = join(root, 'databases');
  mkdirSync(folder);
  const policy = { allow_private_networks: true, forbidden: [], sqlite_dir: folder, forbidden_files: [join(folder, 'own.db')] };
  const sources: Source[] = [];
  return {
    folder,
    policy,
    create(name, script) {
      const database = new DatabaseSync(join(folder, name));
      database.exec(script);
      database.close();
      return join(folder, name);
    },
    open(database, settings = {}) {
      const source = openSqlite({ ...SETTINGS, database, ...settings }, policy);
      sources.push(source);
      return source;
    },
    look(name, sql) {
      const database = new DatabaseSync(join(folder, name), { readOnly: true });
      const rows = database.prepare(sql).all();
      database.close();
      return rows.map((row) => ({ ...row }));
    },
    async remove() {
      await Promise.all(sources.map((source) => source.close()));
      rmSync(root, { recursive: true });
    },
  };
}

const SETTINGS: ConnectionSettings = {
  db_type: 'sqlite',
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
    .filter((line) => /sqlite.child/.test(line))
    .map((line) => Number.parseInt(line, 10));
}
