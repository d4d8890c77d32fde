import { AppError } from '#core/errors.ts';
import type { Changes } from '#core/engines/shared/source.ts';
import type { FrozenTool } from '#snapshots/format.ts';
import { isMembers, type Members, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { CallResult } from '../cache.ts';
import { callDigest } from '../call-digest.ts';
import type { CallContext } from '../context.ts';
import { askSession, type Reply } from './ask-session.ts';
import { declaredIn, showsForms } from './elicitation.ts';
import type { OneUse } from './one-use.ts';
import { ANSWER, questionOf, rowsOf, titleOf } from './question.ts';
import type { Asked, SealedState } from './sealed-state.ts';

/** How long an answer counts. */
export const ANSWER_MS = 120_000;
/** Nobody reads a question in less. */
const READING_MS = 2_000;
/** How often the client of a session is asked within one call, when the rows change meanwhile. */
const MOST_QUESTIONS = 3;
/** The name of the question in `inputRequests`. */
const QUESTION = 'confirm';
/** The argument that brings the token of a two-step call back. */
export const TOKEN = 'confirm_token';

/** What confirmations need of their host. */
export interface Confirmations {
  readonly state: SealedState;
  readonly once: OneUse;
  readonly now: () => number;
}

/** In place of a result: the client asks a person and sends the call again (2026-07-28, multi round-trip requests). */
export class InputRequired {
  readonly kind = 'input_required';
  readonly members: string;

  constructor(members: string) {
    this.members = members;
  }
}

export type Review = (changes: Changes) => boolean;
export type GuardedRun = (review: Review) => Promise<CallResult>;

interface GuardedCall {
  readonly tool: FrozenTool;
  /** Without the token of a two-step call. */
  readonly args: Members;
  readonly token: unknown;
  readonly context: CallContext;
}

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
  call: GuardedCall,
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
  call: GuardedCall,
  { state, once, now }: Confirmations,
  changes: Changes,
  before: Changes | null,
  modern: boolean,
): CallResult | InputRequired {
  const { tool, args, context } = call;
  const seal = (to: Asked['to']): { readonly sealed: string; readonly ends_at: number } => {
    const asked_at = now();
    const ends_at = asked_at + ANSWER_MS;
    const nonce = crypto.randomUUID();
    const { checksum } = context.registry;
    const asked = {
      to,
      tool_id: tool.id,
      snapshot: checksum,
      call: callDigest(args, context),
      changes,
      nonce,
      host: once.host,
      asked_at,
      ends_at,
    };
    return { sealed: state.seal(asked), ends_at };
  };
  if (modern && showsForms(declaredIn(context.record.message.params))) {
    const request = { method: 'elicitation/create', params: questionOf(tool, args, changes, before) };
    const members = { inputRequests: { [QUESTION]: request }, requestState: seal('person').sealed };
    return new InputRequired(JSON.stringify(members).slice(1, -1));
  }
  if (tool.two_step === true) {
    const { sealed, ends_at } = seal('model');
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
async function approvalOf(call: GuardedCall, confirmations: Confirmations): Promise<Approval | null> {
  const { token, context } = call;
  const { record } = context;
  const { requestState, inputResponses } = record.message.params;
  const from_person = record.protocol.modern && requestState !== undefined;
  if (!from_person && token === undefined) return null;
  const sealed = from_person ? requestState : token;
  const asked = typeof sealed === 'string' ? confirmations.state.open(sealed) : null;
  if (asked === null || !belongs(asked, call, from_person)) throw foreign(from_person);
  const now = confirmations.now();
  if (asked.ends_at <= now || (asked.host !== null && asked.host !== confirmations.once.host)) {
    record.confirmation = 'expired';
    return null;
  }
  const reply = from_person && isMembers(inputResponses) ? inputResponses[QUESTION] : undefined;
  // A client that has no answer yet is asked again.
  if (from_person && !isMembers(reply)) return null;
  if (!(await confirmations.once.use(asked.nonce))) throw spent(from_person);
  if (from_person) refuseDeclined(isMembers(reply) ? reply : {}, context, now - asked.asked_at);
  if (asked.snapshot !== context.registry.checksum) {
    record.confirmation = 'changed';
    return null;
  }
  return { changes: asked.changes, by: from_person ? 'accepted' : 'checked' };
}

function belongs(asked: Asked, call: GuardedCall, from_person: boolean): boolean {
  const to = from_person ? 'person' : 'model';
  return (
    asked.to === to &&
    asked.tool_id === call.tool.id &&
    asked.call === callDigest(call.args, call.context) &&
    (from_person || call.tool.two_step === true)
  );
}

const FOREIGN =
  'does not belong to this call: it was changed, or given to another caller, tool or arguments. Nothing was changed. Call without it to ask again.';
const SPENT = 'was used already. Nothing was changed. Call without it to ask again.';
const foreign = (from_person: boolean): Error => refusal(from_person, FOREIGN);
const spent = (from_person: boolean): Error => refusal(from_person, SPENT);
const refusal = (from_person: boolean, end: string): Error =>
  from_person ? new RpcError(RPC.invalid_params, `requestState ${end}`) : new AppError('declined', `${TOKEN} ${end}`);

/** Only a form that says yes is a yes. */
function refuseDeclined(reply: NonNullable<Reply>, { record }: CallContext, after_ms: number): void {
  const { action, content } = reply;
  if (action === 'accept' && isMembers(content) && content[ANSWER] === true) return;
  record.confirmation = 'declined';
  const hint =
    after_ms < READING_MS
      ? ' The answer came in less than 2 seconds, so perhaps nobody was asked: some clients decline by themselves.'
      : '';
  throw new AppError('declined', `This change was not confirmed, so nothing was changed.${hint}`);
}
