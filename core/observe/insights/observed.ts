import type { Platform } from '#core/platform/platform.ts';
import type { WithInsights } from '#core/observe/insights/usage-of-period.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { and, desc, eq, gt, gte, isNotNull, isNull, or, type SQL } from 'drizzle-orm';
import type { InsightPeriod } from '#core/contract/observe/insight-rules.ts';
import type { CallOutcome } from '#core/contract/observe/outcomes.ts';
import type { Actor } from '#core/context/context.ts';
import { countUpTo } from '#core/store/pages.ts';
import { endedAs } from '#core/observe/call-filters.ts';
import { HOUR_MS, hourOf } from '../metrics/sums.ts';
import { isOfLive, laterOf, type Live, readLive } from './live.ts';
import { readUsage } from './usage-of-period.ts';

const HOURS: Readonly<Record<InsightPeriod, number>> = { '24h': 24, '7d': 168, '30d': 720 };
const PERIOD_TEXTS: Readonly<Record<InsightPeriod, string>> = {
  '24h': 'the last 24 hours',
  '7d': 'the last 7 days',
  '30d': 'the last 30 days',
};
/** Failed calls to read, the newest of the period. */
const MOST_FAILED = 1_000;
/** Calls of all kinds to read. */
const MOST_RECENT = 500;

/** The data for the rules: counts of the period and samples of its calls, without arguments or rows. */
export type Observed = Awaited<ReturnType<typeof observe>> & {
  /** The reader of the findings. Not everyone may see refused callers or messages of a database. */
  readonly actor: Actor | null;
};
export type ObservedTool = Observed['tools'][number];
export type ObservedCall = Observed['failed'][number];
export type MeasuredCall = Awaited<ReturnType<typeof readMeasured>>[number];
export type ObservedConnection = NonNullable<ReturnType<Observed['by_id']['get']>>;

export async function observe(app: Platform & WithInsights & WithSnapshots, period: InsightPeriod) {
  const { request_logs } = app.store.tables;
  const since = hourOf(app.clock().getTime() - HOURS[period] * HOUR_MS);
  const in_period = and(eq(request_logs.kind, 'tool'), gte(request_logs.timestamp, since));
  const live = await readLive(app, app.insights.live);
  app.insights.live = live;
  const [all, connections, failed, recent] = await Promise.all([
    readTools(app),
    readConnections(app),
    readCalls(app, and(in_period, isNotNull(request_logs.error)), MOST_FAILED),
    readCalls(app, in_period, MOST_RECENT),
  ]);
  const by_id = new Map(
    connections.map((connection) => [connection.id, { ...connection, live: live.connections.get(connection.name) }]),
  );
  const tools = all.flatMap((tool) => {
    const served = live.tools.get(tool.name);
    return served === undefined ? [] : [{ ...tool, live: laterOf(served, by_id.get(tool.connection_id)?.live) }];
  });
  const by_name = new Map(tools.map((tool) => [tool.name, tool]));
  const ofLive = (call: (typeof failed)[number]): boolean => {
    const tool = by_name.get(call.name);
    return tool !== undefined && isOfLive(tool.live, call);
  };
  return {
    since,
    period_text: PERIOD_TEXTS[period],
    /** The newest failed calls of the live definitions. */
    failed: failed.filter(ofLive),
    /** The newest calls of the live definitions. */
    recent: recent.filter(ofLive),
    usage: await readUsage(app, period, since, by_name),
    /** The tools that are served now. */
    tools,
    by_name,
    by_id,
  };
}

/** Durations and sizes of the newest calls of one tool, in the period and of the tool's live form. */
export function callsOfTool(app: Platform, observed: Observed, tool: ObservedTool, most: number, outcome?: CallOutcome) {
  const its = eq(app.store.tables.request_logs.name, tool.name);
  return readMeasured(app, and(its, ofLiveSince(app, observed, tool.live), outcome && endedAs(app, outcome)), most);
}

/** Like `callsOfTool`, for the calls of one connection. */
export function callsOfConnection(
  app: Platform,
  observed: Observed,
  { id, live }: ObservedConnection,
  most: number,
  outcome?: CallOutcome,
) {
  const its = eq(app.store.tables.request_logs.connection_id, id);
  return readMeasured(app, and(its, ofLiveSince(app, observed, live), outcome && endedAs(app, outcome)), most);
}

function ofLiveSince(app: Platform, { since }: Observed, live: Live | undefined): SQL | undefined {
  const { timestamp, snapshot_version, canary } = app.store.tables.request_logs;
  const from = live === undefined || live.from < since ? since : live.from;
  const of_version = live && or(isNull(snapshot_version), gte(snapshot_version, live.version));
  return and(gte(timestamp, from), of_version, isNull(canary));
}

/**
 * Whether a tool has succeeded so often since the last event that, with a probability of 95 %, the event would have happened
 * again if its share p of the calls were unchanged: that takes 3/p calls.
 */
export async function hasPassed(
  app: Platform,
  { by_name }: Observed,
  name: string,
  { count, of, last_at }: { readonly count: number; readonly of: number; readonly last_at: string | null },
): Promise<boolean> {
  const tool = by_name.get(name);
  if (tool === undefined || last_at === null || count === 0) return false;
  // `of` also counts the calls since the last event.
  const needed = Math.ceil((3 * of) / (count + 3));
  if (needed > MOST_NEEDED) return false;
  const { request_logs: table } = app.store.tables;
  const answered = and(eq(table.name, name), gt(table.timestamp, last_at), isNull(table.error), isNull(table.canary));
  return (await countUpTo(app, needed, app.store.db.select({ id: table.id }).from(table).where(answered))) >= needed;
}

/** A rarer event is reported for the whole period. */
const MOST_NEEDED = 1_000;

/** Outcomes and callers. Only these columns, because each further one measurably slows down reading thousands of calls. */
export function readCalls(app: Platform, where: SQL | undefined, most: number) {
  const { request_logs: table } = app.store.tables;
  const { id, timestamp, name, client, rows, error, error_message, sqlstate, session_id, snapshot_version, canary } = table;
  return app.store.db
    .select({ id, timestamp, name, client, rows, error, error_message, sqlstate, session_id, snapshot_version, canary })
    .from(table)
    .where(where)
    .orderBy(desc(timestamp), desc(id))
    .limit(most);
}

function readMeasured(app: Platform, where: SQL | undefined, most: number) {
  const { request_logs: table } = app.store.tables;
  const { id, timestamp, duration_ms, wait_ms, database_ms, rows, tokens, truncated, error } = table;
  return app.store.db
    .select({ id, timestamp, duration_ms, wait_ms, database_ms, rows, tokens, truncated, error })
    .from(table)
    .where(where)
    .orderBy(desc(timestamp), desc(id))
    .limit(most);
}

function readTools({ store }: Platform) {
  const { tools: table } = store.tables;
  return store.db
    .select({
      id: table.id,
      name: table.name,
      connection_id: table.connection_id,
      version: table.version,
      return_type: table.return_type,
      timeout_ms: table.timeout_ms,
      max_rows: table.max_rows,
      max_bytes: table.max_bytes,
      max_tokens: table.max_tokens,
      page_by: table.page_by,
      read_only: table.read_only,
    })
    .from(table)
    .where(eq(table.enabled, true));
}

function readConnections({ store }: Platform) {
  const { connections: table } = store.tables;
  const { id, name, version, max_concurrency, pool_size, queue_limit, queue_timeout_ms, query_timeout_ms } = table;
  const { max_rows, max_bytes } = table;
  return store.db
    .select({
      id,
      name,
      version,
      max_concurrency,
      pool_size,
      queue_limit,
      queue_timeout_ms,
      query_timeout_ms,
      max_rows,
      max_bytes,
    })
    .from(table)
    .where(eq(table.enabled, true));
}
