/** The possible ends of a call. No schema here, because the UI loads this file. */
export const OUTCOME_CHOICES = {
  ok: { label: 'Succeeded' },
  tool_error: { label: 'Tool error' },
  refused: { label: 'Refused' },
  no_slot: { label: 'No free slot' },
  timeout: { label: 'Timed out' },
  cancelled: { label: 'Cancelled' },
  rate_limited: { label: 'Rate limited' },
};
export type CallOutcome = keyof typeof OUTCOME_CHOICES;
export const CALL_OUTCOMES = Object.keys(OUTCOME_CHOICES) as readonly CallOutcome[];

/** Error codes that are the fault of neither the tool nor its arguments. */
export const OUTCOME_CODES: Readonly<Record<Exclude<CallOutcome, 'ok' | 'tool_error'>, readonly string[]>> = {
  refused: [
    'unauthenticated',
    'forbidden',
    'admin_only',
    'role_required',
    'insufficient_scope',
    'caller_value_missing',
    'confirmation_required',
    'declined',
  ],
  no_slot: ['queue_full', 'no_free_slot'],
  timeout: ['timeout'],
  cancelled: ['cancelled'],
  rate_limited: ['rate_limited'],
};
const NEVER_RAN: ReadonlySet<CallOutcome> = new Set(['refused', 'no_slot', 'rate_limited']);

const BY_CODE = new Map(
  Object.entries(OUTCOME_CODES).flatMap(([outcome, codes]) => codes.map((code) => [code, outcome as CallOutcome] as const)),
);
/** @param error the error code of a call; null: success. */
export const outcomeOf = (error: string | null): CallOutcome => (error === null ? 'ok' : (BY_CODE.get(error) ?? 'tool_error'));

/**
 * Whether a call never started, for example because its arguments were refused, so its duration says nothing about the tool.
 * @param database_ms undefined if the host did not report it.
 */
export const neverRan = (error: string | null, database_ms: number | undefined): boolean =>
  NEVER_RAN.has(outcomeOf(error)) || error === 'invalid' || (error === 'cancelled' && database_ms === 0);
