import { and, eq, inArray, lt, sql } from 'drizzle-orm';
import { KEPT_RESULTS, type TestResult } from '#core/contract/definitions/tests.ts';
import { emitEvent } from '#core/records/events.ts';
import type { Context } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import { lastResults } from '#core/definitions/test-results.ts';
import { ownerNames } from '#core/definitions/tests.ts';

/** Notes what a run found, and forgets the oldest results of each test beyond what is kept. */
export async function keepResults(context: Context, results: readonly TestResult[], against: string): Promise<void> {
  if (results.length === 0) return;
  const { app, actor } = context;
  const { test_results: table, tests } = app.store.tables;
  const created_at = app.clock().toISOString();
  await app.store.write(async (tx) => {
    const ids = results.map(({ id }) => id);
    // One that was deleted meanwhile has no results.
    const there = new Set((await tx.select({ id: tests.id }).from(tests).where(inArray(tests.id, ids))).map(({ id }) => id));
    const kept = results.filter(({ id }) => there.has(id));
    if (kept.length === 0) return;
    await noticeFailed(context, kept, against, tx);
    await tx.insert(table).values(
      kept.map(({ id, status, ms, rows, failures, error, sqlstate }) => ({
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
    for (const { id } of kept) {
      const newest = sql`(select id from ${table} where test_id = ${id} order by id desc limit 1 offset ${KEPT_RESULTS - 1})`;
      await tx.delete(table).where(and(eq(table.test_id, id), lt(table.id, newest)));
    }
  });
}

/** Tests that one notice names. */
const NAMED = 50;

/** Sends word of tests that fail and did not before: a test that stays broken is told once. What they found may quote data, and stays here. */
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
  const tests = fresh.slice(0, NAMED).map(({ id, name, owner }) => ({
    id,
    name,
    owner: { kind: owner.kind, name: names.get(owner.id) ?? '' },
  }));
  await emitEvent(app, 'test_failed', { against, by: actor?.name ?? 'system', failed: fresh.length, tests }, tx, actor);
}
