import { and, desc, eq, gte, isNotNull, lt, type SQL, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { InsightPeriod } from '#core/contract/observe/insight-rules.ts';
import type { Outcome } from '#core/contract/observe/outcomes.ts';
import { activeSnapshot } from '#core/deploy/deployment.ts';
import { endedAs } from '../ended-as.ts';
import { HOUR_MS, hourOf } from '../metrics/sums.ts';
import { leavesOf } from '#snapshots/order.ts';

const HOURS: Readonly<Record<InsightPeriod, number>> = { '24h': 24, '7d': 168, '30d': 720 };
const SAID: Readonly<Record<InsightPeriod, string>> = {
  '24h': 'the last 24 hours',
  '7d': 'the last 7 days',
  '30d': 'the last 30 days',
};
/** Failed calls that are looked at, the newest of the period. */
const MOST_FAILED = 1_000;
/** Calls of all kinds that are looked at. */
const MOST_RECENT = 500;

/** Calls of one tool in the period. */
export interface Usage {
  readonly calls: number;
  readonly errors: number;
  readonly refused: number;
  readonly no_slot: number;
  readonly timeout: number;
  readonly cancelled: number;
  readonly rate_limited: number;
  readonly duration_ms: number;
  readonly rows: number;
  readonly bytes: number;
}

/** What the rules look at: counts of the period, and samples of its calls. Nothing of it has arguments or rows. */
export type Observed = Awaited<ReturnType<typeof observe>> & {
  /** Who asks may read who was refused. */
  readonly for_administrator: boolean;
};
export type ObservedTool = Observed['tools'][number];
export type ObservedCall = Observed['failed'][number];
export type MeasuredCall = Awaited<ReturnType<typeof readMeasured>>[number];
export type ObservedConnection = Observed['connections'][number];

export async function observe(app: App, period: InsightPeriod) {
  const { request_logs } = app.store.tables;
  const since = hourOf(app.clock().getTime() - HOURS[period] * HOUR_MS);
  const in_period = and(eq(request_logs.kind, 'tool'), gte(request_logs.timestamp, since));
  const [tools, connections, usage, active, failed, recent] = await Promise.all([
    readTools(app),
    readConnections(app),
    readUsage(app, period, since),
    activeSnapshot(app),
    readCalls(app, and(in_period, isNotNull(request_logs.error)), MOST_FAILED),
    readCalls(app, in_period, MOST_RECENT),
  ]);
  const leaves = leavesOf(active?.tree.leaves ?? [], 'tool');
  const served = new Map(leaves.map(({ name, hash }) => [name, hash]));
  return {
    since,
    said: SAID[period],
    /** The newest failed calls. */
    failed,
    /** The newest calls. */
    recent,
    usage,
    tools,
    connections,
    /** The tools that are served now: by name the hash of each. */
    served,
    by_name: new Map(tools.map((tool) => [tool.name, tool])),
    by_id: new Map(connections.map((connection) => [connection.id, connection])),
  };
}

/** What the newest calls of one tool in the period took and gave. */
export function callsOfTool(app: App, { since }: Pick<Observed, 'since'>, name: string, most: number, outcome?: Outcome) {
  const { name: called, timestamp } = app.store.tables.request_logs;
  return readMeasured(app, and(eq(called, name), gte(timestamp, since), outcome && endedAs(app, outcome)), most);
}

/** The same of the calls over one connection. */
export function callsOfConnection(app: App, { since }: Pick<Observed, 'since'>, id: string, most: number, outcome?: Outcome) {
  const { connection_id, timestamp } = app.store.tables.request_logs;
  return readMeasured(app, and(eq(connection_id, id), gte(timestamp, since), outcome && endedAs(app, outcome)), most);
}

/** How calls ended and who made them. A column more of a thousand calls is noticed. */
export function readCalls(app: App, where: SQL | undefined, most: number) {
  const { request_logs: table } = app.store.tables;
  const { id, timestamp, name, connection_id, client, rows, error, error_message, sqlstate, session_id } = table;
  return app.store.db
    .select({ id, timestamp, name, connection_id, client, rows, error, error_message, sqlstate, session_id })
    .from(table)
    .where(where)
    .orderBy(desc(timestamp), desc(id))
    .limit(most);
}

function readMeasured(app: App, where: SQL | undefined, most: number) {
  const { request_logs: table } = app.store.tables;
  const { id, timestamp, duration_ms, wait_ms, database_ms, rows, tokens, truncated, error } = table;
  return app.store.db
    .select({ id, timestamp, duration_ms, wait_ms, database_ms, rows, tokens, truncated, error })
    .from(table)
    .where(where)
    .orderBy(desc(timestamp), desc(id))
    .limit(most);
}

function readTools({ store }: App) {
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

function readConnections({ store }: App) {
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

/** Sums of the hours of a period that ended a while ago: they hardly change, and there are many of them. */
export interface EndedHours {
  readonly of: Map<InsightPeriod, { readonly from: string; readonly to: string; readonly sums: UsageByName }>;
}
export const createEndedHours = (): EndedHours => ({ of: new Map() });

type UsageByName = ReadonlyMap<string, Usage>;

/** Hosts report calls within seconds; one that was cut off may come later, and is counted after at most an hour. */
const SETTLED_HOURS = 3;

/** The hours of a period as sums by name. */
async function readUsage(app: App, period: InsightPeriod, since: string): Promise<UsageByName> {
  const to = hourOf(app.clock().getTime() - SETTLED_HOURS * HOUR_MS);
  const kept = app.ended_hours.of.get(period);
  const is_known = kept !== undefined && kept.from === since && kept.to === to;
  const [ended, recent] = await Promise.all([is_known ? kept.sums : sumHours(app, since, to), sumHours(app, to, null)]);
  app.ended_hours.of.set(period, { from: since, to, sums: ended });
  const all = new Map(ended);
  for (const [name, usage] of recent) {
    const earlier = all.get(name);
    all.set(name, earlier === undefined ? usage : added(earlier, usage));
  }
  return all;
}

const added = (one: Usage, other: Usage): Usage =>
  Object.fromEntries(SUMS.map((name) => [name, one[name] + other[name]])) as unknown as Usage;

/** Without their histograms, which would have to be read one by one. */
async function sumHours({ store }: App, from: string, to: string | null): Promise<UsageByName> {
  const { usage_series: table } = store.tables;
  const rows = await store.db
    .select({ name: table.name, ...Object.fromEntries(SUMS.map((name) => [name, sql<number>`sum(${table[name]})`])) })
    .from(table)
    .where(
      and(
        eq(table.seconds, 3_600),
        gte(table.start, from),
        to === null ? undefined : lt(table.start, to),
        eq(table.kind, 'tool'),
      ),
    )
    .groupBy(table.name);
  return new Map(
    rows.map((row) => {
      const sums: Readonly<Record<string, unknown>> = row;
      return [row.name, Object.fromEntries(SUMS.map((name) => [name, Number(sums[name])])) as unknown as Usage];
    }),
  );
}

const SUMS = [
  'calls',
  'errors',
  'refused',
  'no_slot',
  'timeout',
  'cancelled',
  'rate_limited',
  'duration_ms',
  'rows',
  'bytes',
] as const satisfies readonly (keyof Usage)[];
