import { and, asc, desc, eq, inArray, lt, lte, or } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { runEvery } from '#core/cluster/run-every.ts';
import { withLease } from '#core/cluster/leases.ts';

const DAY_MS = 24 * 3_600_000;

/** Contract sections 10 and 13: what is kept of calls, minutes, revoked tokens and sessions that ended. */
export const KEPT = {
  logs: 1_000_000,
  logs_ms: 30 * DAY_MS,
  series_ms: 7 * DAY_MS,
  revoked_tokens_ms: 30 * DAY_MS,
  ended_sessions_ms: DAY_MS,
  /** A host that is cut off for longer sends what it has under the same sequence at most a day later. */
  reports_ms: DAY_MS,
} as const;

/** Rows of one transaction: other writers wait no longer than for so many. */
const ROWS_AT_ONCE = 1_000;
/** Embedded, a statement runs in this thread: what else the server has to do comes in between. */
const PAUSE_MS = 1;
/** It is done so often; a server that was killed on the way leaves it to another one. */
const INTERVAL_MS = 10 * 60_000;
const LOOK_MS = 60_000;

/** Forgets what is too old, or too much. @returns the number of request logs that went, null when another server was first. */
export async function forgetUsage(app: App, most_logs: number = KEPT.logs): Promise<number | null> {
  return withLease(app, 'usage_retention', app.ids(), async () => ((await isDue(app)) ? forget(app, most_logs) : null));
}

async function forget(app: App, most_logs: number): Promise<number> {
  const { request_logs, mcp_sessions, mcp_session_names, mcp_lists, usage_series, host_reports, mcp_tokens, sessions } =
    app.store.tables;
  const before = (ms: number) => new Date(app.clock().getTime() - ms).toISOString();
  await app.store.write(async (tx) => {
    // The hour in which the oldest minute lies is still asked for.
    await tx.delete(usage_series).where(lt(usage_series.start, before(KEPT.series_ms + 3_600_000)));
    await tx.delete(host_reports).where(lt(host_reports.reported_at, before(KEPT.reports_ms)));
    await tx.delete(sessions).where(lt(sessions.expires_at, before(KEPT.ended_sessions_ms)));
    await tx
      .delete(mcp_tokens)
      .where(and(eq(mcp_tokens.revoked, true), lt(mcp_tokens.revoked_at, before(KEPT.revoked_tokens_ms))));
  });
  const surplus = await app.store.db
    .select({ id: request_logs.id, timestamp: request_logs.timestamp })
    .from(request_logs)
    .orderBy(desc(request_logs.timestamp), desc(request_logs.id))
    .limit(1)
    .offset(most_logs);
  const by_age = { timestamp: before(KEPT.logs_ms), id: 0 };
  const last = surplus[0] !== undefined && surplus[0].timestamp >= by_age.timestamp ? surplus[0] : by_age;
  await app.store.write(async (tx) => {
    const gone = tx.select({ id: mcp_sessions.id }).from(mcp_sessions).where(lt(mcp_sessions.last_at, last.timestamp));
    await tx.delete(mcp_session_names).where(inArray(mcp_session_names.session_id, gone));
    await tx.delete(mcp_sessions).where(lt(mcp_sessions.last_at, last.timestamp));
    await tx.delete(mcp_lists).where(lt(mcp_lists.timestamp, last.timestamp));
  });
  // In this form both databases read only the part of the index that goes.
  const where = and(
    lte(request_logs.timestamp, last.timestamp),
    or(lt(request_logs.timestamp, last.timestamp), lte(request_logs.id, last.id)),
  );
  let forgotten = 0;
  for (;;) {
    const gone = await app.store.write((tx) => {
      const oldest = tx
        .select({ id: request_logs.id })
        .from(request_logs)
        .where(where)
        .orderBy(asc(request_logs.timestamp), asc(request_logs.id))
        .limit(ROWS_AT_ONCE);
      return tx.delete(request_logs).where(inArray(request_logs.id, oldest)).returning({ id: request_logs.id });
    });
    forgotten += gone.length;
    if (gone.length < ROWS_AT_ONCE) break;
    // The rest is left to the server that comes next.
    if (app.life.ending) return forgotten;
    await Bun.sleep(PAUSE_MS);
  }
  await setDone(app);
  return forgotten;
}

/** One row says when it was done last. */
const DONE = 'usage_forgotten_at';

async function isDue(app: App): Promise<boolean> {
  const { meta } = app.store.tables;
  const [row] = await app.store.db.select().from(meta).where(eq(meta.key, DONE));
  return row === undefined || row.value < new Date(app.clock().getTime() - INTERVAL_MS + 1_000).toISOString();
}

async function setDone(app: App): Promise<void> {
  const { meta } = app.store.tables;
  const value = app.clock().toISOString();
  await app.store.write((tx) =>
    tx.insert(meta).values({ key: DONE, value }).onConflictDoUpdate({ target: meta.key, set: { value } }),
  );
}

/** Forgets at once and whenever it is due, on one server at a time. @returns a function that ends it. */
export function keepForgetting(app: App, look_ms = LOOK_MS): () => void {
  const work = async (): Promise<void> => {
    const forgotten = await forgetUsage(app);
    if (forgotten) app.log.info('request log pruned', { count: forgotten });
  };
  return runEvery(app, { every_ms: look_ms, what: 'pruning the request log', work, at_once: true });
}
