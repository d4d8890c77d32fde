import type { Platform } from '#core/platform/platform.ts';
import { and, eq, inArray, lt, or, sql } from 'drizzle-orm';
import type { Context } from '#core/context/context.ts';
import { messageFor } from '#core/observe/calls.ts';
import type { SessionEvent } from '#core/contract/observe/mcp-sessions.ts';
import { outcomeOf } from '#core/contract/observe/outcomes.ts';

/** A page of the lists and calls of a session, in order. */
export async function stepsOf({ app, actor }: Context, session_id: number, skip: number, limit: number): Promise<SessionEvent[]> {
  const { request_logs, mcp_lists } = app.store.tables;
  const steps = await placesOf(app, session_id, skip, limit);
  const idsOf = (is_list: boolean) => steps.filter((step) => step.is_list === is_list).map(({ id }) => id);
  const [call_ids, list_ids] = [idsOf(false), idsOf(true)];
  const { id, timestamp, name, kind, error, error_message, sqlstate, duration_ms, wait_ms, rows, tokens } = request_logs;
  const columns = { id, timestamp, name, kind, error, error_message, sqlstate, duration_ms, wait_ms, rows, tokens };
  const [calls, lists] = await Promise.all([
    call_ids.length === 0 ? [] : app.store.db.select(columns).from(request_logs).where(inArray(id, call_ids)),
    list_ids.length === 0 ? [] : app.store.db.select().from(mcp_lists).where(inArray(mcp_lists.id, list_ids)),
  ]);
  const call_of = new Map(calls.map((call) => [call.id, call]));
  const list_of = new Map(lists.map((list) => [list.id, list]));
  const [first] = call_ids.flatMap((call_id) => call_of.get(call_id) ?? []);
  const failed = first === undefined ? new Set<string>() : await failedBefore(app, session_id, first, calls);
  return steps.flatMap((step): SessionEvent[] => {
    if (step.is_list) {
      const list = list_of.get(step.id);
      if (list === undefined) return [];
      return [{ ...NO_CALL, timestamp: list.timestamp, name: list.method, duration_ms: list.duration_ms }];
    }
    const found = call_of.get(step.id);
    if (found === undefined) return [];
    const { id: call_id, sqlstate: _, ...call } = found;
    const retry = failed.has(call.name);
    if (call.error === null) failed.delete(call.name);
    else failed.add(call.name);
    return [
      { ...call, call_id: String(call_id), error_message: messageFor(actor, found), outcome: outcomeOf(call.error), retry },
    ];
  });
}

const NO_CALL = {
  call_id: null,
  kind: 'list',
  outcome: 'ok',
  error: null,
  error_message: null,
  retry: false,
  wait_ms: 0,
  rows: 0,
  tokens: 0,
} as const;

/** The lists and calls on a page. At the same time, lists come first, because clients read before they call. */
async function placesOf({ store }: Platform, session_id: number, skip: number, limit: number) {
  const { request_logs, mcp_lists } = store.tables;
  const select = (table: typeof request_logs | typeof mcp_lists, is_call: 0 | 1) =>
    sql`select ${sql.raw(String(is_call))} as is_call, ${table.id} as id, ${table.timestamp} as timestamp from ${table} where ${eq(table.session_id, session_id)}`;
  const rows = await store.db
    .select({ is_call: sql<number | string>`is_call`, id: sql<number | string>`id` })
    .from(sql`(${select(mcp_lists, 0)} union all ${select(request_logs, 1)}) as steps`)
    .orderBy(sql`timestamp`, sql`is_call`, sql`id`)
    .limit(limit)
    .offset(skip);
  return rows.map(({ is_call, id }) => ({ is_list: Number(is_call) === 0, id: Number(id) }));
}

interface LoggedCall {
  readonly id: number;
  readonly timestamp: string;
  readonly name: string;
}

/** The names on a page whose last call before the page failed. */
async function failedBefore(
  { store }: Platform,
  session_id: number,
  first: LoggedCall,
  page: readonly LoggedCall[],
): Promise<Set<string>> {
  const { request_logs: table } = store.tables;
  const names = [...new Set(page.map(({ name }) => name))];
  const earlier = or(lt(table.timestamp, first.timestamp), and(eq(table.timestamp, first.timestamp), lt(table.id, first.id)));
  const its = and(eq(table.session_id, session_id), inArray(table.name, names), earlier);
  const order = sql`order by ${table.timestamp} desc, ${table.id} desc`;
  const numbered = sql`select ${table.name} as name, ${table.error} as error, row_number() over (partition by ${table.name} ${order}) as nth from ${table} where ${its}`;
  const rows = await store.db
    .select({ name: sql<string>`name` })
    .from(sql`(${numbered}) as numbered`)
    .where(sql`nth = 1 and error is not null`);
  return new Set(rows.map(({ name }) => name));
}
