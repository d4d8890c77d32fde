import { AppError } from '#core/errors.ts';
import type { Changes } from '#core/engines/shared/source.ts';
import type { FrozenTool } from '#snapshots/format.ts';
import { isMembers, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { CallResult } from '../cache.ts';
import type { CallContext } from '../context.ts';
import { askSession, type Reply } from './ask-session.ts';
import {
  ANSWER_MS,
  type AskedCall,
  type Confirmations,
  InputRequired,
  replyIn,
  sealQuestion,
  TOKEN,
  tooFast,
} from './asked-call.ts';
import { declaredIn, showsForms } from './elicitation.ts';
import { ANSWER, questionOf, rowsOf, titleOf } from './question.ts';

/** How often the client of a session is asked within one call, when the rows change meanwhile. */
const MOST_QUESTIONS = 3;
/** The name of the question in `inputRequests`. */
const QUESTION = 'confirm';

export type Review = (changes: Changes) => boolean;
export type GuardedRun = (review: Review) => Promise<CallResult>;

/** What somebody agreed to. */
interface Approval {
  readonly changes: Changes;
  readonly by: 'accepted' | 'checked';
}

/**
 * Runs a writing tool that must not change more than is allowed or confirmed. The statement runs, every changed row is counted, and only
 * what is allowed, or was confirmed with the same count, is committed.
 */
export async function guardedWrite(
  call: AskedCall,
  confirmations: Confirmations,
  run: GuardedRun,
): Promise<CallResult | InputRequired> {
  const { tool, context } = call;
  const { record } = context;
  let approval = await approvalOf(call, confirmations);
  for (let questions = 0; ; questions++) {
    const outcome = await attempt(tool, approval, run);
    if (outcome.verdict === 'done') {
      if (approval !== null) record.confirmation = approval.by;
      return outcome.result;
    }
    if (approval !== null) record.confirmation = 'changed';
    else record.confirmation ??= 'asked';
    const { session, protocol } = record;
    const asks_session = session !== null && session.shows_forms && context.ask !== null && questions < MOST_QUESTIONS;
    if (!asks_session) return askElsewhere(call, confirmations, outcome.changes, approval?.changes ?? null, protocol.modern);
    const asked_at = confirmations.now();
    const reply = await askSession(
      context,
      session,
      questionOf(tool, call.args, outcome.changes, approval?.changes ?? null),
      ANSWER_MS,
    );
    context.deadline.throwIfAborted();
    if (reply === null) {
      record.confirmation = 'expired';
      throw new AppError('declined', 'Nobody answered within 2 minutes, so nothing was changed. Call again to ask again.');
    }
    refuseDeclined(reply, context, confirmations.now() - asked_at);
    approval = { changes: outcome.changes, by: 'accepted' };
  }
}

type Attempt = { readonly verdict: 'done'; readonly result: CallResult } | { readonly verdict: 'ask'; readonly changes: Changes };

async function attempt(tool: FrozenTool, approval: Approval | null, run: GuardedRun): Promise<Attempt> {
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
    // What changes no row is not committed either: then there is nothing in it that nobody counted.
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

/** Asks by the answer of this call, where the client can ask; else refuses with the way out. */
function askElsewhere(
  call: AskedCall,
  confirmations: Confirmations,
  changes: Changes,
  before: Changes | null,
  modern: boolean,
): CallResult | InputRequired {
  const { tool, args, context } = call;
  if (modern && showsForms(declaredIn(context.record.message.params))) {
    const { sealed } = sealQuestion(call, confirmations, 'person', changes);
    return new InputRequired(QUESTION, questionOf(tool, args, changes, before), sealed);
  }
  if (tool.two_step === true) {
    const { sealed, ends_at } = sealQuestion(call, confirmations, 'model', changes);
    const structured = { [TOKEN]: sealed, expires_at: new Date(ends_at).toISOString(), affected_rows: changes.all };
    const note = `${titleOf(tool)} would change ${rowsOf(changes)}. Nothing was changed yet. If that is what the person wants, call it again with the same arguments and ${TOKEN} within 2 minutes.`;
    const content = [JSON.stringify(structured), note].map((text) => ({ type: 'text', text }));
    return { members: JSON.stringify({ content, structuredContent: structured }).slice(1, -1), rows: 0, wait_ms: 0 };
  }
  const detail = `${titleOf(tool)} would change ${rowsOf(changes)}, and a person has to confirm that, but this client cannot ask anybody. Nothing was changed. Use a client that supports forms of MCP elicitation, or ask an administrator of the server to allow two-step calls for this tool.`;
  if (!modern) throw new AppError('confirmation_required', detail);
  const data = { requiredCapabilities: { elicitation: { form: {} } } };
  throw new RpcError(RPC.missing_capability, detail, { http_status: 400, data, fault: 'confirmation_required' });
}

/** What this call brings along of an earlier one; null: nothing that counts, so the question is asked anew. */
async function approvalOf({ brought, context }: AskedCall, confirmations: Confirmations): Promise<Approval | null> {
  if (brought === null || brought.asked.changes === null) return null;
  const { asked, from_person } = brought;
  const replied = await replyIn(brought, QUESTION, context, confirmations);
  if (replied === null) return null;
  if (from_person) refuseDeclined(replied.reply, context, replied.after_ms);
  if (asked.snapshot !== context.registry.checksum) {
    context.record.confirmation = 'changed';
    return null;
  }
  return { changes: brought.asked.changes, by: from_person ? 'accepted' : 'checked' };
}

/** Only a form that says yes is a yes. */
function refuseDeclined(reply: NonNullable<Reply>, { record }: CallContext, after_ms: number): void {
  const { action, content } = reply;
  if (action === 'accept' && isMembers(content) && content[ANSWER] === true) return;
  record.confirmation = 'declined';
  throw new AppError('declined', `This change was not confirmed, so nothing was changed.${tooFast(after_ms)}`);
}
