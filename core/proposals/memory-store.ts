import { createClient } from '@libsql/client';
import { drizzle } from 'drizzle-orm/libsql';
import { migrate } from '#core/store/migrate.ts';
import type { Db, Store } from '#core/store/store.ts';
import { translate } from '#core/store/open.ts';
import { sqliteSchema } from '#core/store/schema.ts';

/** An empty metadata database in memory, gone when it closes; whatever the installation stores in. */
export interface MemoryStore extends Store {
  /** Work as one: what fails leaves nothing. @param work gets a store whose writes are parts of it. */
  attempt<T>(work: (store: Store) => Promise<T>): Promise<T>;
}

export async function openMemoryStore(): Promise<MemoryStore> {
  const client = createClient({ url: ':memory:', intMode: 'number' });
  const db = drizzle(client) as unknown as Db & Nesting;
  await migrate('sqlite', async (text) => (await client.execute(text)).rows);
  // There is one connection. Whoever writes by itself is not undone: the whole database is thrown away then.
  const direct = <T>(work: (tx: Db) => Promise<T>): Promise<T> => translate(() => work(db));
  const store: Store = {
    dialect: 'sqlite',
    tables: sqliteSchema,
    db,
    write: direct,
    read: direct,
    exclusive: (work) => work(),
    isTaken: async () => false,
    close: async () => client.close(),
  };
  return { ...store, attempt: (work) => translate(() => db.transaction((tx) => work(within(store, tx)))) };
}

/** What drizzle's databases and transactions have beside what the product uses. */
interface Nesting {
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
}

/** A store that is this transaction: its writes are savepoints of it, so that what fails alone is undone alone. */
export function within(store: Store, tx: Db): Store {
  const nested = <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    translate(() => (tx as Db & Nesting).transaction((inner) => work(inner)));
  return { ...store, db: tx, write: nested, read: (work) => work(tx), exclusive: (work) => work() };
}
