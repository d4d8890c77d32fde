import type { Db, Store } from './store.ts';
import { sql, asc, getTableColumns, gt, max, lt } from 'drizzle-orm';
import type { EntityKind, LeafKind } from '#core/contract/entities.ts';

/**
 * Keys of PostgreSQL's advisory locks: random numbers that nothing else in the database uses. All are listed here, since two locks with
 * the same key would block each other.
 */
export const LOCKS = {
  migration: '7318349394477056',
  /** Deploys, one after the other. */
  deploy: '7318349394477057',
  /** Writes of entities. */
  entity: '7318349394477058',
  /** Changes of what is served. */
  switch: '7318349394477059',
  /** The audit log: its entries have an order. */
  audit: '7318349394477061',
  /** Rows with a maximum number that are not entities. */
  room: '7318349394477060',
} as const;

/** A reader that is further behind than this reads everything again. */
const MAX_CHANGES = 20_000;

/**
 * Until the end of this transaction, no other one can write entities, so what it reads of them stays valid. Call it before
 * locking any row, so that two writers cannot deadlock. In an embedded database, writers take turns anyway.
 */
export async function lockEntityWrites({ dialect }: Pick<Store, 'dialect'>, tx: Db): Promise<void> {
  if (dialect === 'postgresql') await lock(tx, LOCKS.entity);
}

/**
 * Until the end of this transaction, no other one can count rows before inserting. Otherwise two could both insert the last
 * allowed row.
 */
export async function lockRowCount({ dialect }: Pick<Store, 'dialect'>, tx: Db): Promise<void> {
  if (dialect === 'postgresql') await lock(tx, LOCKS.room);
}

/**
 * Until the end of this transaction, no other one can add entries to the audit log or remove them.
 * @param waits whether to wait for another transaction. @returns false if there is one and it is not waited for.
 */
export async function lockAudit({ dialect }: Pick<Store, 'dialect'>, tx: Db, waits: boolean): Promise<boolean> {
  if (dialect === 'sqlite') return true;
  if (waits) {
    await lock(tx, LOCKS.audit);
    return true;
  }
  const taken = sql<boolean>`pg_try_advisory_xact_lock(${sql.raw(LOCKS.audit)})`;
  const [row] = await tx.select({ taken }).from(sql`(values (1)) as one`);
  return row?.taken === true;
}

const lock = (tx: Db, key: string) =>
  tx.select({ n: sql`pg_advisory_xact_lock(${sql.raw(key)})` }).from(sql`(values (1)) as one`);

/**
 * Records, before this transaction writes entities, which ones. Runs alone, so that the numbers are in the order of the commits.
 */
export async function noteChange(store: Store, tx: Db, kind: EntityKind, ...ids: readonly string[]): Promise<void> {
  await lockEntityWrites(store, tx);
  if (kind === 'test') return;
  await tx.insert(store.tables.changes).values(ids.map((entity_id) => ({ kind, entity_id })));
}

export interface EntityChanges {
  /** Number of the last change. */
  readonly seq: number;
  readonly changed: readonly { readonly kind: LeafKind; readonly entity_id: string }[];
}

/** The changes after a number. Null when older ones have already been deleted. */
export async function changesSince({ tables }: Store, tx: Db, seq: number): Promise<EntityChanges | null> {
  const { changes } = tables;
  const first = sql<number>`(select min(${changes.seq}) from ${changes})`.mapWith(Number);
  const rows = await tx
    .select({ ...getTableColumns(changes), first })
    .from(changes)
    .where(gt(changes.seq, seq))
    .orderBy(asc(changes.seq))
    .limit(MAX_CHANGES);
  const [oldest] = rows;
  if (oldest === undefined) return { seq, changed: [] };
  if (rows.length === MAX_CHANGES || oldest.first > seq + 1) return null;
  return { seq: rows.at(-1)?.seq ?? seq, changed: rows };
}

export async function lastChange({ tables }: Store, tx: Db): Promise<number> {
  const [row] = await tx.select({ last: max(tables.changes.seq) }).from(tables.changes);
  return row?.last ?? 0;
}

/** Deletes changes that every regular reader has seen. */
export async function pruneChanges({ tables }: Store, tx: Db): Promise<void> {
  const newest = sql<number>`(select max(${tables.changes.seq}) from ${tables.changes})`;
  await tx.delete(tables.changes).where(lt(tables.changes.seq, sql`${newest} - ${sql.raw(String(MAX_CHANGES / 2))}`));
}
