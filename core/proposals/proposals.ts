import { type ProposalsApp, applyAll, cannotApply, closeOverlay, inTurn } from './overlays.ts';
import type { Platform } from '#core/platform/platform.ts';
import { callOf } from './propose.ts';
import { ENTITY_KINDS } from '#core/contract/entities.ts';
import type { Input } from '#core/contract/index.ts';
import { MOST_COMMENTS, type ProposalItem, type StaleRecord, type TouchedRecord } from '#core/contract/proposals.ts';
import { notedAs, recordBlocked } from '#core/records/blocked.ts';
import { CONFIG_ID } from '#core/contract/settings/config.ts';
import { readSettings } from '#core/settings/settings.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { authorOf } from '#core/context/roles.ts';
import { emitEvent } from '#core/records/events.ts';
import type { Context, RunOperations, Handlers } from '#core/context/context.ts';
import { entityTable } from '#core/store/entity-table.ts';
import { lockRowCount, lockEntityWrites } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import { within } from './memory-store.ts';
import { createWorkingCopyHolder } from '#core/versions/working-copy.ts';
import { eq } from 'drizzle-orm';
import { chosenOf, needsOf } from './chosen.ts';
import { actorOf } from './author.ts';
import { aloneOf, approveAlone } from './alone.ts';
import { createIds, openOverlay, type Overlay, proposalRunOf, touchedBy } from './overlay.ts';
import { recordingSources } from './overlay.ts';
import { replayCallsOnProposal } from './replay-calls.ts';
import { changesOf, lastReviewOf, reviewOf, withoutFindings } from './review.ts';
import {
  authorKey,
  commentsOf,
  findProposal,
  forgetOperations,
  listProposals,
  moved,
  openOf,
  type OperationRow,
  operationsOf,
  type ProposalRow,
  toItem,
  toItems,
  toOperation,
  toStep,
  updateOpen,
} from './rows.ts';
import { tryTool } from './try-tool.ts';
import { summaryOf } from './words.ts';
import { mayPretend } from '#core/definitions/tests.ts';

export const proposalHandlers: Pick<Handlers<ProposalsApp>, Extract<keyof Handlers<ProposalsApp>, `proposals.${string}`>> = {
  'proposals.list': async ({ app }, { state, skip, limit }) => {
    const { rows, total, open } = await listProposals(app, state, skip, limit);
    return { items: await toItems(app, rows), total, open };
  },
  'proposals.get': async (context, { id }) => {
    const { app } = context;
    const row = await findProposal(app, id);
    const [item, comments, operations] = await Promise.all([toItem(app, row), commentsOf(app, id), operationsOf(app, id)]);
    if (row.status !== 'open') {
      const { operations: done = [], ...closed } = row.closed ?? { diff: [], findings: [], tests: [], test_changes: [] };
      const seen = mayPretend(context.actor) ? closed : withoutFindings(closed);
      return { ...item, ...seen, comments, operations: [...done], stale: [], problem: null };
    }
    const [review, stale] = await Promise.all([reviewOf(context, runnerOf(context), row, operations), staleOf(app, operations)]);
    const needs = needsOf(app, operations);
    const shown = operations.map((one) => ({ ...toOperation(one), needs: [...(needs.get(one.position) ?? [])] }));
    return { ...item, ...review, operations: shown, comments, stale };
  },
  'proposals.try': async (context, input) => {
    const row = await findProposal(context.app, input.id);
    refuseClosed(row, input.version);
    return tryTool(context, runnerOf(context), row, await operationsOf(context.app, input.id), input);
  },
  'proposals.test': async (context, { id, version }) => {
    const { app } = context;
    const row = await findProposal(app, id);
    refuseClosed(row, version);
    await reviewOf(context, runnerOf(context), row, await operationsOf(app, id), 'all');
    return proposalHandlers['proposals.get'](context, { id });
  },
  'proposals.approve': (context, input) => approve(context, input),
  'proposals.reject': (context, input) => reject(context, input),
  'proposals.comment': async (context, { id, text }) => {
    const { app } = context;
    const row = await findProposal(app, id);
    refuseOthers(context, row);
    if (text === undefined) throw invalidField('text', 'text is required.');
    return app.store.write((tx) => comment(context, tx, id, text));
  },
  'proposals.replay': (context, input) => replayCallsOnProposal(context, runnerOf(context), input),
  'proposals.rebase': async (context, { id }) => {
    const row = await findProposal(context.app, id);
    refuseOthers(context, row);
    return inTurn(context.app, authorKey(row.author), () => rebase(context, id));
  },
};

function runnerOf({ operations }: Context): RunOperations {
  if (operations === undefined) throw new AppError('internal', 'A proposal needs a way to run operations.');
  return operations;
}

/** Throws when a token that can only propose uses the proposal of another token. */
function refuseOthers({ actor }: Context, { author }: ProposalRow): void {
  if (actor === null || actor.type === 'admin' || actor.type === 'system' || actor.scopes.includes('write')) return;
  if (authorKey(author) === authorKey(authorOf(actor))) return;
  throw new AppError('forbidden', 'This proposal belongs to another token.');
}

function refuseClosed(row: ProposalRow, version: number | undefined): void {
  if (row.status !== 'open' || (version !== undefined && version !== row.version)) throw moved(row);
}

async function comment({ app, actor }: Context, tx: Db, proposal_id: string, text: string) {
  const { proposal_comments: table } = app.store.tables;
  await lockRowCount(app.store, tx);
  if ((await tx.$count(table, eq(table.proposal_id, proposal_id))) >= MOST_COMMENTS) {
    throw new AppError('conflict', `A proposal has at most ${MOST_COMMENTS} comments.`);
  }
  const row = { id: app.ids(), author: authorOf(actor), text, created_at: app.clock().toISOString() };
  await tx.insert(table).values({ ...row, proposal_id });
  return row;
}

/** Closes a proposal: stores what reviewers saw, and deletes the operations with their secrets. */
async function close(
  context: Context,
  tx: Db,
  row: ProposalRow,
  status: 'approved' | 'rejected',
  closed: NonNullable<ProposalRow['closed']>,
  text: string | undefined,
): Promise<ProposalItem> {
  const { app, actor } = context;
  const by = actor?.name ?? 'system';
  const closed_at = app.clock().toISOString();
  const stored = await updateOpen(app, tx, row, { status, gathers: null, closed_at, closed_by: by, closed });
  await forgetOperations(app, tx, row.id);
  if (text !== undefined) await comment(context, tx, row.id, text);
  await emitEvent(app, 'proposal', { id: row.id, title: row.title, state: status, author: row.author.name, by }, tx, actor);
  return toItem(app, stored, tx);
}

async function seenOf(context: Context<ProposalsApp>, row: ProposalRow, operations: readonly OperationRow[]) {
  const { problem: _, ...seen } = await lastReviewOf(context, runnerOf(context), row, operations);
  return { ...seen, operations: operations.map(toOperation) };
}

async function reject(
  context: Context<ProposalsApp>,
  { id, version, comment: text, all_of_author }: Input<'proposals.reject'>,
): Promise<ProposalItem> {
  const { app } = context;
  const row = await findProposal(app, id);
  refuseClosed(row, version);
  const closed = await seenOf(context, row, await operationsOf(app, id));
  // The named one is last: if one of the others fails, it is still open and can be rejected again.
  const others = all_of_author ? (await openOf(app, row.author)).filter((other) => other.id !== id) : [];
  for (const other of others) await rejectUnseen(context, other);
  const item = await app.store.write((tx) => close(context, tx, row, 'rejected', closed, text));
  await closeOverlay(app, id);
  return item;
}

/** Rejects one of many proposals of an author, without a review. */
async function rejectUnseen(context: Context<ProposalsApp>, row: ProposalRow): Promise<void> {
  const { app } = context;
  const operations = (await operationsOf(app, row.id)).map(toOperation);
  const closed = { diff: [], findings: [], tests: [], test_changes: [], operations };
  await app.store
    .write((tx) => close(context, tx, row, 'rejected', closed, undefined))
    .catch((error: unknown) => {
      // It was changed or decided on at the same time, so it stays open for a separate decision.
      if (!(error instanceof AppError) || error.code !== 'conflict') throw error;
    });
  await closeOverlay(app, row.id);
}

/** Applies the chosen operations in one transaction, with the same checks as if the approver had sent them. */
async function approve(
  context: Context<ProposalsApp>,
  { id, version, comment: text, positions }: Input<'proposals.approve'>,
): Promise<ProposalItem> {
  const { app } = context;
  const row = await findProposal(app, id);
  if (version === undefined) throw invalidField('version', 'version is required: that of the proposal as it was reviewed.');
  refuseClosed(row, version);
  const all = await operationsOf(app, id);
  const operations = chosenOf(app, all, positions);
  const in_part = operations.length < all.length;
  refuseStale(await staleOf(app, operations));
  const seen = await seenOf(context, row, all);
  const alone = aloneOf(operations.map((operation) => toStep(app, operation)));
  if (alone !== null) {
    await approveAlone(app, runnerOf(context), row, alone, callOf(context));
    return app.store.write((tx) => close(context, tx, row, 'approved', seen, text));
  }
  const overlay = await openOverlay(app, row);
  try {
    // Databases are queried before the transaction, because other writes wait for it.
    const steps = operations.map((operation) => toStep(app, operation));
    const call = { ...callOf(context), actor: await actorOf(app, row.author) };
    await applyAll(
      overlay,
      runnerOf(context),
      steps,
      call,
      ({ operation, input }, error) => recordBlocked(context, notedAs(operation), input, error),
      in_part ? operations.map(({ position }) => position) : null,
    );
    // Readers of the closed proposal see what was applied.
    const done = in_part ? await changesOf(context, runnerOf(context), row, operations) : {};
    const taken = new Set(operations.map(({ position }) => position));
    const marked = seen.operations.map((one) => ({ ...one, taken: taken.has(one.position) }));
    const closed = { ...seen, ...done, operations: marked };
    const item = await app.store.write(async (tx) => {
      await lockEntityWrites(app.store, tx);
      await apply(context, tx, row, operations, overlay);
      return close(context, tx, row, 'approved', closed, text);
    });
    for (const { entity_type, entity_id, action } of operations.flatMap(({ touched }) => touched)) {
      if (entity_type === 'connection' && action === 'delete') app.sources.drop(entity_id);
    }
    await closeOverlay(app, id);
    return item;
  } finally {
    await overlay.close();
  }
}

async function apply(
  context: Context<ProposalsApp>,
  tx: Db,
  row: ProposalRow,
  operations: readonly OperationRow[],
  { sources, recalled }: Overlay,
): Promise<void> {
  const { app } = context;
  const inside: ProposalsApp = {
    ...app,
    store: within(app.store, tx),
    sources: recordingSources(sources, recalled, 'repeat'),
    // The transaction sees other rows than the shared working copy.
    working_copy: createWorkingCopyHolder(),
  };
  const runner = runnerOf(context);
  const ids = createIds(row);
  for (const operation of operations) {
    const { operation: name, input } = toStep(app, operation);
    const proposal_run = proposalRunOf(row, ids, false);
    await runner.run(inside, name, input as never, { ...callOf(context), proposal_run }).catch((error: unknown) => {
      throw cannotApply(error, operation.position);
    });
    refuseOtherRecords(operation, touchedBy(proposal_run.written));
  }
}

const keyOf = ({ entity_type, entity_id }: TouchedRecord): string => `${entity_type} ${entity_id}`;
const nounOf = (type: TouchedRecord['entity_type']): string => type.replace('_', ' ');

/** Throws when an operation changes other records than were reviewed, such as new definitions of a deleted connection. */
function refuseOtherRecords({ touched }: OperationRow, now: readonly TouchedRecord[]): void {
  const before = new Map(touched.map((record) => [keyOf(record), record]));
  const other = now.find((record) => before.get(keyOf(record))?.version !== record.version);
  if (other === undefined) return;
  const { entity_type, entity_name } = other;
  const message = `${nounOf(entity_type)} ${entity_name} has changed since this was proposed.`;
  refuseStale([{ entity_type, entity_name, message }]);
}

function refuseStale(stale: readonly StaleRecord[]): void {
  if (stale.length === 0) return;
  const detail = `The proposal is stale: ${stale.map(({ message }) => message).join(' ')} Rebase it, then review it again.`;
  const errors = stale.map(({ entity_type, entity_name, message }) => ({ field: `${entity_type}.${entity_name}`, message }));
  throw new AppError('conflict', detail, { errors });
}

/** Records that have changed since the proposal first touched them. */
async function staleOf(app: Platform, operations: readonly OperationRow[]): Promise<StaleRecord[]> {
  const first = new Map<string, TouchedRecord>();
  for (const record of operations.flatMap(({ touched }) => touched)) {
    if (!first.has(keyOf(record))) first.set(keyOf(record), record);
  }
  const stale: StaleRecord[] = [];
  for (const { entity_type, entity_id, entity_name, version } of first.values()) {
    const now = await versionNow(app, entity_type, entity_id);
    if (now === version) continue;
    const change =
      now === null ? 'was deleted' : version === null ? 'exists already' : `is now at version ${now}, not ${version}`;
    stale.push({ entity_type, entity_name, message: `${nounOf(entity_type)} ${entity_name} ${change}.` });
  }
  return stale;
}

async function versionNow(app: Platform, type: TouchedRecord['entity_type'], id: string): Promise<number | null> {
  if (type === CONFIG_ID) return (await readSettings(app)).version;
  const kind = ENTITY_KINDS.find((known) => known === type);
  if (kind === undefined) return null;
  const table = entityTable(app.store, kind);
  const [row] = await app.store.db.select({ version: table.version }).from(table).where(eq(table.id, id));
  return row?.version ?? null;
}

/** Bases a proposal on the present working copy. */
async function rebase(context: Context<ProposalsApp>, id: string): Promise<ProposalItem> {
  const { app } = context;
  const row = await findProposal(app, id);
  refuseClosed(row, undefined);
  const operations = await operationsOf(app, id);
  const overlay = await openOverlay(app, row);
  try {
    const steps = operations.map((operation) => toStep(app, operation));
    const call = { ...callOf(context), actor: await actorOf(app, row.author) };
    const applied = await applyAll(overlay, runnerOf(context), steps, call);
    const { proposal_operations: table } = app.store.tables;
    const item = await app.store.write(async (tx) => {
      const stored = await updateOpen(app, tx, row, {});
      for (const [n, operation] of operations.entries()) {
        const touched = touchedBy(applied[n]?.written ?? []);
        await tx
          .update(table)
          .set({ touched, summary: touched.length === 0 ? operation.summary : summaryOf(operation.operation, touched) })
          .where(eq(table.id, operation.id));
      }
      return toItem(app, stored, tx);
    });
    await closeOverlay(app, id);
    return item;
  } finally {
    await overlay.close();
  }
}
