import { and, desc, eq, ne, type SQL, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { Action, EntityType } from '#core/contract/history.ts';
import type { Db } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import type { Context } from '#core/run.ts';

export type { Action, EntityType } from '#core/contract/history.ts';
export type HistoryRow = Schema['history']['$inferSelect'];

export interface Recorded {
  readonly entity_type: EntityType;
  readonly entity_id: string;
  readonly entity_name: string;
  readonly action: Action;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly batch_id?: string;
}

/** Contract section 13. */
const KEPT_OF_AN_ENTITY = 200;
const KEPT_BLOCKED = 1_000;

/** Writes one history entry in the transaction of the change itself, and forgets the oldest beyond what is kept. */
export async function recordHistory(tx: Db, context: Context, entry: Recorded): Promise<void> {
  const { app } = context;
  const { history } = app.store.tables;
  context.replay?.written.push(entry);
  await tx.insert(history).values(toRow(context, entry));
  if (entry.action === 'blocked') await forget(tx, app, eq(history.action, 'blocked'), KEPT_BLOCKED);
  // A new record has no past.
  else if (entry.before !== null) {
    const same = and(
      eq(history.entity_type, entry.entity_type),
      eq(history.entity_id, entry.entity_id),
      ne(history.action, 'blocked'),
    );
    await forget(tx, app, same, KEPT_OF_AN_ENTITY);
  }
}

/** The same of new records, which have no past that could be too long. */
export async function recordCreated(
  tx: Db,
  context: Context,
  entries: readonly (Recorded & { readonly before: null })[],
): Promise<void> {
  context.replay?.written.push(...entries);
  await tx.insert(context.app.store.tables.history).values(entries.map((entry) => toRow(context, entry)));
}

const toRow = ({ app, actor, ip, change, replay }: Context, entry: Recorded) => ({
  id: app.ids(),
  ...entry,
  action: entry.action === 'blocked' ? entry.action : (change?.action ?? entry.action),
  actor: {
    type: actor?.type ?? 'system',
    id: actor?.id ?? null,
    name: actor?.name ?? 'system',
    ...(replay === undefined ? {} : { proposal: { id: replay.proposal_id, author: replay.author } }),
  },
  ip,
  version_before: versionOf(entry.before),
  version_after: versionOf(entry.after),
  batch_id: change?.batch_id ?? entry.batch_id ?? null,
  created_at: app.clock().toISOString(),
});

async function forget(tx: Db, { store }: App, which: SQL | undefined, kept: number): Promise<void> {
  const { history } = store.tables;
  const oldest = tx.select({ id: history.id }).from(history).where(which).orderBy(desc(history.id)).limit(1).offset(kept);
  await tx.delete(history).where(and(which, sql`${history.id} <= ${oldest}`));
}

const versionOf = (row: Record<string, unknown> | null): number | null =>
  typeof row?.['version'] === 'number' ? row['version'] : null;
