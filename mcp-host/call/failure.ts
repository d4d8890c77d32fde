import { AppError, type ErrorCode } from '#core/errors.ts';
import type { Log } from '#core/process/log.ts';
import { beginning } from '#core/lib/text/shorten.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import { maskedDetail, sqlstateOf } from '#core/query/masked-errors.ts';
import { behindCommit, type Fault, toFault } from '#mcp-host/protocol/fault.ts';
import { RpcError, sessionNotFound } from '#mcp-host/protocol/messages.ts';
import { CallerGone, isAnswered } from '#mcp-host/requests/running-calls.ts';
import { SESSION_ENDED } from '#mcp-host/requests/sessions.ts';
import type { LoggedFault } from '#mcp-host/requests/usage-item.ts';
import type { CallContext } from './context.ts';
import type { Callable, ResultWriter } from './result-writer.ts';
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
