import { minuteTime } from './dates.ts';
import { isPeriod, type Period, type Range } from './metrics.ts';

export const PERIOD_WORDS = { '1h': '1 hour', '6h': '6 hours', '24h': '24 hours', '7d': '7 days' } as const satisfies Record<
  Period,
  string
>;
/** `last 24 hours`, `23 Nov, 10:00 to 23 Nov, 11:00`. */
export const rangeWords = (range: Range): string =>
  isPeriod(range) ? `last ${PERIOD_WORDS[range]}` : `${minuteTime(range.since)} to ${minuteTime(range.until)}`;

/** What an error code of a call means, for people. */
const ERROR_WORDS: Readonly<Record<string, string>> = {
  invalid: 'Invalid arguments',
  sql_error: 'SQL error',
  timeout: 'Timed out',
  no_free_slot: 'No free slot',
  queue_full: 'Queue full',
  database_unreachable: 'Database unreachable',
  not_read_only: 'Not read-only',
  too_large: 'Result too large',
  cancelled: 'Cancelled by the client',
  rate_limited: 'Rate limited',
  internal: 'Internal error',
};
export const errorWord = (code: string | null): string => (code === null ? '' : (ERROR_WORDS[code] ?? code.replaceAll('_', ' ')));
