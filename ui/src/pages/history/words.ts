export const WORDS = {
  search: 'Search by name',
  details: 'Details',
  record: 'Record after the change',
} as const;
