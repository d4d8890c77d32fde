import type { Platform } from '#core/platform/platform.ts';
import { and, asc, count, desc, eq, inArray, lt, ne, sql } from 'drizzle-orm';
import {
  CLOSED_PROPOSAL_DAYS,
  type ProposalAuthor,
  type ProposalComment,
  type ProposalItem,
  type ProposalOperation,
} from '#core/contract/proposals.ts';
import type { OperationName } from '#core/contract/index.ts';
import { AppError } from '#core/errors.ts';
import type { Db } from '#core/store/store.ts';
import { readPage } from '#core/store/pages.ts';
import type { Schema } from '#core/store/schema.ts';
import type { Sealed } from '#core/contract/fields.ts';
import type { ProposedOperation } from './overlay.ts';

export type ProposalRow = Schema['proposals']['$inferSelect'];
export type OperationRow = Schema['proposal_operations']['$inferSelect'];

const DAY_MS = 24 * 3_600_000;

/** Identifies an author. Tokens with the same name have the same author. */
export const authorKey = ({ type, id }: ProposalAuthor): string => `${type}:${id}`;

/** The open proposals of an author. */
export async function openOf({ store }: Platform, author: ProposalAuthor, tx: Db = store.db): Promise<ProposalRow[]> {
  const { proposals } = store.tables;
  const rows = await tx.select().from(proposals).where(eq(proposals.status, 'open'));
  const key = authorKey(author);
  return rows.filter((row) => authorKey(row.author) === key);
}

export const countOpenOf = async (app: Platform, tx: Db, author: ProposalAuthor): Promise<number> =>
  (await openOf(app, author, tx)).length;

export async function findProposal({ store }: Platform, id: string, tx: Db = store.db): Promise<ProposalRow> {
  const { proposals } = store.tables;
  const [row] = await tx.select().from(proposals).where(eq(proposals.id, id));
  if (row === undefined) throw new AppError('not_found', 'There is no proposal with this id.');
  return row;
}

export function operationsOf({ store }: Platform, id: string, tx: Db = store.db): Promise<OperationRow[]> {
  const { proposal_operations: table } = store.tables;
  return tx.select().from(table).where(eq(table.proposal_id, id)).orderBy(asc(table.position));
}

export function commentsOf({ store }: Platform, id: string): Promise<ProposalComment[]> {
  const { proposal_comments: table } = store.tables;
  return store.db.select().from(table).where(eq(table.proposal_id, id)).orderBy(asc(table.id));
}

const inputPath = (id: string): string => `proposal_operation/${id}/input`;

/** Seals the whole input, because any field may contain a secret. */
export const sealInput = ({ keyring }: Platform, id: string, input: object): Sealed => ({
  $sealed: keyring.seal(JSON.stringify(input), inputPath(id)),
});

export const toStep = ({ keyring }: Platform, { id, operation, input }: OperationRow): ProposedOperation => ({
  operation: operation as OperationName,
  input: JSON.parse(keyring.open(input.$sealed, inputPath(id))) as ProposedOperation['input'],
});

export const toOperation = ({ id: _, proposal_id: _proposal, input: _input, ...shown }: OperationRow): ProposalOperation => shown;

/** Converts rows for lists. */
export async function toItems({ store }: Platform, rows: readonly ProposalRow[], tx: Db = store.db): Promise<ProposalItem[]> {
  const { proposal_operations: operations, proposal_comments: comments } = store.tables;
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return [];
  const [of_operations, of_comments] = await Promise.all(
    [operations, comments].map((table) =>
      tx
        .select({ id: table.proposal_id, total: count() })
        .from(table as typeof operations)
        .where(inArray(table.proposal_id, ids))
        .groupBy(table.proposal_id),
    ),
  );
  const counts = (list: readonly { readonly id: string; readonly total: number }[] | undefined) =>
    new Map((list ?? []).map(({ id, total }) => [id, total]));
  const [operation_counts, comment_counts] = [counts(of_operations), counts(of_comments)];
  return rows.map(({ gathers: _, closed, ...row }) => ({
    ...row,
    operation_count: closed?.operations.length ?? operation_counts.get(row.id) ?? 0,
    // Proposals that were approved before operations could be left out have no marks.
    taken_count: row.status === 'approved' ? (closed?.operations.filter(({ taken }) => taken !== false).length ?? 0) : null,
    comment_count: comment_counts.get(row.id) ?? 0,
  }));
}

export async function toItem(app: Platform, row: ProposalRow, tx?: Db): Promise<ProposalItem> {
  const [item] = await toItems(app, [row], tx);
  if (item === undefined) throw new AppError('internal', 'The proposal could not be read back.');
  return item;
}

export async function listProposals({ store }: Platform, state: ProposalItem['status'] | undefined, skip: number, limit: number) {
  const { proposals } = store.tables;
  const where = state === undefined ? undefined : eq(proposals.status, state);
  const [page, open] = await Promise.all([
    readPage(store.db, proposals, { where, order: [desc(proposals.id)], skip, limit }),
    store.db.$count(proposals, eq(proposals.status, 'open')),
  ]);
  return { ...page, open };
}

/** Deletes closed proposals whose retention has ended. */
export async function forgetClosed({ store, clock }: Platform, tx: Db): Promise<void> {
  const { proposals, proposal_comments: comments } = store.tables;
  const before = new Date(clock().getTime() - CLOSED_PROPOSAL_DAYS * DAY_MS).toISOString();
  const old = and(ne(proposals.status, 'open'), lt(proposals.closed_at, before));
  await tx.delete(comments).where(inArray(comments.proposal_id, tx.select({ id: proposals.id }).from(proposals).where(old)));
  await tx.delete(proposals).where(old);
}

/** Deletes the operations of a closed proposal. They are not needed any more and can contain secrets. */
export async function forgetOperations({ store }: Platform, tx: Db, id: string): Promise<void> {
  const { proposal_operations: operations } = store.tables;
  await tx.delete(operations).where(eq(operations.proposal_id, id));
}

/** Changes an open proposal. Throws when it is closed or has another version. */
export async function updateOpen(
  { store, clock }: Platform,
  tx: Db,
  { id, version }: Pick<ProposalRow, 'id' | 'version'>,
  change: Partial<Omit<ProposalRow, 'id' | 'version'>>,
): Promise<ProposalRow> {
  const { proposals } = store.tables;
  const [row] = await tx
    .update(proposals)
    .set({ ...change, version: sql`${proposals.version} + 1`, updated_at: clock().toISOString() })
    .where(and(eq(proposals.id, id), eq(proposals.version, version), eq(proposals.status, 'open')))
    .returning();
  if (row === undefined) throw moved(await findProposal({ store } as Platform, id, tx));
  return row;
}

export function moved({ status, version }: Pick<ProposalRow, 'status' | 'version'>): AppError {
  return status === 'open'
    ? new AppError('conflict', `The proposal has changed; it is now at version ${version}. Read it again.`)
    : new AppError('conflict', `The proposal is already ${status}.`);
}
