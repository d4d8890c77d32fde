import { ACTION_WORDS, TYPE_WORDS } from '#ui/src/kernel/record-words.ts';

/** In sentences such as "Ada changed the settings of shop". */
export const DONE_WORDS = { ...ACTION_WORDS, blocked: 'could not save' } as const;
export const RECORD_WORDS = {
  ...TYPE_WORDS,
  server_config: 'the settings of',
  grant: 'sign-in of',
  signing_key: 'the',
} as const;
