import type { QueueGroup } from './groups.ts';

export const GROUP_WORDS = {
  waiting: 'Calls waited in the last two minutes',
  used: 'In use',
  free: 'Free',
  none: 'Not deployed',
} as const satisfies Record<QueueGroup, string>;

export const STATE_WORDS = {
  waiting: 'Waiting for a slot',
  running: 'Statement running',
  asking: 'Asking a person',
  finishing: 'Writing the result',
} as const;
