import { errorWord } from '#ui/src/kernel/metrics-words.ts';
import type { Confirmation } from '#core/contract/observe/calls.ts';
import type { CallOutcome } from '#core/contract/observe/outcomes.ts';
import type { LogLevel } from '#core/contract/log-levels.ts';
import type { Source } from '#ui/src/features/log/live-log.ts';
import type { StreamState } from '#ui/src/kernel/data/live-stream.ts';

export const LEVEL_WORDS = {
  DEBUG: 'Everything',
  INFO: 'Info and above',
  WARNING: 'Warnings and errors',
  ERROR: 'Errors only',
} as const satisfies Record<LogLevel, string>;
export const SOURCE_WORDS = {
  deploy: 'Server',
  host: 'Hosts',
  tool: 'Calls',
  agent: 'Agents',
  tls: 'Certificates',
} as const satisfies Record<Source, string>;
export const STATE_WORDS = {
  connecting: 'Connecting',
  open: 'Live',
  waiting: 'Reconnecting',
  closed: 'Not connected',
} as const satisfies Record<StreamState, string>;
export const RANGES = ['24h', '1h', '6h', '7d', 'all'] as const;
export const RANGE_WORDS = {
  '1h': 'Last hour',
  '6h': 'Last 6 hours',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  all: 'All',
} as const satisfies Record<(typeof RANGES)[number], string>;

export const CONFIRMATION_WORDS = {
  asked: 'Asked',
  accepted: 'Accepted',
  declined: 'Declined',
  expired: 'Expired, asked again',
  changed: 'Rows changed, asked again',
  checked: 'Checked by token',
} as const satisfies Record<Confirmation, string>;

const STILL_ASKS: ReadonlySet<Confirmation | null> = new Set(['asked', 'expired', 'changed']);

/** How a call ended. One that asked a person did not run yet. */
export function endWord({ success, error, confirmation }: Ended): string {
  if (!success) return errorWord(error);
  return confirmation !== null && STILL_ASKS.has(confirmation) ? CONFIRMATION_WORDS[confirmation] : OUTCOME_WORDS.ok;
}

interface Ended {
  readonly success: boolean;
  readonly error: string | null;
  readonly confirmation: Confirmation | null;
}

export const OUTCOME_WORDS = {
  ok: 'Succeeded',
  tool_error: 'Tool error',
  refused: 'Refused',
  no_slot: 'No free slot',
  timeout: 'Timed out',
  cancelled: 'Cancelled',
  rate_limited: 'Rate limited',
} as const satisfies Record<CallOutcome, string>;

export const REFUSAL_KINDS = ['unauthenticated', 'forbidden', 'not_found', 'too_large', 'rate_limited', 'protocol'] as const;
export type RefusalKind = (typeof REFUSAL_KINDS)[number];
export const REFUSAL_WORDS = {
  unauthenticated: 'No valid token',
  forbidden: 'Not allowed',
  not_found: 'Not found',
  too_large: 'Too large',
  rate_limited: 'Too many attempts',
  protocol: 'Protocol error',
} as const satisfies Record<RefusalKind, string>;
