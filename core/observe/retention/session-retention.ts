import type { Platform } from '#core/platform/platform.ts';
import { and, asc, desc, eq, inArray, lt, or, type SQL } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';

/** A client may read a list before every call, and may call nothing. */
export const MOST_LISTS = 1_000_000;
/** Rows of one transaction: other writers wait no longer than for so many. */
const ROWS_AT_ONCE = 1_000;
/** Embedded, a statement runs in this thread: what else the server has to do comes in between. */
const PAUSE_MS = 1;

/** Deletes page by page. @returns whether all is done; the server may end before. */
export async function inPages(app: Platform, remove: (tx: Db, most: number) => Promise<number>): Promise<boolean> {
  for (;;) {
    const gone = await app.store.write((tx) => remove(tx, ROWS_AT_ONCE));
    if (gone < ROWS_AT_ONCE) return true;
    // The rest is left to the server that comes next.
    if (app.life.ending) return false;
    await Bun.sleep(PAUSE_MS);
  }
}

/** Forgets sessions and lists that are older than the calls that are kept, and the oldest of too many lists. */
export async function forgetSessions(app: Platform, before: string, most_lists = MOST_LISTS): Promise<void> {
  const { mcp_sessions, mcp_lists } = app.store.tables;
  const [surplus] = await app.store.db
    .select({ timestamp: mcp_lists.timestamp })
    .from(mcp_lists)
    .orderBy(desc(mcp_lists.timestamp))
    .limit(1)
    .offset(most_lists);
  // All of a moment go, so that the rest is complete from a moment on.
  const lists_from = surplus !== undefined && surplus.timestamp >= before ? justAfter(surplus.timestamp) : before;
  // Of a session without calls nothing is left when its lists are gone.
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
