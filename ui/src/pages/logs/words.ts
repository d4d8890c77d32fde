import { errorWord } from '#ui/src/kernel/metrics-words.ts';
import { type Confirmation, CONFIRMATION_CHOICES } from '#core/contract/observe/calls.ts';
import { OUTCOME_CHOICES } from '#core/contract/observe/outcomes.ts';
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

const STILL_ASKS: ReadonlySet<Confirmation | null> = new Set(['asked', 'expired', 'changed']);

/** The outcome of a call. A call that asks for a confirmation has not run yet. */
export function endWord({ success, error, confirmation }: Ended): string {
  if (!success) return errorWord(error);
  return confirmation !== null && STILL_ASKS.has(confirmation)
    ? CONFIRMATION_CHOICES[confirmation].label
    : OUTCOME_CHOICES.ok.label;
}

interface Ended {
  readonly success: boolean;
  readonly error: string | null;
  readonly confirmation: Confirmation | null;
}
