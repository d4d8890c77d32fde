import { and, desc, eq, gte, inArray, isNotNull, isNull, lt, notInArray, type SQL, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { OUTCOME_CODES, type Outcome, outcomeOf } from '#core/contract/observe/outcomes.ts';
import { AppError } from '#core/errors.ts';
import type { Handlers } from '#core/run.ts';
import { countUpTo } from '#core/store/count.ts';

const OTHER_CODES = Object.values(OUTCOME_CODES).flat();

export const callHandlers: Pick<Handlers, 'logs.list' | 'logs.get'> = {
  'logs.list': async ({ app }, { skip, limit, kind, name, connection_id, success, outcome, since, until }) => {
    const { request_logs } = app.store.tables;
    const where = and(
      kind === undefined ? undefined : eq(request_logs.kind, kind),
      // As the index of all others says it.
      kind === undefined || kind === 'tool' ? undefined : sql`kind <> 'tool'`,
      name === undefined ? undefined : eq(request_logs.name, name),
      connection_id === undefined ? undefined : eq(request_logs.connection_id, connection_id),
      success === undefined ? undefined : success ? isNull(request_logs.error) : isNotNull(request_logs.error),
      outcome === undefined ? undefined : endedAs(app, outcome),
      since === undefined ? undefined : gte(request_logs.timestamp, since),
      until === undefined ? undefined : lt(request_logs.timestamp, until),
    );
    const newest = [desc(request_logs.timestamp), desc(request_logs.id)];
    const [items, total] = await Promise.all([
      app.store.db
        .select(shown(app))
        .from(request_logs)
        .where(where)
        .orderBy(...newest)
        .limit(limit)
        .offset(skip),
      countUpTo(app, MOST_COUNTED, app.store.db.select({ id: request_logs.id }).from(request_logs).where(where)),
    ]);
    return { items: items.map((item) => ({ ...item, id: String(item.id), outcome: outcomeOf(item.error) })), total };
  },
  'logs.get': async ({ app }, { call_id: id }) => {
    const { request_logs, mcp_sessions } = app.store.tables;
    const number = /^\d{1,15}$/.test(id) ? Number(id) : -1;
    const { error_message, sqlstate, database_ms, bytes, tokens, trace_id } = request_logs;
    const { person, token, client_id, session } = mcp_sessions;
    const own = { error_message, sqlstate, database_ms, bytes, tokens, trace_id };
    const [found] = await app.store.db
      .select({ ...shown(app), ...own, person, token, client_id, session })
      .from(request_logs)
      .leftJoin(mcp_sessions, eq(request_logs.session_id, mcp_sessions.id))
      .where(eq(request_logs.id, number));
    if (found === undefined) throw new AppError('not_found', 'There is no such call. The request log keeps calls for 30 days.');
    return { ...found, id: String(found.id), outcome: outcomeOf(found.error), queue_ms: found.wait_ms };
  },
};

/** Counting a million rows for every page would take longer than reading them. */
const MOST_COUNTED = 10_001;

/** What the list shows of a call. */
function shown({ store }: App) {
  const { id, timestamp, kind, name, connection_id, client, token_prefix, duration_ms, ...rest } = store.tables.request_logs;
  const { wait_ms, rows, success, error, snapshot_version, confirmation } = rest;
  const whose = { id, timestamp, kind, name, connection_id, client, token_prefix };
  return { ...whose, duration_ms, wait_ms, rows, success, error, snapshot_version, confirmation };
}

function endedAs({ store }: App, outcome: Outcome): SQL | undefined {
  const { error } = store.tables.request_logs;
  if (outcome === 'ok') return isNull(error);
  if (outcome === 'tool_error') return and(isNotNull(error), notInArray(error, OTHER_CODES));
  return and(isNotNull(error), inArray(error, [...OUTCOME_CODES[outcome]]));
}
