const NAME_LENGTH = 32;
/** The name of an OAuth caller for the request log. Another server issues it, so it can contain any characters. */
export const callerName = (name: unknown): string | null =>
  typeof name === 'string' && name !== '' ? name.slice(0, NAME_LENGTH).replaceAll(/[^\x20-\x7e]/g, '?') : null;
