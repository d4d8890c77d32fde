import { readMigrationFiles } from 'drizzle-orm/migrator';
import { AppError } from '#core/errors.ts';
import { productFile } from '#core/process/product.ts';

const MIGRATIONS = productFile('core/store/migrations');
type Dialect = 'sqlite' | 'pg';
type Run = (text: string) => Promise<Record<string, unknown>[]>;

/** How many of the migrations of this version a database has, and how many it has besides. */
export interface MigrationState {
  /** Of any version; 0 in an empty database. */
  readonly done: number;
  readonly pending: number;
  /** Of a newer version. */
  readonly unknown: number;
}

const filesOf = (dialect: Dialect) => readMigrationFiles({ migrationsFolder: `${MIGRATIONS}/${dialect}` });
const doneIn = async (run: Run): Promise<ReadonlySet<number>> =>
  new Set((await run('select created_at from migrations')).map((row) => Number(row['created_at'])));

/** Runs what the journal holds and the table `migrations` does not. Refuses a database of a newer version. */
export async function migrate(dialect: Dialect, run: Run): Promise<void> {
  await run('create table if not exists migrations (created_at bigint primary key, hash text not null)');
  const done = await doneIn(run);
  const files = filesOf(dialect);
  const { unknown } = compare(done, files);
  if (unknown > 0) throw new AppError('conflict', newerThanThis(unknown));
  for (const migration of files) {
    if (done.has(migration.folderMillis)) continue;
    for (const statement of migration.sql) await run(statement);
    await run(`insert into migrations (created_at, hash) values (${migration.folderMillis}, '${migration.hash}')`);
  }
}

const TABLE: Readonly<Record<Dialect, string>> = {
  sqlite: "select 1 from sqlite_master where type = 'table' and name = 'migrations'",
  pg: "select 1 where to_regclass('migrations') is not null",
};

/** Reads only. */
export async function migrationState(dialect: Dialect, run: Run): Promise<MigrationState> {
  const is_there = (await run(TABLE[dialect])).length > 0;
  return compare(is_there ? await doneIn(run) : new Set(), filesOf(dialect));
}

function compare(done: ReadonlySet<number>, files: readonly { readonly folderMillis: number }[]): MigrationState {
  const known = new Set(files.map(({ folderMillis }) => folderMillis));
  return { done: done.size, pending: known.difference(done).size, unknown: done.difference(known).size };
}

/** Why a program that does not migrate cannot work on a database; null: it can. */
export function unfitFor({ done, pending, unknown }: MigrationState): string | null {
  if (unknown > 0) return newerThanThis(unknown);
  if (done === 0)
    return 'The metadata database is empty. Check SVC_DATA_DIR and SVC_DATABASE_URL. The server creates the tables when it first starts.';
  if (pending === 0) return null;
  return `The metadata database is from an older version of Sluice: ${pending} of the migrations of this version are pending. Start the server of this version, which runs them, or run the command of the version that the server has.`;
}

const newerThanThis = (unknown: number): string =>
  `The metadata database is from a newer version of Sluice: this version does not know ${unknown} of its migrations. Use the newer version, or restore a backup from before the upgrade.`;
