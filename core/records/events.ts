import type { Platform } from '#core/platform/platform.ts';
import type { NoticeEvent } from '#core/contract/notices.ts';
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
 * Stores an event, and queues it for every webhook that wants it. What changes something passes its transaction, so that there is no event
 * without the change and no change without the event. @param actor who caused it, and needs no word of it.
 */
export async function emitEvent(
  app: Platform,
  event: NoticeEvent,
  data: Data,
  tx?: Db,
  actor: Actor | null = null,
): Promise<void> {
  if (tx === undefined) return app.store.write((own) => emitEvent(app, event, data, own, actor));
  await recordEvent(app, event, data, tx, actor);
  await queueDeliveries(app, event, data, tx);
}

type Data = Readonly<Record<string, unknown>>;

/** How long something may pause and still be the same. */
const PAUSE_MS = 30 * 60_000;

/** Something began that lasts until `endNotice`: one event, of one server, which goes on when it comes back after a pause. */
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
    // Another server may be as quick.
    const begun =
      known === undefined
        ? await tx.insert(table).values(row).onConflictDoNothing().returning({ id: table.id })
        : await tx
            .update(table)
            .set({ data, ended_at: null })
            .where(and(eq(table.id, known.id), isNotNull(table.ended_at)))
            .returning({ id: table.id });
    if (begun.length > 0) await queueDeliveries(app, event, { ...data, ...told(event, data), state: 'open' }, tx);
  });
}

/** What lasted is over: it counts as read, and webhooks that were sent its beginning are sent its end. */
export async function endNotice(app: Platform, key: string): Promise<void> {
  const { notice_events: table } = app.store.tables;
  await app.store.write(async (tx) => {
    const ended = await tx
      .update(table)
      .set({ ended_at: app.clock().toISOString() })
      .where(and(eq(table.key, key), isNull(table.ended_at)))
      .returning({ event: table.event, data: table.data });
    for (const { event, data } of ended) await queueDeliveries(app, event, { ...data, ...told(event, data), state: 'over' }, tx);
  });
}

/** Keys of what lasts now, of one event. */
export async function lastingKeys({ store }: Platform, event: NoticeEvent): Promise<Set<string>> {
  const { notice_events: table } = store.tables;
  const rows = await store.db
    .select({ key: table.key })
    .from(table)
    .where(and(eq(table.event, event), isNotNull(table.key), isNull(table.ended_at)));
  return new Set(rows.flatMap(({ key }) => key ?? []));
}

function told(event: NoticeEvent, data: Data) {
  const { message, path } = describeEvent(event, data);
  return { message, path };
}

async function queueDeliveries(app: Platform, event: NoticeEvent, data: Data, tx: Db): Promise<void> {
  announce(app, 'notices');
  const { notices, notice_deliveries } = app.store.tables;
  const wanted = (await tx.select().from(notices).where(eq(notices.enabled, true))).filter(({ events }) =>
    events.includes(event),
  );
  if (wanted.length === 0) return;
  const now = app.clock().toISOString();
  const body = bodyOf(app, event, data);
  const rows = wanted.map(({ id }) => newDelivery(app.ids(), id, event, body, now));
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
  /** What it is about, if it lasts until `endNotice`. */
  readonly lasting?: string;
}

/** The same, told only once within the time by all servers. What could not be kept counts as not told. */
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

/** What nobody is to be told of within the time. */
export async function markEmitted(app: Platform, event: NoticeEvent, { key, within_ms }: Once): Promise<void> {
  await app.kv.increment(counterOf(event, key), within_ms);
}

/** The same beside work that must not fail or wait for it. */
export function emitLater(app: Platform, event: NoticeEvent, data: Readonly<Record<string, unknown>>, once: Once): void {
  const emitted = emitOnce(app, event, data, once);
  app.background(emitted.catch((error: unknown) => app.log.warning('a notice was not queued', { event, reason: String(error) })));
}

/** Stores an event, for everybody who may see it. */
export async function recordEvent(
  app: Platform,
  event: NoticeEvent,
  data: Readonly<Record<string, unknown>>,
  tx: Db,
  actor: Actor | null,
): Promise<void> {
  const row = { event, data, actor_id: personOf(actor), created_at: app.clock().toISOString() };
  await tx.insert(app.store.tables.notice_events).values(row);
}
