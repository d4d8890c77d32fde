import { describe, test } from 'bun:test';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { openStore } from '#core/store/open.ts';
import { atEnd } from './at-end.ts';
import { reachable, testDatabase, type TestDatabase } from './databases.ts';

/** An empty metadata database for one app of a test. */
export interface Metadata {
  readonly url: string;
  /** The app that used it is closed. */
  release(): Promise<void>;
}

/** Databases in PostgreSQL that an earlier test of this process used and that are empty again, with their tables. */
const idle: Postgres[] = [];
let template: Promise<string> | undefined;

interface Postgres {
  readonly database: TestDatabase;
  /** What the migrations made. */
  readonly shape: string;
}

export type Dialect = 'sqlite' | 'postgresql';

const second_run = process.env['TEST_METADATA'] === 'postgresql';
/** For tests that name their store: each one that is reachable; none when the file runs a second time, with all else in PostgreSQL. */
export const namedStores: readonly Dialect[] = second_run ? [] : reachable.postgres ? ['sqlite', 'postgresql'] : ['sqlite'];

/** `describe` and `test` of what names its store or needs none: nothing when the file runs a second time. */
export const describeOnce =
  (can = true) =>
  (name: string, body: () => void): void =>
    second_run ? undefined : describe.skipIf(!can)(name, body);
export const testOnce =
  (can = true) =>
  (name: string, body: () => Promise<unknown>, timeout_ms?: number): void =>
    second_run ? undefined : test.skipIf(!can)(name, body, timeout_ms);

/** @param directory where an embedded one is. A fresh one each time as far as the app can tell; making one costs most of a test. */
export function emptyMetadata(directory: string, dialect: Dialect = second_run ? 'postgresql' : 'sqlite'): Promise<Metadata> {
  return dialect === 'postgresql' ? inPostgres() : embedded(directory);
}

async function embedded(directory: string): Promise<Metadata> {
  const file = join(directory, 'sluice.sqlite');
  copyFileSync(await (template ??= makeTemplate()), file);
  return { url: `file:${file}`, release: async () => {} };
}

async function makeTemplate(): Promise<string> {
  const file = join(mkdtempSync(join(tmpdir(), 'sluice-template-')), 'sluice.sqlite');
  await (await openStore(`file:${file}`)).close();
  // Closing leaves the tables in the write-ahead log, which is not copied.
  const client = createClient({ url: `file:${file}` });
  await client.execute('pragma wal_checkpoint(truncate)');
  client.close();
  return file;
}

async function inPostgres(): Promise<Metadata> {
  const entry = idle.pop() ?? (await makePostgres());
  return {
    url: entry.database.url,
    async release() {
      if (await emptied(entry)) idle.push(entry);
      else await entry.database.drop();
    },
  };
}

/** Runs the migrations, unless the runner has a database to copy. */
async function makePostgres(): Promise<Postgres> {
  const migrated = process.env['TEST_METADATA_TEMPLATE'] || undefined;
  const database = await testDatabase('postgresql', migrated);
  if (migrated === undefined) await (await openStore(database.url)).close();
  return { database, shape: await shapeOf(database) };
}

/** False: a test changed more than rows, so nobody else gets this database. */
async function emptied({ database, shape }: Postgres): Promise<boolean> {
  if ((await shapeOf(database)) !== shape) return false;
  await database.run(EMPTY);
  return true;
}

async function shapeOf(database: TestDatabase): Promise<string> {
  return JSON.stringify(await database.run(SHAPE));
}

const SHAPE = `select
  (select json_agg(c.relname || c.relkind::text order by c.oid) from pg_class c where c.oid >= 16384 and c.relkind <> 't') as relations,
  (select count(*) from pg_attribute where attrelid >= 16384 and not attisdropped) as columns,
  (select count(*) from pg_trigger) as triggers,
  (select count(*) from pg_proc where oid >= 16384) as functions`;

const EMPTY = `do $$
declare name text;
begin
  set local lock_timeout = '10s';
  for name in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migrations' loop
    execute format('delete from %I', name);
  end loop;
  for name in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S' loop
    execute format('alter sequence %I restart', name);
  end loop;
end $$`;

atEnd.push(async () => {
  if (template !== undefined) rmSync(join(await template, '..'), { recursive: true, force: true });
  await Promise.all(idle.splice(0).map(({ database }) => database.drop()));
});
