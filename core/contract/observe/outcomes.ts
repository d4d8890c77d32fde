/** How a call can end. No schema stands here: the interface reads it. */
export const CALL_OUTCOMES = ['ok', 'tool_error', 'refused', 'no_slot', 'timeout', 'cancelled', 'rate_limited'] as const;
export type CallOutcome = (typeof CALL_OUTCOMES)[number];

/** Error codes that are neither a fault of the tool nor of its arguments. */
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
/** @param error the error code of a call; null: it succeeded. */
export const outcomeOf = (error: string | null): CallOutcome => (error === null ? 'ok' : (BY_CODE.get(error) ?? 'tool_error'));

/**
 * Whether a call never began, such as one with arguments that were refused: how long it took says nothing about its tool.
 * @param database_ms absent: its host does not say.
 */
export const neverRan = (error: string | null, database_ms: number | undefined): boolean =>
  NEVER_RAN.has(outcomeOf(error)) || error === 'invalid' || (error === 'cancelled' && database_ms === 0);
