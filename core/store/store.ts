import type { LibSQLDatabase } from 'drizzle-orm/libsql';
import type { Schema } from './schema.ts';

/** Deploys take turns with their checks; within one, and beside it, whatever changes what is served takes short turns of its own. */
export type Turn = 'deploy' | 'switch';

export type Db = Omit<LibSQLDatabase, 'batch' | 'transaction'>;

/** The metadata database. Reads go to `db`, every write through `write`. */
export interface Store {
  readonly dialect: 'sqlite' | 'postgresql';
  readonly tables: Schema;
  readonly db: Db;
  /** One transaction; embedded, writers take turns in this process. Nothing is left of it when `work` throws. */
  write<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  /** One consistent view over several reads. */
  read<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  /** Deploys of every server of one database take turns; this process keeps its own order before it asks. */
  exclusive<T>(work: () => Promise<T>, turn?: Turn): Promise<T>;
  /** Whether a server that shares this database has its turn now. */
  isTaken(): Promise<boolean>;
  close(): Promise<void>;
}
