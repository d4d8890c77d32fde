export const WORDS = {
  everything: 'All calls',
  calls: 'Calls',
  errors: 'Errors',
  median: 'p50',
  used: 'Tools, resources and prompts',
  empty_title: 'No calls in this period',
  compare: 'Compare',
  before: 'before',
  compare_before: 'Compare with the period before',
  custom: 'Custom',
  download: 'Download',
} as const;

export const CALLER_WORDS = {
  client: { label: 'Clients', title: 'Clients', one: 'Client', none: 'Unnamed client' },
  person: { label: 'People', title: 'People', one: 'Person', none: 'Nobody signed in' },
  token: { label: 'Tokens', title: 'Access tokens', one: 'Token', none: 'No access token' },
} as const;
