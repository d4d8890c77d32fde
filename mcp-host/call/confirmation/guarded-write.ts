import { AppError } from '#core/errors.ts';
import type { Changes } from '#core/engines/shared/source.ts';
import type { FrozenTool } from '#snapshots/format/format.ts';
import { isMembers, type Members, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { CallResult } from '../cache.ts';
import type { CallContext } from '../context.ts';
import { whileWaiting } from '#mcp-host/requests/request-record.ts';
import { askSession, type Reply } from './ask-session.ts';
import {
  ANSWER_MS,
  type PendingCall,
  type Confirmations,
  decisionIn,
  InputRequired,
  refuseReplaced,
  replyIn,
  sealQuestion,
  tooFast,
  unanswered,
} from './pending-call.ts';
import { TOKEN } from '#snapshots/format/served-listing.ts';
import { declaredIn, opensPages, showsForms } from '#mcp-host/protocol/client-capabilities.ts';
import { ANSWER, type WriteQuestion, pageMessage, questionOf, rowsOf, pageAnswer, titleOf } from './question.ts';

/** Most questions to the client of a session within one call, while the rows keep changing. */
const MOST_QUESTIONS = 3;
/** The name of the question in `inputRequests`. */
const QUESTION = 'confirm';

export type Review = (changes: Changes) => boolean;
export type GuardedRun = (review: Review) => Promise<CallResult>;

/** The confirmed changes, and how they were confirmed. */
interface Approval {
  readonly changes: Changes;
  readonly by: 'accepted' | 'checked';
}

/**
 * Runs a tool that may change only as many rows as are allowed or confirmed. The statement runs, every changed row is counted,
 * and the transaction is committed only if the count is allowed or is the one that was confirmed.
 */
export async function guardedWrite(
  call: PendingCall,
  confirmations: Confirmations,
  run: GuardedRun,
): Promise<CallResult | InputRequired> {
  const { tool, context } = call;
  const { record } = context;
  const agreed = await approvalOf(call, confirmations);
  if (agreed instanceof InputRequired) return agreed;
  const { confirmation: earlier } = record;
  let approval = agreed;
  for (let questions = 0; ; questions++) {
    const outcome = await runGuarded(tool, approval, run);
    if (outcome.verdict === 'done') {
      if (approval !== null) record.confirmation = approval.by;
      return outcome.result;
    }
    if (approval !== null) record.confirmation = 'changed';
    const { changes } = outcome;
    const write = { tool, args: call.args, changes, before: approval?.changes ?? null, earlier };
    if (questions === MOST_QUESTIONS) throw restless(write);
    const ask = sessionAsks(call, write, confirmations);
    if (ask === null) return askElsewhere(call, write, confirmations);
    record.confirmation ??= 'asked';
    const sent_at = confirmations.now();
    const reply = await ask();
    context.deadline.throwIfAborted();
    if (reply === 'error') return askElsewhere(call, write, confirmations, 'answered the question with an error');
    if (reply === 'timeout') throw unanswered(record);
    refuseDeclined(reply, context, confirmations.now() - sent_at);
    refuseReplaced(call, confirmations);
    approval = { changes, by: 'accepted' };
  }
}

const restless = ({ tool, changes }: WriteQuestion): AppError =>
  new AppError(
    'confirmation_required',
    `${titleOf(tool)} would now change ${rowsOf(changes)}: other rows than confirmed, each of the ${MOST_QUESTIONS} times that a person was asked. Nothing was changed. Call again once the rows have settled.`,
  );

/**
 * Asks the client of a session and waits for the answer on the stream of the call; null: the call has no stream, or the client
 * cannot ask.
 */
function sessionAsks(call: PendingCall, write: WriteQuestion, confirmations: Confirmations): (() => Promise<Reply>) | null {
  const { context } = call;
  const { ask, record } = context;
  const { session } = record;
  if (session === null || ask === null) return null;
  if (session.shows_forms) return () => askSession(context, ask, session, questionOf(write), confirmations);
  if (!session.opens_pages || !confirmations.pages.serves(write, context)) return null;
  return async () => {
    const question = { nonce: crypto.randomUUID(), ends_at: confirmations.now() + ANSWER_MS };
    // The client reports whether the page was opened; the server sends the person's decision.
    const opened = await askSession(context, ask, session, pageOf(write, context, question, confirmations), confirmations);
    if (typeof opened === 'string' || opened['action'] !== 'accept') return opened;
    const left_ms = question.ends_at - confirmations.now();
    const approved = await whileWaiting(record, confirmations.decisions.of(question.nonce, left_ms, context.deadline));
    const params = { elicitationId: question.nonce };
    ask.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params }));
    return approved === null ? 'timeout' : pageAnswer(approved);
  };
}

/** The params of `elicitation/create` for a page. Revisions before 2026-07-28 need its id, too. */
const pageOf = (
  write: WriteQuestion,
  context: CallContext,
  question: { readonly nonce: string; readonly ends_at: number },
  { pages }: Confirmations,
): Members => ({
  mode: 'url',
  url: pages.of(write, context, question),
  message: pageMessage(write),
  ...(!context.record.protocol.modern && { elicitationId: question.nonce }),
});

type GuardedWriteStep =
  | { readonly verdict: 'done'; readonly result: CallResult }
  | { readonly verdict: 'ask'; readonly changes: Changes };

async function runGuarded(tool: FrozenTool, approval: Approval | null, run: GuardedRun): Promise<GuardedWriteStep> {
  const { confirm = 'never', confirm_rows = 0, max_affected_rows = null } = tool;
  let counted: Changes | null = null;
  let committed = false;
  const isAllowed = (changes: Changes): boolean => {
    if (max_affected_rows !== null && changes.all > max_affected_rows) return false;
    if (approval !== null) return same(approval.changes, changes);
    return confirm === 'never' || (confirm === 'above' && changes.all <= confirm_rows);
  };
  const result = await run((changes) => {
    counted = changes;
    // A statement without changed rows is rolled back too, so that no uncounted change is committed.
    committed = changes.all > 0 && isAllowed(changes);
    return committed;
  });
  const changes = counted as Changes | null;
  if (changes === null) throw new AppError('internal', 'The database did not count the rows that the statement changes.');
  if (committed || changes.all === 0) return { verdict: 'done', result };
  if (max_affected_rows !== null && changes.all > max_affected_rows) {
    const detail = `${titleOf(tool)} would change ${rowsOf(changes)}, and may change at most ${max_affected_rows.toLocaleString('en')}. It was rolled back. Narrow the arguments so that it changes fewer.`;
    throw new AppError('too_many_rows', detail);
  }
  return { verdict: 'ask', changes };
}

const same = (a: Changes, b: Changes): boolean => a.all === b.all && a.direct === b.direct;

/** Returns the question as the answer of this call, if the client can ask; otherwise refuses the call with instructions. */
function askElsewhere(
  call: PendingCall,
  write: WriteQuestion,
  confirmations: Confirmations,
  why = 'cannot ask anybody',
): CallResult | InputRequired {
  const { context } = call;
  const { tool, changes } = write;
  const { modern } = context.record.protocol;
  const declared = modern ? declaredIn(context.record.message.params) : undefined;
  const seal = (to: 'person' | 'page' | 'model') => {
    context.record.confirmation ??= 'asked';
    return sealQuestion(call, confirmations, to, changes);
  };
  if (modern && showsForms(declared)) {
    const { sealed } = seal('person');
    return new InputRequired({ [QUESTION]: questionOf(write) }, sealed);
  }
  if (opensPages(declared) && confirmations.pages.serves(write, context)) {
    const { sealed, ...question } = seal('page');
    return new InputRequired({ [QUESTION]: pageOf(write, context, question, confirmations) }, sealed);
  }
  if (tool.two_step === true) {
    const { sealed, ends_at } = seal('model');
    const structured = { [TOKEN]: sealed, expires_at: new Date(ends_at).toISOString(), affected_rows: changes.all };
    const note = `${titleOf(tool)} would change ${rowsOf(changes)}. Nothing was changed yet. If that is what the person wants, call it again with the same arguments and ${TOKEN} within 2 minutes.`;
    const content = [JSON.stringify(structured), note].map((text) => ({ type: 'text', text }));
    return {
      members: JSON.stringify({ content, structuredContent: structured }).slice(1, -1),
      rows: 0,
      wait_ms: 0,
      truncated: false,
    };
  }
  const detail = `${titleOf(tool)} would change ${rowsOf(changes)}, and a person has to confirm that, but this client ${why}. Nothing was changed. Use a client that supports MCP elicitation, or ask an administrator of the server to allow two-step calls for this tool.`;
  if (!modern) throw new AppError('confirmation_required', detail);
  const data = { requiredCapabilities: { elicitation: { form: {} } } };
  throw new RpcError(RPC.missing_capability, detail, { http_status: 400, data, fault: 'confirmation_required' });
}

/** The approval that this call carries; null: there is no valid one, so the question is sent again. */
async function approvalOf(call: PendingCall, confirmations: Confirmations): Promise<Approval | InputRequired | null> {
  const { brought, context } = call;
  if (brought === null || brought.asked.changes === null) return null;
  const { asked: pending, from_person } = brought;
  const answer = pending.to === 'page' ? decisionIn : replyIn;
  const replied = await answer(brought, QUESTION, context, confirmations);
  if (replied === null || replied instanceof InputRequired) return replied;
  if (from_person) refuseDeclined(replied.reply, context, replied.after_ms);
  if (pending.snapshot !== context.registry.checksum) {
    context.record.confirmation = 'changed';
    return null;
  }
  refuseReplaced(call, confirmations);
  return { changes: brought.asked.changes, by: from_person ? 'accepted' : 'checked' };
}

/** Accepts only a form that says yes. */
function refuseDeclined(reply: Members, { record }: CallContext, after_ms: number): void {
  const { action, content } = reply;
  if (action === 'accept' && isMembers(content) && content[ANSWER] === true) return;
  record.confirmation = 'declined';
  throw new AppError('declined', `This change was not confirmed, so nothing was changed.${tooFast(after_ms)}`);
}
