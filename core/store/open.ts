import type { Env } from '#core/process/env.ts';
import type { Log } from '#core/process/log.ts';
import { upgradeSnapshots } from './upgrade.ts';
import type { Store, Db } from './store.ts';
import { type MigrationState, migrate, migrationState } from './migrate.ts';
import { createClient } from '@libsql/client';
import { drizzle as drizzleLibsql } from 'drizzle-orm/libsql';
import { keepPrivate } from './private-file.ts';
import { sqliteSchema, pgSchema } from './schema.ts';
import { drizzle as drizzlePg } from 'drizzle-orm/postgres-js';
import { LOCKS } from './locks.ts';
import { withReconnect, openPostgresClient, toAnswer } from './postgres-client.ts';
import { sql as query } from 'drizzle-orm';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Sql } from 'postgres';
import { AppError } from '#core/errors.ts';

const BUSY_TIMEOUT_MS = 5_000;

/** What was asked has been answered by then; only lost connections are waited for. */
const CLOSE_SECONDS = 2;

/** Where the metadata database is: what the environment says, or a file in the data folder. */
export const databaseUrl = (env: Pick<Env, 'SVC_DATABASE_URL' | 'SVC_DATA_DIR'>): string =>
  env.SVC_DATABASE_URL ?? `file:${env.SVC_DATA_DIR}/sluice.sqlite`;

/** @param url `postgres://…` or `file:<path>`; migrations run under a lock before it answers. @param log is told of long ones. */
export async function openStore(url: string, log: Pick<Log, 'info'> | null = null): Promise<Store> {
  const { store, migrateAll } = await openAnyStore(url);
  try {
    await migrateAll();
    await upgradeSnapshots(store, log);
    return store;
  } catch (error) {
    await store.close().catch(() => undefined);
    throw error;
  }
}

/** Opens a database as its server left it: nothing is migrated. */
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
  /** Under a lock. */
  readonly migrateAll: () => Promise<void>;
  readonly readState: () => Promise<MigrationState>;
}

const openAnyStore = async (url: string): Promise<Opened> =>
  /^postgres(ql)?:/.test(url) ? openPostgresStore(url) : openEmbeddedStore(url);

async function openEmbeddedStore(url: string): Promise<Opened> {
  const [file = ''] = url.slice('file:'.length).split('?');
  keepPrivate(file);
  const client = createClient({ url, intMode: 'number', timeout: BUSY_TIMEOUT_MS });
  await client.execute('pragma journal_mode = wal');
  await client.execute('pragma foreign_keys = on');
  const lock = createLock();
  const db = drizzleLibsql(client);
  const transaction = async <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    lock(() => db.transaction((tx) => work(tx as unknown as Db), { behavior: 'immediate' }));
  const migrateAll = () =>
    lock(async () => {
      const tx = await client.transaction('write');
      try {
        await migrate('sqlite', async (text) => (await tx.execute(text)).rows);
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
    // Writers of this process wait their turn, so what is read belongs together; no lock is taken in the file.
    read: (work) => lock(() => work(db as unknown as Db)),
    close: async () => {
      await lock(async () => client.close());
    },
  };
  const readState = () => migrationState('sqlite', async (text) => (await client.execute(text)).rows);
  return { store, migrateAll, readState };
}

function openPostgresStore(url: string): Opened {
  const sql = openPostgresClient(url);
  const db = drizzlePg(withReconnect(sql));
  const view = drizzlePg(withReconnect(sql, 'isolation level repeatable read read only'));
  const migrateAll = async () => {
    const patient = openPostgresClient(url, true);
    try {
      await patient.begin(async (tx) => {
        await tx`select pg_advisory_xact_lock(${LOCKS.migration})`;
        await migrate('pg', async (text) => await tx.unsafe(text));
      });
    } finally {
      await patient.end({ timeout: 1 });
    }
  };
  const store: Store = {
    dialect: 'postgresql',
    tables: pgSchema,
    db: db as unknown as Db,
    write: (work) => translate(() => db.transaction((tx) => work(tx as unknown as Db))),
    read: (work) => translate(() => view.transaction((tx) => work(tx as unknown as Db))),
    exclusive: (work, turn = 'deploy') => translate(() => inTurn(sql, LOCKS[turn], work)),
    isTaken: async () => (await db.execute(TAKEN)).length > 0,
    close: () => sql.end({ timeout: CLOSE_SECONDS }),
  };
  return { store, migrateAll, readState: () => migrationState('pg', async (text) => await sql.unsafe(text)) };
}

/** A key of one number stands in two parts (PostgreSQL, pg_locks). */
const TAKEN = query`select from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted and (classid::bigint << 32 | objid::bigint) = ${LOCKS.deploy}::bigint
    and database = (select oid from pg_database where datname = current_database())`;

/** How often a server that waits for its turn asks again; no statement waits in the database. */
const TURN_MS = 50;

const TURN_END_MS = 1_000;

/** The lock ends with its transaction, and with a server that is killed. Lost with its connection, the work ends all the same. */
async function inTurn<T>(sql: Sql, key: string, work: () => Promise<T>): Promise<T> {
  const begun = Promise.withResolvers<{ readonly working: Promise<T> }>();
  let lost = false;
  // The driver cannot take a statement for a connection that is gone, not even the one that ends a transaction.
  const stayAway = () => (lost ? new Promise<never>(() => undefined) : undefined);
  const turn = sql.begin(async (tx) => {
    for (;;) {
      const [row] = await tx`
        select pg_try_advisory_xact_lock(${key}) as mine, set_config('idle_in_transaction_session_timeout', '0', true)`;
      if (row?.['mine'] === true) break;
      await Bun.sleep(TURN_MS);
      await stayAway();
    }
    const working = work();
    begun.resolve({ working });
    await working.catch(() => undefined);
    await stayAway();
  });
  const ended = turn.catch((error: unknown) => {
    lost = true;
    begun.reject(toAnswer(error));
  });
  const { working } = await begun.promise;
  await working.catch(() => undefined);
  // The next one finds the lock free; a database that is away holds nobody up.
  await withTimeout(ended, TURN_END_MS, () => undefined);
  return working;
}

/** A unique index that refuses a row is a conflict, whichever database says so; the index name tells which. */
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

/** Why a database takes no change for now, by SQLite's and PostgreSQL's codes. */
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

/** An error and what it was caused by. */
function causes(error: unknown): (Error & { code?: unknown; constraint_name?: unknown })[] {
  const chain: Error[] = [];
  for (let fault: unknown = error; fault instanceof Error && chain.length < 10; fault = fault.cause) chain.push(fault);
  return chain;
}

/** @returns the index or `table.column` that refused, or null for any other fault. */
export function uniqueViolation(error: unknown): string | null {
  for (const { code, constraint_name, message } of causes(error)) {
    if (code === '23505') return String(constraint_name);
    const failed = /UNIQUE constraint failed: (\S+)/.exec(message);
    if (failed) return failed[1] ?? '';
  }
  return null;
}

/** Runs work in the order it was asked for, one at a time. */
export interface Lock {
  <T>(work: () => Promise<T>): Promise<T>;
  /** Some work runs or waits. */
  busy(): boolean;
}

export function createLock(): Lock {
  let tail: Promise<unknown> = Promise.resolve();
  let held = 0;
  const lock = async <T>(work: () => Promise<T>): Promise<T> => {
    held += 1;
    const result = tail.then(work, work);
    // What it answered is not kept until the next one comes.
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
