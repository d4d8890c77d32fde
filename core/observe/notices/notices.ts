import { and, asc, desc, eq, ne } from 'drizzle-orm';
import { type Delivery, MOST_NOTICES, type Notice } from '#core/contract/observe/notices.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { resolveTarget } from '#core/engines/shared/dial.ts';
import { checkVersion } from '#core/records/versioned.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import { readPage } from '#core/store/pages.ts';
import { recordHistory } from '#core/records/history.ts';
import { bodyOf, newDelivery } from '#core/records/events.ts';
import { deliver, type DeliveryRow, newSecret, type NoticeRow, sealSecret, secretsOf } from './send.ts';

const toDelivery = ({ notice_id: _, body: _body, ...row }: DeliveryRow): Delivery => row;
const toNotice = ({ secret: _, ...row }: NoticeRow, last: DeliveryRow | null): Notice => ({
  ...row,
  last_delivery: last === null ? null : toDelivery(last),
});

const missing = () => new AppError('not_found', 'There is no webhook with this id.');

async function find({ app }: Context, id: string, tx: Db = app.store.db): Promise<NoticeRow> {
  const { notices } = app.store.tables;
  const [row] = await tx.select().from(notices).where(eq(notices.id, id));
  if (row === undefined) throw missing();
  return row;
}

async function lastOf({ app }: Context, id: string, tx: Db = app.store.db): Promise<DeliveryRow | null> {
  const { notice_deliveries: deliveries } = app.store.tables;
  const [row] = await tx.select().from(deliveries).where(eq(deliveries.notice_id, id)).orderBy(desc(deliveries.id)).limit(1);
  return row ?? null;
}

const shown = async (context: Context, tx: Db, row: NoticeRow): Promise<Notice> =>
  toNotice(row, await lastOf(context, row.id, tx));

/** Refuses an address that the policy blocks. An address that does not resolve now is accepted, because it may do so later. */
async function checkAddress({ app }: Context, url: string): Promise<void> {
  const { hostname, port, protocol } = new URL(url);
  const number = Number(port || (protocol === 'https:' ? 443 : 80));
  await resolveTarget(hostname, number, app.policy).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'private_network_blocked') return;
    throw invalidField('url', error.detail, error.code);
  });
}

async function refuseTaken({ app }: Context, tx: Db, name: string, id: string): Promise<void> {
  const { notices } = app.store.tables;
  const [taken] = await tx
    .select({ id: notices.id })
    .from(notices)
    .where(and(eq(notices.name, name), ne(notices.id, id)));
  if (taken !== undefined) throw invalidField('name', 'Another webhook already has this name. Choose another one.', 'conflict');
}

const entryOf = ({ id, name }: NoticeRow) => ({ entity_type: 'notice', entity_id: id, entity_name: name }) as const;

export const noticeHandlers: Omit<
  Pick<Handlers, Extract<keyof Handlers, `notices.${string}`>>,
  'notices.events' | 'notices.read'
> = {
  'notices.list': async (context, { skip, limit }) => {
    const { app } = context;
    const { notices } = app.store.tables;
    const { rows, total } = await readPage(app.store.db, notices, { order: [asc(notices.name)], skip, limit });
    return { items: await Promise.all(rows.map(async (row) => toNotice(row, await lastOf(context, row.id)))), total };
  },
  'notices.create': async (context, draft) => {
    const { app } = context;
    const { notices } = app.store.tables;
    await checkAddress(context, draft.url);
    const [id, secret, now] = [app.ids(), newSecret(), app.clock().toISOString()];
    const row: NoticeRow = { id, ...draft, secret: sealSecret(app, id, secret), version: 1, created_at: now, updated_at: now };
    await app.store.write(async (tx) => {
      await lockEntityWrites(app.store, tx);
      await refuseTaken(context, tx, row.name, id);
      if ((await tx.$count(notices)) >= MOST_NOTICES) {
        throw new AppError('invalid', `There can be at most ${MOST_NOTICES} webhooks. Delete one first.`);
      }
      await tx.insert(notices).values(row);
      await recordHistory(tx, context, { ...entryOf(row), before: null, after: row });
    });
    return { ...toNotice(row, null), secret };
  },
  'notices.update': async (context, { id, version, ...sent }) => {
    const { app } = context;
    const { notices, notice_deliveries: deliveries } = app.store.tables;
    const change = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)) as Partial<NoticeRow>;
    if (change.url !== undefined) await checkAddress(context, change.url);
    return app.store.write(async (tx) => {
      await lockEntityWrites(app.store, tx);
      const before = await find(context, id, tx);
      checkVersion('notice', before, version, 'webhook');
      if (Object.keys(change).length === 0) return shown(context, tx, before);
      const after = { ...before, ...change, version: before.version + 1, updated_at: app.clock().toISOString() };
      await refuseTaken(context, tx, after.name, id);
      await tx.update(notices).set(after).where(eq(notices.id, id));
      if (!after.enabled) {
        const ended = { status: 'failed', next_attempt_at: null, error: 'The webhook was disabled.' } as const;
        await tx
          .update(deliveries)
          .set(ended)
          .where(and(eq(deliveries.notice_id, id), eq(deliveries.status, 'waiting')));
      }
      await recordHistory(tx, context, { ...entryOf(after), before, after });
      return shown(context, tx, after);
    });
  },
  'notices.delete': async (context, { id }) => {
    const { app } = context;
    const { notices, notice_deliveries: deliveries } = app.store.tables;
    await app.store.write(async (tx) => {
      const row = await find(context, id, tx);
      await tx.delete(deliveries).where(eq(deliveries.notice_id, id));
      await tx.delete(notices).where(eq(notices.id, id));
      await recordHistory(tx, context, { ...entryOf(row), before: row, after: null });
    });
    return {};
  },
  'notices.test': async (context, { id }) => {
    const { app, actor } = context;
    const { notice_deliveries: deliveries } = app.store.tables;
    const notice = await find(context, id);
    const body = bodyOf(app, 'test', { by: actor?.name ?? null });
    // Not due, so that the background sender skips it.
    const row = { ...newDelivery(app.ids(), id, 'test', body, app.clock().toISOString()), next_attempt_at: null };
    await app.store.write((tx) => tx.insert(deliveries).values(row));
    return toDelivery(await deliver(app, notice, row, { last: true }));
  },
  'notices.rotate_secret': async (context, { id }) => {
    const { app } = context;
    const { notices } = app.store.tables;
    const secret = newSecret();
    return app.store.write(async (tx) => {
      await lockEntityWrites(app.store, tx);
      const before = await find(context, id, tx);
      const [newest] = secretsOf(app, before);
      const sealed = sealSecret(app, id, secret, newest);
      const after = { ...before, secret: sealed, version: before.version + 1, updated_at: app.clock().toISOString() };
      await tx.update(notices).set(after).where(eq(notices.id, id));
      await recordHistory(tx, context, { ...entryOf(after), before, after });
      return { ...(await shown(context, tx, after)), secret };
    });
  },
  'notices.redeliver': async (context, { id, delivery_id }) => {
    const { app } = context;
    const { notice_deliveries: deliveries } = app.store.tables;
    const notice = await find(context, id);
    if (!notice.enabled) throw new AppError('conflict', 'This webhook is disabled. Enable it first.');
    const changed = and(eq(deliveries.notice_id, id), eq(deliveries.id, delivery_id));
    const [row] = await app.store.db.select().from(deliveries).where(changed);
    if (row === undefined) throw new AppError('not_found', 'This webhook has no delivery with this id. It may be too old.');
    return toDelivery(await deliver(app, notice, row, { last: row.status !== 'waiting' }));
  },
  'notices.deliveries': async (context, { id, skip, limit }) => {
    const { app } = context;
    const { notice_deliveries: deliveries } = app.store.tables;
    await find(context, id);
    const where = eq(deliveries.notice_id, id);
    const { rows, total } = await readPage(app.store.db, deliveries, { where, order: [desc(deliveries.id)], skip, limit });
    return { items: rows.map(toDelivery), total };
  },
};
