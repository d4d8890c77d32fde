import { and, desc, eq, inArray, lt, max, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { type KeptResult, KEPT_RESULTS, type TestResult } from '#core/contract/definitions/tests.ts';
import type { Context } from '#core/run.ts';

/** The newest result of each test, by its id. */
export async function lastResults({ store }: App, ids: readonly string[]): Promise<Map<string, KeptResult>> {
  if (ids.length === 0) return new Map();
  const { test_results: table } = store.tables;
  const newest = store.db
    .select({ id: max(table.id) })
    .from(table)
    .where(inArray(table.test_id, [...ids]))
    .groupBy(table.test_id);
  const found = await store.db.select().from(table).where(inArray(table.id, newest));
  return new Map(found.map((row) => [row.test_id, row]));
}

/** What the latest runs of a test found, newest first. */
export function resultsOf({ store }: App, id: string): Promise<KeptResult[]> {
  const { test_results: table } = store.tables;
  return store.db.select().from(table).where(eq(table.test_id, id)).orderBy(desc(table.id));
}

/** Notes what a run found, and forgets the oldest results of each test beyond what is kept. */
export async function keepResults({ app, actor }: Context, results: readonly TestResult[], against: string): Promise<void> {
  if (results.length === 0) return;
  const { test_results: table, tests } = app.store.tables;
  const created_at = app.clock().toISOString();
  await app.store.write(async (tx) => {
    const ids = results.map(({ id }) => id);
    // One that was deleted meanwhile has no results.
    const there = new Set((await tx.select({ id: tests.id }).from(tests).where(inArray(tests.id, ids))).map(({ id }) => id));
    const kept = results.filter(({ id }) => there.has(id));
    if (kept.length === 0) return;
    await tx.insert(table).values(
      kept.map(({ id, status, ms, rows, failures }) => ({
        id: app.ids(),
        test_id: id,
        status,
        ms,
        rows,
        failures,
        against,
        actor: actor?.name ?? 'system',
        created_at,
      })),
    );
    for (const { id } of kept) {
      const newest = sql`(select id from ${table} where test_id = ${id} order by id desc limit 1 offset ${KEPT_RESULTS - 1})`;
      await tx.delete(table).where(and(eq(table.test_id, id), lt(table.id, newest)));
    }
  });
}
