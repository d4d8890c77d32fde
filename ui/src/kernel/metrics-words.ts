import type { Kind, Period } from './metrics.ts';

export const PERIOD_WORDS = { '1h': '1 hour', '6h': '6 hours', '24h': '24 hours', '7d': '7 days' } as const satisfies Record<
  Period,
  string
>;
export const KIND_WORDS = { tool: 'Tool', resource: 'Resource', prompt: 'Prompt' } as const satisfies Record<Kind, string>;

/** What an error code of a call means, for people. */
export const ERROR_WORDS: Readonly<Record<string, string>> = {
  invalid: 'Wrong arguments',
  sql_error: 'The statement failed',
  timeout: 'Too slow, cancelled',
  queue_full: 'The queue was full',
  database_unreachable: 'The database did not answer',
  not_read_only: 'Tried to write',
  too_large: 'The answer was too large',
  cancelled: 'The client gave up',
  rate_limited: 'Too many calls',
  internal: 'Unexpected fault',
};
export const errorWord = (code: string | null): string => (code === null ? '' : (ERROR_WORDS[code] ?? code.replaceAll('_', ' ')));
