import type { Platform } from '#core/platform/platform.ts';
import type { NoticeEvent } from '#core/contract/observe/notices.ts';
import { describeEvent } from '#core/records/describe-event.ts';
import { and, desc, eq, lt, lte, isNull, ne, notInArray, or, type SQL, gt, gte, count, sql } from 'drizzle-orm';
import type { Handlers, Actor } from '#core/context/context.ts';
import { readPage, countUpTo, keepNewest } from '#core/store/pages.ts';
import { personOf } from '#core/records/events.ts';
import { isAdministrator } from '#core/context/roles.ts';
import { MOST_UNREAD, MAX_EVENTS_PER_KIND, EVENTS_RETENTION_DAYS } from '#core/contract/observe/notice-events.ts';

const DAY_MS = 24 * 3_600_000;

/** Events about settings whose pages are only for administrators. */
const ADMINISTRATORS_ONLY: readonly NoticeEvent[] = [
  'guard_hit',
  'login_locked',
  'certificate',
  'sign_ins_refused',
  'token_expiring',
  'audit_head',
];

export const noticeEventHandlers: Pick<Handlers, 'notices.events' | 'notices.read'> = {
  'notices.events': async ({ app, actor }, { skip, limit, event }) => {
    const { notice_events: table } = app.store.tables;
    const where = and(visibleTo(app, actor), event === undefined ? undefined : eq(table.event, event));
    const [{ rows, total }, read] = await Promise.all([
      readPage(app.store.db, table, { where, order: [desc(table.id)], skip, limit }),
      unreadOf(app, actor),
    ]);
    const items = rows.map(({ id, event: kind, created_at, ended_at, data }) => ({
      id: String(id),
      event: kind,
      created_at,
      ended_at,
      ...describeEvent(kind, data),
      unread: read !== null && ended_at === null && read.isUnread({ id, created_at }),
    }));
    return { items, total, unread: await countUnread(app, actor, read) };
  },
  'notices.read': async ({ app, actor }, { up_to }) => {
    const { notice_events: table, notice_reads } = app.store.tables;
    const person_id = personOf(actor);
    if (person_id !== null) {
      await app.store.write(async (tx) => {
        // An event that does not exist yet cannot have been read.
        const [newest] = await tx
          .select({ id: table.id })
          .from(table)
          .where(lte(table.id, Number(up_to)))
          .orderBy(desc(table.id))
          .limit(1);
        if (newest === undefined) return;
        await tx
          .insert(notice_reads)
          .values({ person_id, event_id: newest.id })
          .onConflictDoUpdate({
            target: notice_reads.person_id,
            set: { event_id: newest.id },
            setWhere: lt(notice_reads.event_id, newest.id),
          });
      });
    }
    return { unread: await countUnread(app, actor, await unreadOf(app, actor)) };
  },
};

/** People are not notified of their actions. */
function visibleTo({ store }: Platform, actor: Actor | null): SQL | undefined {
  const { event, actor_id } = store.tables.notice_events;
  const person_id = personOf(actor);
  return and(
    isAdministrator(actor) ? undefined : notInArray(event, [...ADMINISTRATORS_ONLY]),
    person_id === null ? undefined : or(isNull(actor_id), ne(actor_id, person_id)),
  );
}

interface Unread {
  readonly where: SQL;
  isUnread(event: { readonly id: number; readonly created_at: string }): boolean;
}

/** The unread events of a person, without those from before the account existed. Null when the caller is not a person. */
async function unreadOf({ store }: Platform, actor: Actor | null): Promise<Unread | null> {
  const { notice_events: table, notice_reads, people } = store.tables;
  const person_id = personOf(actor);
  if (person_id === null) return null;
  const [read] = await store.db.select().from(notice_reads).where(eq(notice_reads.person_id, person_id));
  if (read !== undefined) return { where: gt(table.id, read.event_id), isUnread: ({ id }) => id > read.event_id };
  const [person] = await store.db.select({ since: people.created_at }).from(people).where(eq(people.id, person_id));
  if (person === undefined) return null;
  return { where: gte(table.created_at, person.since), isUnread: ({ created_at }) => created_at >= person.since };
}

async function countUnread(app: Platform, actor: Actor | null, unread: Unread | null): Promise<number> {
  const { notice_events: table } = app.store.tables;
  if (unread === null) return 0;
  const where = and(visibleTo(app, actor), unread.where, isNull(table.ended_at));
  return countUpTo(app, MOST_UNREAD, app.store.db.select({ id: table.id }).from(table).where(where));
}

/** Deletes old events, and the oldest ones beyond the maximum per kind. The newest event stays, since ids continue from it. */
export async function forgetEvents(app: Platform): Promise<void> {
  const { notice_events: table } = app.store.tables;
  const before = new Date(app.clock().getTime() - EVENTS_RETENTION_DAYS * DAY_MS).toISOString();
  const newest = sql`(select max(${table.id}) from ${table})`;
  const many = await app.store.db.select({ event: table.event, count: count() }).from(table).groupBy(table.event);
  await app.store.write(async (tx) => {
    await tx.delete(table).where(and(lt(table.created_at, before), lt(table.id, newest)));
    for (const { event, count } of many) {
      if (count > MAX_EVENTS_PER_KIND) await keepNewest(tx, table, MAX_EVENTS_PER_KIND, eq(table.event, event));
    }
  });
}
