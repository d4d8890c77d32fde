import type { Platform } from '#core/platform/platform.ts';
import { reasonOf } from '#core/process/log.ts';
import type { NoticeEvent } from '#core/contract/observe/notices.ts';
import type { Db } from '#core/store/store.ts';
import type { Actor } from '#core/context/context.ts';
import { and, desc, eq, gte, isNotNull, isNull, or } from 'drizzle-orm';
import { describeEvent } from './describe-event.ts';
import { announce } from '#core/platform/announcements.ts';

export const personOf = (actor: Actor | null): string | null => (actor?.type === 'admin' ? actor.id : null);

/** The body of a delivery (Standard Webhooks, "payload structure"). */
export const bodyOf = (app: Platform, type: string, data: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ type, timestamp: app.clock().toISOString(), data });

/**
 * Stores an event, and queues it for every webhook that subscribes to it. A change passes its transaction, so that event and change are
 * committed together. @param actor who caused it and is not notified.
 */
export async function emitEvent(
  app: Platform,
  event: NoticeEvent,
  data: Data,
  tx?: Db,
  actor: Actor | null = null,
): Promise<void> {
  if (tx === undefined) return app.store.write((inside) => emitEvent(app, event, data, inside, actor));
  await recordEvent(app, event, data, tx, actor);
  await queueDeliveries(app, event, data, tx);
}

type Data = Readonly<Record<string, unknown>>;

/** A notice that begins again within this time continues the last one. */
const PAUSE_MS = 30 * 60_000;

/** Starts a notice that lasts until `endNotice`: one event for all servers, which continues when it begins again after a short pause. */
export async function beginNotice(app: Platform, event: NoticeEvent, key: string, data: Data): Promise<void> {
  const { notice_events: table } = app.store.tables;
  const since = new Date(app.clock().getTime() - PAUSE_MS).toISOString();
  await app.store.write(async (tx) => {
    const [known] = await tx
      .select({ id: table.id, ended_at: table.ended_at })
      .from(table)
      .where(and(eq(table.key, key), or(isNull(table.ended_at), gte(table.ended_at, since))))
      .orderBy(desc(table.id))
      .limit(1);
    if (known !== undefined && known.ended_at === null) return;
    const row = { event, data, key, created_at: app.clock().toISOString() };
    // Another server may have begun it at the same time.
    const begun =
      known === undefined
        ? await tx.insert(table).values(row).onConflictDoNothing().returning({ id: table.id })
        : await tx
            .update(table)
            .set({ data, ended_at: null })
            .where(and(eq(table.id, known.id), isNotNull(table.ended_at)))
            .returning({ id: table.id });
    if (begun.length > 0) await queueDeliveries(app, event, { ...data, ...described(event, data), state: 'open' }, tx);
  });
}

/** Ends a lasting notice: it counts as read, and subscribed webhooks are sent its end. */
export async function endNotice(app: Platform, key: string): Promise<void> {
  const { notice_events: table } = app.store.tables;
  await app.store.write(async (tx) => {
    const ended = await tx
      .update(table)
      .set({ ended_at: app.clock().toISOString() })
      .where(and(eq(table.key, key), isNull(table.ended_at)))
      .returning({ event: table.event, data: table.data });
    for (const { event, data } of ended)
      await queueDeliveries(app, event, { ...data, ...described(event, data), state: 'over' }, tx);
  });
}

/** Keys of the notices of one event that have not ended. */
export async function lastingKeys({ store }: Platform, event: NoticeEvent): Promise<Set<string>> {
  const { notice_events: table } = store.tables;
  const rows = await store.db
    .select({ key: table.key })
    .from(table)
    .where(and(eq(table.event, event), isNotNull(table.key), isNull(table.ended_at)));
  return new Set(rows.flatMap(({ key }) => key ?? []));
}

function described(event: NoticeEvent, data: Data) {
  const { message, path } = describeEvent(event, data);
  return { message, path };
}

/** Queues an event for every webhook that subscribes to it, without listing it among the notices. */
export async function queueDeliveries(app: Platform, event: NoticeEvent, data: Data, tx: Db): Promise<void> {
  if (event !== 'audit_head') announce(app, 'notices');
  const { notices, notice_deliveries } = app.store.tables;
  const subscribed = (await tx.select().from(notices).where(eq(notices.enabled, true))).filter(({ events }) =>
    events.includes(event),
  );
  if (subscribed.length === 0) return;
  const now = app.clock().toISOString();
  const body = bodyOf(app, event, data);
  const rows = subscribed.map(({ id }) => newDelivery(app.ids(), id, event, body, now));
  await tx.insert(notice_deliveries).values(rows);
}

export const newDelivery = (id: string, notice_id: string, event: string, body: string, now: string) => ({
  id,
  notice_id,
  event,
  body,
  status: 'waiting' as const,
  attempts: 0,
  response_status: null,
  error: null,
  created_at: now,
  last_attempt_at: null,
  next_attempt_at: now,
});

interface Once {
  readonly key: string;
  readonly within_ms: number;
  /** Key of the notice, if it lasts until `endNotice`. */
  readonly lasting?: string;
}

/** Emits an event at most once within the time, for all servers. A failed write does not count. */
export async function emitOnce(
  app: Platform,
  event: NoticeEvent,
  data: Readonly<Record<string, unknown>>,
  { key, within_ms, lasting }: Once,
): Promise<void> {
  const counter = counterOf(event, key);
  if ((await app.kv.increment(counter, within_ms)).count > 1) return;
  const emitted = lasting === undefined ? emitEvent(app, event, data) : beginNotice(app, event, lasting, data);
  await emitted.catch(async (error: unknown) => {
    await app.kv.delete(counter).catch(() => undefined);
    throw error;
  });
}

const counterOf = (event: NoticeEvent, key: string): string => `notice:${event}:${key}`;

/** Counts an event as emitted, so that `emitOnce` skips it within the time. */
export async function markEmitted(app: Platform, event: NoticeEvent, { key, within_ms }: Once): Promise<void> {
  await app.kv.increment(counterOf(event, key), within_ms);
}

/** Like `emitOnce`, in the background, for work that must neither fail nor wait for it. */
export function emitLater(app: Platform, event: NoticeEvent, data: Readonly<Record<string, unknown>>, once: Once): void {
  const emitted = emitOnce(app, event, data, once);
  app.background(
    emitted.catch((error: unknown) => app.log.warning('a notice was not queued', { event, reason: reasonOf(error) })),
  );
}

/** Stores an event without queueing it for webhooks. */
async function recordEvent(
  app: Platform,
  event: NoticeEvent,
  data: Readonly<Record<string, unknown>>,
  tx: Db,
  actor: Actor | null,
): Promise<void> {
  const row = { event, data, actor_id: personOf(actor), created_at: app.clock().toISOString() };
  await tx.insert(app.store.tables.notice_events).values(row);
}
