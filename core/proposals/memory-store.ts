import { createClient } from '@libsql/client/sqlite3';
import { drizzle } from 'drizzle-orm/libsql/sqlite3';
import { migrate, migrationsOf } from '#core/store/migrate.ts';
import type { Db, Store } from '#core/store/store.ts';
import { translate } from '#core/store/open.ts';
import { sqliteSchema } from '#core/store/schema.ts';

/** An empty metadata database in memory, whatever database the installation uses. Closing it discards it. */
export interface MemoryStore extends Store {
  /**
   * Runs work in one transaction, which is rolled back when the work fails. @param work gets a store whose writes belong to the
   * transaction.
   */
  attempt<T>(work: (store: Store) => Promise<T>): Promise<T>;
}

export async function openMemoryStore(): Promise<MemoryStore> {
  const client = createClient({ url: ':memory:', intMode: 'number' });
  const db = drizzle(client) as Db & Nesting;
  await migrate(async (text) => (await client.execute(text)).rows, migrationsOf('sqlite'));
  // There is one connection. A write outside of a transaction is not rolled back: after an error the whole database is discarded.
  const direct = <T>(work: (tx: Db) => Promise<T>): Promise<T> => translate(() => work(db));
  const store: Store = {
    dialect: 'sqlite',
    tables: sqliteSchema,
    db,
    write: direct,
    read: direct,
    exclusive: (work) => work(),
    isTaken: async () => false,
    lastWrite: () => null,
    close: async () => client.close(),
  };
  return { ...store, attempt: (work) => translate(() => db.transaction((tx) => work(within(store, tx)))) };
}

/** Transactions of drizzle, which `Db` does not declare. */
interface Nesting {
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
}

/** A store that is this transaction. Its writes are savepoints, so that a failed write is rolled back alone. */
export function within(store: Store, tx: Db): Store {
  const nested = <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    translate(() => (tx as Db & Nesting).transaction((inner) => work(inner)));
  return { ...store, db: tx, write: nested, read: (work) => work(tx), exclusive: (work) => work() };
}
