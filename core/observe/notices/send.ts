import type { Platform } from '#core/platform/platform.ts';
import { reasonOf } from '#core/process/log.ts';
import { createHmac } from 'node:crypto';
import { and, asc, desc, eq, gt, lt, lte, ne, or } from 'drizzle-orm';
import { OLD_SECRET_HOURS } from '#core/contract/observe/notices.ts';
import { AppError } from '#core/errors.ts';
import { guardedFetch } from '#core/engines/shared/dial.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';
import { withLease } from '#core/platform/leases.ts';
import type { Db } from '#core/store/store.ts';
import { keepNewest } from '#core/store/pages.ts';
import type { Schema } from '#core/store/schema.ts';

export type NoticeRow = Schema['notices']['$inferSelect'];
export type DeliveryRow = Schema['notice_deliveries']['$inferSelect'];

const LOOK_MS = 2_000;
const TIMEOUT_MS = 15_000;
/** Maximum deliveries of a webhook per turn. */
const AT_ONCE = 100;
/** Maximum deliveries of a webhook that wait for an attempt. */
export const MOST_WAITING = 1_000;
/** Seconds between attempts. The last attempt is a day after the first (Standard Webhooks, "retries"). */
const WAITS = [5, 300, 1_800, 7_200, 18_000, 25_200, 33_600] as const;
const LONGEST_WAIT_MS = 1_000 * Math.max(...WAITS) + 60_000;
const RETENTION_DAYS = 30;
const MAX_DELIVERIES = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SECRET_PREFIX = 'whsec_';

const secretPath = (id: string): string => `notice/${id}/secret`;

/** @param before the previous secret, which also signs for a limited time. */
export function sealSecret(app: Platform, id: string, secret: string, before: string | null = null): NoticeRow['secret'] {
  const until = app.clock().getTime() + OLD_SECRET_HOURS * HOUR_MS;
  const text = before === null ? secret : `${secret} ${before} ${until}`;
  return { $sealed: app.keyring.seal(text, secretPath(id)) };
}

/** The secrets of a webhook that sign now, the newest first. */
export function secretsOf({ keyring, clock }: Platform, { id, secret }: NoticeRow): readonly [string, ...string[]] {
  const [newest = '', before, until = 0] = keyring.open(secret.$sealed, secretPath(id)).split(' ');
  return before === undefined || Number(until) <= clock().getTime() ? [newest] : [newest, before];
}

/**
 * Sends due deliveries, on one server at a time for each webhook. Webhooks are independent: a slow one does not delay the others.
 * @returns a function that stops it.
 */
export function keepSendingNotices(app: Platform): () => void {
  const busy = new Set<string>();
  const ended = new AbortController();
  const begin = (id: string): void => {
    if (busy.has(id)) return;
    busy.add(id);
    const sending = sendTo(app, id, ended.signal)
      .catch((error: unknown) => app.log.warning('sending notices failed', { reason: reasonOf(error) }))
      .finally(() => busy.delete(id));
    app.background(sending);
  };
  const work = async (): Promise<Outcome> => {
    const due = await dueNotices(app);
    due.forEach(begin);
    return due.length === 0 && !(await isAnyWaiting(app)) ? 'idle' : undefined;
  };
  const end = runEvery(app, { every_ms: LOOK_MS, what: 'sending notices', work, at_once: true });
  return () => {
    ended.abort();
    end();
  };
}

/** Runs one turn of every webhook. */
export async function sendDue(app: Platform): Promise<void> {
  await Promise.all((await dueNotices(app)).map((id) => sendTo(app, id)));
}

/**
 * Runs one turn of a webhook. It ends at the first failure, because the next delivery would fail as well, after another timeout.
 */
async function sendTo(app: Platform, id: string, ending?: AbortSignal): Promise<void> {
  await withLease(app, `notices/${id}`, async (held, { lost }) => {
    const ended = ending === undefined ? lost : AbortSignal.any([ending, lost]);
    await giveUpOldest(held, id);
    for (let n = 0; n < AT_ONCE; n++) {
      if (ended.aborted) break;
      // Read again for each delivery, under the lease: another server may have sent it, or the webhook was disabled or deleted.
      const next = await held.store.write((tx) => nextDue(held, tx, id));
      if (next === undefined) break;
      // The result is stored in any case, so it uses the app without the lease.
      const sent = await deliver(app, next.notice, next.delivery, { ended }).catch((error: unknown) => {
        if (ended.aborted) return null;
        throw error;
      });
      if (sent?.error !== null) break;
    }
  });
}

const isDue = (app: Platform) => {
  const { notices, notice_deliveries: deliveries } = app.store.tables;
  const now = app.clock();
  // A time later than any attempt was stored by a clock that was ahead.
  const latest = new Date(now.getTime() + LONGEST_WAIT_MS).toISOString();
  const is_time = or(lte(deliveries.next_attempt_at, now.toISOString()), gt(deliveries.next_attempt_at, latest));
  return and(eq(notices.enabled, true), eq(deliveries.status, 'waiting'), is_time);
};

async function dueNotices(app: Platform): Promise<string[]> {
  const { notices, notice_deliveries: deliveries } = app.store.tables;
  const rows = await app.store.db
    .selectDistinct({ id: notices.id })
    .from(deliveries)
    .innerJoin(notices, eq(notices.id, deliveries.notice_id))
    .where(isDue(app));
  return rows.map(({ id }) => id);
}

/** Also deliveries that wait for their next attempt. */
async function isAnyWaiting({ store }: Platform): Promise<boolean> {
  const { notice_deliveries: deliveries } = store.tables;
  const waiting = store.db.select({ id: deliveries.id }).from(deliveries).where(eq(deliveries.status, 'waiting')).limit(1);
  return (await waiting).length > 0;
}

async function nextDue(app: Platform, tx: Db, id: string): Promise<{ notice: NoticeRow; delivery: DeliveryRow } | undefined> {
  const { notices, notice_deliveries: deliveries } = app.store.tables;
  const [next] = await tx
    .select({ notice: notices, delivery: deliveries })
    .from(deliveries)
    .innerJoin(notices, eq(notices.id, deliveries.notice_id))
    .where(and(eq(deliveries.notice_id, id), isDue(app)))
    .orderBy(asc(deliveries.id))
    .limit(1);
  return next;
}

/** A webhook that fails for long receives only the newest events. */
async function giveUpOldest({ store }: Platform, id: string): Promise<void> {
  const { notice_deliveries: deliveries } = store.tables;
  const waiting = and(eq(deliveries.notice_id, id), eq(deliveries.status, 'waiting'));
  const [newest] = await store.db
    .select({ id: deliveries.id })
    .from(deliveries)
    .where(waiting)
    .orderBy(desc(deliveries.id))
    .limit(1)
    .offset(MOST_WAITING);
  if (newest === undefined) return;
  const error = `More than ${MOST_WAITING.toLocaleString('en')} deliveries were waiting, so the oldest were given up.`;
  await store.write((tx) =>
    tx
      .update(deliveries)
      .set({ status: 'failed', next_attempt_at: null, error })
      .where(and(waiting, lte(deliveries.id, newest.id))),
  );
}

interface DeliveryOptions {
  /** No further attempt follows, whatever the result. */
  readonly last?: boolean;
  /** Aborts the attempt, which then does not count and rejects. */
  readonly ended?: AbortSignal | undefined;
}

/** Runs one attempt and records it in the delivery log. */
export async function deliver(
  app: Platform,
  notice: NoticeRow,
  delivery: DeliveryRow,
  { last = false, ended }: DeliveryOptions = {},
): Promise<DeliveryRow> {
  const { notice_deliveries: deliveries } = app.store.tables;
  const { response_status, error } = await post(app, notice, delivery, ended);
  const attempts = delivery.attempts + 1;
  const wait = last ? undefined : WAITS[attempts - 1];
  const now = app.clock();
  const change: Partial<DeliveryRow> = {
    attempts,
    response_status,
    error,
    last_attempt_at: now.toISOString(),
    status: error === null ? 'delivered' : wait === undefined ? 'failed' : 'waiting',
    next_attempt_at: error === null || wait === undefined ? null : new Date(now.getTime() + wait * 1_000).toISOString(),
  };
  // If the delivery ended during the attempt, for example because its webhook was disabled, its status stays.
  const still = last || error === null ? undefined : eq(deliveries.status, 'waiting');
  await app.store.write((tx) =>
    tx
      .update(deliveries)
      .set(change)
      .where(and(eq(deliveries.id, delivery.id), still)),
  );
  return { ...delivery, ...change };
}

async function post(
  app: Platform,
  notice: NoticeRow,
  { id, body }: DeliveryRow,
  ended: AbortSignal | undefined,
): Promise<Pick<DeliveryRow, 'response_status' | 'error'>> {
  try {
    const timestamp = String(Math.floor(app.clock().getTime() / 1_000));
    const message_id = `msg_${id}`;
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Sluice',
      'webhook-id': message_id,
      'webhook-timestamp': timestamp,
      'webhook-signature': secretsOf(app, notice)
        .map((secret) => signature(secret, message_id, timestamp, body))
        .join(' '),
    };
    const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(ended === undefined ? [] : [ended])]);
    const init = { method: 'POST', headers, body, signal };
    const answer = await guardedFetch(notice.url, init, app.policy);
    await answer.body?.cancel();
    const { status } = answer;
    if (status >= 200 && status < 300) return { response_status: status, error: null };
    const redirect = status >= 300 && status < 400;
    const error = redirect
      ? 'The URL redirects, which webhooks do not follow. Enter the final URL.'
      : `The URL answered ${status}.`;
    return { response_status: status, error };
  } catch (error) {
    ended?.throwIfAborted();
    return { response_status: null, error: deliveryError(error) };
  }
}

function deliveryError(error: unknown): string {
  if (error instanceof AppError) return error.detail;
  if (error instanceof Error && error.name === 'TimeoutError') return `The URL did not answer within ${TIMEOUT_MS / 1_000} s.`;
  return 'The connection was closed without an answer.';
}

/** Standard Webhooks: HMAC-SHA256 over id, timestamp and body, with the bytes of the secret. */
function signature(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

export const newSecret = (): string =>
  `${SECRET_PREFIX}${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`;

/** Deletes finished deliveries that are old, and the oldest ones beyond the maximum per webhook. */
export async function forgetDeliveries(app: Platform): Promise<void> {
  const { notices, notice_deliveries: deliveries } = app.store.tables;
  const done = ne(deliveries.status, 'waiting');
  const before = new Date(app.clock().getTime() - RETENTION_DAYS * DAY_MS).toISOString();
  await app.store.write((tx) => tx.delete(deliveries).where(and(done, lt(deliveries.created_at, before))));
  for (const { id } of await app.store.db.select({ id: notices.id }).from(notices)) {
    await app.store.write((tx) => keepNewest(tx, deliveries, MAX_DELIVERIES, and(eq(deliveries.notice_id, id), done)));
  }
}
