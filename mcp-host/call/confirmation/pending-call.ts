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
import { TOKEN } from '#mcp-host/registry/tool-item.ts';
import type { Changes } from '#core/engines/shared/source.ts';
import { type Sealing, createSealing } from '#core/lib/sealing.ts';

/** A question that was asked, and all that an answer to it has to agree with. */
export interface PendingQuestion {
  /** Whether a person was asked with a form or led to a page, or a token was given that the model passes back. */
  readonly to: 'person' | 'page' | 'model';
  readonly tool_id: string;
  /** Checksum of what was served then. */
  readonly snapshot: string;
  /** Digest of the arguments and of who called. */
  readonly call: string;
  /** Null: arguments were asked for. */
  readonly changes: Changes | null;
  /** Arguments that a person filled in before; absent: none. */
  readonly given?: Members;
  /** Counts once. */
  readonly nonce: string;
  /** The host that remembers the nonce; null: all of them do. */
  readonly host: string | null;
  readonly asked_at: number;
  readonly ends_at: number;
}

export type SealedState = Sealing<PendingQuestion>;

export const createSealedState = (keys: readonly string[]): SealedState => createSealing(keys, 'mcp-confirmations/1', 8_192);

/** How long an answer counts. */
export const ANSWER_MS = 120_000;

/** How long one request waits for a decision: less than what clients and proxies allow it, and often enough within their rounds. */
const WAIT_MS = 15_000;

/** What is left when a question ends soon is waited for as well: the next request could come too late. */
const REST_MS = 5_000;

/** Nobody reads a question in less. */
const READING_MS = 2_000;

/** What questions to people need of their host. */
export interface Confirmations {
  readonly state: SealedState;
  readonly once: OneUse;
  readonly pages: PageAddresses;
  readonly decisions: Decisions;
  readonly elsewhere: AnswersElsewhere;
  /** Whether a configuration is still held: people think for longer than calls take. */
  readonly holds: (checksum: string) => boolean;
  readonly now: () => number;
}

/** In place of a result: the client asks a person and sends the call again (2026-07-28, multi round-trip requests). */
export class InputRequired {
  readonly kind = 'input_required';
  readonly members: string;
  /** The question of before is waited for, and nothing new is asked. */
  readonly is_open: boolean;

  /** @param questions by name; null: those of before are still open, and nothing new is asked. */
  constructor(questions: Readonly<Record<string, Members>> | null, state: string) {
    const entries = Object.entries(questions ?? {}).map(
      ([name, params]) => [name, { method: 'elicitation/create', params }] as const,
    );
    this.is_open = questions === null;
    const asked = questions === null ? {} : { inputRequests: Object.fromEntries(entries) };
    this.members = JSON.stringify({ ...asked, requestState: state }).slice(1, -1);
  }
}

/** A call of a tool that may ask a person. */
export interface PendingCall {
  readonly tool: FrozenTool;
  /** Without the token of a two-step call; with what a person filled in. */
  readonly args: Members;
  /** Those of them that a person filled in. */
  readonly given: Members;
  readonly brought: CarriedAnswer | null;
  readonly context: CallContext;
}

/** What a call brings along of an earlier one. */
export interface CarriedAnswer {
  readonly asked: PendingQuestion;
  readonly from_person: boolean;
}

/** Opens what the call brings along. Throws when that belongs to another call. */
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
  const asked = typeof sealed === 'string' ? state.open(sealed) : null;
  if (asked === null) throw foreign(from_person);
  const args = { ...sent, ...asked.given };
  const belongs =
    (asked.to === 'model') !== from_person &&
    asked.tool_id === tool.id &&
    asked.call === callDigest(args, context) &&
    (from_person || tool.two_step === true);
  if (!belongs) throw foreign(from_person);
  const brought = { asked, from_person };
  // What was filled in for another version is asked for anew.
  return asked.snapshot === context.registry.checksum
    ? { ...none, args, given: asked.given ?? {}, brought }
    : { ...none, brought };
}

export interface PersonReply {
  readonly reply: Members;
  readonly after_ms: number;
}

/** The answer that a call brings along, once; null: nothing that counts, so the question is asked anew. */
export async function replyIn(
  { asked, from_person }: CarriedAnswer,
  question: string,
  { record }: CallContext,
  { once, now }: Confirmations,
): Promise<PersonReply | null> {
  if (isOver(asked, { once, now })) {
    record.confirmation = 'expired';
    return null;
  }
  const { inputResponses } = record.message.params;
  const reply = from_person && isMembers(inputResponses) ? inputResponses[question] : {};
  // A client that has no answer yet is asked again.
  if (!isMembers(reply) || (from_person && !isMembers(inputResponses))) return null;
  if (!(await once.use(asked.nonce))) throw refusal(from_person, SPENT);
  return { reply, after_ms: now() - asked.asked_at };
}

const isOver = ({ ends_at, host }: PendingQuestion, { once, now }: Pick<Confirmations, 'once' | 'now'>): boolean =>
  ends_at <= now() || (host !== null && host !== once.host);

/**
 * What a person decided on the page that this call led them to, once; null: the call comes too late, so that they are asked anew. Whoever
 * has not decided yet is waited for, over several requests, until the question ends. A client's word says that the page was opened, or that it was not.
 */
export async function decisionIn(
  { asked }: CarriedAnswer,
  question: string,
  { record, deadline }: CallContext,
  { once, now, decisions }: Confirmations,
): Promise<PersonReply | InputRequired | null> {
  const { inputResponses, requestState } = record.message.params;
  const reply = isMembers(inputResponses) ? inputResponses[question] : undefined;
  const at = now();
  if (isOver(asked, { once, now })) {
    record.confirmation = 'expired';
    return null;
  }
  if (isMembers(reply) && reply['action'] !== 'accept') {
    if (!(await once.use(asked.nonce))) throw refusal(true, SPENT);
    return { reply, after_ms: at - asked.asked_at };
  }
  const left_ms = asked.ends_at - at;
  const is_last = left_ms <= WAIT_MS + REST_MS;
  const approved = await whileWaiting(record, decisions.of(asked.nonce, is_last ? left_ms : WAIT_MS, deadline));
  if (approved === null && isStopping(deadline.reason)) return new InputRequired(null, String(requestState));
  deadline.throwIfAborted();
  if (approved === null) {
    if (!is_last) return new InputRequired(null, String(requestState));
    throw unanswered(record);
  }
  if (!(await once.use(asked.nonce))) throw refusal(true, SPENT);
  return { reply: pageAnswer(approved), after_ms: Number.POSITIVE_INFINITY };
}

/** @param changes null: arguments are asked for. */
export function sealQuestion(
  { tool, args, given, context }: PendingCall,
  { state, once, now }: Confirmations,
  to: PendingQuestion['to'],
  changes: PendingQuestion['changes'],
): { readonly sealed: string; readonly nonce: string; readonly ends_at: number } {
  const nonce = crypto.randomUUID();
  const asked_at = now();
  const ends_at = asked_at + ANSWER_MS;
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
    asked_at,
    ends_at,
  });
  return { sealed, nonce, ends_at };
}

/** The person who was asked let the question expire. */
export function unanswered(record: CallContext['record']): AppError {
  record.confirmation = 'expired';
  return new AppError('declined', 'Nobody answered within 2 minutes, so nothing was changed. Call again to ask again.');
}

/** Refuses to go on with what was replaced by a deploy while a person was asked: the tool may be gone, or do something else. */
export function refuseReplaced({ tool, context }: PendingCall, { holds }: Pick<Confirmations, 'holds'>): void {
  if (holds(context.registry.checksum)) return;
  context.record.confirmation = 'changed';
  throw new AppError(
    'confirmation_required',
    `${titleOf(tool)} was not run, because another version was deployed while a person was asked. Nothing was changed. Call again to ask again.`,
  );
}

/** Said of an answer that came before anybody can have read the question. */
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
