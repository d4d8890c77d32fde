import { ACTION_WORDS, TYPE_WORDS } from '#ui/src/kernel/record-words.ts';
import { num } from '#ui/src/kernel/numbers.ts';

/** In sentences such as "Ada changed the settings of shop". */
export const DONE_WORDS = { ...ACTION_WORDS, blocked: 'could not save' } as const;
export const RECORD_WORDS = {
  ...TYPE_WORDS,
  server_config: 'the settings of',
  grant: 'sign-in of',
  signing_key: 'the',
} as const;

export const WORDS = {
  calls: 'Calls',
  errors: 'Errors',
  slowest: (p95: string) => `p95 up to ${p95}`,
  waiting: (waiting: number) => `${num(waiting)} waiting`,
  of: (part: number, all: number) => `${part} of ${all}`,
  last: (period: string) => `Last ${period}`,
  top: 'Most called',
  top_empty: 'No calls in this period.',
  failures: 'Latest failures',
  activity: 'Recent changes',
} as const;
