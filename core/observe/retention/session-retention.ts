import type { Platform } from '#core/platform/platform.ts';
import { and, asc, desc, eq, inArray, lt, or, type SQL } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';

/** A client may request a list before every call, or never call anything. */
const MOST_LISTS = 1_000_000;
/** Rows per transaction, which limits how long other writers wait. */
const ROWS_AT_ONCE = 1_000;
/** In an embedded database, a statement runs in this thread. The pause lets other work run. */
const PAUSE_MS = 1;

/** Deletes page by page. @returns whether everything was deleted; false when the server stops first. */
export async function inPages(app: Platform, remove: (tx: Db, most: number) => Promise<number>): Promise<boolean> {
  for (;;) {
    const gone = await app.store.write((tx) => remove(tx, ROWS_AT_ONCE));
    if (gone < ROWS_AT_ONCE) return true;
    // The next server continues.
    if (app.life.ending) return false;
    await Bun.sleep(PAUSE_MS);
  }
}

/** Deletes sessions and lists older than the stored calls, and the oldest lists beyond the maximum. */
export async function forgetSessions(app: Platform, before: string, most_lists = MOST_LISTS): Promise<void> {
  const { mcp_sessions, mcp_lists } = app.store.tables;
  const [surplus] = await app.store.db
    .select({ timestamp: mcp_lists.timestamp })
    .from(mcp_lists)
    .orderBy(desc(mcp_lists.timestamp))
    .limit(1)
    .offset(most_lists);
  // Deletes all lists with the same time, so that the remaining ones are complete from a time on.
  const lists_from = surplus !== undefined && surplus.timestamp >= before ? justAfter(surplus.timestamp) : before;
  // A session without calls is empty once its lists are deleted.
  const { calls, last_at } = mcp_sessions;
  await deleteSessions(app, and(lt(last_at, lists_from), or(lt(last_at, before), eq(calls, 0))));
  await inPages(app, async (tx, most) => {
    const { id, timestamp } = mcp_lists;
    const oldest = tx.select({ id }).from(mcp_lists).where(lt(timestamp, lists_from)).orderBy(asc(timestamp)).limit(most);
    return (await tx.delete(mcp_lists).where(inArray(id, oldest)).returning({ id })).length;
  });
}

async function deleteSessions(app: Platform, where: SQL | undefined): Promise<void> {
  const { mcp_sessions: table, mcp_session_names } = app.store.tables;
  await inPages(app, async (tx, most) => {
    const rows = await tx.select({ id: table.id }).from(table).where(where).orderBy(asc(table.last_at)).limit(most);
    const ids = rows.map(({ id }) => id);
    if (ids.length === 0) return 0;
    await tx.delete(mcp_session_names).where(inArray(mcp_session_names.session_id, ids));
    await tx.delete(table).where(inArray(table.id, ids));
    return ids.length;
  });
}

const justAfter = (time: string): string => new Date(Date.parse(time) + 1).toISOString();
