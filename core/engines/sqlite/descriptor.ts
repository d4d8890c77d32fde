import { AppError, invalidField } from '#core/errors.ts';
import type { EngineDescriptor } from '../shared/descriptor.ts';
import { resolveSqliteFile } from './file.ts';
import { SQLITE_DIALECT } from './dialect.ts';

export const SQLITE: EngineDescriptor = {
  name: 'sqlite',
  kinds: [
    {
      db_type: 'sqlite',
      default_port: null,
      note: 'The database is a file inside the folder of SVC_SQLITE_DIR.',
      telemetry: 'sqlite',
    },
  ],
  dialect: SQLITE_DIALECT,
  required_fields: ['database'],
  extras: [],
  session: null,
  token: false,
  async check({ database }, policy) {
    try {
      resolveSqliteFile(database, policy);
    } catch (error) {
      throw error instanceof AppError ? invalidField('database', error.detail) : error;
    }
  },
  open: async () => (await import('./source.ts')).openSqlite,
  plans: async () => (await import('./explain.ts')).SQLITE_PLANS,
  files: async () => (await import('./files.ts')).SQLITE_FILES,
  project: {
    driver: 'snapshots/generate/project/drivers/sqlite.ts',
    packages: ['libsql'],
    networked: false,
    enforced:
      'A SQLite file is read with `query_only` on. A statement on it cannot be interrupted, so its timeout does not apply.',
    variables: ({ connection, prefix }) => [{ name: `${prefix}_PATH`, member: 'path', fallback: connection.database }],
  },
};
