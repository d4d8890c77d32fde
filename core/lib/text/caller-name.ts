const NAME_LENGTH = 32;
/** The name of an OAuth caller as the request log keeps it; another server's word may hold anything. */
export const callerName = (name: unknown): string | null =>
  typeof name === 'string' && name !== '' ? name.slice(0, NAME_LENGTH).replaceAll(/[^\x20-\x7e]/g, '?') : null;
