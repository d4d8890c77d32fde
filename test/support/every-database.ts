import { Database } from 'bun:sqlite';
import { DuckDBInstance } from '@duckdb/node-api';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DbType } from '#core/contract/definitions/connections.ts';
import type { Input } from '#core/contract/index.ts';
import type { TestApp } from './app.ts';
import { hasChdb, startChdb } from './chdb.ts';
import { hasClickhouse, startClickhouse } from './clickhouse-server.ts';
import { reachable, type TestDatabase, testDatabase } from './databases.ts';
import { startSqld } from './sqld-server.ts';

/** `clickhouse` is the old server, which has no parameters, `chdb` the current engine behind HTTP. */
export const HERE = {
  postgresql: reachable.postgres,
  mariadb: reachable.mysql,
  sqlite: true,
  libsql: true,
  duckdb: true,
  clickhouse: hasClickhouse,
  chdb: hasChdb,
} as const satisfies Readonly<Record<string, boolean>>;
export type Engine = keyof typeof HERE;

export const typeOf = (engine: Engine): DbType => (engine === 'chdb' ? 'clickhouse' : engine);

export interface EveryDatabase {
  /** Ids of connections. */
  readonly connections: Readonly<Partial<Record<Engine, string>>>;
  readonly databases: Readonly<Partial<Record<Engine, TestDatabase>>>;
  close(): Promise<void>;
}

/** A database of each engine that is there, filled by its script, and a connection to it. */
export async function connectEvery(
  t: TestApp,
  scripts: Readonly<Partial<Record<Engine, readonly string[]>>>,
): Promise<EveryDatabase> {
  const connections: Partial<Record<Engine, string>> = {};
  const databases: Partial<Record<Engine, TestDatabase>> = {};
  const closes: (() => Promise<void>)[] = [];
  const local = { host: '127.0.0.1', ssl_mode: 'disable' } as const;
  const add = async (engine: Engine, body: { database: string } & Partial<Input<'connections.create'>>) => {
    connections[engine] = (await t.call('connections.create', { name: engine, db_type: typeOf(engine), ...body })).id;
  };
  const server = (engine: 'postgresql' | 'mariadb') => async (script: readonly string[]) => {
    const database = await testDatabase(engine === 'mariadb' ? 'mysql' : engine);
    databases[engine] = database;
    closes.push(() => database.drop());
    for (const text of script) await database.run(text);
    const { host, port, database: name, username } = database.settings;
    await add(engine, { host, port, database: name, username, ssl_mode: 'disable' });
  };
  const start: Readonly<Record<Engine, (script: readonly string[]) => Promise<void>>> = {
    postgresql: server('postgresql'),
    mariadb: server('mariadb'),
    async sqlite(script) {
      const file = new Database(join(t.directory, 'databases/every.db'));
      for (const text of script) file.run(text);
      file.close();
      await add('sqlite', { database: 'every.db' });
    },
    async libsql(script) {
      const sqld = await startSqld();
      closes.push(() => sqld.stop());
      for (const text of script) await sqld.run(text);
      await add('libsql', { ...local, port: sqld.port, database: 'default', password: await sqld.token('rw') });
    },
    async duckdb(script) {
      const file = await DuckDBInstance.create(join(t.directory, 'databases/every.duckdb'));
      const session = await file.connect();
      await session.run(script.join(';'));
      session.closeSync();
      file.closeSync();
      await add('duckdb', { database: 'every.duckdb' });
    },
    async clickhouse(script) {
      const clickhouse = await startClickhouse();
      closes.push(() => clickhouse.stop());
      for (const text of script) await clickhouse.run(text);
      await add('clickhouse', { ...local, port: clickhouse.port, database: 'default' });
    },
    async chdb(script) {
      const chdb = await startChdb();
      const front = Bun.serve({
        port: 0,
        fetch: async (request) => chdb.fetch(request.url, { method: 'POST', headers: {}, body: await request.text() }),
      });
      closes.push(async () => {
        await front.stop(true);
        await chdb.stop();
      });
      for (const text of script) await chdb.run(text);
      await add('chdb', { ...local, port: front.port ?? 0, database: 'default' });
    },
  };
  mkdirSync(join(t.directory, 'databases'), { recursive: true });
  for (const engine of Object.keys(HERE) as Engine[]) {
    const script = scripts[engine];
    if (script !== undefined && HERE[engine]) await start[engine](script);
  }
  return {
    connections,
    databases,
    async close() {
      for (const close of closes) await close();
    },
  };
}
