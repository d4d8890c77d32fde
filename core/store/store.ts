import type { LibSQLDatabase } from 'drizzle-orm/libsql';
import type { Schema } from './schema.ts';

/** `deploy` is held for a whole deploy with its checks, `switch` briefly for each change of what is served. */
export type Turn = 'deploy' | 'switch';

export interface TurnRequest {
  readonly turn: Turn;
  /** Who does the work, for the error of others. */
  readonly by?: string;
  /** How long to wait for other work before `conflict`, in milliseconds. */
  readonly wait_ms?: number;
  /** Goes ahead of waiting work that is not urgent. */
  readonly urgent?: boolean;
  /** Aborted when the client has disconnected, so that its work is not begun. */
  readonly signal?: AbortSignal | undefined;
}

export type Db = Omit<LibSQLDatabase, 'batch' | 'transaction'>;

/** The metadata database. Reads use `db`, and all writes use `write`. */
export interface Store {
  readonly dialect: 'sqlite' | 'postgresql';
  readonly tables: Schema;
  readonly db: Db;
  /** One transaction, rolled back when `work` throws. Embedded, the writers of this process take turns. */
  write<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  /** One consistent view over several reads. */
  read<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  /**
   * Runs work on one server at a time. The caller orders the work of this process. Throws `conflict` when another server did not finish in
   * time. @param request a deploy that waits for as long as it takes, if absent.
   */
  exclusive<T>(work: () => Promise<T>, request?: TurnRequest): Promise<T>;
  /** Whether a server of this database holds the lock now. */
  isTaken(): Promise<boolean>;
  /** Different after every write of any program; null where that is not known, as with PostgreSQL or shortly after a write. */
  lastWrite(): string | null;
  close(): Promise<void>;
}
