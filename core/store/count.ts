import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';

/** How many rows a query finds, but no more than `most`: it stops there. */
export async function countUpTo({ store }: Pick<App, 'store'>, most: number, query: SQLWrapper): Promise<number> {
  const found: SQL = sql`(select 1 from (${query}) as found limit ${most}) as counted`;
  const [row] = await store.db.select({ count: sql<number | string>`count(*)` }).from(found);
  return Number(row?.count ?? 0);
}
