import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqlite } from '#core/engines/sqlite/source.ts';
import { childrenOf, createFileFolder, type FileFolder } from '../shared/files.ts';

export interface SqliteFolder extends FileFolder {
  /** Creates a file in the folder and runs the script in it. */
  create(name: string, script: string): string;
  /** Reads the file with a handle of its own, past the source under test. */
  look(name: string, sql: string): unknown[];
}

export function createSqliteFolder(): SqliteFolder {
  const files = createFileFolder('sqlite', openSqlite, 'own.db');
  const { folder } = files;
  return {
    ...files,
    create(name, script) {
      const database = new DatabaseSync(join(folder, name));
      database.exec(script);
      database.close();
      return join(folder, name);
    },
    look(name, sql) {
      const database = new DatabaseSync(join(folder, name), { readOnly: true });
      const rows = database.prepare(sql).all();
      database.close();
      return rows.map((row) => ({ ...row }));
    },
  };
}

export const children = (): number[] => childrenOf('sqlite');
