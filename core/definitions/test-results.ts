import type { Platform } from '#core/platform/platform.ts';
import { desc, eq, inArray, max } from 'drizzle-orm';
import type { KeptResult } from '#core/contract/definitions/tests.ts';
import type { Db } from '#core/store/store.ts';

/** The newest result of each test, by its id. */
export async function lastResults(
  { store }: Platform,
  ids: readonly string[],
  tx: Db = store.db,
): Promise<Map<string, KeptResult>> {
  if (ids.length === 0) return new Map();
  const { test_results: table } = store.tables;
  const newest = tx
    .select({ id: max(table.id) })
    .from(table)
    .where(inArray(table.test_id, [...ids]))
    .groupBy(table.test_id);
  const found = await tx.select().from(table).where(inArray(table.id, newest));
  return new Map(found.map((row) => [row.test_id, row]));
}

/** What the latest runs of a test found, newest first. */
export function resultsOf({ store }: Platform, id: string): Promise<KeptResult[]> {
  const { test_results: table } = store.tables;
  return store.db.select().from(table).where(eq(table.test_id, id)).orderBy(desc(table.id));
}
