import { and, asc, count, desc, eq, min, type SQL } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Db } from '#core/store/store.ts';

/** Rows that strangers make. */
interface Share {
  readonly table: SQLiteTable;
  readonly key: SQLiteColumn;
  /** The site that made it. */
  readonly network: SQLiteColumn;
  /** Older rows have less. */
  readonly age: SQLiteColumn;
  /** Which of them may go; absent: all. */
  readonly may_go?: SQL;
}

/**
 * Makes room for one row: the oldest of the site that has most goes, so that a few sites keep nobody else out.
 * @returns whether there was one.
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
