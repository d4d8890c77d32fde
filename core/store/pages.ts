import { type SQL, type SQLWrapper, sql, and, desc } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { MOST_COUNTED } from '#core/contract/fields.ts';
import type { Db, Store } from './store.ts';

export interface Page {
  readonly where?: SQL | undefined;
  readonly order: readonly (SQL | SQLiteColumn)[];
  readonly skip: number;
  readonly limit: number;
}

/** One page of a table's rows, and how many rows there are in all. */
export async function readPage<T extends SQLiteTable>(
  db: Db,
  table: T,
  { where, order, skip, limit }: Page,
): Promise<{ rows: T['$inferSelect'][]; total: number }> {
  const query = db
    .select()
    .from(table as SQLiteTable)
    .where(where)
    .orderBy(...order);
  const [rows, total] = await Promise.all([query.limit(limit).offset(skip), db.$count(table, where)]);
  return { rows, total };
}

/** Deletes all rows but the newest. Ids increase over time. @param which rows of the table; absent: all. */
export async function keepNewest(tx: Db, table: SQLiteTable & { readonly id: SQLiteColumn }, count: number, which?: SQL) {
  const { id } = table;
  const last = tx.select({ id }).from(table).where(which).orderBy(desc(id)).limit(1).offset(count);
  await tx.delete(table).where(and(which, sql`${id} <= ${last}`));
}

/**
 * The `total` of a page of a list that is counted up to `MOST_COUNTED`. Beyond it, one more than was read, while pages are full.
 * @param items of this page.
 */
export function totalOfPage(counted: number, { skip, limit }: Pick<Page, 'skip' | 'limit'>, items: number): number {
  if (counted < MOST_COUNTED || items === 0) return counted;
  return Math.max(counted, skip + items + (items === limit ? 1 : 0));
}

/** The number of rows of a query, at most `most`. The database stops counting there. */
export async function countUpTo({ store }: { readonly store: Store }, most: number, query: SQLWrapper): Promise<number> {
  const found: SQL = sql`(select 1 from (${query}) as found limit ${most}) as counted`;
  const [row] = await store.db.select({ count: sql<number | string>`count(*)` }).from(found);
  return Number(row?.count ?? 0);
}
