import { PERIOD_CHOICES } from '#core/contract/observe/metric-ranges.ts';
import { minuteTime } from './dates.ts';
import { isPeriod, type Range } from './metrics.ts';

/** `last 24 hours`, `23 Nov, 10:00 to 23 Nov, 11:00`. */
export const rangeWords = (range: Range): string =>
  isPeriod(range) ? `last ${PERIOD_CHOICES[range].label}` : `${minuteTime(range.since)} to ${minuteTime(range.until)}`;

/** What an error code of a call means, for people. */
const ERROR_WORDS: Readonly<Record<string, string>> = {
  invalid: 'Invalid arguments',
  sql_error: 'SQL error',
  timeout: 'Timed out',
  no_free_slot: 'No free slot',
  queue_full: 'Queue full',
  database_unreachable: 'Database unreachable',
  tunnel_unreachable: 'SSH tunnel unreachable',
  tunnel_refused: 'SSH tunnel refused',
  tunnel_host_key: 'SSH host key changed',
  not_read_only: 'Not read-only',
  too_large: 'Result too large',
  cancelled: 'Cancelled by the client',
  rate_limited: 'Rate limited',
  internal: 'Internal error',
};
export const errorWord = (code: string | null): string => (code === null ? '' : (ERROR_WORDS[code] ?? code.replaceAll('_', ' ')));

interface CallerOf {
  readonly token_name?: string | null;
  readonly token_prefix: string | null;
  readonly person?: string | null;
}

const PLAYGROUND = 'playground:';

/** Who called: the name of the access token, of the person or of the OAuth client. */
export function callerWord({ token_name, token_prefix, person }: CallerOf): string {
  const word = token_name ?? token_prefix ?? person ?? '';
  return word.startsWith(PLAYGROUND) ? `${word.slice(PLAYGROUND.length)} (playground)` : word;
}

/** What failed calls say of themselves: the message, or what the error code means. */
export const failureWord = ({
  error,
  error_message,
}: {
  readonly error: string;
  readonly error_message: string | null;
}): string => error_message ?? errorWord(error);
