import type { DeployApp } from '#core/deploy/app.ts';
import { type ProposalsApp, inTurn, withOverlay } from './overlays.ts';
import type { Platform } from '#core/platform/platform.ts';
import { and, eq, gte, lt } from 'drizzle-orm';
import type { OperationName } from '#core/contract/index.ts';
import type { Operation } from '#core/contract/operation.ts';
import {
  GATHER_MINUTES,
  LONGEST_NOTE,
  MOST_OPEN_OF_AUTHOR,
  MOST_OPEN_PROPOSALS,
  MOST_OPERATIONS,
  type ProposalAuthor,
} from '#core/contract/proposals.ts';
import { notedAs, recordBlocked } from '#core/records/blocked.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { resolveNames } from '#core/records/names-to-ids.ts';
import { authorOf } from '#core/context/roles.ts';
import { readSettings } from '#core/settings/settings.ts';
import { hiddenIn } from '#core/lib/text/hidden-characters.ts';
import { recordHistory } from '#core/records/history.ts';
import { emitEvent } from '#core/records/events.ts';
import type { RequestContext, Context, RunOperations } from '#core/context/context.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import { summaryAlone } from './alone.ts';
import { type ProposedOperation, touchedBy } from './overlay.ts';
import { authorKey, countOpenOf, findProposal, operationsOf, type ProposalRow, sealInput, toStep, updateOpen } from './rows.ts';
import { isAlone, looksByItself, wayOf } from '#core/contract/proposal-ways.ts';
import { summaryOf, titleOf, titleWithMore } from './words.ts';

type OperationInput = Readonly<Record<string, unknown>>;

/** The name of a proposal that does not exist yet. */
const NEW = 'new';

/** Whether an operation is added to a proposal, or reads through one. */
export function isForProposal({ actor, proposal, proposal_run }: Context, { access }: Pick<Operation, 'access'>): boolean {
  if (proposal_run !== undefined || actor === null || access === 'public') return false;
  const named = proposal !== undefined && (proposal.id !== null || proposal.note !== null);
  if (actor.type === 'admin') return named;
  const bearer = actor.type === 'agent_token' || actor.type === 'oauth_client';
  if (bearer && actor.scopes.includes('propose')) return named || !actor.scopes.includes('write');
  if (named)
    throw new AppError(
      'invalid',
      'Only a person, or a token with the scope propose, can name a proposal. Leave out proposal_id and proposal_note.',
    );
  return false;
}

/** Adds an operation to a proposal, and answers as if it had been run. */
export async function propose(
  context: Context<ProposalsApp>,
  name: OperationName,
  definition: Operation,
  input: OperationInput,
): Promise<unknown> {
  const { app, operations, actor, proposal } = context;
  if (operations === undefined) throw new AppError('internal', 'A proposal needs a way to run operations.');
  const call = callOf(context);
  const way = wayOf(name, definition, input);
  const author = authorOf(actor);
  const by_person = author.type === 'admin';
  if (by_person && isAlone(name)) {
    return proposeAlone({ context, runner: operations, call, author, row: null, gathers: false }, name, input);
  }
  if (way === 'live') return operations.perform(app, name, input, call);
  if (way === 'refused') {
    throw by_person
      ? new AppError('invalid', 'What this does cannot be proposed. Leave out proposal_id and proposal_note.')
      : new AppError('insufficient_scope', 'This token lacks the scope write, and what this does cannot be proposed.');
  }
  const attempt = async () => {
    // What people propose belongs together only if they say so.
    const named = proposal?.id ?? (by_person ? NEW : null);
    const by_itself = way === 'change' || looksByItself(name, definition);
    const row =
      named === NEW
        ? null
        : named !== null
          ? await openProposalOf(app, author, named)
          : by_itself
            ? await gathering(app, author)
            : null;
    if (way === 'change') return add({ context, runner: operations, call, author, row, gathers: named === null }, name, input);
    if (row === null) return operations.perform(app, name, input, call);
    const steps = (await operationsOf(app, row.id)).map((operation) => toStep(app, operation));
    return withOverlay(app, operations, row, steps, call, async (overlay) => ({
      value: await overlay.tryRead(operations, { operation: name, input }, call),
      version: row.version,
    }));
  };
  return inTurn(app, authorKey(author), () => retryConcurrent(attempt));
}

/** Another server stored an operation of the same proposal at the same time, or closed it. */
class ConcurrentWrite extends Error {}

const ATTEMPTS = 20;

async function retryConcurrent<T>(attempt: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ConcurrentWrite)) throw error;
      if (n === ATTEMPTS) throw error.cause;
    }
  }
}

/** Proposes an operation that needs an approval. One that needs none runs at once. */
async function proposeAlone(adding: Adding, name: OperationName, input: OperationInput): Promise<unknown> {
  const { context, runner, call } = adding;
  const { app } = context;
  const given = context.proposal?.id ?? NEW;
  if (given !== NEW) {
    throw new AppError('conflict', 'This change needs a proposal of its own. Leave out proposal_id.');
  }
  const { approvals } = (await readSettings(app)).settings;
  if (approvals === 0) {
    throw new AppError('invalid', 'This can be proposed only while approvals is 1. Leave out proposal_id and proposal_note.');
  }
  const note = checkedNote(context);
  try {
    return await runner.perform(app, name, input, call);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'approval_required') throw error;
    const step: ProposedOperation = { operation: name, input };
    const summary = summaryAlone(step, error.errors);
    const fresh = { id: app.ids(), created_at: app.clock().toISOString() };
    const { id } = await storeOperation(adding, fresh, { step, summary, touched: [], note, position: 1 });
    return { proposed: true, proposal_id: id };
  }
}

export function callOf({ app: _, operations: _operations, batch: _batch, ...call }: Context): RequestContext {
  return call;
}

async function openProposalOf(app: Platform, author: ProposalAuthor, id: string): Promise<ProposalRow> {
  const row = await findProposal(app, id);
  if (authorKey(row.author) !== authorKey(author)) {
    throw new AppError('forbidden', 'This proposal belongs to another author. Leave out proposal_id to start your own.');
  }
  if (row.status !== 'open')
    throw new AppError('conflict', `The proposal is already ${row.status}. Leave out proposal_id to start a new one.`);
  return row;
}

const gatheringSince = ({ clock }: Pick<Platform, 'clock'>): string =>
  new Date(clock().getTime() - GATHER_MINUTES * 60_000).toISOString();

/** The open proposal that collects writes of this token that name no proposal. */
async function gathering(app: Platform, author: ProposalAuthor): Promise<ProposalRow | null> {
  const { proposals } = app.store.tables;
  const [row] = await app.store.db
    .select()
    .from(proposals)
    .where(
      and(eq(proposals.gathers, authorKey(author)), eq(proposals.status, 'open'), gte(proposals.updated_at, gatheringSince(app))),
    );
  return row ?? null;
}

interface Adding {
  readonly context: Context<ProposalsApp>;
  readonly runner: RunOperations<DeployApp>;
  readonly call: RequestContext;
  readonly author: ProposalAuthor;
  /** Null when this starts a new proposal. */
  readonly row: ProposalRow | null;
  readonly gathers: boolean;
}

async function add(adding: Adding, name: OperationName, given: OperationInput): Promise<unknown> {
  const { context, runner, call, author, row } = adding;
  const { app } = context;
  const note = checkedNote(context);
  const operations = row === null ? [] : await operationsOf(app, row.id);
  if (operations.some(({ operation }) => isAlone(operation))) {
    throw new AppError('conflict', `This proposal holds a change that stands alone. Start another one with proposal_id ${NEW}.`);
  }
  if (operations.length >= MOST_OPERATIONS) {
    throw new AppError(
      'conflict',
      `A proposal has at most ${MOST_OPERATIONS} operations. Start another one with proposal_id ${NEW}.`,
    );
  }
  const proposal = row ?? { id: app.ids(), created_at: app.clock().toISOString(), author, version: 0 };
  const steps = operations.map((operation) => toStep(app, operation));
  return withOverlay(app, runner, proposal, steps, call, async (overlay) => {
    const resolved = call.by_name === true ? await resolveNames(overlay.app, name, given, app) : given;
    const step: ProposedOperation = { operation: name, input: withoutVersion(resolved) };
    const applied = await overlay.apply(runner, { ...step, input: resolved }, call).catch(async (error: unknown) => {
      if (error instanceof AppError) await recordBlocked(context, notedAs(name), resolved, error);
      throw error;
    });
    const blocked = applied.written.filter(({ action }) => action === 'blocked');
    for (const entry of blocked) await app.store.write((tx) => recordHistory(tx, context, entry));
    const touched = touchedBy(applied.written);
    // An operation that changes nothing is not added. The answer says why.
    if (touched.length === 0) return { value: applied.output, version: proposal.version };
    const summary = summaryOf(name, touched);
    const stored = await storeOperation(adding, proposal, { step, summary, touched, note, position: operations.length + 1 });
    const value = { ...(applied.output as object), proposed: true, proposal_id: stored.id };
    return { value, version: stored.version };
  });
}

function checkedNote({ proposal }: Context): string | null {
  const note = proposal?.note?.trim() ?? '';
  if (note.length > LONGEST_NOTE)
    throw invalidField('proposal_note', `proposal_note must have at most ${LONGEST_NOTE} characters.`);
  const fault = hiddenIn(note);
  if (fault !== null) throw invalidField('proposal_note', `proposal_note ${fault}.`);
  return note === '' ? null : note;
}

/** The version was checked when the operation was proposed. From then on `touched` has the versions that it is based on. */
function withoutVersion({ version: _, ...input }: OperationInput): OperationInput {
  return input;
}

interface Added {
  readonly step: ProposedOperation;
  readonly summary: string;
  readonly touched: ReturnType<typeof touchedBy>;
  readonly note: string | null;
  readonly position: number;
}

/** Throws `ConcurrentWrite` when the proposal has changed since it was read. */
async function storeOperation(...added: Parameters<typeof store>): Promise<ProposalRow> {
  try {
    return await store(...added);
  } catch (error) {
    const conflict = error instanceof AppError && error.code === 'conflict';
    // Too many open proposals are not a conflict with another write.
    if (!conflict || error.reason === FULL) throw error;
    throw new ConcurrentWrite('Another write of this proposal was first.', { cause: error });
  }
}

const FULL = 'full';

function store(
  { context: { app }, author, row, gathers }: Adding,
  { id, created_at }: { readonly id: string; readonly created_at: string },
  { step, summary, touched, note, position }: Added,
): Promise<ProposalRow> {
  const { proposals, proposal_operations } = app.store.tables;
  const operation_id = app.ids();
  const now = app.clock().toISOString();
  const operation = {
    id: operation_id,
    proposal_id: id,
    position,
    operation: step.operation,
    note,
    summary,
    touched,
    created_at: now,
    input: sealInput(app, operation_id, step.input),
  };
  return app.store.write(async (tx) => {
    if (row !== null) {
      const described =
        row.note !== null
          ? {}
          : note === null
            ? { title: titleWithMore(row.title, position - 1) }
            : { note, title: titleOf(note, summary) };
      const stored = await updateOpen(app, tx, row, described);
      await tx.insert(proposal_operations).values(operation);
      return stored;
    }
    await lockEntityWrites(app.store, tx);
    if ((await tx.$count(proposals, eq(proposals.status, 'open'))) >= MOST_OPEN_PROPOSALS) {
      throw new AppError(
        'conflict',
        `There are already ${MOST_OPEN_PROPOSALS} open proposals. Ask a person to review some of them first.`,
        { reason: FULL },
      );
    }
    const key = authorKey(author);
    if ((await countOpenOf(app, tx, author)) >= MOST_OPEN_OF_AUTHOR) {
      throw new AppError(
        'conflict',
        `There are already ${MOST_OPEN_OF_AUTHOR} open proposals of this author. Ask a person to review some of them first.`,
        { reason: FULL },
      );
    }
    // A gathering proposal that another server has just started stays, and makes the insert below fail.
    const idle = and(eq(proposals.gathers, key), lt(proposals.updated_at, gatheringSince(app)));
    if (gathers) await tx.update(proposals).set({ gathers: null }).where(idle);
    const title = titleOf(note, summary);
    const fresh: ProposalRow = {
      id,
      title,
      note,
      status: 'open',
      author,
      gathers: gathers ? key : null,
      version: 1,
      created_at,
      updated_at: now,
      closed_at: null,
      closed_by: null,
      closed: null,
    };
    await tx.insert(proposals).values(fresh);
    await tx.insert(proposal_operations).values(operation);
    await emitEvent(app, 'proposal', { id, title, state: 'open', author: author.name, summary }, tx);
    return fresh;
  });
}
