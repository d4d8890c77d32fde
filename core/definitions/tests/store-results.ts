import { and, eq, inArray, lt, sql } from 'drizzle-orm';
import { MAX_RESULTS, type TestResult } from '#core/contract/definitions/tests.ts';
import { emitEvent } from '#core/records/events.ts';
import type { Context } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import { lastResults } from '#core/definitions/tests.ts';
import { ownerNames } from '#core/definitions/tests.ts';

/** Stores the results of a run, and deletes the oldest of each test beyond the retention limit. */
export async function storeResults(context: Context, results: readonly TestResult[], against: string): Promise<void> {
  if (results.length === 0) return;
  const { app, actor } = context;
  const { test_results: table, tests } = app.store.tables;
  const created_at = app.clock().toISOString();
  await app.store.write(async (tx) => {
    const ids = results.map(({ id }) => id);
    // Tests that were deleted during the run get no results.
    const there = new Set((await tx.select({ id: tests.id }).from(tests).where(inArray(tests.id, ids))).map(({ id }) => id));
    const existing = results.filter(({ id }) => there.has(id));
    if (existing.length === 0) return;
    await noticeFailed(context, existing, against, tx);
    await tx.insert(table).values(
      existing.map(({ id, status, ms, rows, failures, error, sqlstate }) => ({
        id: app.ids(),
        test_id: id,
        status,
        ms,
        rows,
        failures,
        error,
        sqlstate,
        against,
        actor: actor?.name ?? 'system',
        created_at,
      })),
    );
    for (const { id } of existing) {
      const newest = sql`(select id from ${table} where test_id = ${id} order by id desc limit 1 offset ${MAX_RESULTS - 1})`;
      await tx.delete(table).where(and(eq(table.test_id, id), lt(table.id, newest)));
    }
  });
}

/** Tests in one notice. */
const MAX_TESTS = 50;

/** Emits a notice about tests that fail now and did not before. It contains no failures, which may quote data. */
async function noticeFailed(context: Context, results: readonly TestResult[], against: string, tx: Db): Promise<void> {
  const { app, actor } = context;
  const failed = results.filter(({ status }) => status === 'failed');
  if (failed.length === 0) return;
  const before = await lastResults(
    app,
    failed.map(({ id }) => id),
    tx,
  );
  const fresh = failed.filter(({ id }) => before.get(id)?.status !== 'failed');
  if (fresh.length === 0) return;
  const names = await ownerNames(context, fresh, tx);
  const tests = fresh.slice(0, MAX_TESTS).map(({ id, name, owner }) => ({
    id,
    name,
    owner: { kind: owner.kind, name: names.get(owner.id) ?? '' },
  }));
  await emitEvent(app, 'test_failed', { against, by: actor?.name ?? 'system', failed: fresh.length, tests }, tx, actor);
}
