import type { Env } from '#core/process/env.ts';
import type { Store, Db } from './store.ts';
import { type MigrationState, migrate, migrationsOf, migrationState } from './migrate.ts';
import { drizzle as drizzleLibsql } from 'drizzle-orm/libsql/sqlite3';
import { sqliteSchema, pgSchema } from './schema.ts';
import { drizzle as drizzlePg } from 'drizzle-orm/postgres-js';
import { openEmbeddedClient } from './embedded-client.ts';
import { LOCKS } from './journal.ts';
import { lastWriteOf } from './last-write.ts';
import { withTimeouts, openPostgresClient } from './postgres-client.ts';
import { inTurn } from './turns.ts';
import { sql as query } from 'drizzle-orm';
import { AppError } from '#core/errors.ts';
import { fileUrlOf, pathOfFileUrl } from '#core/lib/file-url.ts';
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

const BUSY_TIMEOUT_MS = 5_000;

/** All statements have completed by then, so closing only waits for lost connections. */
const CLOSE_SECONDS = 2;

/** The URL of the metadata database: from the environment, or a file in the data folder. */
export const databaseUrl = (env: Pick<Env, 'SVC_DATABASE_URL' | 'SVC_DATA_DIR'>): string =>
  env.SVC_DATABASE_URL ?? fileUrlOf(`${env.SVC_DATA_DIR}/sluice.sqlite`);

/** @param url `postgres://…` or `file:<path>`; pending migrations run under a lock before it resolves. */
export async function openStore(url: string): Promise<Store> {
  const { store, migrateAll } = await openAnyStore(url);
  try {
    await migrateAll();
    return store;
  } catch (error) {
    await store.close().catch(() => undefined);
    throw error;
  }
}

/** Opens a database without migrating it. */
export async function openStoreAsIs(url: string): Promise<{ readonly store: Store; readonly migrations: MigrationState }> {
  const { store, readState } = await openAnyStore(url);
  try {
    return { store, migrations: await readState() };
  } catch (error) {
    await store.close().catch(() => undefined);
    throw error;
  }
}

interface Opened {
  readonly store: Store;
  /** Runs under a lock. */
  readonly migrateAll: () => Promise<void>;
  readonly readState: () => Promise<MigrationState>;
}

async function openAnyStore(url: string): Promise<Opened> {
  const file = pathOfFileUrl(url);
  return file === null ? openPostgresStore(url) : openEmbeddedStore(file);
}

async function openEmbeddedStore(file: string): Promise<Opened> {
  keepPrivate(file);
  const client = openEmbeddedClient(file, BUSY_TIMEOUT_MS);
  await client.execute('pragma journal_mode = wal');
  await client.execute('pragma foreign_keys = on');
  const lock = createLock();
  const db = drizzleLibsql(client);
  const transaction = async <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    lock(() => db.transaction((tx) => work(toDb(tx)), { behavior: 'immediate' }));
  const migrateAll = () =>
    lock(async () => {
      const tx = await client.transaction('write');
      try {
        await migrate(async (text) => (await tx.execute(text)).rows, migrationsOf('sqlite'));
        await tx.commit();
      } finally {
        tx.close();
      }
    });
  const store: Store = {
    dialect: 'sqlite',
    tables: sqliteSchema,
    db,
    write: (work) => translate(() => transaction(work)),
    exclusive: (work) => work(),
    isTaken: async () => false,
    lastWrite: () => lastWriteOf(file),
    // Writers of this process wait their turn, so the reads are consistent without a lock in the file.
    read: (work) => lock(() => work(toDb(db))),
    close: async () => {
      await lock(async () => {
        // So that the file has everything, for those who copy it alone.
        await client.execute('pragma wal_checkpoint(passive)').catch(() => undefined);
        client.close();
      });
    },
  };
  const readState = () => migrationState('sqlite', async (text) => (await client.execute(text)).rows);
  return { store, migrateAll, readState };
}

/** The two drivers and their transactions differ in types, and not in what is used of them. */
const toDb = (handle: unknown): Db => handle as Db;

function openPostgresStore(url: string): Opened {
  const sql = openPostgresClient(url);
  const db = drizzlePg(withTimeouts(sql));
  const view = drizzlePg(withTimeouts(sql, 'isolation level repeatable read read only'));
  const migrateAll = async () => {
    const patient = openPostgresClient(url, true);
    try {
      await patient.begin(async (tx) => {
        await tx`select pg_advisory_xact_lock(${LOCKS.migration})`;
        await migrate(async (text) => await tx.unsafe(text), migrationsOf('pg'));
      });
    } finally {
      await patient.end({ timeout: 1 });
    }
  };
  const store: Store = {
    dialect: 'postgresql',
    tables: pgSchema,
    db: toDb(db),
    write: (work) => translate(() => db.transaction((tx) => work(toDb(tx)))),
    read: (work) => translate(() => view.transaction((tx) => work(toDb(tx)))),
    exclusive: (work, request = { turn: 'deploy' }) => translate(() => inTurn(sql, work, request)),
    isTaken: async () => (await db.execute(TAKEN)).length > 0,
    lastWrite: () => null,
    close: () => sql.end({ timeout: CLOSE_SECONDS }),
  };
  return { store, migrateAll, readState: () => migrationState('pg', async (text) => await sql.unsafe(text)) };
}

/** PostgreSQL shows a bigint key as two numbers (pg_locks). */
const TAKEN = query`select from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted and (classid::bigint << 32 | objid::bigint) = ${LOCKS.deploy}::bigint
    and database = (select oid from pg_database where datname = current_database())`;

/** Turns a unique violation of either database into `conflict`, with the name of the index as reason. */
export async function translate<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const codes = causes(error).map(({ code }) => String(code));
    const refusal = REFUSALS.find(({ code }) => codes.some((one) => code.test(one)));
    if (refusal !== undefined) {
      const { detail, retry_after } = refusal;
      throw new AppError('unavailable', detail, { cause: error, ...(retry_after && { retry_after }) });
    }
    const cause = uniqueViolation(error);
    if (cause === null) throw error;
    throw new AppError('conflict', 'Another record already has this name. Choose another one.', { cause: error, reason: cause });
  }
}

/** Temporary reasons why a database rejects writes, by the codes of SQLite and PostgreSQL. */
const REFUSALS: readonly { readonly code: RegExp; readonly detail: string; readonly retry_after?: number }[] = [
  {
    code: /^SQLITE_BUSY/,
    detail: 'Another program is writing to the metadata database. Try again in a moment.',
    retry_after: 1,
  },
  {
    code: /^(SQLITE_FULL|SQLITE_IOERR_(WRITE|FSYNC|SHMSIZE)|53100)/,
    detail: 'The disk of the metadata database is full, so nothing was changed. Free some space and try again.',
  },
  {
    code: /^(SQLITE_READONLY|SQLITE_CANTOPEN|25006)/,
    detail:
      'The metadata database can only be read, so nothing was changed. Make its disk or server writable again, or point SVC_DATABASE_URL at one that is.',
  },
];

/** An error and its causes. */
function causes(error: unknown): (Error & { code?: unknown; constraint_name?: unknown })[] {
  const chain: Error[] = [];
  for (let fault: unknown = error; fault instanceof Error && chain.length < 10; fault = fault.cause) chain.push(fault);
  return chain;
}

/** @returns the violated index or `table.column`, or null for any other error. */
export function uniqueViolation(error: unknown): string | null {
  for (const { code, constraint_name, message } of causes(error)) {
    if (code === '23505') return String(constraint_name);
    const failed = /UNIQUE constraint failed: (\S+)/.exec(message);
    if (failed) return failed[1] ?? '';
  }
  return null;
}

/** Runs one piece of work at a time, in the order of the calls. */
export interface Lock {
  <T>(work: () => Promise<T>): Promise<T>;
  /** Whether work runs or waits. */
  busy(): boolean;
}

export function createLock(): Lock {
  let tail: Promise<unknown> = Promise.resolve();
  let held = 0;
  const lock = async <T>(work: () => Promise<T>): Promise<T> => {
    held += 1;
    const result = tail.then(work, work);
    // Dropping the result frees its memory before the next call.
    tail = result.then(
      () => undefined,
      () => undefined,
    );
    return result.finally(() => {
      held -= 1;
    });
  };
  return Object.assign(lock, { busy: () => held > 0 });
}

/**
 * Makes an SQLite file and its companion files readable by this user alone, and a missing folder too. An existing folder keeps the
 * permissions that the operator gave it.
 */
function keepPrivate(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  // SQLite gives its companion files the mode of the main file.
  closeSync(openSync(file, 'a', 0o600));
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    try {
      chmodSync(path, 0o600);
    } catch {
      // The file does not exist, or belongs to another user.
    }
  }
}
