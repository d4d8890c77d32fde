import { and, asc, count, desc, eq, min, type SQL } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Db } from '#core/store/store.ts';

/** Rows that anonymous callers create. */
interface Share {
  readonly table: SQLiteTable;
  readonly key: SQLiteColumn;
  /** The network that created the row. */
  readonly network: SQLiteColumn;
  /** Orders the rows: older ones have a smaller value. */
  readonly age: SQLiteColumn;
  /** Which rows may be deleted; absent for all. */
  readonly may_go?: SQL;
}

/**
 * Deletes the oldest row of the network with the most rows, so that a few networks cannot block the others.
 * @returns false when no row may be deleted.
 */
export async function makeRoom(tx: Db, { table, key, network, age, may_go }: Share): Promise<boolean> {
  const sites = tx.select({ network }).from(table).where(may_go).groupBy(network);
  const [fullest] = await sites.orderBy(desc(count()), asc(min(age))).limit(1);
  if (fullest === undefined) return false;
  const theirs = and(may_go, eq(network, fullest.network));
  const [oldest] = await tx.select({ key }).from(table).where(theirs).orderBy(asc(age)).limit(1);
  await tx.delete(table).where(eq(key, oldest?.key));
  return true;
}
