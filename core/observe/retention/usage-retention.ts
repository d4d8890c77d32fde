import type { Platform } from '#core/platform/platform.ts';
import { and, asc, desc, eq, inArray, lt, lte, or } from 'drizzle-orm';
import { runEvery } from '#core/platform/run-every.ts';
import { withLease } from '#core/platform/leases.ts';
import { withSteadyClock } from '#core/platform/steady-clock.ts';
import { removeUnused } from '#core/engines/shared/files/unused-folders.ts';
import { forgetActivity } from '../agent-activity.ts';
import { readMeta, writeMeta } from '#core/store/meta.ts';
import type { Db } from '#core/store/store.ts';
import { forgetArguments } from '../logged-arguments.ts';
import { forgetClientVersions } from '../client-versions.ts';
import { forgetSeries } from './series-retention.ts';
import { deleteOrphanedHistory } from './gone-history.ts';
import { forgetSessions, inPages } from './session-retention.ts';
import { TRAFFIC_RETENTION_MS, TRAFFIC_SECONDS } from '../traffic/traffic.ts';

const DAY_MS = 24 * 3_600_000;

/** How long revoked tokens, ended sessions and reports of hosts are stored. */
const RETENTION = {
  revoked_tokens_ms: 30 * DAY_MS,
  ended_sessions_ms: DAY_MS,
  /** A disconnected host repeats a report under the same sequence for at most a day. */
  reports_ms: DAY_MS,
} as const;

/** How often one of the servers runs it. */
const INTERVAL_MS = 10 * 60_000;
const LOOK_MS = 60_000;

/** Additional deletions of other rooms. */
export interface Forgetters {
  /** Run in the transaction that deletes ended sessions and tokens. */
  readonly together: readonly ((app: Platform, tx: Db) => Promise<unknown>)[];
  readonly after: readonly ((app: Platform) => Promise<unknown>)[];
}

export interface Retention {
  /**
   * Deletes what is too old or exceeds a maximum. @returns the number of deleted request logs; null when another server runs it.
   */
  readonly pruneUsage: (app: Platform, most_logs?: number) => Promise<number | null>;
  /** Prunes now and whenever it is due, on one server at a time. @returns a function that stops it. */
  readonly startRetention: (app: Platform, look_ms?: number) => () => void;
}

export function createRetention(others: Forgetters): Retention {
  const pruneUsage: Retention['pruneUsage'] = (app, most_logs = app.env.SVC_REQUEST_LOG_ENTRIES) =>
    withLease(app, 'usage_retention', async (held) => ((await isDue(held)) ? forget(held, others, most_logs) : null));
  return {
    pruneUsage,
    startRetention(app, look_ms = LOOK_MS) {
      const work = async (): Promise<void> => {
        const forgotten = await withSteadyClock(app, (at) => pruneUsage(at));
        if (forgotten) app.log.info('request log pruned', { count: forgotten });
        // Each machine has its folder, so every server does it.
        if (app.policy.cache_dir !== undefined) removeUnused(app.policy.cache_dir);
      };
      return runEvery(app, { every_ms: look_ms, what: 'pruning the request log', work, at_once: true });
    },
  };
}

async function forget(app: Platform, { together, after }: Forgetters, most_logs: number): Promise<number> {
  const { request_logs, traffic, host_reports, mcp_tokens, sessions } = app.store.tables;
  const before = (ms: number) => new Date(app.clock().getTime() - ms).toISOString();
  await forgetArguments(app);
  await app.store.write(async (tx) => {
    for (const seconds of TRAFFIC_SECONDS) {
      const old = lt(traffic.start, before(TRAFFIC_RETENTION_MS[seconds]));
      await tx.delete(traffic).where(and(eq(traffic.seconds, seconds), old));
    }
    await tx.delete(host_reports).where(lt(host_reports.reported_at, before(RETENTION.reports_ms)));
    await tx.delete(sessions).where(lt(sessions.expires_at, before(RETENTION.ended_sessions_ms)));
    await tx
      .delete(mcp_tokens)
      .where(
        or(
          and(eq(mcp_tokens.revoked, true), lt(mcp_tokens.revoked_at, before(RETENTION.revoked_tokens_ms))),
          lt(mcp_tokens.expires_at, before(RETENTION.revoked_tokens_ms)),
        ),
      );
    for (const forgetOthers of together) await forgetOthers(app, tx);
  });
  await forgetSeries(app);
  await forgetClientVersions(app);
  for (const forgetOthers of after) await forgetOthers(app);
  await forgetActivity(app);
  await deleteOrphanedHistory(app);
  const surplus = await app.store.db
    .select({ id: request_logs.id, timestamp: request_logs.timestamp })
    .from(request_logs)
    .orderBy(desc(request_logs.timestamp), desc(request_logs.id))
    .limit(1)
    .offset(most_logs);
  const by_age = { timestamp: before(app.env.SVC_REQUEST_LOG_DAYS * DAY_MS), id: 0 };
  const last = surplus[0] !== undefined && surplus[0].timestamp >= by_age.timestamp ? surplus[0] : by_age;
  await forgetSessions(app, last.timestamp);
  // In this form, both databases read only the deleted part of the index.
  const where = and(
    lte(request_logs.timestamp, last.timestamp),
    or(lt(request_logs.timestamp, last.timestamp), lte(request_logs.id, last.id)),
  );
  let forgotten = 0;
  const done = await inPages(app, async (tx, most) => {
    const oldest = tx
      .select({ id: request_logs.id })
      .from(request_logs)
      .where(where)
      .orderBy(asc(request_logs.timestamp), asc(request_logs.id))
      .limit(most);
    const gone = await tx.delete(request_logs).where(inArray(request_logs.id, oldest)).returning({ id: request_logs.id });
    forgotten += gone.length;
    return gone.length;
  });
  if (done) await app.store.write((tx) => writeMeta(app.store, tx, DONE, app.clock().toISOString()));
  return forgotten;
}

/** Key of the time of the last run. */
const DONE = 'usage_forgotten_at';

async function isDue(app: Platform): Promise<boolean> {
  const done_at = await readMeta(app.store, app.store.db, DONE);
  if (done_at === null) return true;
  const age = app.clock().getTime() - Date.parse(done_at);
  // A time in the future was written while the clock was ahead.
  return age < 0 || age > INTERVAL_MS - 1_000;
}
