import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { AppError } from '#core/errors.ts';
import { productFile } from '#core/process/product.ts';

const MIGRATIONS = productFile('core/store/migrations');
type Dialect = 'sqlite' | 'pg';
type Run = (text: string) => Promise<Record<string, unknown>[]>;

/** A migration. Its key is the time of its generation. */
export type Migration = Pick<MigrationMeta, 'folderMillis' | 'hash' | 'sql'>;

/** The number of migrations that a database has and lacks, and of migrations that this version does not know. */
export interface MigrationState {
  /** Migrations of any version. 0 in an empty database. */
  readonly done: number;
  readonly pending: number;
  /** Migrations of a newer version. */
  readonly unknown: number;
  /** Migrations of a pre-release version, whose tables cannot be migrated. */
  readonly unreleased: number;
}

/** In the order of the journal. Migrations are append-only: a database with the first ones gets the others. */
export const migrationsOf = (dialect: Dialect): readonly Migration[] =>
  readMigrationFiles({ migrationsFolder: `${MIGRATIONS}/${dialect}` });

const doneIn = async (run: Run): Promise<ReadonlySet<number>> =>
  new Set((await run('select created_at from migrations')).map((row) => Number(row['created_at'])));

/**
 * Runs the migrations that the table `migrations` lacks. Throws `conflict` on a database of a newer version or of a pre-release
 * version.
 */
export async function migrate(run: Run, migrations: readonly Migration[]): Promise<void> {
  await run('create table if not exists migrations (created_at bigint primary key, hash text not null)');
  const done = await doneIn(run);
  const refusal = refusalOf(compare(done, migrations));
  if (refusal !== null) throw new AppError('conflict', refusal);
  for (const migration of migrations) {
    if (done.has(migration.folderMillis)) continue;
    for (const statement of migration.sql) await run(statement);
    await run(`insert into migrations (created_at, hash) values (${migration.folderMillis}, '${migration.hash}')`);
  }
}

const TABLE: Readonly<Record<Dialect, string>> = {
  sqlite: "select 1 from sqlite_master where type = 'table' and name = 'migrations'",
  pg: "select 1 where to_regclass('migrations') is not null",
};

/** Does not change the database. */
export async function migrationState(dialect: Dialect, run: Run): Promise<MigrationState> {
  const is_there = (await run(TABLE[dialect])).length > 0;
  return compare(is_there ? await doneIn(run) : new Set(), migrationsOf(dialect));
}

function compare(done: ReadonlySet<number>, migrations: readonly Migration[]): MigrationState {
  const known = new Set(migrations.map(({ folderMillis }) => folderMillis));
  const first = Math.min(...known);
  const others = [...done.difference(known)];
  const unreleased = others.filter((at) => at < first).length;
  return { done: done.size, pending: known.difference(done).size, unknown: others.length - unreleased, unreleased };
}

/** Why no program of this version can use the database. Null when it can after the migrations. */
export function refusalOf({ unknown, unreleased }: MigrationState): string | null {
  if (unreleased > 0)
    return 'The metadata database is from a pre-release version of Sluice, and this version cannot migrate it. Export the configuration with the version that created it, start this version with an empty database and import the file.';
  if (unknown === 0) return null;
  return `The metadata database is from a newer version of Sluice: this version does not know ${unknown} of its migrations. Use the newer version, or restore a backup from before the upgrade.`;
}

/** Why a program that does not migrate cannot use the database. Null when it can. */
export function incompatibility(state: MigrationState): string | null {
  const refusal = refusalOf(state);
  if (refusal !== null) return refusal;
  if (state.done === 0)
    return 'The metadata database is empty. Check SVC_DATA_DIR and SVC_DATABASE_URL. The server creates the tables when it first starts.';
  if (state.pending === 0) return null;
  return `The metadata database is from an older version of Sluice: ${state.pending} of the migrations of this version are pending. Start the server of this version, which runs them, or run the command of the version that the server has.`;
}
