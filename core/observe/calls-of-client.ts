import type { Platform } from '#core/platform/platform.ts';
import { and, desc, eq, gte, inArray, lt, or, type SQL, sql } from 'drizzle-orm';
import { countUpTo } from '#core/store/pages.ts';
import { isClient } from './call-filters.ts';

/** Sessions per statement. */
const PAGE = 100;

/** Selects the calls of a client. */
interface ClientCallFilter {
  readonly client: string;
  readonly since: string | undefined;
  /** The other conditions, including the time range. */
  readonly also: SQL | undefined;
}

interface CallId {
  readonly id: number;
  readonly timestamp: string;
}

/** If a client has at most this many sessions and calls, all its calls are read at once. */
const FEW_SESSIONS = 5_000;
const FEW_CALLS = 10_000;

/** Whether reading all calls of a client is fast. */
export async function isRare({ store }: Platform, filter: ClientCallFilter): Promise<boolean> {
  const { mcp_sessions } = store.tables;
  const its = store.db
    .select({ calls: mcp_sessions.calls })
    .from(mcp_sessions)
    .where(sessionsMatching(store, filter))
    .limit(FEW_SESSIONS + 1)
    .as('its');
  const [sum] = await store.db
    .select({ sessions: sql<number | string>`count(*)`, calls: sql<number | string | null>`sum(${its.calls})` })
    .from(its);
  return Number(sum?.sessions ?? 0) <= FEW_SESSIONS && Number(sum?.calls ?? 0) <= FEW_CALLS;
}

/**
 * Ids of the newest calls of a client. An index by client would slow down storing every call, whereas there are few sessions.
 * Sessions are read from the latest on, until no other session has a newer call than those that were found.
 */
export async function newestOfClient(
  app: Platform,
  filter: ClientCallFilter,
  is_rare: boolean,
  skip: number,
  limit: number,
): Promise<number[]> {
  const { request_logs } = app.store.tables;
  const most = skip + limit;
  if (is_rare) return idsOf(await newestOf(app, [inItsSessions(app, filter)], filter, most, true), skip);
  let found: CallId[] = [];
  let last: { readonly id: number; readonly last_at: string } | undefined;
  for (;;) {
    const sessions = await sessionsOf(app, filter, last);
    last = sessions.at(-1);
    if (last === undefined) break;
    const parts = sessions.map(({ id }) => eq(request_logs.session_id, id));
    const calls = await newestOf(app, parts, filter, most);
    found = [...found, ...calls].toSorted(newest).slice(0, most);
    const oldest = found[most - 1];
    if (sessions.length < PAGE || (oldest !== undefined && oldest.timestamp > last.last_at)) break;
  }
  return idsOf(found, skip);
}

const idsOf = (found: readonly CallId[], skip: number): number[] => found.slice(skip).map(({ id }) => id);

/** The number of calls of a client, at most `most`. */
export async function countOfClient(app: Platform, filter: ClientCallFilter, is_rare: boolean, most: number): Promise<number> {
  const its = and(inItsSessions(app, filter), filter.also);
  return countUpTo(app, most, sql`select 1 from ${callsFrom(app, is_rare)} where ${its}`);
}

/** @param by_session If false, SQLite uses the index of another condition, which finds far more calls than a rare client has. */
const callsFrom = ({ store }: Platform, by_session: boolean): SQL =>
  by_session && store.dialect === 'sqlite'
    ? sql`${store.tables.request_logs} indexed by request_logs_session`
    : sql`${store.tables.request_logs}`;

/** The calls in sessions of the client. */
function inItsSessions({ store }: Platform, filter: ClientCallFilter): SQL {
  const { request_logs, mcp_sessions } = store.tables;
  const sessions = store.db.select({ id: mcp_sessions.id }).from(mcp_sessions).where(sessionsMatching(store, filter));
  return inArray(request_logs.session_id, sessions);
}

/** The newest calls of all parts, in one order. */
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

/** The next sessions of the client after a given one, the latest first. */
function sessionsOf(
  app: Platform,
  filter: ClientCallFilter,
  after: { readonly id: number; readonly last_at: string } | undefined,
) {
  const { id, last_at } = app.store.tables.mcp_sessions;
  const { db, tables } = app.store;
  const earlier =
    after === undefined ? undefined : or(lt(last_at, after.last_at), and(eq(last_at, after.last_at), lt(id, after.id)));
  return db
    .select({ id, last_at })
    .from(tables.mcp_sessions)
    .where(and(sessionsMatching(app.store, filter), earlier))
    .orderBy(desc(last_at), desc(id))
    .limit(PAGE);
}

/** A call that was reported late may be older than the start of its session, but none is newer than its end. */
function sessionsMatching(store: Platform['store'], { client, since }: ClientCallFilter): SQL | undefined {
  const { mcp_sessions: table } = store.tables;
  return and(isClient(store, table.client, client), since === undefined ? undefined : gte(table.last_at, since));
}

const newest = (a: CallId, b: CallId): number => (a.timestamp === b.timestamp ? b.id - a.id : a.timestamp < b.timestamp ? 1 : -1);
