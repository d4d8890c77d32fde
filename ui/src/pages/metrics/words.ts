export const WORDS = {
  everything: 'All calls',
  calls: 'Calls',
  errors: 'Errors',
  median: 'p50',
  used: 'Tools, resources and prompts',
  empty_title: 'No calls in this period',
  compare: 'Compare',
} as const;
