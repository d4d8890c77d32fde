import { createHash } from 'node:crypto';

/**
 * What every key and channel of an installation begins with: several may use one Redis.
 * @param space the same for all programs of one installation and for no other: the service token.
 */
export const namespaceOf = (space: string): string => `sluice:${digestOf(space)}:`;

/** Secrets, callers and addresses are not written down in Redis. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);
