export const WORDS = {
  title: 'Queue',
  running: 'Running',
} as const;
