import { asc, gt, lt, max, min, sql } from 'drizzle-orm';
import type { EntityKind, LeafKind } from '#core/contract/entities.ts';
import { LOCKS } from './locks.ts';
import type { Db, Store } from './store.ts';

/** Whoever is further behind reads everything anew. */
const KEPT = 20_000;

/**
 * From here to the end of this transaction no other one writes entities: what it reads of them stays as it is. Taken before any
 * lock of a row, so that two writers cannot wait for each other; embedded, writers take turns anyway.
 */
export async function writeAlone({ dialect }: Pick<Store, 'dialect'>, tx: Db): Promise<void> {
  if (dialect === 'postgresql') await lock(tx, LOCKS.entity);
}

/** From here to the end of this transaction no other one counts rows to store one more: two at once would both find room for the last. */
export async function countAlone({ dialect }: Pick<Store, 'dialect'>, tx: Db): Promise<void> {
  if (dialect === 'postgresql') await lock(tx, LOCKS.room);
}

const lock = (tx: Db, key: string) =>
  tx.select({ n: sql`pg_advisory_xact_lock(${sql.raw(key)})` }).from(sql`(values (1)) as one`);

/** Notes that entities are about to be written in this transaction, alone, so that the numbers are in the order of the commits. */
export async function noteChange(store: Store, tx: Db, kind: EntityKind, ...ids: readonly string[]): Promise<void> {
  await writeAlone(store, tx);
  if (kind === 'test') return;
  await tx.insert(store.tables.changes).values(ids.map((entity_id) => ({ kind, entity_id })));
}

export interface EntityChanges {
  /** The number of the last change. */
  readonly seq: number;
  readonly changed: readonly { readonly kind: LeafKind; readonly entity_id: string }[];
}

/** What was written after a number; null when so much was that not all of it is noted any more. */
export async function changesSince({ tables }: Store, tx: Db, seq: number): Promise<EntityChanges | null> {
  const { changes } = tables;
  const [rows, [kept]] = await Promise.all([
    tx.select().from(changes).where(gt(changes.seq, seq)).orderBy(asc(changes.seq)).limit(KEPT),
    tx.select({ first: min(changes.seq) }).from(changes),
  ]);
  if (rows.length === 0) return { seq, changed: [] };
  if (rows.length === KEPT || (kept?.first ?? 0) > seq + 1) return null;
  return { seq: rows.at(-1)?.seq ?? seq, changed: rows };
}

export async function lastChange({ tables }: Store, tx: Db): Promise<number> {
  const [row] = await tx.select({ last: max(tables.changes.seq) }).from(tables.changes);
  return row?.last ?? 0;
}

/** Forgets what nobody needs who looks often. */
export async function pruneChanges({ tables }: Store, tx: Db): Promise<void> {
  const newest = sql<number>`(select max(${tables.changes.seq}) from ${tables.changes})`;
  await tx.delete(tables.changes).where(lt(tables.changes.seq, sql`${newest} - ${sql.raw(String(KEPT / 2))}`));
}
