import { and, desc, gte, isNotNull, lt, sql } from 'drizzle-orm';
import type { Failure } from '#core/contract/observe/calls.ts';
import { outcomeOf } from '#core/contract/observe/outcomes.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { clientName } from './call-filters.ts';
import { messageFor } from './calls.ts';
import { tokenNamesOfSessions } from './token-names.ts';

/** Failed calls that are grouped, so that a long outage is read as fast as a short one. */
const MOST_CALLS = 10_000;
const MOST_CALLERS = 5;

/** The newest failed calls, grouped by what was called and its error. */
export const failureHandlers: Pick<Handlers, 'logs.failures'> = {
  'logs.failures': async (context, { skip, limit, since, until }) => {
    const rows = await rowsOf(context, since, until);
    const names = await tokenNamesOfSessions(
      context.app,
      rows.map(({ session_id }) => session_id),
    );
    const failures = new Map<string, Failure>();
    for (const row of rows) {
      const { kind, name, error } = row;
      if (error === null) continue;
      const error_message = messageFor(context.actor, row);
      const key = JSON.stringify([kind, name, error, error_message]);
      const known = failures.get(key);
      const caller = names.get(row.session_id ?? 0) ?? row.token_prefix ?? clientName(row.client);
      const callers = [...new Set([...(known?.callers ?? []), ...(caller === null ? [] : [caller])])].slice(0, MOST_CALLERS);
      // The newest rows come first.
      const { last_at, call_id } = known ?? { last_at: row.last_at, call_id: String(row.call_id) };
      const calls = (known?.calls ?? 0) + Number(row.calls);
      failures.set(key, { kind, name, error, outcome: outcomeOf(error), error_message, calls, callers, last_at, call_id });
    }
    return { items: [...failures.values()].slice(skip, skip + limit), total: failures.size };
  },
};

/** One row for each error of a definition and caller, the latest first. */
function rowsOf({ app }: Context, since: string | undefined, until: string | undefined) {
  const { request_logs: table } = app.store.tables;
  const { id, timestamp, kind, name, error, error_message, sqlstate, token_prefix, client, session_id } = table;
  const newest = app.store.db
    .select({ id, timestamp, kind, name, error, error_message, sqlstate, token_prefix, client, session_id })
    .from(table)
    .where(
      and(
        isNotNull(error),
        since === undefined ? undefined : gte(timestamp, since),
        until === undefined ? undefined : lt(timestamp, until),
      ),
    )
    .orderBy(desc(timestamp), desc(id))
    .limit(MOST_CALLS)
    .as('newest');
  const same = [
    newest.kind,
    newest.name,
    newest.error,
    newest.error_message,
    newest.sqlstate,
    newest.token_prefix,
    newest.client,
  ];
  const last_at = sql<string>`max(${newest.timestamp})`;
  return app.store.db
    .select({
      kind: newest.kind,
      name: newest.name,
      error: newest.error,
      error_message: newest.error_message,
      sqlstate: newest.sqlstate,
      token_prefix: newest.token_prefix,
      client: newest.client,
      calls: sql<number | string>`count(*)`,
      last_at,
      call_id: sql<number | string>`max(${newest.id})`,
      session_id: sql<number | null>`max(${newest.session_id})`,
    })
    .from(newest)
    .groupBy(...same)
    .orderBy(desc(last_at));
}
