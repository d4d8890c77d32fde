import type { Schema } from '#core/store/schema.ts';
import type { Action, Cascaded } from '#core/contract/history.ts';
import type { Subject, Context, Recorded } from '#core/context/context.ts';
import { eq, and, count, gt, inArray, ne, isNull } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';
import { keepNewest } from '#core/store/pages.ts';
import { byPlural, CASCADED_KINDS, ENTITIES } from '#core/contract/entities.ts';
import { authorOf } from '#core/context/roles.ts';
import { enterAudit } from './audit-log.ts';
import { auditOfChange } from './history-audit.ts';

export type HistoryRow = Schema['history']['$inferSelect'];

interface Entry extends Subject {
  /** Absent: created, changed or deleted, depending on `before` and `after`. */
  readonly action?: Action;
  /** The record before and after the change; null when it did not exist. */
  readonly before: object | null;
  readonly after: object | null;
  readonly batch_id?: string | undefined;
}

/** Entries that are retained per record, and of refused writes. */
const MAX_ENTRIES_PER_RECORD = 200;
const MAX_BLOCKED = 1_000;

/** Writes history entries in the transaction of the change, and deletes the oldest beyond the retention limits. */
export async function recordHistory(tx: Db, context: Context, ...entries: readonly Entry[]): Promise<void> {
  if (entries.length === 0) return;
  const { history } = context.app.store.tables;
  const recorded = entries.map(toRecorded);
  context.proposal_run?.written.push(...recorded);
  await tx.insert(history).values(recorded.map((entry) => toRow(context, entry)));
  await enterAudit(
    context.app,
    tx,
    recorded.map((entry) => auditOfChange(context, entry)),
  );
  if (recorded.some(({ action }) => action === 'blocked'))
    await keepNewest(tx, history, MAX_BLOCKED, eq(history.action, 'blocked'));
  // A new record has no older entries.
  const changed = recorded.filter(({ action, before }) => action !== 'blocked' && before !== null);
  if (changed.length > 0) await deleteOldest(tx, history, [...new Set(changed.map(({ entity_id }) => entity_id))]);
}

function toRecorded({ before, after, ...rest }: Entry): Recorded {
  const action = before === null ? 'create' : after === null ? 'delete' : 'update';
  return { action, ...rest, before: before && { ...before }, after: after && { ...after } };
}

/** Finds the records with too many entries first, because there are few. */
async function deleteOldest(tx: Db, history: Schema['history'], ids: readonly string[]): Promise<void> {
  const { entity_type, entity_id } = history;
  const not_blocked = ne(history.action, 'blocked');
  const crowded = await tx
    .select({ type: entity_type, id: entity_id })
    .from(history)
    .where(and(inArray(entity_id, [...ids]), not_blocked))
    .groupBy(entity_type, entity_id)
    .having(gt(count(), MAX_ENTRIES_PER_RECORD));
  for (const { type, id } of crowded)
    await keepNewest(tx, history, MAX_ENTRIES_PER_RECORD, and(eq(entity_type, type), eq(entity_id, id), not_blocked));
}

/** Writes a history entry about a deployed version. */
export const recordVersion = (tx: Db, context: Context, version: number, entry: Omit<Entry, keyof Subject>): Promise<void> =>
  recordHistory(tx, context, { entity_type: 'snapshot', entity_id: String(version), entity_name: `v${version}`, ...entry });

/** Names of the other records that were deleted in a batch. @param besides ids to leave out. @param batch_id null: none. */
export async function deletedBeside({ app }: Context, batch_id: string | null, besides: ReadonlySet<string>): Promise<Cascaded> {
  const cascaded = byPlural(CASCADED_KINDS, (): string[] => []);
  if (batch_id === null) return cascaded;
  const { history } = app.store.tables;
  const rows = await app.store.db
    .select({ entity_type: history.entity_type, id: history.entity_id, name: history.entity_name })
    .from(history)
    .where(and(eq(history.batch_id, batch_id), isNull(history.after)));
  for (const { entity_type, id, name } of rows) {
    const kind = besides.has(id) ? undefined : CASCADED_KINDS.find((known) => known === entity_type);
    if (kind !== undefined) cascaded[ENTITIES[kind].plural].push(name);
  }
  for (const names of Object.values(cascaded)) names.sort();
  return cascaded;
}

function toRow({ app, actor, ip, batch, proposal_run }: Context, entry: Recorded) {
  const author = authorOf(actor);
  return {
    id: app.ids(),
    ...entry,
    action: entry.action === 'blocked' ? entry.action : (batch?.action ?? entry.action),
    actor: {
      ...author,
      ...(proposal_run === undefined ? {} : { proposal: { id: proposal_run.proposal_id, author: proposal_run.author } }),
    },
    actor_name: author.name,
    ip,
    version_before: versionOf(entry.before),
    version_after: versionOf(entry.after),
    batch_id: batch?.batch_id ?? entry.batch_id ?? null,
    created_at: app.clock().toISOString(),
  };
}

const versionOf = (row: Record<string, unknown> | null): number | null =>
  typeof row?.['version'] === 'number' ? row['version'] : null;
