import type { Platform } from '#core/platform/platform.ts';
import { and, desc, eq, gt, gte, inArray, isNotNull, max, or } from 'drizzle-orm';
import type { McpSession } from '#core/contract/observe/mcp-sessions.ts';
import { MOST_COUNTED } from '#core/contract/fields.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { countUpTo, totalOfPage } from '#core/store/pages.ts';
import { messageFor } from '#core/observe/calls.ts';
import { isClient } from '#core/observe/call-filters.ts';
import { tokenNames } from '#core/observe/token-names.ts';
import { stepsOf } from './session-steps.ts';
import type { Schema } from '#core/store/schema.ts';

export const sessionHandlers: Pick<Handlers, `mcp_sessions.${'list' | 'get'}`> = {
  'mcp_sessions.list': async (context, { skip, limit, person, token, client, tool, failed, since }) => {
    const { app } = context;
    const { mcp_sessions: table } = app.store.tables;
    const { db } = app.store;
    const where = and(
      person === undefined ? undefined : eq(table.person, person),
      token === undefined ? undefined : or(eq(table.token, token), eq(table.token_prefix, token)),
      client === undefined ? undefined : isClient(app.store, table.client, client),
      failed === undefined ? undefined : failed ? gt(table.errors, 0) : eq(table.errors, 0),
      since === undefined ? undefined : gte(table.last_at, since),
      tool === undefined ? undefined : inArray(table.id, sessionsOf(app, tool, failed === true)),
    );
    const [rows, counted] = await Promise.all([
      db.select().from(table).where(where).orderBy(desc(table.last_at), desc(table.id)).limit(limit).offset(skip),
      countUpTo(app, MOST_COUNTED, db.select({ id: table.id }).from(table).where(where)),
    ]);
    return { items: await shownOf(context, rows), total: totalOfPage(counted, { skip, limit }, rows.length) };
  },
  'mcp_sessions.get': async (context, { id, skip, limit }) => {
    const { app } = context;
    const { mcp_sessions } = app.store.tables;
    const { db } = app.store;
    const number = /^\d{1,15}$/.test(id) ? Number(id) : -1;
    const rows = await db.select().from(mcp_sessions).where(eq(mcp_sessions.id, number));
    const [session] = await shownOf(context, rows);
    if (session === undefined)
      throw new AppError('not_found', 'There is no such session. Sessions are kept as long as the request log.');
    return { ...session, events: await stepsOf(context, number, skip, limit) };
  },
};

/** @param failed only sessions in which a call of it failed. */
function sessionsOf({ store }: Platform, name: string, failed: boolean) {
  const { mcp_session_names: table } = store.tables;
  const where = and(eq(table.name, name), failed ? gt(table.errors, 0) : undefined);
  return store.db.select({ id: table.session_id }).from(table).where(where);
}

/** Rows with the last failed call of each session. */
async function shownOf({ app, actor }: Context, rows: readonly Schema['mcp_sessions']['$inferSelect'][]): Promise<McpSession[]> {
  const { request_logs: table } = app.store.tables;
  const { db } = app.store;
  const ids = rows.filter(({ errors }) => errors > 0).map(({ id }) => id);
  const latest =
    ids.length === 0
      ? []
      : await db
          .select({ id: max(table.id) })
          .from(table)
          .where(and(inArray(table.session_id, ids), isNotNull(table.error)))
          .groupBy(table.session_id);
  const last = latest.flatMap(({ id }) => id ?? []);
  const { id, session_id, name, error, error_message, sqlstate } = table;
  const failed =
    last.length === 0
      ? []
      : await db.select({ id, session_id, name, error, error_message, sqlstate }).from(table).where(inArray(id, last));
  const names = await tokenNames(
    app,
    rows.map(({ token }) => token),
  );
  const by_session = new Map(failed.map((call) => [call.session_id, call]));
  return rows.map(({ id: number, key: _, ...row }) => {
    const call = by_session.get(number);
    const last_error =
      call?.error == null
        ? null
        : { call_id: String(call.id), name: call.name, error: call.error, error_message: messageFor(actor, call) };
    return { ...row, id: String(number), token_name: names.get(row.token ?? '') ?? null, last_error };
  });
}
