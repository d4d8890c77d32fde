import { sql } from 'drizzle-orm';
import type { NoticeEvent } from '#core/contract/observe/notices.ts';
import type { Sealed } from '#core/contract/fields.ts';
import type { Kit } from '../kit.ts';

/** Webhooks and their deliveries. */
export function noticeTables(k: Kit) {
  const notices = k.table(
    'notices',
    {
      id: k.text().primaryKey(),
      name: k.text().notNull(),
      url: k.text().notNull(),
      events: k.json<NoticeEvent[]>().notNull(),
      enabled: k.bool().notNull(),
      secret: k.json<Sealed>().notNull(),
      version: k.int().notNull().default(1),
      created_at: k.text().notNull(),
      updated_at: k.text().notNull(),
    },
    (t) => [k.unique('notices_name').on(t.name)],
  );
  const notice_deliveries = k.table(
    'notice_deliveries',
    {
      id: k.text().primaryKey(),
      notice_id: k.text().notNull(),
      event: k.text().notNull(),
      /** The body, the same in every attempt. */
      body: k.text().notNull(),
      status: k.text().$type<'waiting' | 'delivered' | 'failed'>().notNull(),
      attempts: k.int().notNull(),
      response_status: k.int(),
      error: k.text(),
      created_at: k.text().notNull(),
      last_attempt_at: k.text(),
      next_attempt_at: k.text(),
    },
    (t) => [
      k.index('notice_deliveries_due').on(t.status, t.next_attempt_at),
      k.index('notice_deliveries_notice').on(t.notice_id, t.id),
    ],
  );
  /** All events, including those without a subscribed webhook. */
  const notice_events = k.table(
    'notice_events',
    {
      id: k.counter().primaryKey(),
      event: k.text().$type<NoticeEvent>().notNull(),
      data: k.json<Readonly<Record<string, unknown>>>().notNull(),
      created_at: k.text().notNull(),
      /** The person who caused it and is not notified. */
      actor_id: k.text(),
      /** For lasting events: the subject, and the end. */
      key: k.text(),
      ended_at: k.text(),
    },
    (t) => [
      k.index('notice_events_event').on(t.event, t.id),
      k
        .unique('notice_events_open')
        .on(t.key)
        .where(sql`ended_at is null`),
    ],
  );
  /** The last event that a person has read. */
  const notice_reads = k.table('notice_reads', { person_id: k.text().primaryKey(), event_id: k.int().notNull() });
  return { notices, notice_deliveries, notice_events, notice_reads };
}
