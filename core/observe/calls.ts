import { and, desc, eq, inArray, type SQL } from 'drizzle-orm';
import { outcomeOf } from '#core/contract/observe/outcomes.ts';
import { MOST_COUNTED } from '#core/contract/fields.ts';
import { AppError } from '#core/errors.ts';
import type { Handlers, Actor } from '#core/context/context.ts';
import { countUpTo, totalOfPage } from '#core/store/pages.ts';
import { countOfClient, isRare, newestOfClient } from './calls-of-client.ts';
import { callsMatching, isClient } from './call-filters.ts';
import { shownArguments } from './logged-arguments.ts';
import type { Platform } from '#core/platform/platform.ts';
import { isPerson } from '#core/context/roles.ts';
import { type LoggedError, tokenMessage } from '#core/query/masked-errors.ts';
import { tokenNames, tokenNamesOfSessions } from './token-names.ts';

/** The error message of a call, as far as the reader may see it. */
export const messageFor = (actor: Actor | null, call: LoggedError): string | null =>
  isPerson(actor, 'caller') ? call.error_message : tokenMessage(call);

export const callHandlers: Pick<Handlers, 'logs.list' | 'logs.get'> = {
  'logs.list': async ({ app }, { skip, limit, client, ...filter }) => {
    const { request_logs } = app.store.tables;
    const also = await callsMatching(app, filter);
    const { kind, name, connection_id, canary, since } = filter;
    const rows = () => app.store.db.select({ ...shown(app), session_id: request_logs.session_id }).from(request_logs);
    const newest = [desc(request_logs.timestamp), desc(request_logs.id)];
    // Each of these conditions has an index that leaves few calls to scan.
    const has_index =
      [name, connection_id, canary].some((value) => value !== undefined) || (kind !== undefined && kind !== 'tool');
    const of_all = (where: SQL | undefined) =>
      Promise.all([
        rows()
          .where(where)
          .orderBy(...newest)
          .limit(limit)
          .offset(skip),
        countUpTo(app, MOST_COUNTED, app.store.db.select({ id: request_logs.id }).from(request_logs).where(where)),
      ]);
    const of_client = async (name_of_client: string) => {
      const its = { client: name_of_client, since, also };
      const is_rare = await isRare(app, its);
      if (has_index && !is_rare) return of_all(and(also, isClient(app.store, request_logs.client, name_of_client)));
      const [ids, total] = await Promise.all([
        newestOfClient(app, its, is_rare, skip, limit),
        countOfClient(app, its, is_rare, MOST_COUNTED),
      ]);
      return [
        ids.length === 0
          ? []
          : await rows()
              .where(inArray(request_logs.id, ids))
              .orderBy(...newest),
        total,
      ] as const;
    };
    const [items, counted] = await (client === undefined ? of_all(also) : of_client(client));
    const names = await tokenNamesOfSessions(
      app,
      items.map(({ session_id }) => session_id),
    );
    return {
      items: items.map(({ session_id, ...item }) => ({
        ...item,
        id: String(item.id),
        token_name: names.get(session_id ?? 0) ?? null,
        outcome: outcomeOf(item.error),
      })),
      total: totalOfPage(counted, { skip, limit }, items.length),
    };
  },
  'logs.get': async ({ app, actor }, { call_id: id }) => {
    const { request_logs, mcp_sessions, canaries } = app.store.tables;
    const number = /^\d{1,15}$/.test(id) ? Number(id) : -1;
    const { error_message, sqlstate, database_ms, bytes, tokens, truncated, trace_id, ignored_arguments } = request_logs;
    const { person, token, client_id, session } = mcp_sessions;
    const of_call = { error_message, sqlstate, database_ms, bytes, tokens, truncated, trace_id, ignored: ignored_arguments };
    const of_session = { person, token, client_id, session, session_id: mcp_sessions.id };
    const { status, version } = canaries;
    const [found] = await app.store.db
      .select({
        ...shown(app),
        ...of_call,
        ...of_session,
        sealed: request_logs.arguments,
        canary_state: { status, version },
      })
      .from(request_logs)
      .leftJoin(canaries, eq(request_logs.canary, canaries.id))
      .leftJoin(mcp_sessions, eq(request_logs.session_id, mcp_sessions.id))
      .where(eq(request_logs.id, number));
    if (found === undefined) throw new AppError('not_found', 'There is no such call. The request log keeps calls for 30 days.');
    const { sealed, ignored, ...call } = found;
    const names = await tokenNames(app, [call.token]);
    return {
      ...call,
      token_name: names.get(call.token ?? '') ?? null,
      error_message: messageFor(actor, call),
      ...(await shownArguments(app, actor, { name: call.name, timestamp: call.timestamp, sealed })),
      ignored_arguments: ignored ?? [],
      id: String(call.id),
      session_id: call.session_id === null ? null : String(call.session_id),
      outcome: outcomeOf(call.error),
      queue_ms: call.wait_ms,
    };
  },
};

/** The columns of a call in the list. */
function shown({ store }: Platform) {
  const { id, timestamp, kind, name, connection_id, client, token_prefix, duration_ms, ...rest } = store.tables.request_logs;
  const { wait_ms, rows, success, error, snapshot_version, canary, confirmation } = rest;
  const whose = { id, timestamp, kind, name, connection_id, client, token_prefix };
  return { ...whose, duration_ms, wait_ms, rows, success, error, snapshot_version, canary, confirmation };
}
