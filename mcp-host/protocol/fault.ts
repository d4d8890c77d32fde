import { AppError, CHANGE_MADE, COMMIT_UNKNOWN, type ErrorCode } from '#core/errors.ts';
import type { Log } from '#core/process/log.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';

/** A failed call in words for the caller, and the code that the log of calls keeps. */
export interface Fault {
  readonly code: ErrorCode;
  readonly text: string;
  /** The caller's arguments are at fault. */
  readonly in_arguments: boolean;
}

/** Codes whose sentence is about the call itself. The sentences of all others may name hosts or settings. */
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
 * Translates what a call threw; what the caller may not read goes to the log. @param signal of the call, whose end is the fault; null:
 * it was too late to end anything.
 */
export function toFault(error: unknown, signal: StopSignal | null, where: Readonly<Record<string, unknown>>, log: Log): Fault {
  // The call's own end must not hide it.
  const may_be_made = error instanceof AppError && error.reason === COMMIT_UNKNOWN;
  if (!may_be_made && signal?.aborted === true && signal.reason instanceof AppError)
    return { code: signal.reason.code, text: signal.reason.detail, in_arguments: false };
  if (!(error instanceof AppError)) {
    log.error('call_failed', { ...where, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    return { code: 'internal', text: INTERNAL, in_arguments: false };
  }
  if (SPOKEN.has(error.code)) return { code: error.code, text: sentence(error), in_arguments: error.errors.length > 0 };
  log.warning('call_failed', { ...where, code: error.code, detail: error.detail, ...(error.reason && { reason: error.reason }) });
  return { code: error.code, text: may_be_made ? error.detail : (UNSPOKEN[error.code] ?? INTERNAL), in_arguments: false };
}

/** Of what fails behind a commit, so that nobody makes the change again. Metrics take a call that is `invalid` for one that never ran. */
export const behindCommit = ({ code, text }: Fault): Fault => ({
  code: code === 'invalid' ? 'bad_request' : code,
  text: `${CHANGE_MADE} ${text}`,
  in_arguments: false,
});

/** The detail, and each fault of a field that it does not hold yet. */
function sentence({ detail, errors }: AppError): string {
  const further = errors.filter(({ message }) => !detail.includes(message)).map(({ field, message }) => `${field}: ${message}`);
  return [detail, ...further].join('\n');
}
