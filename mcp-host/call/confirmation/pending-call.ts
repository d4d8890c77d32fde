import type { AnswersElsewhere } from './answers-elsewhere.ts';
import type { Decisions } from './decisions.ts';
import type { OneUse } from './one-use.ts';
import type { PageAddresses } from './page-address.ts';
import { type Members, isMembers, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { FrozenTool } from '#snapshots/format/format.ts';
import type { CallContext } from '#mcp-host/call/context.ts';
import { callDigest } from '#mcp-host/call/page-cursors.ts';
import { isStopping } from '#mcp-host/requests/running-calls.ts';
import { whileWaiting } from '#mcp-host/requests/request-record.ts';
import { pageAnswer, titleOf } from './question.ts';
import { AppError } from '#core/errors.ts';
import { TOKEN } from '#snapshots/format/served-listing.ts';
import type { Changes } from '#core/engines/shared/source.ts';
import { type Sealing, createSealing } from '#core/lib/sealing.ts';

/** An open question, and the facts that an answer to it has to match. */
export interface PendingQuestion {
  /** The question went to a person with a form, to a person on a page, or to the model as a token that it sends back. */
  readonly to: 'person' | 'page' | 'model';
  readonly tool_id: string;
  /** Checksum of the snapshot that was served when the question was sent. */
  readonly snapshot: string;
  /** Digest of the arguments and the caller. */
  readonly call: string;
  /** Null: the question is about missing arguments. */
  readonly changes: Changes | null;
  /** Arguments that a person filled in earlier; absent: none. */
  readonly given?: Members;
  /** Each nonce is used once. */
  readonly nonce: string;
  /** The host that remembers the nonce; null: all hosts do. */
  readonly host: string | null;
  readonly asked_at: number;
  readonly ends_at: number;
}

export type SealedState = Sealing<PendingQuestion>;

export const createSealedState = (keys: readonly string[]): SealedState => createSealing(keys, 'mcp-confirmations/1', 8_192);

/** How long an answer is accepted. */
export const ANSWER_MS = 120_000;

/** How long one request waits for a decision: less than the timeouts of clients and proxies, and long enough for few rounds. */
const WAIT_MS = 15_000;

/** If a question has less time left than this, the request waits for all of it, because the next one could arrive too late. */
const REST_MS = 5_000;

/** A person needs at least this long to read a question. */
const READING_MS = 2_000;

/** Services of the host for questions to people. */
export interface Confirmations {
  readonly state: SealedState;
  readonly once: OneUse;
  readonly pages: PageAddresses;
  readonly decisions: Decisions;
  readonly elsewhere: AnswersElsewhere;
  /** Whether a configuration is still loaded, because a person may answer after a deploy. */
  readonly holds: (checksum: string) => boolean;
  readonly now: () => number;
}

/** Sent instead of a result: the client asks a person and repeats the call (2026-07-28, multi round-trip requests). */
export class InputRequired {
  readonly kind = 'input_required';
  readonly members: string;
  /** Whether the earlier questions are still open and there are no new ones. */
  readonly is_open: boolean;

  /** @param questions by name; null: the earlier ones are still open, and there are no new ones. */
  constructor(questions: Readonly<Record<string, Members>> | null, state: string) {
    const entries = Object.entries(questions ?? {}).map(
      ([name, params]) => [name, { method: 'elicitation/create', params }] as const,
    );
    this.is_open = questions === null;
    const requests = questions === null ? {} : { inputRequests: Object.fromEntries(entries) };
    this.members = JSON.stringify({ ...requests, requestState: state }).slice(1, -1);
  }
}

/** A call of a tool that may ask a person. */
export interface PendingCall {
  readonly tool: FrozenTool;
  /** Without the token of a two-step call, but with the values that a person filled in. */
  readonly args: Members;
  /** The arguments that a person filled in. */
  readonly given: Members;
  readonly brought: CarriedAnswer | null;
  readonly context: CallContext;
}

/** The earlier question that a call carries an answer to. */
export interface CarriedAnswer {
  readonly asked: PendingQuestion;
  readonly from_person: boolean;
}

/** Opens the sealed question that the call carries. Throws when it belongs to another call. */
export function openCall(
  tool: FrozenTool,
  sent: Members,
  token: unknown,
  context: CallContext,
  { state }: Confirmations,
): PendingCall {
  const { protocol, message } = context.record;
  const { requestState } = message.params;
  const from_person = protocol.modern && requestState !== undefined;
  const none = { tool, args: sent, given: {}, brought: null, context };
  if (!from_person && token === undefined) return none;
  const sealed = from_person ? requestState : token;
  const pending = typeof sealed === 'string' ? state.open(sealed) : null;
  if (pending === null) throw foreign(from_person);
  const args = { ...sent, ...pending.given };
  const belongs =
    (pending.to === 'model') !== from_person &&
    pending.tool_id === tool.id &&
    pending.call === callDigest(args, context) &&
    (from_person || tool.two_step === true);
  if (!belongs) throw foreign(from_person);
  const brought = { asked: pending, from_person };
  // Values that were filled in for another version are requested again.
  return pending.snapshot === context.registry.checksum
    ? { ...none, args, given: pending.given ?? {}, brought }
    : { ...none, brought };
}

export interface PersonReply {
  readonly reply: Members;
  readonly after_ms: number;
}

/** The answer that a call carries, accepted once; null: there is no valid answer, so the question is sent again. */
export async function replyIn(
  { asked: pending, from_person }: CarriedAnswer,
  question: string,
  { record }: CallContext,
  { once, now }: Confirmations,
): Promise<PersonReply | null> {
  if (isOver(pending, { once, now })) {
    record.confirmation = 'expired';
    return null;
  }
  const { inputResponses } = record.message.params;
  const reply = from_person && isMembers(inputResponses) ? inputResponses[question] : {};
  // The client has no answer yet, so the question is sent again.
  if (!isMembers(reply) || (from_person && !isMembers(inputResponses))) return null;
  if (!(await once.use(pending.nonce))) throw refusal(from_person, SPENT);
  return { reply, after_ms: now() - pending.asked_at };
}

const isOver = ({ ends_at, host }: PendingQuestion, { once, now }: Pick<Confirmations, 'once' | 'now'>): boolean =>
  ends_at <= now() || (host !== null && host !== once.host);

/**
 * A person's decision on the page, accepted once; null: the call arrived too late, so the question is sent again. Requests wait
 * for the decision, one after the other, until the question ends. The client only reports whether the page was opened.
 */
export async function decisionIn(
  { asked: pending }: CarriedAnswer,
  question: string,
  { record, deadline }: CallContext,
  { once, now, decisions }: Confirmations,
): Promise<PersonReply | InputRequired | null> {
  const { inputResponses, requestState } = record.message.params;
  const reply = isMembers(inputResponses) ? inputResponses[question] : undefined;
  const at = now();
  if (isOver(pending, { once, now })) {
    record.confirmation = 'expired';
    return null;
  }
  if (isMembers(reply) && reply['action'] !== 'accept') {
    if (!(await once.use(pending.nonce))) throw refusal(true, SPENT);
    return { reply, after_ms: at - pending.asked_at };
  }
  const left_ms = pending.ends_at - at;
  const is_last = left_ms <= WAIT_MS + REST_MS;
  const approved = await whileWaiting(record, decisions.of(pending.nonce, is_last ? left_ms : WAIT_MS, deadline));
  if (approved === null && isStopping(deadline.reason)) return new InputRequired(null, String(requestState));
  deadline.throwIfAborted();
  if (approved === null) {
    if (!is_last) return new InputRequired(null, String(requestState));
    throw unanswered(record);
  }
  if (!(await once.use(pending.nonce))) throw refusal(true, SPENT);
  return { reply: pageAnswer(approved), after_ms: Number.POSITIVE_INFINITY };
}

/** @param changes null: the question is about missing arguments. */
export function sealQuestion(
  { tool, args, given, context }: PendingCall,
  { state, once, now }: Confirmations,
  to: PendingQuestion['to'],
  changes: PendingQuestion['changes'],
): { readonly sealed: string; readonly nonce: string; readonly ends_at: number } {
  const nonce = crypto.randomUUID();
  const at = now();
  const ends_at = at + ANSWER_MS;
  const { checksum } = context.registry;
  const sealed = state.seal({
    to,
    tool_id: tool.id,
    snapshot: checksum,
    call: callDigest(args, context),
    changes,
    ...(Object.keys(given).length > 0 && { given }),
    nonce,
    host: once.host,
    asked_at: at,
    ends_at,
  });
  return { sealed, nonce, ends_at };
}

/** The error for a question that expired without an answer. */
export function unanswered(record: CallContext['record']): AppError {
  record.confirmation = 'expired';
  return new AppError('declined', 'Nobody answered within 2 minutes, so nothing was changed. Call again to ask again.');
}

/** Throws if a deploy replaced the version while the question was open, because the tool may be removed or changed. */
export function refuseReplaced({ tool, context }: PendingCall, { holds }: Pick<Confirmations, 'holds'>): void {
  if (holds(context.registry.checksum)) return;
  context.record.confirmation = 'changed';
  throw new AppError(
    'confirmation_required',
    `${titleOf(tool)} was not run, because another version was deployed while a person was asked. Nothing was changed. Call again to ask again.`,
  );
}

/** Added to a refusal when the answer arrived before a person could have read the question. */
export const tooFast = (after_ms: number): string =>
  after_ms < READING_MS
    ? ' The answer came in less than 2 seconds, so perhaps nobody was asked: some clients decline by themselves.'
    : '';

const FOREIGN =
  'does not belong to this call: it was changed, or given to another caller, tool or arguments. Nothing was changed. Call without it to ask again.';

const SPENT = 'was used already. Nothing was changed. Call without it to ask again.';

const foreign = (from_person: boolean): Error => refusal(from_person, FOREIGN);

const refusal = (from_person: boolean, end: string): Error =>
  from_person ? new RpcError(RPC.invalid_params, `requestState ${end}`) : new AppError('declined', `${TOKEN} ${end}`);
