import { openClickhouse } from '#core/engines/clickhouse/source.ts';
import { openSource } from '#core/engines/index.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { hasChdb, startChdb } from '#test/support/chdb.ts';
import { localPolicy, reachable, testDatabase } from '#test/support/databases.ts';
import { startSqld } from '#test/support/sqld-server.ts';
import { SETTINGS } from '../clickhouse/fixture.ts';
import { createDuckdbFolder } from '../duckdb/fixture.ts';
import { createSqliteFolder } from '../sqlite/fixture.ts';

/** A database of its own, which goes with `close`. */
export interface OpenEngine {
  readonly source: Source;
  readonly db_type: ConnectionSettings['db_type'];
  /** Another source of the same database, which its caller closes. */
  again(): Promise<Source>;
  close(): Promise<void>;
}

export interface AnyEngine {
  readonly kind: ConnectionSettings['db_type'];
  readonly up: boolean;
  /** @param script statements that make what the database holds. */
  readonly open: (script: readonly string[]) => Promise<OpenEngine>;
}

const onServer = (kind: 'postgresql' | 'mysql', up: boolean): AnyEngine => ({
  kind,
  up,
  async open(script) {
    const database = await testDatabase(kind);
    for (const text of script) await database.run(text);
    const again = () => openSource(database.settings, localPolicy);
    const source = await again();
    const close = async () => {
      await source.close();
      await database.drop();
    };
    return { source, db_type: kind, again, close };
  },
});

/** Every engine, with a real database of its own. */
export const EVERY_ENGINE: readonly AnyEngine[] = [
  onServer('postgresql', reachable.postgres),
  onServer('mysql', reachable.mysql),
  {
    kind: 'sqlite',
    up: true,
    async open(script) {
      const files = createSqliteFolder();
      files.create('any.sqlite', script.join(';'));
      const again = async () => files.open('any.sqlite');
      return { source: await again(), db_type: 'sqlite', again, close: () => files.remove() };
    },
  },
  {
    kind: 'libsql',
    up: true,
    async open(script) {
      const server = await startSqld();
      for (const text of script) await server.run(text);
      const own = { host: '127.0.0.1', port: server.port, database: 'default', password: await server.token('rw') };
      const again = () => openSource({ ...SETTINGS, ...own, db_type: 'libsql' }, localPolicy);
      const source = await again();
      const close = async () => {
        await source.close();
        await server.stop();
      };
      return { source, db_type: 'libsql', again, close };
    },
  },
  {
    kind: 'duckdb',
    up: true,
    async open(script) {
      const files = createDuckdbFolder();
      await files.create('any.duckdb', script.length === 0 ? 'select 1' : script.join(';'));
      const again = async () => files.open('any.duckdb');
      return { source: await again(), db_type: 'duckdb', again, close: () => files.remove() };
    },
  },
  {
    kind: 'clickhouse',
    up: hasChdb,
    async open(script) {
      const chdb = await startChdb();
      for (const text of script) await chdb.run(text);
      const settings = { ...SETTINGS, port: 8123, database: 'default' };
      const again = async () => openClickhouse(settings, { ...localPolicy, fetch: chdb.fetch });
      const source = await again();
      const close = async () => {
        await source.close();
        await chdb.stop();
      };
      return { source, db_type: 'clickhouse', again, close };
    },
  },
];
