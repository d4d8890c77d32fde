import { AppError, CHANGE_MADE, COMMIT_UNKNOWN, type ErrorCode } from '#core/errors.ts';
import type { Log } from '#core/process/log.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';

/** A failed call: the text for the caller, and the code for the request log. */
export interface Fault {
  readonly code: ErrorCode;
  readonly text: string;
  /** Whether the caller's arguments are wrong. */
  readonly in_arguments: boolean;
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
  'not_countable',
]);
const UNSPOKEN: Partial<Readonly<Record<ErrorCode, string>>> = {
  database_unreachable: 'The database of this tool cannot be reached right now. Try again later, or see the log of the host.',
  private_network_blocked: 'The database of this tool is at an address that this installation does not allow.',
  secrets_unavailable:
    'The connection of this tool cannot be opened because the key of this installation does not decrypt a stored secret.',
};
const INTERNAL = 'The call failed because of an internal error. See the log of the host.';

/**
 * Translates an error of a call. Details that the caller may not read go to the log. @param signal the call's signal: if it was
 * aborted, its reason is the fault. Null: the change was committed, so the signal no longer matters.
 */
export function toFault(error: unknown, signal: StopSignal | null, where: Readonly<Record<string, unknown>>, log: Log): Fault {
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
export const behindCommit = ({ code, text }: Fault): Fault => ({
  code: code === 'invalid' ? 'bad_request' : code,
  text: `${CHANGE_MADE} ${text}`,
  in_arguments: false,
});

/** The detail, followed by the messages of fields that the detail does not contain. */
function sentence({ detail, errors }: AppError): string {
  const further = errors.filter(({ message }) => !detail.includes(message)).map(({ field, message }) => `${field}: ${message}`);
  return [detail, ...further].join('\n');
}
