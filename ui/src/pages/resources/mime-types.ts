export const MIME_TYPES = [
  { value: 'application/json', label: 'application/json', hint: 'The rows as JSON' },
  { value: 'text/csv', label: 'text/csv', hint: 'The rows as CSV' },
  { value: 'text/plain', label: 'text/plain', hint: 'The template, or the first column' },
  { value: 'text/markdown', label: 'text/markdown', hint: 'The template, or the first column' },
  { value: 'text/html', label: 'text/html', hint: 'The template, or the first column' },
  { value: 'image/png', label: 'image/png', hint: 'Bytes of the first cell' },
  { value: 'application/pdf', label: 'application/pdf', hint: 'Bytes of the first cell' },
] as const;
