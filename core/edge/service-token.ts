import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether two secrets are the same, in a time that tells nothing of either, not even its length. */
export const isSameSecret = (a: string, b: string): boolean => timingSafeEqual(sha256(a), sha256(b));

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** One of our own programs asks, and says so with the service token. */
export function isOurs(headers: Headers, service_token: string): boolean {
  const given = headers.get('x-service-token');
  return given !== null && isSameSecret(given, service_token);
}
