import { and, asc, eq, inArray, isNotNull, isNull, lt, lte, ne, or, type SQL } from 'drizzle-orm';
import type { AuditKind } from '#core/contract/observe/audit.ts';
import type { Platform } from '#core/platform/platform.ts';
import { readSettings } from '#core/settings/settings.ts';
import { lockAudit } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import { digestOf } from './chain.ts';
import { signStatement } from './heads.ts';
import { tipOf } from './writer.ts';

const DAY_MS = 24 * 3_600_000;
/** Most entries of one transaction. */
const PAGE = 1_000;
/** How long heads stay here. They belong elsewhere, and the newest one stays in any case. */
const HEADS_DAYS = 30;
/**
 * Deletes entries beyond the retention of their kind. The oldest ones go whole, and a signed head says where the rest begins.
 * One between younger entries of other kinds loses its contents and keeps its hash, and a signed statement names it.
 */
export async function pruneAudit(app: Platform): Promise<void> {
  await deleteOldest(app);
  while (await blankPage(app));
  await forgetHeads(app);
}

/** Entries beyond the retention of their kind. */
async function expired(app: Platform): Promise<{ readonly where: SQL | undefined; readonly kinds: readonly AuditKind[] }> {
  const { audit_entries: entries } = app.store.tables;
  const { audit_retention_days } = (await readSettings(app)).settings;
  const kinds = Object.entries(audit_retention_days) as [AuditKind, number][];
  const before = (days: number) => new Date(app.clock().getTime() - days * DAY_MS).toISOString();
  return {
    where: or(...kinds.map(([kind, days]) => and(eq(entries.kind, kind), lt(entries.at, before(days))))),
    kinds: kinds.map(([kind]) => kind),
  };
}

/** The last of the oldest entries that are all expired, besides the newest one, to which the next is chained. */
async function lastToDelete(app: Platform, tx: Db): Promise<{ seq: number; hash: string } | null> {
  const { audit_entries: entries } = app.store.tables;
  const { where } = await expired(app);
  const [first] = await tx.select({ seq: entries.seq }).from(entries).orderBy(asc(entries.seq)).limit(1);
  const rows = await tx
    .select({ seq: entries.seq, hash: entries.hash })
    .from(entries)
    // What has no contents any more goes with its neighbours.
    .where(and(or(where, isNotNull(entries.pruned_by)), lt(entries.seq, (first?.seq ?? 0) + PAGE)))
    .orderBy(asc(entries.seq));
  const tip = await tipOf(app, tx);
  let last: { seq: number; hash: string } | null = null;
  let next = first?.seq;
  for (const { seq, hash } of rows) {
    if (seq !== next || seq === tip?.seq) break;
    last = { seq, hash };
    next = seq + 1;
  }
  return last;
}

async function deleteOldest(app: Platform): Promise<void> {
  const { audit_entries: entries, audit_heads: heads } = app.store.tables;
  for (;;) {
    const deleted = await app.store.write(async (tx) => {
      await lockAudit(app.store, tx, true);
      const last = await lastToDelete(app, tx);
      if (last === null) return false;
      const start = await signStatement(app, tx, app.ids(), { type: 'start', ...last, at: app.clock().toISOString() });
      const touched = await tx.delete(entries).where(lte(entries.seq, last.seq)).returning({ pruned_by: entries.pruned_by });
      await tx.delete(heads).where(and(eq(heads.type, 'head'), lte(heads.seq, last.seq)));
      // Each deletion covers those before it.
      await tx.delete(heads).where(eq(heads.type, 'start'));
      await tx.insert(heads).values(start);
      for (const id of new Set(touched.flatMap(({ pruned_by }) => pruned_by ?? []))) await signRest(app, tx, id);
      return true;
    });
    if (!deleted) return;
  }
}

/** Removes the contents of a page of expired entries between others. @returns whether there may be more. */
async function blankPage(app: Platform): Promise<boolean> {
  const { audit_entries: entries } = app.store.tables;
  const { where, kinds } = await expired(app);
  return app.store.write(async (tx) => {
    await lockAudit(app.store, tx, true);
    const tip = await tipOf(app, tx);
    const rows = await tx
      .select({ seq: entries.seq })
      .from(entries)
      .where(and(where, isNull(entries.pruned_by), ne(entries.seq, tip?.seq ?? 0)))
      .orderBy(asc(entries.seq))
      .limit(PAGE);
    if (rows.length === 0) return false;
    const id = app.ids();
    const none = { actor_type: null, actor_id: null, actor_name: null, entity_type: null, entity_id: null, entity_name: null };
    const blank = { ...none, tool: null, outcome: null, ip: null, request_id: null, detail: null, pruned_by: id };
    const seqs = rows.map(({ seq }) => seq);
    for (let from = 0; from < seqs.length; from += PAGE / 2)
      await tx
        .update(entries)
        .set(blank)
        .where(inArray(entries.seq, seqs.slice(from, from + PAGE / 2)));
    await signPruned(app, tx, id, kinds);
    return rows.length === PAGE;
  });
}

/** Signs which entries lost their contents together. */
async function signPruned(app: Platform, tx: Db, id: string, kinds: readonly string[]): Promise<void> {
  const { audit_entries: entries, audit_heads: heads } = app.store.tables;
  const rows = await tx
    .select({ seq: entries.seq, hash: entries.hash, kind: entries.kind })
    .from(entries)
    .where(eq(entries.pruned_by, id))
    .orderBy(asc(entries.seq));
  await tx.delete(heads).where(eq(heads.id, id));
  const last = rows.at(-1);
  if (last === undefined) return;
  const gone = new Set<string>(rows.map(({ kind }) => kind));
  const statement = await signStatement(app, tx, id, {
    type: 'pruned',
    id,
    kinds: kinds.filter((kind) => gone.has(kind)),
    entries: rows.length,
    digest: digestOf(rows.map(({ hash }) => hash)),
    seq: last.seq,
    hash: last.hash,
    at: app.clock().toISOString(),
  });
  await tx.insert(heads).values(statement);
}

/** Signs again what is left of a statement after the first of its entries were deleted. */
async function signRest(app: Platform, tx: Db, id: string): Promise<void> {
  const { audit_entries: entries } = app.store.tables;
  const rows = await tx.selectDistinct({ kind: entries.kind }).from(entries).where(eq(entries.pruned_by, id));
  await signPruned(
    app,
    tx,
    id,
    rows.map(({ kind }) => kind),
  );
}

async function forgetHeads(app: Platform): Promise<void> {
  const { audit_heads: heads } = app.store.tables;
  const before = new Date(app.clock().getTime() - HEADS_DAYS * DAY_MS).toISOString();
  await app.store.write(async (tx) => {
    const tip = await tipOf(app, tx);
    await tx.delete(heads).where(and(eq(heads.type, 'head'), lt(heads.at, before), ne(heads.seq, tip?.seq ?? 0)));
  });
}
