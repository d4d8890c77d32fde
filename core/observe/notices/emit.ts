import { eq } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { NoticeEvent } from '#core/contract/notices.ts';
import type { Db } from '#core/store/open.ts';
import { recordEvent } from './events.ts';

/** The body of a delivery (Standard Webhooks, "payload structure"). */
export const bodyOf = (app: App, type: string, data: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ type, timestamp: app.clock().toISOString(), data });

/**
 * Keeps an event, and queues it for every webhook that wants it. Whoever changes something passes its transaction, so that there is no event
 * without the change and no change without the event.
 */
export async function emitNotice(app: App, event: NoticeEvent, data: Readonly<Record<string, unknown>>, tx?: Db): Promise<void> {
  if (tx === undefined) return app.store.write((own) => emitNotice(app, event, data, own));
  await recordEvent(app, event, data, tx);
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
}

/** The same, told only once within the time by all servers. What could not be kept counts as not told. */
export async function emitOnce(
  app: App,
  event: NoticeEvent,
  data: Readonly<Record<string, unknown>>,
  { key, within_ms }: Once,
): Promise<void> {
  const counter = counterOf(event, key);
  if ((await app.kv.increment(counter, within_ms)).count > 1) return;
  await emitNotice(app, event, data).catch(async (error: unknown) => {
    await app.kv.delete(counter).catch(() => undefined);
    throw error;
  });
}

const counterOf = (event: NoticeEvent, key: string): string => `notice:${event}:${key}`;

/** What nobody is to be told of within the time. */
export async function countAsTold(app: App, event: NoticeEvent, { key, within_ms }: Once): Promise<void> {
  await app.kv.increment(counterOf(event, key), within_ms);
}

/** The same beside work that must not fail or wait for it. */
export function emitLater(app: App, event: NoticeEvent, data: Readonly<Record<string, unknown>>, once: Once): void {
  const emitted = emitOnce(app, event, data, once);
  app.background(emitted.catch((error: unknown) => app.log.warning('a notice was not queued', { event, reason: String(error) })));
}
