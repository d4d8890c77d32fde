import { AppError, CHANGE_MADE, COMMIT_UNKNOWN, type ErrorCode } from '#core/errors.ts';
import type { Log } from '#core/process/log.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { beginning } from '#core/lib/text/shorten.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import { maskedDetail, sqlstateOf } from '#core/query/masked-errors.ts';
import { RpcError, sessionNotFound } from '#mcp-host/protocol/messages.ts';
import { CallerGone, isAnswered } from '#mcp-host/requests/running-calls.ts';
import { SESSION_ENDED } from '#mcp-host/requests/sessions.ts';
import type { LoggedFault } from '#mcp-host/requests/usage-item.ts';
import type { CallContext } from './context.ts';
import type { Callable, Fault, ResultWriter } from './result-writer.ts';
import { stripValues } from './strip-values.ts';

/** A failed call, for its caller and for the log. */
interface Failure {
  readonly logged: LoggedFault;
  /** Null: the request was refused by the protocol, so the tool is not at fault. */
  readonly code: ErrorCode | null;
  /** The members of an answer, or the error to throw to the dispatch. */
  readonly answer: string | Error;
}

interface Failed<E extends Callable> {
  readonly writer: ResultWriter<E>;
  readonly entity: E['entity'];
  readonly context: CallContext;
  /** Null: the id was never read. */
  readonly call_id: string | null;
  /** Values of the request, its statement and its database session. */
  readonly seen: readonly unknown[];
}

/** Translates an error of a call: an error of the protocol, or a fault of the product. */
export function failureOf<E extends Callable>(error: unknown, failed: Failed<E>, log: Log): Failure {
  if (error instanceof RpcError) {
    return { logged: { code: error.fault, message: error.message, sqlstate: null }, code: null, answer: error };
  }
  const { writer, entity, context, call_id, seen } = failed;
  const { record, deadline } = context;
  const { request_id } = record.exchange;
  const where = { kind: writer.kind, name: entity.name, request_id, ...(call_id !== null && { call_id }) };
  const fault_of_call = withoutMasked(toFault(error, record.committed ? null : deadline, where, log), error, entity);
  const fault = record.committed ? behindCommit(fault_of_call) : fault_of_call;
  const { code } = fault;
  const answer = endOf(fault, context) ?? writer.failure(fault, context);
  return { logged: loggedFault(fault, error, seen), code, answer };
}

/** The error for a cancelled call whose session ended or whose caller left; null: the caller waits for an answer. */
function endOf({ code, text }: Fault, { deadline }: CallContext): Error | null {
  if (code !== 'cancelled') return null;
  if (deadline.reason === SESSION_ENDED) return sessionNotFound(text);
  return deadline.aborted && !isAnswered(deadline.reason) ? new CallerGone() : null;
}

/** Removes values of masked columns from a database message, for the caller and for the log. */
function withoutMasked(fault: Fault, error: unknown, query: Pick<FrozenQuery, 'masks'>): Fault {
  if (fault.code !== 'sql_error' || !(error instanceof AppError)) return fault;
  const text = maskedDetail(error, query);
  return text === error.detail ? fault : { ...fault, text };
}

const LONGEST = 1_000;

const UNSAID =
  'The database rejected the statement. Its message is left out, because the call sent too many values to remove from it.';

/** The caller's sentence without values, which database messages often repeat. */
export function loggedFault({ code, text }: Fault, error: unknown, values: unknown): LoggedFault {
  const message = code === 'sql_error' ? stripValues(beginning(text, 4 * LONGEST), values) : text;
  return { code, message: beginning(message ?? UNSAID, LONGEST), sqlstate: sqlstateOf(error) };
}

/** Codes whose sentences are about the call. Sentences of other codes may name hosts or settings. */
const SPOKEN: ReadonlySet<ErrorCode> = new Set([
  'invalid',
  'bad_request',
  'sql_error',
  'not_read_only',
  'timeout',
  'cancelled',
  'queue_full',
  'no_free_slot',
  'rate_limited',
  'unavailable',
  'too_large',
  'caller_value_missing',
  'confirmation_required',
  'declined',
  'too_many_rows',
  'plan_too_large',
  'not_countable',
]);
const NO_TUNNEL =
  'The SSH tunnel to the database of this tool cannot be used right now. Try again later, or see the log of the host.';
const UNSPOKEN: Partial<Readonly<Record<ErrorCode, string>>> = {
  database_unreachable: 'The database of this tool cannot be reached right now. Try again later, or see the log of the host.',
  tunnel_unreachable: NO_TUNNEL,
  tunnel_refused: NO_TUNNEL,
  tunnel_host_key: NO_TUNNEL,
  private_network_blocked: 'The database of this tool is at an address that this installation does not allow.',
  secrets_unavailable:
    'The connection of this tool cannot be opened because one of its secrets cannot be read. See the log of the host.',
};
const INTERNAL = 'The call failed because of an internal error. See the log of the host.';

/**
 * Translates an error of a call. Details that the caller may not read go to the log. @param signal the call's signal: if it was
 * aborted, its reason is the fault. Null: the change was committed, so the signal no longer matters.
 */
function toFault(error: unknown, signal: StopSignal | null, where: Readonly<Record<string, unknown>>, log: Log): Fault {
  // An aborted call must not hide that the change may have been committed.
  const outcome_unknown = error instanceof AppError && error.reason === COMMIT_UNKNOWN;
  if (!outcome_unknown && signal?.aborted === true && signal.reason instanceof AppError)
    return { code: signal.reason.code, text: signal.reason.detail, in_arguments: false };
  if (!(error instanceof AppError)) {
    log.error('call_failed', { ...where, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    return { code: 'internal', text: INTERNAL, in_arguments: false };
  }
  if (SPOKEN.has(error.code)) return { code: error.code, text: sentence(error), in_arguments: error.errors.length > 0 };
  log.warning('call_failed', { ...where, code: error.code, detail: error.detail, ...(error.reason && { reason: error.reason }) });
  return { code: error.code, text: outcome_unknown ? error.detail : (UNSPOKEN[error.code] ?? INTERNAL), in_arguments: false };
}

/**
 * The fault of a call that failed after its commit. It says that the change took effect, so that the caller does not repeat the
 * call. The code is not `invalid`, with which the call would count as one that never ran.
 */
const behindCommit = ({ code, text }: Fault): Fault => ({
  code: code === 'invalid' ? 'bad_request' : code,
  text: `${CHANGE_MADE} ${text}`,
  in_arguments: false,
});

/** The detail, followed by the messages of fields that the detail does not contain. */
function sentence({ detail, errors }: AppError): string {
  const further = errors.filter(({ message }) => !detail.includes(message)).map(({ field, message }) => `${field}: ${message}`);
  return [detail, ...further].join('\n');
}
