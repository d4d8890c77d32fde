import { AppError, invalidField } from '#core/errors.ts';
import type { EngineDescriptor } from '../shared/descriptor.ts';
import { textField } from '../shared/extras.ts';
import { DUCKDB_DIALECT } from './dialect.ts';
import { fileSettingsFault } from './files/settings.ts';
import { resolveDuckdb } from './path.ts';

export const DUCKDB: EngineDescriptor = {
  name: 'duckdb',
  kinds: [
    {
      db_type: 'duckdb',
      default_port: null,
      note: 'A folder of CSV, Parquet, JSON and SQLite files, or a .duckdb file, inside the folder of SVC_SQLITE_DIR. Read only.',
      telemetry: 'duckdb',
    },
  ],
  dialect: DUCKDB_DIALECT,
  required_fields: ['database'],
  extras: [
    {
      field: textField(
        'files',
        'How files are read',
        null,
        'JSON: for a file name or a pattern, how it is read. The Files page writes it.',
      ),
      fault: fileSettingsFault,
    },
  ],
  session: null,
  token: false,
  async check({ database }, policy) {
    try {
      resolveDuckdb(database, policy);
    } catch (error) {
      throw error instanceof AppError ? invalidField('database', error.detail) : error;
    }
  },
  open: async () => (await import('./source.ts')).openDuckdb,
  plans: async () => (await import('./explain.ts')).DUCKDB_PLANS,
  estimates: { kinds: ['duckdb'], cost: false },
  isInstalled: async () => (await import('./process.ts')).isDuckdbInstalled(),
  files: async () => (await import('./files/status.ts')).DUCKDB_FILES,
  project: {
    driver: 'snapshots/generate/project/drivers/duckdb.ts',
    packages: ['@duckdb/node-api'],
    networked: false,
    enforced: 'DuckDB opens its file read-only, in this process: one .duckdb file; import a folder of files into one first.',
    variables: ({ connection, prefix }) => [{ name: `${prefix}_PATH`, member: 'path', fallback: connection.database }],
  },
};
