import type { Platform } from '#core/platform/platform.ts';
import { and, desc, eq, gte, inArray, isNull, lt, or, type SQL, sql } from 'drizzle-orm';
import { countUpTo } from '#core/store/pages.ts';
import { isClient } from './call-filters.ts';

/** Sessions that one statement looks into. */
const PAGE = 100;

/** Which calls of a client are wanted. */
interface ClientCallFilter {
  readonly client: string;
  readonly since: string | undefined;
  /** What else a call has to fulfil, the times included. */
  readonly also: SQL | undefined;
}

interface CallId {
  readonly id: number;
  readonly timestamp: string;
}

/** A client that did no more is looked through as a whole. */
const FEW_SESSIONS = 5_000;
const FEW_CALLS = 10_000;

/** Whether all calls of a client are quickly read. */
export async function isRare({ store }: Platform, wanted: ClientCallFilter): Promise<boolean> {
  const { mcp_sessions } = store.tables;
  const its = store.db
    .select({ calls: mcp_sessions.calls })
    .from(mcp_sessions)
    .where(sessionsWanted(store, wanted))
    .limit(FEW_SESSIONS + 1)
    .as('its');
  const [sum] = await store.db
    .select({ sessions: sql<number | string>`count(*)`, calls: sql<number | string | null>`sum(${its.calls})` })
    .from(its);
  return Number(sum?.sessions ?? 0) <= FEW_SESSIONS && Number(sum?.calls ?? 0) <= FEW_CALLS;
}

/**
 * Ids of the newest calls of a client. An index by client would cost every call that is stored, and there are few sessions:
 * they are read from the latest on, until none of the others has a newer call than those that were found.
 */
export async function newestOfClient(
  app: Platform,
  wanted: ClientCallFilter,
  is_rare: boolean,
  skip: number,
  limit: number,
): Promise<number[]> {
  const { request_logs } = app.store.tables;
  const most = skip + limit;
  const [all, others] = partsOf(app, wanted);
  if (is_rare) return idsOf(await newestOf(app, [all, others], wanted, most, true), skip);
  let found = await newestOf(app, [others], wanted, most);
  let last: { readonly id: number; readonly last_at: string } | undefined;
  for (;;) {
    const sessions = await sessionsOf(app, wanted, last);
    last = sessions.at(-1);
    if (last === undefined) break;
    const parts = sessions.map(({ id }) => eq(request_logs.session_id, id));
    const calls = await newestOf(app, parts, wanted, most);
    found = [...found, ...calls].toSorted(newest).slice(0, most);
    const oldest = found[most - 1];
    if (sessions.length < PAGE || (oldest !== undefined && oldest.timestamp > last.last_at)) break;
  }
  return idsOf(found, skip);
}

const idsOf = (found: readonly CallId[], skip: number): number[] => found.slice(skip).map(({ id }) => id);

/** How many calls of a client there are, but no more than `most`. */
export async function countOfClient(app: Platform, wanted: ClientCallFilter, is_rare: boolean, most: number): Promise<number> {
  const counts = await Promise.all(
    partsOf(app, wanted).map((part) =>
      countUpTo(app, most, sql`select 1 from ${callsFrom(app, is_rare)} where ${and(part, wanted.also)}`),
    ),
  );
  return counts.reduce((sum, count) => Math.min(most, sum + count), 0);
}

/** @param by_session without it, SQLite takes the index of whatever else is wanted, which finds far more than a rare client called. */
const callsFrom = ({ store }: Platform, by_session: boolean): SQL =>
  by_session && store.dialect === 'sqlite'
    ? sql`${store.tables.request_logs} indexed by request_logs_session`
    : sql`${store.tables.request_logs}`;

/** The calls in sessions of the client, and those of the time before there were sessions. */
function partsOf({ store }: Platform, wanted: ClientCallFilter): readonly [SQL, SQL | undefined] {
  const { request_logs, mcp_sessions } = store.tables;
  const sessions = store.db.select({ id: mcp_sessions.id }).from(mcp_sessions).where(sessionsWanted(store, wanted));
  return [
    inArray(request_logs.session_id, sessions),
    and(isNull(request_logs.session_id), isClient(store, request_logs.client, wanted.client)),
  ];
}

/** Of each part the newest calls, in one order. */
async function newestOf(
  app: Platform,
  parts: readonly (SQL | undefined)[],
  { also }: ClientCallFilter,
  most: number,
  by_session = false,
): Promise<CallId[]> {
  const { request_logs: table } = app.store.tables;
  const order = sql`${desc(table.timestamp)}, ${desc(table.id)}`;
  const selects = parts.map(
    (part) =>
      sql`select * from (select ${table.id}, ${table.timestamp} from ${callsFrom(app, by_session)} where ${and(part, also)} order by ${order} limit ${most}) as part`,
  );
  const rows = await app.store.db
    .select({ id: sql<number | string>`id`, timestamp: sql<string>`timestamp` })
    .from(sql`(${sql.join(selects, sql` union all `)}) as found`)
    .orderBy(sql`timestamp desc`, sql`id desc`)
    .limit(most);
  return rows.map(({ id, timestamp }) => ({ id: Number(id), timestamp }));
}

/** The next sessions of the client after one, the latest first. */
function sessionsOf(
  app: Platform,
  wanted: ClientCallFilter,
  after: { readonly id: number; readonly last_at: string } | undefined,
) {
  const { id, last_at } = app.store.tables.mcp_sessions;
  const { db, tables } = app.store;
  const earlier =
    after === undefined ? undefined : or(lt(last_at, after.last_at), and(eq(last_at, after.last_at), lt(id, after.id)));
  return db
    .select({ id, last_at })
    .from(tables.mcp_sessions)
    .where(and(sessionsWanted(app.store, wanted), earlier))
    .orderBy(desc(last_at), desc(id))
    .limit(PAGE);
}

/** A call that came late may be older than the start of its session, but none is newer than its end. */
function sessionsWanted(store: Platform['store'], { client, since }: ClientCallFilter): SQL | undefined {
  const { mcp_sessions: table } = store.tables;
  return and(isClient(store, table.client, client), since === undefined ? undefined : gte(table.last_at, since));
}

const newest = (a: CallId, b: CallId): number => (a.timestamp === b.timestamp ? b.id - a.id : a.timestamp < b.timestamp ? 1 : -1);
