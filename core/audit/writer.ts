import { asc, desc, eq, inArray, sql } from 'drizzle-orm';
import type { AuditHead } from '#core/contract/observe/audit.ts';
import { announce } from '#core/platform/announcements.ts';
import type { Platform } from '#core/platform/platform.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { reasonOf } from '#core/process/log.ts';
import { queueDeliveries } from '#core/records/events.ts';
import { rowsOf } from '#core/store/columns.ts';
import { lockAudit } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import { type AuditRow, NO_HASH, toRow } from './chain.ts';
import { mergeCalls } from './merge-calls.ts';
import { signStatement } from './heads.ts';

/** Longer than between two reports of a host, so that calls of several of them become one entry. Readers do not wait. */
const LOOK_MS = 5_000;
/** How often the newest entry is signed, while there are new ones. */
const HEAD_MS = 60_000;
/** Transactions whose entries are chained together. */
const AT_ONCE = 500;

/** Chains what transactions entered, and signs the newest entry. @returns a function that stops it. */
export function keepAuditLog(app: Platform): () => void {
  let looked_at = Number.NEGATIVE_INFINITY;
  const work = async (): Promise<void> => {
    await chainAll(app);
    if (performance.now() - looked_at < HEAD_MS) return;
    looked_at = performance.now();
    await signWhenDue(app);
  };
  return runEvery(app, { every_ms: LOOK_MS, what: 'writing the audit log', work, at_once: true });
}

/** One turn of the writer. Calls do not wait for it: their host reported them before. */
export async function writeAudit(app: Platform): Promise<void> {
  await chainAll(app);
  await signWhenDue(app);
}

/** For readers: chains what waits, so that they see what happened before. A database that cannot be written is read as it is. */
export async function chainNow(app: Platform): Promise<void> {
  await writeAudit(app).catch((error: unknown) => app.log.warning('the audit log was not written', { reason: reasonOf(error) }));
}

async function chainAll(app: Platform): Promise<void> {
  const { audit_pending: pending } = app.store.tables;
  const [waiting] = await app.store.db.select({ id: pending.id }).from(pending).limit(1);
  if (waiting === undefined) return;
  while ((await app.store.write((tx) => chainPending(app, tx))) === AT_ONCE);
  announce(app, 'audit');
}

/**
 * Chains waiting entries in one transaction that holds the lock of the log, so that the servers of a database write one chain without
 * forks. @returns how many transactions were chained; 0 also while another server does it.
 */
async function chainPending(app: Platform, tx: Db): Promise<number> {
  const { audit_pending: pending } = app.store.tables;
  if (!(await lockAudit(app.store, tx, false))) return 0;
  const waiting = await tx.select().from(pending).orderBy(asc(pending.id)).limit(AT_ONCE);
  if (waiting.length === 0) return 0;
  const tip = await tipOf(app, tx);
  let [seq, previous] = [tip?.seq ?? 0, tip?.hash ?? NO_HASH];
  const rows = mergeCalls(waiting.flatMap(({ drafts }) => drafts)).map((draft): AuditRow => {
    const row = toRow(++seq, previous, draft);
    previous = row.hash;
    return row;
  });
  if (rows.length > 0) await insertRows(app, tx, rows);
  await tx.delete(pending).where(
    inArray(
      pending.id,
      waiting.map(({ id }) => id),
    ),
  );
  return waiting.length;
}

/** In the column order of the table. */
const TEXTS = [
  'at',
  'kind',
  'actor_type',
  'actor_id',
  'actor_name',
  'entity_type',
  'entity_id',
  'entity_name',
  'tool',
  'outcome',
  'ip',
  'request_id',
  'detail',
  'hash',
] as const satisfies readonly (keyof AuditRow)[];

async function insertRows({ store }: Platform, tx: Db, rows: readonly AuditRow[]): Promise<void> {
  const texts = TEXTS.map((name) => [name, { type: 'text', cells: rows.map((row) => row[name]) }] as const);
  const added = rowsOf(store.dialect, 'added', {
    seq: { type: 'integer', cells: rows.map(({ seq }) => seq) },
    ...Object.fromEntries(texts),
  });
  const columns = ['seq', ...TEXTS, 'null'].join(', ');
  await tx.insert(store.tables.audit_entries).select(sql`with recursive ${added} select ${sql.raw(columns)} from added`);
}

export async function tipOf({ store }: Platform, db: Db): Promise<{ seq: number; hash: string } | null> {
  const { audit_entries: entries } = store.tables;
  const [tip] = await db.select({ seq: entries.seq, hash: entries.hash }).from(entries).orderBy(desc(entries.seq)).limit(1);
  return tip ?? null;
}

async function lastHead({ store }: Platform, db: Db): Promise<AuditHead | null> {
  const { audit_heads: heads } = store.tables;
  const [last] = await db.select().from(heads).where(eq(heads.type, 'head')).orderBy(desc(heads.at)).limit(1);
  return last ?? null;
}

async function isHeadDue(app: Platform): Promise<boolean> {
  const [tip, last] = await Promise.all([tipOf(app, app.store.db), lastHead(app, app.store.db)]);
  if (tip === null || last?.hash === tip.hash) return false;
  const age = last === null ? HEAD_MS : app.clock().getTime() - Date.parse(last.at);
  // A time in the future was signed while the clock was ahead.
  return age >= HEAD_MS || age < 0;
}

async function signWhenDue(app: Platform): Promise<void> {
  if (await isHeadDue(app)) await app.store.write((tx) => signHead(app, tx));
}

/** Signs the newest entry and hands the signature to webhooks, in one transaction. */
async function signHead(app: Platform, tx: Db): Promise<void> {
  if (!(await lockAudit(app.store, tx, false))) return;
  const [tip, last] = [await tipOf(app, tx), await lastHead(app, tx)];
  if (tip === null || tip.hash === last?.hash) return;
  const head = await signStatement(app, tx, app.ids(), { type: 'head', ...tip, at: app.clock().toISOString() });
  await tx.insert(app.store.tables.audit_heads).values(head);
  await queueDeliveries(app, 'audit_head', { ...head }, tx);
}
